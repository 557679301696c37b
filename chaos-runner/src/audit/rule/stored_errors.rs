//! Errors under a key: stored and repeated, or not stored, as promised.

use super::About;
use crate::audit::{
    bench::Bench,
    effects::{self, Listing},
    exchange::Exchange,
    judgement::Judgement,
    promise::Promise,
    stored,
};

pub(super) const ABOUT: About = About {
    id: "stored-errors",
    sentence: "An error answer is stored under its key and repeated, or frees the key, as \
               promised of refusals (4xx) and of failures (5xx).",
    section: "2.6",
    needs: "a number that the profile refuses for a 4xx; `--admin` to provoke a 5xx",
};

struct Refusal {
    first: Exchange,
    again: Exchange,
    /// The same key to a number that is not refused; `None` where the refusal is stored.
    mended: Option<Exchange>,
}

struct Failure {
    first: Exchange,
    again: Exchange,
    listing: Option<Listing>,
}

pub(super) async fn check(bench: &Bench) -> Judgement {
    let refusal = refusal(bench).await;
    let failure = failure(bench).await;
    Judgement::of_parts([
        refusal.map_or_else(Judgement::NotChecked, |seen| {
            judge_refusal(&bench.promise, &seen)
        }),
        failure,
    ])
}

async fn refusal(bench: &Bench) -> Result<Refusal, String> {
    let good = bench.draft();
    let mut draft = good.clone();
    match &bench.promise.refused {
        Some(number) => draft.to.clone_from(number),
        None => return Err("a 4xx (the profile names no number that is refused)".to_owned()),
    }
    let sent = bench.api.compose(&draft);
    let first = bench.send("to a refused number", &sent).await;
    let again = bench.send("the same key and bytes", &sent).await;
    let mended = if bench.promise.keeps_refusals {
        None
    } else {
        let sent = bench.api.compose(&good);
        Some(bench.send("the same key to a good number", &sent).await)
    };
    Ok(Refusal {
        first,
        again,
        mended,
    })
}

async fn failure(bench: &Bench) -> Judgement {
    let Some(admin) = &bench.options.admin else {
        return Judgement::NotChecked("a 5xx (none can be provoked without --admin)".to_owned());
    };
    let draft = bench.draft();
    let sent = bench.api.compose(&draft);
    let fault = match admin
        .fail(bench, &draft, bench.promise.keeps_failures)
        .await
    {
        Ok(fault) => fault,
        Err(why) => return Judgement::undecided(why),
    };
    let seen = Failure {
        first: bench
            .send("a request that fails in the provider", &sent)
            .await,
        again: bench.send("the same key and bytes", &sent).await,
        listing: bench.list(&draft).await,
    };
    if let Err(why) = admin.lift(bench, fault).await {
        return Judgement::undecided(why);
    }
    judge_failure(&bench.promise, &seen)
}

fn judge_refusal(promise: &Promise, seen: &Refusal) -> Judgement {
    let Some(first) = seen.first.answer() else {
        let result = seen.first.result();
        return Judgement::undecided(format!("a refused number got no answer ({result})"));
    };
    if !(400..500).contains(&first.counts) {
        return Judgement::undecided(format!(
            "a number that the profile refuses was answered {}",
            first.counts
        ));
    }
    if promise.keeps_refusals {
        let again = if promise.repeats {
            stored::same_bytes(promise, &seen.first, &seen.again)
        } else {
            stored::refused(promise.used, &seen.again)
        };
        return again.kept_as(format!("a {} is stored", first.counts));
    }
    let fresh = match seen.again.answer() {
        None => Judgement::undecided(format!("the retry got no answer ({})", seen.again.result())),
        Some(again) if stored::is_marked(promise, again) => Judgement::broken(
            format!("a {} was stored, though errors free the key", first.counts),
            [&seen.first, &seen.again],
        ),
        Some(again) if again.counts != first.counts && stored::says_of_the_key(again) => {
            let why = format!(
                "the same refused request was answered {}, then {}",
                first.counts, again.counts
            );
            Judgement::broken(why, [&seen.first, &seen.again])
        }
        Some(_) => Judgement::kept(format!("a {} frees the key", first.counts)),
    };
    let mended = seen.mended.as_ref().map(|mended| {
        stored::accepted_anew(promise, mended)
            .kept_as(format!("a {} frees the key", first.counts))
            .broken_as(|why| format!("{why}, for a {} frees the key", first.counts))
            .after(&seen.first)
    });
    Judgement::of_parts(std::iter::once(fresh).chain(mended))
}

