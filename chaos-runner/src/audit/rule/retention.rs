//! How long a stored answer is kept.

use std::time::Duration;

use stub_provider::duration::Span;

use super::About;
use crate::audit::{
    admin, bench::Bench, effects, exchange::Exchange, judgement::Judgement, promise::Promise,
    stored,
};

pub(super) const ABOUT: About = About {
    id: "retention",
    sentence: "A stored answer is kept just as long as promised: to the end of the window, and \
               not after it.",
    section: "2.3",
    needs: "`--admin` or `--clock-url`, to move the provider's clock",
};

/// How far from the end of the window it is looked, at most: more than an audit's own time.
const MARGIN: Duration = Duration::from_mins(1);

struct Seen {
    first: Exchange,
    just_before: Exchange,
    just_after: Exchange,
}

pub(super) async fn check(bench: &Bench) -> Judgement {
    let Some(clock) = bench.options.clock() else {
        return Judgement::NotChecked(
            "the clock cannot be moved (--admin or --clock-url would)".to_owned(),
        );
    };
    let window = bench.promise.retention;
    let margin = MARGIN.min(window / 10);
    let draft = bench.draft();
    let sent = bench.api.compose(&draft);
    let first = bench.send("a new key", &sent).await;
    if let Err(why) = admin::advance(bench, &clock, window.saturating_sub(margin)).await {
        return Judgement::undecided(why);
    }
    let just_before = bench
        .send("the same just before the end of the window", &sent)
        .await;
    if let Err(why) = admin::advance(bench, &clock, margin * 2).await {
        return Judgement::undecided(why);
    }
    let seen = Seen {
        first,
        just_before,
        just_after: bench
            .send("the same just after the end of the window", &sent)
            .await,
    };
    judge(&bench.promise, &seen)
}

fn judge(promise: &Promise, seen: &Seen) -> Judgement {
    let window = Span(promise.retention);
    if !seen.first.succeeded() {
        let result = seen.first.result();
        return Judgement::undecided(format!("the first request was not accepted ({result})"));
    }
    let before = Judgement::of_parts([
        effects::one(&[&seen.first, &seen.just_before], None),
        stored::same_message(promise, &seen.first, &seen.just_before),
    ])
    .kept_as(format!("kept to the end of {window}"))
    .broken_as(|why| format!("forgotten before the end of {window}: {why}"));
    let same = seen.first.message().is_some() && seen.first.message() == seen.just_after.message();
    let after = match stored::accepted_anew(promise, &seen.just_after) {
        Judgement::Kept(_) if !same => Judgement::kept("and forgotten after it"),
        Judgement::Kept(_) | Judgement::Broken(_) => Judgement::broken(
            format!("still there after {window}: a new message under the old key is swallowed"),
            [&seen.first, &seen.just_after],
        ),
        other => other,
    };
    Judgement::of_parts([before, after])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{accepted, lost, promise, replayed};

    fn judged(just_before: Exchange, just_after: Exchange) -> Judgement {
        let seen = Seen {
            first: accepted(1, "m"),
            just_before,
            just_after,
        };
        judge(&promise(), &seen)
    }

    #[test]
    fn kept_to_the_end_and_not_after_it() {
        assert_eq!(judged(replayed(2, "m"), accepted(3, "n")).as_str(), "kept");
    }

    #[test]
    fn forgetting_too_early_breaks_it() {
        let judgement = judged(accepted(2, "n"), accepted(3, "o"));
        assert!(
            judgement.text().starts_with("forgotten before"),
            "{judgement:?}"
        );
    }

    #[test]
    fn keeping_too_long_breaks_it() {
        for after in [replayed(3, "m"), accepted(3, "m")] {
            let judgement = judged(replayed(2, "m"), after);
            assert!(judgement.text().starts_with("still there"), "{judgement:?}");
        }
    }

    #[test]
    fn a_lost_answer_leaves_it_undecided() {
        assert_eq!(judged(lost(2), accepted(3, "n")).as_str(), "inconclusive");
        assert_eq!(judged(replayed(2, "m"), lost(3)).as_str(), "inconclusive");
    }
}
