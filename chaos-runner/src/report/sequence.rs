//! What passed between client, proxy, provider and phone, row by row.
//!
//! Owns the [`Row`]s of a sequence diagram: the text, the SVG files and the page draw the same
//! ones. How a row looks is theirs.

mod mishap;
mod reader;

use std::collections::HashMap;

use crate::{diagnosis::Finding, history::view::View};
use reader::{About, Reader};

/// More rows than this hide what matters.
pub const MOST: usize = 44;

/// Who takes part, from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lifeline {
    /// The client's process.
    Client,
    /// The proxy between them.
    Proxy,
    /// The provider.
    Provider,
    /// The phone.
    Phone,
}

impl Lifeline {
    /// Everyone, from left to right.
    pub const ALL: [Self; 4] = [Self::Client, Self::Proxy, Self::Provider, Self::Phone];

    /// The word above the line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Proxy => "proxy",
            Self::Provider => "provider",
            Self::Phone => "phone",
        }
    }
}

/// One row of a diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The event that it shows.
    pub seq: u64,
    /// When that was seen, in microseconds since the lab was opened.
    pub at_us: u64,
    /// What is drawn.
    pub drawn: Drawn,
}

/// What is drawn in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// From one to another.
    Arrow {
        /// From whom.
        from: Lifeline,
        /// To whom; where it is lost, how far it came.
        to: Lifeline,
        /// What is on the way.
        label: String,
        /// Whether it does not arrive.
        lost: bool,
    },
    /// A word at somebody's line.
    Note {
        /// At whose.
        at: Lifeline,
        /// The word.
        text: String,
    },
}

/// The rows of a diagram, with those marked that prove a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// The rows, in the order of observation.
    pub rows: Vec<Row>,
    /// The events that prove the finding.
    pub proofs: Vec<u64>,
    /// How many rows were left out.
    pub left_out: usize,
}

impl Sequence {
    /// The rows for the first intent of `finding`; for a finding of none, for the first cited
    /// request's. A long one keeps what is near the proofs.
    #[must_use]
    pub fn of(view: &View<'_>, finding: &Finding) -> Self {
        let intent = finding.intents.first().copied().or_else(|| {
            let cited = view.attempt(*finding.attempts.first()?)?;
            cited.intent
        });
        // Two intents that collide are shown together.
        let shown: Vec<u64> = view
            .attempts
            .iter()
            .filter(|a| a.intent == intent || finding.attempts.contains(&a.id))
            .map(|a| a.id)
            .collect();
        let reader = Reader::new(view);
        let events = view.history.events.iter();
        let rows = events.filter_map(|event| {
            let (about, row) = reader.row(event)?;
            let belongs = match about {
                About::Attempt(id) => shown.contains(&id),
                About::Intent(number) => Some(number) == intent,
                About::All => true,
            };
            belongs.then_some(row)
        });
        let mut sequence = Self {
            rows: rows.collect(),
            proofs: finding.evidence.clone(),
            left_out: 0,
        };
        sequence.shorten();
        sequence
    }

    /// Whether a row proves the finding.
    #[must_use]
    pub fn proves(&self, row: &Row) -> bool {
        self.proofs.contains(&row.seq)
    }

    fn shorten(&mut self) {
        if self.rows.len() <= MOST {
            return;
        }
        let before = self.rows.len();
        let near = |row: &Row| {
            let near = |seq: &u64| row.seq + 12 >= *seq && row.seq <= *seq + 8;
            self.proofs.iter().any(near)
        };
        self.rows = self.rows.iter().filter(|r| near(r)).cloned().collect();
        self.rows.truncate(MOST);
        self.left_out = before - self.rows.len();
    }
}

/// The rows of a whole history.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Those of each intent, by its number.
    pub by_intent: HashMap<usize, Vec<Row>>,
    /// Those of requests that belong to no intent.
    pub strays: Vec<Row>,
    /// Those that concern everyone: a provider that is gone, a worker that starts again.
    pub common: Vec<Row>,
}

impl Rows {
    /// Reads all of them.
    #[must_use]
    pub fn of(view: &View<'_>) -> Self {
        let reader = Reader::new(view);
        let mut rows = Self::default();
        for event in &view.history.events {
            let Some((about, row)) = reader.row(event) else {
                continue;
            };
            let intent = match about {
                About::Attempt(id) => view.attempt(id).and_then(|a| a.intent),
                About::Intent(number) => Some(number),
                About::All => {
                    rows.common.push(row);
                    continue;
                }
            };
            match intent {
                Some(number) => rows.by_intent.entry(number).or_default().push(row),
                None => rows.strays.push(row),
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnosis::Judged, history::builder::tale};

    #[test]
    fn every_row_of_a_history_belongs_to_one_intent_to_none_or_to_all() {
        let history = tale("rows", 2)
            .ask(1, Some("a"))
            .accept()
            .ask(2, Some("b"))
            .refuse(503)
            .ask(2, Some("b"))
            .kill()
            .accept()
            .stray()
            .answer(201)
            .all_sent();
        let judged = Judged::new(&history);
        let rows = Rows::of(&judged.view);
        let labels = |rows: &[Row]| -> Vec<String> {
            let label = |row: &Row| match &row.drawn {
                Drawn::Arrow { label, .. } => label.clone(),
                Drawn::Note { text, .. } => text.clone(),
            };
            rows.iter().map(label).collect()
        };
        let first = labels(&rows.by_intent[&1]);
        assert!(first.contains(&"#1 key a".to_owned()), "{first:?}");
        let second = labels(&rows.by_intent[&2]);
        assert!(second.contains(&"503 to #2".to_owned()), "{second:?}");
        assert_eq!(labels(&rows.strays), ["#4 key k-stray", "201 to #4"]);
        assert_eq!(
            labels(&rows.common),
            ["worker 1: kill", "worker 1 started again"]
        );
    }
}