fn judge_failure(promise: &Promise, seen: &Failure) -> Judgement {
    match seen.first.answer() {
        Some(first) if first.counts == 500 => {}
        _ => {
            return Judgement::undecided(format!(
                "no failure could be provoked ({})",
                seen.first.result()
            ));
        }
    }
    if promise.keeps_failures {
        let again = if promise.repeats {
            stored::same_bytes(promise, &seen.first, &seen.again)
        } else {
            stored::refused(promise.used, &seen.again)
        };
        return again.kept_as("a 500 is stored");
    }
    if let Some(again) = seen.again.answer()
        && (again.counts == 500 || stored::is_marked(promise, again))
    {
        let why = "a 500 was stored, though errors free the key";
        return Judgement::broken(why, [&seen.first, &seen.again]);
    }
    let again = stored::accepted_anew(promise, &seen.again);
    let one = effects::one(&[&seen.again], seen.listing.as_ref());
    Judgement::of_parts([one, again]).kept_as("a 500 frees the key")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{accepted, listing, lost, marked, promise, refused};

    fn frees() -> Promise {
        Promise {
            keeps_refusals: false,
            keeps_failures: false,
            ..promise()
        }
    }

    fn refusal(again: Exchange, mended: Option<Exchange>) -> Refusal {
        Refusal {
            first: refused(1, 400),
            again,
            mended,
        }
    }

    fn failure(again: Exchange) -> Failure {
        Failure {
            first: refused(1, 500),
            again,
            listing: Some(listing(3, &["m"])),
        }
    }

    #[test]
    fn a_stored_refusal_is_repeated_with_its_mark() {
        let judged = |again| judge_refusal(&promise(), &refusal(again, None));
        assert_eq!(judged(marked(refused(2, 400))).as_str(), "kept");
        assert_eq!(judged(refused(2, 400)).as_str(), "broken");
        assert_eq!(judged(lost(2)).as_str(), "inconclusive");
    }

    #[test]
    fn a_refusal_that_frees_the_key_is_not_repeated_and_lets_a_good_request_through() {
        let judged = |again, mended| judge_refusal(&frees(), &refusal(again, Some(mended)));
        assert_eq!(judged(refused(2, 400), accepted(3, "m")).as_str(), "kept");
        assert_eq!(
            judged(marked(refused(2, 400)), accepted(3, "m")).as_str(),
            "broken"
        );
        assert_eq!(judged(refused(2, 400), refused(3, 422)).as_str(), "broken");
    }

    #[test]
    fn a_number_that_is_not_refused_says_nothing_of_errors() {
        let seen = Refusal {
            first: accepted(1, "m"),
            ..refusal(accepted(2, "m"), None)
        };
        assert_eq!(judge_refusal(&promise(), &seen).as_str(), "inconclusive");
    }

    #[test]
    fn a_stored_failure_is_repeated_where_that_is_promised() {
        let judged = |again| judge_failure(&promise(), &failure(again));
        assert_eq!(judged(marked(refused(2, 500))).as_str(), "kept");
        assert_eq!(judged(accepted(2, "m")).as_str(), "broken");
    }

    #[test]
    fn a_stored_failure_is_a_breach_where_errors_free_the_key() {
        let judged = |again| judge_failure(&frees(), &failure(again));
        assert_eq!(judged(accepted(2, "m")).as_str(), "kept");
        assert_eq!(judged(refused(2, 500)).as_str(), "broken");
        assert_eq!(judged(lost(2)).as_str(), "inconclusive");
    }

    #[test]
    fn a_fault_that_did_not_act_says_nothing() {
        let seen = Failure {
            first: accepted(1, "m"),
            ..failure(accepted(2, "m"))
        };
        assert_eq!(judge_failure(&promise(), &seen).as_str(), "inconclusive");
    }
}
