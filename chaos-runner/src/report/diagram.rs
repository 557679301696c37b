//! A sequence diagram in text, for a terminal: the events that prove a finding are marked.

use std::fmt::Write as _;

use super::{
    sequence::{Drawn, Lifeline, Row, Sequence},
    words::cut,
};
use crate::{diagnosis::Finding, history::view::View};

const END: usize = 79;

/// The diagram for `finding`.
#[must_use]
pub fn diagram(view: &View<'_>, finding: &Finding) -> String {
    let sequence = Sequence::of(view, finding);
    let mut text = header();
    for row in &sequence.rows {
        let mark = if sequence.proves(row) { '►' } else { ' ' };
        let _ = writeln!(text, "{}", line(row, mark));
    }
    if sequence.left_out > 0 {
        let _ = writeln!(text, "{:>12}  … {} more events", "", sequence.left_out);
    }
    let _ = writeln!(text, "{:>12}  ► proves it", "");
    text
}

/// Where a line stands.
fn column(lifeline: Lifeline) -> usize {
    match lifeline {
        Lifeline::Client => 14,
        Lifeline::Proxy => 34,
        Lifeline::Provider => 56,
        Lifeline::Phone => 74,
    }
}

fn header() -> String {
    let mut line = vec![' '; END];
    for lifeline in Lifeline::ALL {
        let name = lifeline.as_str();
        let from = column(lifeline).saturating_sub(name.len() / 2);
        for (at, c) in name.chars().enumerate() {
            if let Some(cell) = line.get_mut(from + at) {
                *cell = c;
            }
        }
    }
    let mut text: String = line.into_iter().collect();
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn line(row: &Row, mark: char) -> String {
    let mut cells = vec![' '; END];
    for lifeline in Lifeline::ALL {
        cells[column(lifeline)] = '│';
    }
    let mut put = |from: usize, text: &str| {
        for (at, c) in text.chars().enumerate() {
            if let Some(cell) = cells.get_mut(from + at) {
                *cell = c;
            }
        }
    };
    match &row.drawn {
        Drawn::Arrow {
            from,
            to,
            label,
            lost,
        } => {
            let (from, to) = (column(*from), column(*to));
            let (low, high) = (from.min(to) + 1, from.max(to) - 1);
            put(low, &"─".repeat(high - low + 1));
            let head = if *lost {
                '✗'
            } else if to > from {
                '▶'
            } else {
                '◀'
            };
            put(if to > from { high } else { low }, &head.to_string());
            let room = high.saturating_sub(low + 4);
            put(low + 2, &format!(" {} ", cut(label, room)));
        }
        Drawn::Note { at, text } => {
            let at = column(*at);
            let room = END - at - 2;
            put(at + 2, &cut(text, room));
        }
    }
    let client = column(Lifeline::Client);
    let mut drawn: String = cells.into_iter().skip(client).collect();
    drawn.truncate(drawn.trim_end().len());
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    let millis = row.at_us as f64 / 1_000.0;
    format!("{millis:>8.1} ms {mark} {drawn}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnosis::{Judged, diagnose},
        history::builder::{tale, toxic},
        report::sequence::MOST,
    };

    #[test]
    fn a_double_send_is_drawn_with_its_proofs_marked_in_eighty_columns() {
        let history = tale("timeout-after-accept", 1)
            .ask(1, Some("a"))
            .refuse(503)
            .ask(1, Some("b"))
            .deliver()
            .suffer(toxic(crate::fault::ToxicKind::Timeout))
            .answer(201)
            .wait(300)
            .ask(1, Some("c"))
            .accept()
            .all_sent();
        let judged = [Judged::new(&history)];
        let findings = diagnose(&judged);
        let drawn = diagram(&judged[0].view, &findings[0]);
        assert!(drawn.lines().all(|l| l.chars().count() <= 80), "{drawn}");
        insta::assert_snapshot!(drawn);
    }

    #[test]
    fn a_long_history_is_shortened_around_its_proofs() {
        let mut t = tale("long", 1);
        for k in 0..60 {
            t = t.ask(1, Some(&format!("k{k}"))).refuse(503);
        }
        let history = t.settle();
        let judged = [Judged::new(&history)];
        let findings = diagnose(&judged);
        let drawn = diagram(&judged[0].view, &findings[0]);
        assert!(drawn.lines().count() <= MOST + 3, "{drawn}");
        assert!(drawn.contains("more events") && drawn.contains('►'));
    }
}
