//! An equal key while the first is being worked on: waits for the same answer, or is refused.

use std::time::Duration;

use super::About;
use crate::audit::{
    bench::Bench,
    effects::{self, Listing},
    exchange::Exchange,
    judgement::Judgement,
    promise::{InFlight, Promise},
    stored,
};

pub(super) const ABOUT: About = About {
    id: "in-flight",
    sentence: "A request whose key is still being worked on waits for the same answer, or is \
               refused as promised; it is never worked on beside the first.",
    section: "2.6",
    needs: "`--admin`, to hold the first request; else two requests at once, which decide \
            nothing where they do not overlap",
};

/// How often two requests are sent at once in the hope that they overlap.
const ROUNDS: usize = 5;
/// How long a request is held where that can be had.
const HOLD: Duration = Duration::from_millis(500);

struct Round {
    /// Whether the first was held in the provider.
    held: bool,
    pair: Vec<Exchange>,
    /// The same request when nothing is being worked on any more.
    after: Exchange,
    listing: Option<Listing>,
}

pub(super) async fn check(bench: &Bench) -> Judgement {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let draft = bench.draft();
        let sent = bench.api.compose(&draft);
        let admin = bench.options.admin.as_ref();
        let hold = match admin {
            Some(admin) => match admin.hold(bench, &draft, HOLD).await {
                Ok(fault) => Some((admin, fault)),
                Err(why) => return Judgement::undecided(why),
            },
            None => None,
        };
        let pair = bench.send_together("two at once", &sent, 2).await;
        if let Some((admin, fault)) = hold
            && let Err(why) = admin.lift(bench, fault).await
        {
            return Judgement::undecided(why);
        }
        let waited = pair.iter().any(was_held);
        let round = Round {
            held: waited,
            pair,
            after: bench.send("the same afterwards", &sent).await,
            listing: bench.list(&draft).await,
        };
        let judgement = judge(&bench.promise, &round);
        if !matches!(judgement, Judgement::Undecided(_)) {
            return judgement;
        }
        rounds.push(judgement);
        if waited {
            break;
        }
    }
    Judgement::of_parts(rounds)
}

/// Whether an answer took as long as a hold does.
fn was_held(exchange: &Exchange) -> bool {
    match (exchange.written, exchange.heard) {
        (Some(written), Some(heard)) => heard.saturating_sub(written) >= HOLD,
        _ => false,
    }
}

fn judge(promise: &Promise, round: &Round) -> Judgement {
    let mut all: Vec<&Exchange> = round.pair.iter().collect();
    all.push(&round.after);
    let one = effects::one(&all, round.listing.as_ref());
    let Some(first) = round.pair.iter().find(|exchange| exchange.succeeded()) else {
        return Judgement::of_parts([
            one,
            Judgement::undecided(format!(
                "neither of two requests at once was accepted ({})",
                effects::results(&all)
            )),
        ]);
    };
    let others = round.pair.iter().filter(|e| e.number != first.number);
    let others = others.map(|other| match promise.in_flight {
        InFlight::Waits => waited(promise, round, first, other),
        InFlight::Refused(status) => was_refused(promise, status, round, first, other),
    });
    let others = Judgement::of_parts(others);
    // What became of the second says that there was one message, too.
    match (one, others) {
        (Judgement::Kept(_), others) => others,
        (one, others) => Judgement::of_parts([one, others]),
    }
}

fn waited(promise: &Promise, round: &Round, first: &Exchange, other: &Exchange) -> Judgement {
    match stored::same_message(promise, first, other) {
        Judgement::Kept(_) if overlapped(round, first, other) => {
            Judgement::kept("the second waited, and got the answer of the first")
        }
        Judgement::Kept(_) => no_overlap(),
        other => other,
    }
}

fn was_refused(
    promise: &Promise,
    status: u16,
    round: &Round,
    first: &Exchange,
    other: &Exchange,
) -> Judgement {
    match stored::refused(status, other) {
        kept @ Judgement::Kept(_) => {
            kept.kept_as(format!("the second was refused with {status} meanwhile"))
        }
        // A provider that is done before the second comes answers as for any used key.
        Judgement::Broken(_)
            if !round.held && stored::same_message(promise, first, other).as_str() == "kept" =>
        {
            no_overlap()
        }
        other => other
            .broken_as(|why| format!("{why} while the first is worked on"))
            .after(first),
    }
}

/// Whether both were with the provider before it answered either.
fn overlapped(round: &Round, first: &Exchange, other: &Exchange) -> bool {
    if round.held {
        return true;
    }
    match (first.written, first.heard, other.written, other.heard) {
        (Some(a_sent), Some(a_heard), Some(b_sent), Some(b_heard)) => {
            a_sent.max(b_sent) < a_heard.min(b_heard)
        }
        _ => false,
    }
}

fn no_overlap() -> Judgement {
    Judgement::undecided("the first was done before the second came: no overlap was shown")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{accepted, between, listing, lost, promise, refused, replayed};

    fn round(pair: [Exchange; 2], ids: &[&str]) -> Round {
        Round {
            held: false,
            pair: pair.into(),
            after: replayed(3, "m"),
            listing: Some(listing(4, ids)),
        }
    }

    fn refuses() -> Promise {
        Promise {
            in_flight: InFlight::Refused(409),
            ..promise()
        }
    }

    #[test]
    fn one_answer_for_two_that_overlap_keeps_it() {
        let pair = [
            between(accepted(1, "m"), 10, 50),
            between(replayed(2, "m"), 11, 51),
        ];
        assert_eq!(judge(&promise(), &round(pair, &["m"])).as_str(), "kept");
    }

    #[test]
    fn without_an_overlap_nothing_is_said() {
        let pair = [
            between(accepted(1, "m"), 10, 12),
            between(replayed(2, "m"), 13, 15),
        ];
        let seen = round(pair, &["m"]);
        assert_eq!(judge(&promise(), &seen).as_str(), "inconclusive");
        assert_eq!(judge(&refuses(), &seen).as_str(), "inconclusive");
    }

    #[test]
    fn the_promised_refusal_shows_the_overlap_by_itself() {
        let seen = round([refused(1, 409), accepted(2, "m")], &["m"]);
        assert_eq!(judge(&refuses(), &seen).as_str(), "kept");
        assert_eq!(judge(&promise(), &seen).as_str(), "broken");
    }

    #[test]
    fn a_second_message_breaks_it_whatever_else_is_promised() {
        let seen = round([accepted(1, "m"), accepted(2, "n")], &["m", "n"]);
        for promise in [promise(), refuses()] {
            assert_eq!(judge(&promise, &seen).as_str(), "broken");
        }
    }

    #[test]
    fn where_the_first_was_held_a_stored_answer_is_no_refusal() {
        let mut seen = round([accepted(1, "m"), replayed(2, "m")], &["m"]);
        assert_eq!(judge(&refuses(), &seen).as_str(), "inconclusive");
        seen.held = true;
        assert_eq!(judge(&refuses(), &seen).as_str(), "broken");
    }

    #[test]
    fn a_lost_answer_leaves_it_undecided() {
        let seen = round([accepted(1, "m"), lost(2)], &["m"]);
        assert_eq!(judge(&promise(), &seen).as_str(), "inconclusive");
    }
}
