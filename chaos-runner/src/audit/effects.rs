//! How many messages some requests led to.
//!
//! Owns counting: by the distinct ids in the answers, and by the provider's own list where the
//! profile has one. A lost answer may hide a message, so it is counted as neither.

use super::{exchange::Exchange, judgement::Judgement};

/// What the provider itself lists under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The request that asked, and its answer.
    pub exchange: Exchange,
    /// The ids of the messages; `None`: the answer does not say.
    pub ids: Option<Vec<String>>,
}

/// Each message once, with the exchange in which it was first seen.
fn seen<'a>(
    exchanges: &[&'a Exchange],
    listing: Option<&'a Listing>,
) -> Vec<(&'a str, &'a Exchange)> {
    let mut found: Vec<(&str, &Exchange)> = Vec::new();
    let answered = exchanges
        .iter()
        .filter_map(|exchange| Some((exchange.message()?, *exchange)));
    let listed = listing.into_iter().flat_map(|listing| {
        let ids = listing.ids.iter().flatten();
        ids.map(|id| (id.as_str(), &listing.exchange))
    });
    for (id, exchange) in answered.chain(listed) {
        if found.iter().all(|(known, _)| *known != id) {
            found.push((id, exchange));
        }
    }
    found
}

/// Whether requests that must be one message were one.
#[must_use]
pub fn one(exchanges: &[&Exchange], listing: Option<&Listing>) -> Judgement {
    let found = seen(exchanges, listing);
    if let [(_, first), (_, second), ..] = found.as_slice() {
        let by = match listing {
            Some(listing) if listing.exchange.number == second.number => "the provider's own list",
            _ => "the ids in the answers",
        };
        let why = format!("{} messages for what must be one, by {by}", found.len());
        return Judgement::broken(why, [*first, *second]);
    }
    let listed = listing.and_then(|listing| listing.ids.as_ref());
    // A list in which one id stands twice: the client chose it, and it tells no two apart.
    if let (Some(listing), Some(ids)) = (listing, listed)
        && ids.len() > 1
    {
        let why = format!(
            "{} messages for what must be one, by the provider's own list",
            ids.len()
        );
        let last = exchanges
            .iter()
            .copied()
            .rfind(|exchange| exchange.succeeded());
        return Judgement::broken(why, last.into_iter().chain([&listing.exchange]));
    }
    let lost = exchanges.iter().filter(|e| e.is_ambiguous()).count();
    if lost > 0 && listed.is_none() {
        return Judgement::undecided(format!(
            "{lost} of {} answers were lost or errors of the server, and nothing tells what they \
             left behind",
            exchanges.len()
        ));
    }
    match found.len() {
        1 => Judgement::kept("one message"),
        _ if exchanges.iter().any(|exchange| exchange.succeeded()) => {
            Judgement::NotChecked("the number of messages: no answer names one".to_owned())
        }
        _ => Judgement::undecided(format!(
            "none of {} requests was accepted ({})",
            exchanges.len(),
            results(exchanges)
        )),
    }
}

/// Whether a request that had to be refused led to nothing. `before` are the messages that were
/// there already.
#[must_use]
pub fn none_more(before: &[&str], after: &Exchange, listing: Option<&Listing>) -> Judgement {
    let found = seen(&[after], listing);
    if let Some((_, exchange)) = found.iter().find(|(id, _)| !before.contains(id)) {
        let why = "a message came of a request that had to be refused";
        return Judgement::broken(why, [after, *exchange]);
    }
    Judgement::kept("no message of it")
}

/// The different results of some exchanges: `201, 409`.
#[must_use]
pub fn results(exchanges: &[&Exchange]) -> String {
    let mut words: Vec<String> = exchanges.iter().map(|e| e.result()).collect();
    words.sort();
    words.dedup();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{accepted, listing, lost, refused};

    #[test]
    fn one_id_in_all_answers_is_one_message() {
        let (a, b) = (accepted(1, "m1"), accepted(2, "m1"));
        assert_eq!(one(&[&a, &b], None), Judgement::kept("one message"));
    }

    #[test]
    fn two_ids_are_two_messages_and_both_answers_prove_it() {
        let (a, b, c) = (accepted(1, "m1"), accepted(2, "m1"), accepted(3, "m2"));
        match one(&[&a, &b, &c], None) {
            Judgement::Broken(broken) => assert_eq!(broken.proof, [1, 3]),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_second_message_that_only_the_list_knows_is_proven_by_the_list() {
        let a = accepted(1, "m1");
        let list = listing(2, &["m1", "m2"]);
        match one(&[&a], Some(&list)) {
            Judgement::Broken(broken) => {
                assert_eq!(broken.proof, [1, 2]);
                assert!(broken.why.contains("list"), "{}", broken.why);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_id_that_the_list_has_twice_is_two_messages() {
        let a = accepted(1, "chosen");
        let list = listing(2, &["chosen", "chosen"]);
        assert_eq!(one(&[&a], Some(&list)).as_str(), "broken");
    }

    #[test]
    fn a_lost_answer_is_undecided_until_the_list_settles_it() {
        let (a, b) = (accepted(1, "m1"), lost(2));
        assert_eq!(one(&[&a, &b], None).as_str(), "inconclusive");
        let list = listing(3, &["m1"]);
        assert_eq!(one(&[&a, &b], Some(&list)).as_str(), "kept");
    }

    #[test]
    fn no_acceptance_at_all_is_undecided() {
        let a = refused(1, 429);
        assert_eq!(one(&[&a], None).as_str(), "inconclusive");
    }

    #[test]
    fn a_refused_request_must_leave_nothing_behind() {
        let a = refused(2, 422);
        assert_eq!(
            none_more(&["m1"], &a, Some(&listing(3, &["m1"]))).as_str(),
            "kept"
        );
        let more = none_more(&["m1"], &a, Some(&listing(3, &["m1", "m2"])));
        assert_eq!(more.as_str(), "broken");
        assert_eq!(
            none_more(&["m1"], &accepted(2, "m2"), None).as_str(),
            "broken"
        );
    }
}
