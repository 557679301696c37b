//! The alphabet: the letters that a run is asked for.
//!
//! Owns [`Alphabet`], how it is written on the command line, and the reference of all letters.

use std::{
    fmt::{self, Write as _},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use super::letter::{Letter, Set};

/// The letters of an exploration, in their order and without repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Alphabet(Vec<Letter>);

impl Alphabet {
    /// An alphabet of these letters.
    #[must_use]
    pub fn new(letters: impl IntoIterator<Item = Letter>) -> Self {
        let mut letters: Vec<Letter> = letters.into_iter().collect();
        letters.sort_unstable();
        letters.dedup();
        Self(letters)
    }

    /// Every letter; those that come after the read timeout only where it is known.
    #[must_use]
    pub fn whole(read_timeout_is_known: bool) -> Self {
        let fits = |letter: &Letter| read_timeout_is_known || !letter.needs_read_timeout();
        Self::new(Letter::ALL.iter().copied().filter(fits))
    }

    /// Its letters.
    #[must_use]
    pub fn letters(&self) -> &[Letter] {
        &self.0
    }
}

impl Default for Alphabet {
    fn default() -> Self {
        Self::new(of_sets(&[Set::Standard]))
    }
}

fn of_sets(sets: &[Set]) -> impl Iterator<Item = Letter> {
    Letter::ALL
        .iter()
        .copied()
        .filter(move |letter| sets.contains(&letter.set()))
}

impl fmt::Display for Alphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.0.iter().map(|letter| letter.as_str()).collect();
        f.write_str(&words.join(","))
    }
}

impl FromStr for Alphabet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut letters = Vec::new();
        for word in text
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            match word {
                "standard" => letters.extend(of_sets(&[Set::Standard])),
                "all" => letters.extend(of_sets(&[Set::Standard, Set::More])),
                "toxics" => letters.extend(of_sets(&[Set::Toxics])),
                "processes" => letters.extend(of_sets(&[Set::Processes])),
                name => letters.push(named(name)?),
            }
        }
        if letters.is_empty() {
            return Err("name at least one fault, or a set of them".into());
        }
        Ok(Self::new(letters))
    }
}

fn named(name: &str) -> Result<Letter, String> {
    if let Some(letter) = Letter::ALL.iter().find(|letter| letter.as_str() == name) {
        return Ok(*letter);
    }
    let near = Letter::ALL
        .iter()
        .map(|letter| letter.as_str())
        .chain(["standard", "all", "toxics", "processes"])
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .min()
        .filter(|(distance, _)| *distance <= 3);
    Err(match near {
        Some((_, known)) => format!("`{name}` is no fault: did you mean `{known}`?"),
        None => format!(
            "`{name}` is no fault: write standard, all, toxics, processes, or names from \
             docs/explore.md"
        ),
    })
}
/// The letters as a table in Markdown, for `docs/explore.md`.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    for (set, heading) in [
        (Set::Standard, "`standard`, the default"),
        (Set::More, "`all` adds"),
        (Set::Toxics, "`toxics`"),
        (Set::Processes, "`processes`"),
    ] {
        let _ = writeln!(text, "\n### {heading}\n");
        text.push_str("| letter | the attempt | why it is one |\n|---|---|---|\n");
        for letter in of_sets(&[set]) {
            let _ = writeln!(
                text,
                "| `{letter}` | {} | {} |",
                letter.does(),
                letter.why()
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_alphabet_has_a_dozen_letters_at_both_stages() {
        let standard = Alphabet::default();
        assert_eq!(standard.letters().len(), 12);
        let after = |letter: &&Letter| letter.is_after_acceptance();
        assert!(standard.letters().iter().filter(after).count() >= 5);
    }

    #[test]
    fn sets_and_names_make_an_alphabet_in_one_order_whatever_the_order_of_the_words() {
        let one: Alphabet = "hang-after,unavailable".parse().expect("two letters");
        let other: Alphabet = "unavailable, hang-after,unavailable".parse().expect("two");
        assert_eq!(one, other);
        assert_eq!(one.to_string(), "unavailable,hang-after");
        let all: Alphabet = "all".parse().expect("a set");
        assert!(all.letters().len() > Alphabet::default().letters().len());
        assert_eq!(all.to_string().parse::<Alphabet>(), Ok(all));
    }

    #[test]
    fn a_slip_is_answered_with_what_was_meant() {
        let error = "hang-aftr".parse::<Alphabet>().expect_err("no such letter");
        assert!(error.contains("did you mean `hang-after`?"), "{error}");
        assert!("".parse::<Alphabet>().is_err());
    }
}
