//! [`Judgement`]: what is said of one rule.
//!
//! Owns the five things that can be said and how those of the parts of a rule become one. What is
//! undecided is never taken for broken.

use super::exchange::Exchange;

/// What is said of a rule, or of a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The promise was kept; what was seen.
    Kept(String),
    /// It was not; what was seen, and the exchanges that prove it.
    Broken(Broken),
    /// It was tried and nothing can be said.
    Undecided(String),
    /// It was not tried: something is missing that the audit would need.
    NotChecked(String),
    /// The profile makes no such promise; what that means for clients.
    NotApplicable(String),
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What was seen, in one sentence.
    pub why: String,
    /// The numbers of the exchanges that prove it, the clearest two first.
    pub proof: Vec<usize>,
}

impl Judgement {
    /// The promise was kept.
    pub(super) fn kept(what: impl Into<String>) -> Self {
        Self::Kept(what.into())
    }

    /// The promise was not kept, as these exchanges prove.
    pub(super) fn broken<'a>(
        why: impl Into<String>,
        proof: impl IntoIterator<Item = &'a Exchange>,
    ) -> Self {
        Self::Broken(Broken {
            why: why.into(),
            proof: proof.into_iter().map(|exchange| exchange.number).collect(),
        })
    }

    /// Nothing can be said.
    pub(super) fn undecided(why: impl Into<String>) -> Self {
        Self::Undecided(why.into())
    }

    /// The same; where it was kept, in these words.
    pub(super) fn kept_as(self, text: impl Into<String>) -> Self {
        match self {
            Self::Kept(_) => Self::Kept(text.into()),
            other => other,
        }
    }

    /// The same; where it was broken, in other words.
    pub(super) fn broken_as(self, words: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Broken(broken) => Self::Broken(Broken {
                why: words(&broken.why),
                ..broken
            }),
            other => other,
        }
    }

    /// The same; where it was broken, proven by an earlier exchange too.
    pub(super) fn after(mut self, earlier: &Exchange) -> Self {
        if let Self::Broken(broken) = &mut self
            && !broken.proof.contains(&earlier.number)
        {
            broken.proof.insert(0, earlier.number);
        }
        self
    }

    /// The word used in reports.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Kept(_) => "kept",
            Self::Broken(_) => "broken",
            Self::Undecided(_) => "inconclusive",
            Self::NotChecked(_) => "not-checked",
            Self::NotApplicable(_) => "not-applicable",
        }
    }

    /// What was seen, or why nothing can be said.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Kept(text)
            | Self::Broken(Broken { why: text, .. })
            | Self::Undecided(text)
            | Self::NotChecked(text)
            | Self::NotApplicable(text) => text,
        }
    }

    /// What the parts of a rule come to: the first that is broken; else what is undecided; else
    /// all that was kept, and beside it what could not be checked.
    #[must_use]
    pub fn of_parts(parts: impl IntoIterator<Item = Self>) -> Self {
        let [mut kept, mut undecided, mut unchecked, mut apart] = [const { Vec::new() }; 4];
        for part in parts {
            let (texts, text) = match part {
                Self::Broken(_) => return part,
                Self::Kept(text) => (&mut kept, text),
                Self::Undecided(text) => (&mut undecided, text),
                Self::NotChecked(text) => (&mut unchecked, text),
                Self::NotApplicable(text) => (&mut apart, text),
            };
            // What holds of two parts is said once.
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        if !undecided.is_empty() {
            return Self::Undecided(undecided.join("; "));
        }
        if !kept.is_empty() {
            let mut text = kept.join("; ");
            if !unchecked.is_empty() {
                text.push_str("; not checked: ");
                text.push_str(&unchecked.join(", "));
            }
            return Self::Kept(text);
        }
        if unchecked.is_empty() && !apart.is_empty() {
            return Self::NotApplicable(apart.join("; "));
        }
        Self::NotChecked(unchecked.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(why: &str) -> Judgement {
        Judgement::broken(why, [])
    }

    #[test]
    fn what_is_broken_in_a_part_is_broken_in_the_whole() {
        let parts = [
            Judgement::kept("a"),
            Judgement::undecided("b"),
            broken("c"),
            broken("d"),
        ];
        assert_eq!(Judgement::of_parts(parts), broken("c"));
    }

    #[test]
    fn what_is_undecided_in_a_part_is_never_kept_in_the_whole() {
        let parts = [Judgement::kept("a"), Judgement::undecided("b")];
        assert_eq!(Judgement::of_parts(parts), Judgement::undecided("b"));
    }

    #[test]
    fn what_was_not_checked_stands_beside_what_was_kept() {
        let parts = [Judgement::kept("a"), Judgement::NotChecked("b".into())];
        let whole = Judgement::of_parts(parts);
        assert_eq!(whole, Judgement::kept("a; not checked: b"));
    }

    #[test]
    fn nothing_checked_is_not_kept() {
        let whole = Judgement::of_parts([Judgement::NotChecked("a".into())]);
        assert_eq!(whole, Judgement::NotChecked("a".into()));
        let whole = Judgement::of_parts([Judgement::NotApplicable("a".into())]);
        assert_eq!(whole, Judgement::NotApplicable("a".into()));
        assert_eq!(Judgement::of_parts([]).as_str(), "not-checked");
    }
}
