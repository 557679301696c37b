//! The same key of another customer: another message.

use super::About;
use crate::audit::{
    bench::Bench, effects, exchange::Exchange, judgement::Judgement, promise::Promise, stored,
};

pub(super) const ABOUT: About = About {
    id: "customer-scope",
    sentence: "A key belongs to its customer: the same key of another customer is another \
               message, and shows nothing of the first.",
    section: "5",
    needs: "`--customer-2`, a second customer's credential; on loopback one is made up",
};

struct Seen {
    first: Exchange,
    other: Exchange,
    again: Exchange,
}

pub(super) async fn check(bench: &Bench) -> Judgement {
    let Some(customer) = bench.options.customer_2.clone() else {
        return Judgement::NotChecked(
            "there is no second customer: name one with --customer-2".into(),
        );
    };
    let draft = bench.draft();
    let sent = bench.api.compose(&draft);
    let mut other = draft.clone();
    other.customer = customer;
    let other = bench.api.compose(&other);
    if other == sent {
        return Judgement::NotApplicable(
            "requests name no customer: whoever knows a key can use it".into(),
        );
    }
    let seen = Seen {
        first: bench.send("a new key", &sent).await,
        other: bench.send("the same key of another customer", &other).await,
        again: bench
            .send("the first customer's request again", &sent)
            .await,
    };
    judge(&bench.promise, &seen)
}

fn judge(promise: &Promise, seen: &Seen) -> Judgement {
    if !seen.first.succeeded() {
        let result = seen.first.result();
        return Judgement::undecided(format!("the first request was not accepted ({result})"));
    }
    if let Some(answer) = seen.other.answer()
        && matches!(answer.counts, 401 | 403)
    {
        return Judgement::undecided(format!(
            "the second customer's credential was answered {}",
            answer.counts
        ));
    }
    if let (Some(a), Some(b)) = (seen.first.message(), seen.other.message())
        && a == b
    {
        let why = "another customer got the message of the first";
        return Judgement::broken(why, [&seen.first, &seen.other]);
    }
    let other = stored::accepted_anew(promise, &seen.other)
        .broken_as(|why| format!("{why}, for it is another customer's"))
        .after(&seen.first);
    let first = stored::same_message(promise, &seen.first, &seen.again);
    let one = effects::one(&[&seen.first, &seen.again], None);
    Judgement::of_parts([other, one, first]).kept_as("two customers, two messages")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{accepted, lost, promise, refused, replayed};

    fn judged(other: Exchange) -> Judgement {
        let seen = Seen {
            first: accepted(1, "m"),
            other,
            again: replayed(3, "m"),
        };
        judge(&promise(), &seen)
    }

    #[test]
    fn a_message_of_its_own_keeps_it() {
        assert_eq!(judged(accepted(2, "n")).as_str(), "kept");
    }

    #[test]
    fn the_first_customers_answer_breaks_it() {
        for other in [replayed(2, "m"), accepted(2, "m"), refused(2, 422)] {
            let judgement = judged(other);
            match judgement {
                Judgement::Broken(broken) => assert_eq!(broken.proof, [1, 2]),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_credential_that_is_not_known_and_a_lost_answer_say_nothing() {
        for other in [refused(2, 401), lost(2)] {
            assert_eq!(judged(other).as_str(), "inconclusive");
        }
    }
}
