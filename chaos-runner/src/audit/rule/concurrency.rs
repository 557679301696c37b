//! Many equal requests at once: one message.

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
    id: "concurrency",
    sentence: "Many equal requests at once are one message.",
    section: "2.6",
    needs: "",
};

/// How often it is tried, each time under a key of its own: a race is lost sooner or later.
const ROUNDS: usize = 3;

struct Round {
    burst: Vec<Exchange>,
    /// The same request once all are answered.
    after: Exchange,
    listing: Option<Listing>,
}

pub(super) async fn check(bench: &Bench) -> Judgement {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let draft = bench.draft();
        let sent = bench.api.compose(&draft);
        let count = bench.options.concurrency;
        let round = Round {
            burst: bench.send_together("many at once", &sent, count).await,
            after: bench.send("the same afterwards", &sent).await,
            listing: bench.list(&draft).await,
        };
        let judgement = judge(&bench.promise, &round);
        if matches!(judgement, Judgement::Broken(_)) {
            return judgement;
        }
        rounds.push(judgement);
    }
    Judgement::of_parts(rounds)
}

fn judge(promise: &Promise, round: &Round) -> Judgement {
    let mut all: Vec<&Exchange> = round.burst.iter().collect();
    all.push(&round.after);
    let count = round.burst.len();
    let one = effects::one(&all, round.listing.as_ref())
        .kept_as(format!("{count} at once, one message"))
        .broken_as(|why| format!("{count} equal requests at once: {why}"));
    // Whoever waits, is refused meanwhile, or finds the key used is treated as promised.
    let odd = round.burst.iter().find(|exchange| {
        exchange.answer().is_some_and(|answer| {
            let promised = answer.is_success()
                || matches!(promise.in_flight, InFlight::Refused(status) if status == answer.counts)
                || (!promise.repeats && answer.counts == promise.used);
            !promised && stored::says_of_the_key(answer)
        })
    });
    let odd = odd.map(|exchange| {
        let why = format!(
            "one of {count} equal requests at once was answered {}, which is promised to none",
            exchange.result()
        );
        Judgement::broken(why, [exchange])
    });
    Judgement::of_parts(std::iter::once(one).chain(odd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{accepted, listing, lost, promise, refused, replayed};

    fn round(burst: Vec<Exchange>, ids: &[&str]) -> Round {
        Round {
            burst,
            after: replayed(8, "m"),
            listing: Some(listing(9, ids)),
        }
    }

    #[test]
    fn one_message_for_all_keeps_it() {
        let burst = vec![replayed(1, "m"), accepted(2, "m"), replayed(3, "m")];
        let judgement = judge(&promise(), &round(burst, &["m"]));
        assert_eq!(judgement, Judgement::kept("3 at once, one message"));
    }

    #[test]
    fn two_messages_break_it_and_two_answers_prove_it() {
        let burst = vec![accepted(1, "m"), accepted(2, "m"), accepted(3, "n")];
        match judge(&promise(), &round(burst, &["m", "n"])) {
            Judgement::Broken(broken) => assert_eq!(broken.proof, [1, 3]),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_promised_refusal_is_no_message_and_no_fault() {
        let burst = || vec![accepted(1, "m"), refused(2, 409), refused(3, 409)];
        let refuses = Promise {
            in_flight: InFlight::Refused(409),
            ..promise()
        };
        assert_eq!(judge(&refuses, &round(burst(), &["m"])).as_str(), "kept");
        assert_eq!(
            judge(&promise(), &round(burst(), &["m"])).as_str(),
            "broken"
        );
    }

    #[test]
    fn lost_answers_are_settled_by_the_list_alone() {
        let mut seen = round(vec![accepted(1, "m"), lost(2), refused(3, 503)], &["m"]);
        assert_eq!(judge(&promise(), &seen).as_str(), "kept");
        seen.listing = None;
        assert_eq!(judge(&promise(), &seen).as_str(), "inconclusive");
    }
}
