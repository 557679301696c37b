//! A run as GitHub Actions shows it: annotations at the scenario's line, and the step's summary.
//!
//! Owns the workflow commands (<https://docs.github.com/actions/reference/workflow-commands-for-github-actions>)
//! and their limits: ten annotations of a level are shown for a step, so there is one for each
//! kind of bug, not for each scenario; and a summary has at most 1 MiB.

use std::fmt::Write as _;

use super::{
    failure::{failure, provoked_at},
    summary::{clearest, counts, to_do},
    words::counted,
};
use crate::{
    bug_kind::BugKind,
    result::{ScenarioResult, SuiteResult},
    verdict::Verdict,
};

/// How many annotations of a level GitHub shows for a step.
const SHOWN: usize = 10;
/// What a summary may have, in bytes, with room to spare.
const SUMMARY: usize = 900_000;

/// One annotation a line, as workflow commands: errors by kind of bug, then what could not be
/// said.
#[must_use]
pub fn annotations(suite: &SuiteResult) -> String {
    let mut text = String::new();
    let kinds = suite.kinds();
    let (first, rest) = split(&kinds);
    for (kind, _, scenarios) in first {
        annotate_kind(&mut text, *kind, scenarios);
    }
    if !rest.is_empty() {
        let names: Vec<&str> = rest.iter().map(|(kind, ..)| kind.as_str()).collect();
        let said = format!("and {} more: {}", rest.len(), names.join(", "));
        command(&mut text, "error", None, "chaos-runner", &said);
    }
    let undecided: Vec<&ScenarioResult> = suite
        .all()
        .filter(|s| matches!(s.verdict, Verdict::Inconclusive(_)))
        .collect();
    let (first, rest) = split(&undecided);
    for scenario in first {
        let place = scenario.file.as_deref().map(|file| (file, 1));
        let why = scenario.verdict.reason().unwrap_or_default();
        let title = format!("{} is inconclusive", scenario.name);
        command(&mut text, "warning", place, &title, why);
    }
    if !rest.is_empty() {
        let said = format!("and {} more", counted(rest.len(), "scenario"));
        command(&mut text, "warning", None, "inconclusive", &said);
    }
    text
}

/// What has an annotation of its own, and what the last one has to name together.
fn split<T>(all: &[T]) -> (&[T], &[T]) {
    let own = if all.len() > SHOWN {
        SHOWN - 1
    } else {
        all.len()
    };
    all.split_at(own)
}

fn annotate_kind(text: &mut String, kind: BugKind, scenarios: &[&ScenarioResult]) {
    let Some((shown, others)) = clearest(scenarios, kind) else {
        return;
    };
    let Some(finding) = shown.counting().find(|f| f.kind == kind) else {
        return;
    };
    let place = provoked_at(shown, finding);
    let also = if others.is_empty() {
        String::new()
    } else {
        format!(" (and in {} more)", counted(others.len(), "scenario"))
    };
    let said = format!(
        "{} In {}{also}: {}. {}",
        kind.wrong(),
        shown.name,
        finding.detail,
        kind.remedy()
    );
    let place = place.as_ref().map(|(file, line)| (file.as_str(), *line));
    let title = format!("{kind} ({})", finding.severity);
    command(text, "error", place, &title, &said);
}

/// A workflow command. Where there is no file of the repository there is no place.
fn command(text: &mut String, level: &str, place: Option<(&str, usize)>, title: &str, said: &str) {
    let _ = write!(text, "::{level} ");
    if let Some((file, line)) = place {
        let _ = write!(text, "file={},line={line},", property(file));
    }
    let _ = writeln!(text, "title={}::{}", property(title), data(said));
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The step's summary in Markdown: the verdict, the kinds, and each kind with its diagram.
#[must_use]
pub fn step_summary(suite: &SuiteResult) -> String {
    let kinds = suite.kinds();
    let counts = plain(&counts(suite));
    let mut lines = counts.lines();
    let mut text = format!("## {}\n\n", lines.next().unwrap_or_default());
    for line in lines {
        let _ = writeln!(text, "{}\n", escaped(line));
    }
    let _ = writeln!(text, "{}\n", escaped(&to_do(suite)));
    if !kinds.is_empty() {
        text.push_str("| kind | severity | scenarios |\n|---|---|---|\n");
    }
    for (kind, severity, scenarios) in &kinds {
        let names: Vec<String> = scenarios.iter().map(|s| escaped(&s.name)).collect();
        let _ = writeln!(text, "| `{kind}` | {severity} | {} |", names.join(", "));
    }
    for (kind, _, scenarios) in &kinds {
        let Some((shown, others)) = clearest(scenarios, *kind) else {
            continue;
        };
        let Some(finding) = shown.counting().find(|f| f.kind == *kind) else {
            continue;
        };
        let told = plain(&failure(suite, shown, finding, &others));
        let fence = fence(&told);
        let part = format!(
            "\n<details open><summary><code>{kind}</code></summary>\n\n{fence}text\n{told}{fence}\n\n</details>\n"
        );
        if text.len() + part.len() > SUMMARY {
            text.push_str("\nThe others are in the report: there is no room for them here.\n");
            break;
        }
        text.push_str(&part);
    }
    let undecided: Vec<&ScenarioResult> = suite
        .all()
        .filter(|s| matches!(s.verdict, Verdict::Inconclusive(_)))
        .collect();
    if !undecided.is_empty() {
        text.push_str("\n| inconclusive | why |\n|---|---|\n");
    }
    for scenario in undecided {
        let why = escaped(scenario.verdict.reason().unwrap_or_default());
        let _ = writeln!(text, "| {} | {why} |", escaped(&scenario.name));
    }
    text
}

/// A fence that nothing in `text` closes.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Words that stay words in Markdown and in a cell of a table.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stays_one_line_whatever_it_says() {
        let mut text = String::new();
        command(
            &mut text,
            "error",
            Some(("a,b:c.toml", 7)),
            "100%: x",
            "one\r\ntwo::%0A",
        );
        assert_eq!(
            text,
            "::error file=a%2Cb%3Ac.toml,line=7,title=100%25%3A x::one%0D%0Atwo::%250A\n"
        );
    }

    #[test]
    fn ten_have_an_annotation_each_and_of_more_the_last_names_the_rest() {
        for (count, own) in [(0, 0), (10, 10), (11, 9), (40, 9)] {
            let all = vec![(); count];
            let (first, rest) = split(&all);
            assert_eq!((first.len(), rest.len()), (own, count - own));
        }
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        assert_eq!(fence("a"), "```");
        assert_eq!(fence("a ```` b"), "`````");
    }

    #[test]
    fn words_stay_words() {
        assert_eq!(escaped("<b>|`x`&"), "&lt;b>\\|\\`x\\`&amp;");
    }
}
