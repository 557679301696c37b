//! A sequence diagram as an SVG file, for a README or an issue: light and dark, without script.

use std::fmt::Write as _;

use super::{
    sequence::{Drawn, Lifeline, Row, Sequence},
    words::cut,
};
use crate::{diagnosis::Finding, result::ScenarioResult};

const WIDTH: usize = 860;
const HEAD: usize = 92;
const ROW: usize = 32;
/// The width of a letter of the monospaced font at 12 px, in tenths of a pixel.
const LETTER: usize = 73;
/// The most letters of the two lines at the top.
const TITLE: usize = 112;

const STYLE: &str = "\
svg{--paper:#fff;--ink:#14181f;--quiet:#525b68;--line:#c3c9d1;--bad:#b3261e;--ground:#fde8e6;\
font:12px ui-monospace,\"Cascadia Mono\",\"DejaVu Sans Mono\",monospace}\
@media (prefers-color-scheme:dark){svg{--paper:#171a20;--ink:#e8eaee;--quiet:#a7b0be;--line:#454d5b;\
--bad:#ff8f86;--ground:#40201e}}\
text{fill:var(--ink);unicode-bidi:isolate}.kind{font-weight:700;fill:var(--bad)}.quiet{fill:var(--quiet)}\
.end{text-anchor:end}.mid{text-anchor:middle}.paper{fill:var(--paper)}.proof{fill:var(--ground)}\
.over{paint-order:stroke;stroke:var(--paper);stroke-width:4px}.proof~.over{stroke:var(--ground)}\
.mark{fill:var(--bad);font-weight:700}line,path{stroke:var(--ink);fill:none}.life{stroke:var(--line)}\
.lost{stroke:var(--bad)}";

/// The file for `finding`.
#[must_use]
pub fn document(scenario: &ScenarioResult, finding: &Finding, sequence: &Sequence) -> String {
    let height = HEAD + ROW * sequence.rows.len() + 34;
    let kind = finding.kind;
    let title = escaped(&format!("{kind}: {}", kind.wrong()));
    let shown = escaped(&cut(kind.wrong(), TITLE - kind.as_str().len() - 2));
    let seen_in = cut(&format!("{}: {}", scenario.name, scenario.title), TITLE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text x=\"16\" y=\"24\"><tspan class=\"kind\">{kind}</tspan>  {shown}</text>\n\
         <text class=\"quiet\" x=\"16\" y=\"44\">{}</text>\n",
        escaped(&seen_in)
    );
    for lifeline in Lifeline::ALL {
        let (x, to) = (column(lifeline), height - 30);
        let _ = writeln!(
            svg,
            "<text class=\"mid\" x=\"{x}\" y=\"74\">{}</text><line class=\"life\" x1=\"{x}\" y1=\"82\" \
             x2=\"{x}\" y2=\"{to}\"/>",
            lifeline.as_str()
        );
    }
    for (nth, row) in sequence.rows.iter().enumerate() {
        draw(&mut svg, row, HEAD + ROW * nth, sequence.proves(row));
    }
    let left_out = match sequence.left_out {
        0 => String::new(),
        more => format!("; {more} more events are not shown"),
    };
    let _ = writeln!(
        svg,
        "<text x=\"16\" y=\"{}\"><tspan class=\"mark\">►</tspan> proves it{left_out}</text>\n</svg>",
        height - 10
    );
    svg
}

fn column(lifeline: Lifeline) -> usize {
    match lifeline {
        Lifeline::Client => 130,
        Lifeline::Proxy => 350,
        Lifeline::Provider => 580,
        Lifeline::Phone => 800,
    }
}

fn draw(svg: &mut String, row: &Row, top: usize, proves: bool) {
    let (text_at, line_at) = (top + 14, top + 22);
    svg.push_str("<g>");
    if proves {
        let _ = write!(
            svg,
            "<rect class=\"proof\" x=\"8\" y=\"{top}\" width=\"{}\" height=\"{ROW}\" rx=\"4\"/>\
             <text class=\"mark\" x=\"92\" y=\"{}\">►</text>",
            WIDTH - 16,
            top + 19
        );
    }
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    let millis = row.at_us as f64 / 1_000.0;
    let _ = write!(
        svg,
        "<text class=\"quiet end\" x=\"86\" y=\"{}\">{millis:.1} ms</text>",
        top + 19
    );
    match &row.drawn {
        Drawn::Note { at, text } => {
            let x = column(*at) + 8;
            let room = (WIDTH - 12 - x) * 10 / LETTER;
            let (y, text) = (top + 19, escaped(&cut(text, room)));
            let _ = write!(
                svg,
                "<text class=\"over\" x=\"{x}\" y=\"{y}\">{text}</text>"
            );
        }
        Drawn::Arrow {
            from,
            to,
            label,
            lost,
        } => {
            let (from, to) = (column(*from), column(*to));
            let x = from.min(to) + 8;
            let room = (from.max(to) - x - 4) * 10 / LETTER;
            let class = if *lost { " class=\"lost\"" } else { "" };
            let back = if to > from { to - 7 } else { to + 7 };
            let head = if *lost {
                format!("M{} {}l8 8m0 -8l-8 8", to.min(back), line_at - 4)
            } else {
                format!(
                    "M{back} {}L{to} {line_at}L{back} {}",
                    line_at - 4,
                    line_at + 4
                )
            };
            let label = escaped(&cut(label, room));
            let _ = write!(
                svg,
                "<line{class} x1=\"{from}\" y1=\"{line_at}\" x2=\"{to}\" y2=\"{line_at}\"/>\
                 <path{class} d=\"{head}\"/><text class=\"over\" x=\"{x}\" y=\"{text_at}\">{label}</text>"
            );
        }
    }
    svg.push_str("</g>\n");
}

/// Text as XML takes it: what has a meaning there is escaped, and what XML 1.0 (section 2.2) does
/// not allow at all is replaced.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\t' | '\n' | '\r' => safe.push(' '),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::civil::date;

    use super::*;
    use crate::{
        history::{builder::tale, view::View},
        judgement::{BASELINE, judge_suite},
        result::{Rules, ScenarioRun},
    };

    fn drawn(key: &str) -> String {
        let run = |tale: crate::history::History| ScenarioRun::of(Arc::new(tale));
        let baseline = run(tale(BASELINE, 1).ask(1, Some("k")).accept().all_sent());
        let double = tale("hang", 1)
            .ask(1, Some(key))
            .deliver()
            .hang()
            .ask(1, Some("another"))
            .accept()
            .all_sent();
        let suite = judge_suite(&baseline, &[run(double)], &Rules::strict(date(2026, 1, 1)));
        let scenario = &suite.scenarios[0];
        let history = scenario.history.as_ref().expect("it ran");
        let finding = &scenario.findings[0];
        document(
            scenario,
            finding,
            &Sequence::of(&View::new(history), finding),
        )
    }

    #[test]
    fn a_double_send_is_drawn_with_its_proofs_marked() {
        insta::assert_snapshot!(drawn("8c5f2f4e"));
    }

    #[test]
    fn hostile_words_are_words_in_it() {
        let svg = drawn("</text><script>alert(1)</script>\u{1b}\u{0}&");
        assert!(!svg.contains("<script"), "{svg}");
        assert!(svg.contains("&lt;script&gt;"), "{svg}");
        assert!(!svg.contains(['\u{1b}', '\u{0}']));
    }
}
