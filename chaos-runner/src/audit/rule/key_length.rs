//! How long a key may be, and that all of it counts.

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
    id: "key-length",
    sentence: "The longest key that is allowed works to its last character, and a longer one is \
               refused.",
    section: "5",
    needs: "",
};

/// The longest key that is tried: many servers take no head of more than 8 KiB.
const MOST: usize = 4096;

struct Seen {
    longest: Exchange,
    again: Exchange,
    listing: Option<Listing>,
    /// Another message, under a key that differs in its last character only.
    neighbour: Exchange,
    /// With a key that is one character longer.
    longer: Exchange,
}

pub(super) async fn check(bench: &Bench) -> Judgement {
    let Some(length) = bench.promise.max_length else {
        return Judgement::NotApplicable("keys are of one shape, so all have one length".into());
    };
    if length > MOST {
        return Judgement::NotChecked(format!(
            "keys may have {length} bytes: more than a header can be relied on to carry"
        ));
    }
    let mut draft = bench.draft();
    let [key, other, too_long] = keys(draft.key.as_deref().unwrap_or_default(), length);
    draft.key = Some(key);
    let sent = bench.api.compose(&draft);
    let mut neighbour = bench.draft();
    neighbour.key = Some(other);
    let mut longer = bench.draft();
    longer.key = Some(too_long);
    let seen = Seen {
        longest: bench.send("the longest key", &sent).await,
        again: bench.send("the same key and bytes", &sent).await,
        listing: bench.list(&draft).await,
        neighbour: bench
            .send(
                "a key with another last character",
                &bench.api.compose(&neighbour),
            )
            .await,
        longer: bench
            .send(
                "a key that is one character too long",
                &bench.api.compose(&longer),
            )
            .await,
    };
    judge(&bench.promise, &seen)
}

/// Made of a key that is allowed: one of `length` bytes, one that differs in the last byte only,
/// and one that is a byte longer. All use the letters of the first.
fn keys(sample: &str, length: usize) -> [String; 3] {
    let last = sample.chars().next_back().unwrap_or('k');
    let other = sample.chars().find(|c| *c != last).unwrap_or('k');
    let mut stem: String = sample.chars().take(length.saturating_sub(1)).collect();
    while stem.len() + 1 < length {
        stem.push(last);
    }
    [
        format!("{stem}{last}"),
        format!("{stem}{other}"),
        format!("{stem}{last}{last}"),
    ]
}

fn judge(promise: &Promise, seen: &Seen) -> Judgement {
    let length = promise.max_length.unwrap_or_default();
    let Some(answer) = seen.longest.answer() else {
        let result = seen.longest.result();
        return Judgement::undecided(format!("the longest key got no answer ({result})"));
    };
    if !answer.is_success() && stored::says_of_the_key(answer) {
        let why = format!(
            "a key of {length} bytes, which is allowed, was answered {}",
            answer.counts
        );
        return Judgement::broken(why, [&seen.longest]);
    }
    if let (Some(a), Some(b)) = (seen.longest.message(), seen.neighbour.message())
        && a == b
    {
        let why = format!(
            "two keys of {length} bytes that differ in the last one were taken for one key"
        );
        return Judgement::broken(why, [&seen.longest, &seen.neighbour]);
    }
    let neighbour = stored::accepted_anew(promise, &seen.neighbour)
        .broken_as(|why| format!("{why}: its key differs in the last byte only"))
        .after(&seen.longest);
    let longer = stored::refused(promise.malformed, &seen.longer)
        .kept_as(format!(
            "a longer one is refused with {}",
            promise.malformed
        ))
        .broken_as(|why| format!("a key of {} bytes was {why}", length + 1));
    let counts = Judgement::of_parts([
        effects::one(&[&seen.longest, &seen.again], seen.listing.as_ref()),
        stored::same_message(promise, &seen.longest, &seen.again),
        neighbour,
    ])
    .kept_as(format!("all {length} bytes of a key count"));
    Judgement::of_parts([counts, longer])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{accepted, listing, lost, promise, refused, replayed};

    fn kept() -> Seen {
        Seen {
            longest: accepted(1, "m"),
            again: replayed(2, "m"),
            listing: Some(listing(3, &["m"])),
            neighbour: accepted(4, "n"),
            longer: refused(5, 400),
        }
    }

    #[test]
    fn keys_are_made_of_the_letters_that_are_allowed() {
        assert_eq!(keys("key-a1", 9), ["key-a1111", "key-a111k", "key-a11111"]);
        assert_eq!(keys("key-a1", 3), ["ke1", "kek", "ke11"]);
    }

    #[test]
    fn the_longest_key_works_and_a_longer_one_is_refused() {
        assert_eq!(judge(&promise(), &kept()).as_str(), "kept");
    }

    #[test]
    fn a_key_that_is_cut_swallows_its_neighbour() {
        for neighbour in [replayed(4, "m"), accepted(4, "m"), refused(4, 422)] {
            let seen = Seen {
                neighbour,
                ..kept()
            };
            match judge(&promise(), &seen) {
                Judgement::Broken(broken) => assert_eq!(broken.proof, [1, 4]),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn an_allowed_key_that_is_refused_breaks_it() {
        let seen = Seen {
            longest: refused(1, 400),
            ..kept()
        };
        assert!(judge(&promise(), &seen).text().contains("255 bytes"));
    }

    #[test]
    fn a_key_that_is_too_long_must_be_refused() {
        let seen = Seen {
            longer: accepted(5, "x"),
            ..kept()
        };
        assert!(judge(&promise(), &seen).text().contains("256 bytes"));
    }

    #[test]
    fn lost_answers_leave_it_undecided() {
        let seen = Seen {
            longest: lost(1),
            ..kept()
        };
        assert_eq!(judge(&promise(), &seen).as_str(), "inconclusive");
        let seen = Seen {
            longer: lost(5),
            ..kept()
        };
        assert_eq!(judge(&promise(), &seen).as_str(), "inconclusive");
    }
}
