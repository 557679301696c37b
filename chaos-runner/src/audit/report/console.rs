//! An audit as it goes, and its end, for people.

use std::{fmt::Write as _, time::Duration};

use owo_colors::OwoColorize as _;

use super::{shown, source, verdict};
use crate::{
    audit::{
        exchange::Exchange,
        judgement::Judgement,
        result::{Audited, Checked},
    },
    report::words::{WIDTH, cut, time, wrap},
};

/// How much of a body is shown, in columns of text.
const BODY: usize = 240;
/// Headers that say nothing about the message.
const DULL: [&str; 5] = ["connection", "content-length", "date", "host", "keep-alive"];
/// The width of a rule's name.
const NAME: usize = 19;

/// The line of one rule. Coloured.
#[must_use]
pub fn line(checked: &Checked) -> String {
    let judgement = &checked.judgement;
    let mark = match judgement {
        Judgement::Kept(_) => "✓".green().to_string(),
        Judgement::Broken(_) => "✗".red().bold().to_string(),
        Judgement::Undecided(_) => "?".yellow().to_string(),
        Judgement::NotChecked(_) | Judgement::NotApplicable(_) => "-".dimmed().to_string(),
    };
    let said = match judgement {
        Judgement::NotChecked(text) => format!("not checked: {text}"),
        Judgement::NotApplicable(text) => format!("does not apply: {text}"),
        other => other.text().to_owned(),
    };
    let mut text = String::new();
    for (nth, line) in wrap(&said, WIDTH - NAME - 5).into_iter().enumerate() {
        if nth == 0 {
            let _ = writeln!(text, "  {mark} {:<NAME$} {line}", checked.rule.id());
        } else {
            let _ = writeln!(text, "    {:<NAME$} {line}", "");
        }
    }
    text
}

/// Every exchange of one rule, a line each.
#[must_use]
pub fn exchanges(checked: &Checked) -> String {
    let mut text = String::new();
    for exchange in &checked.exchanges {
        let what = format!(
            "#{} {} {}: {}",
            exchange.number, exchange.request.method, exchange.request.target, exchange.what
        );
        let _ = writeln!(
            text,
            "      {:<58} {}",
            cut(&what, 58).dimmed().to_string(),
            cut(&exchange.result(), 30)
        );
    }
    text
}

/// The line that stands before all rules.
#[must_use]
pub fn heading(url: &str, profile: &str, title: &str) -> String {
    let mut text = String::new();
    for line in wrap(&format!("{url} as {profile}: {title}"), WIDTH) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// What is told when all is over: every broken promise with its proof, then counts and verdict.
#[must_use]
pub fn summary(audited: &Audited) -> String {
    let mut text = String::new();
    for checked in audited.broken() {
        rule_off(&mut text);
        broken(&mut text, checked);
    }
    rule_off(&mut text);
    let mut counts = Vec::new();
    for (word, said) in [
        ("broken", "broken"),
        ("inconclusive", "inconclusive"),
        ("kept", "kept"),
        ("not-checked", "not checked"),
        ("not-applicable", "not applicable"),
    ] {
        let count = audited.count(word);
        if count > 0 {
            let part = format!("{count} {said}");
            counts.push(match word {
                "broken" => part.red().bold().to_string(),
                "inconclusive" => part.yellow().to_string(),
                "kept" => part.green().to_string(),
                _ => part,
            });
        }
    }
    let _ = writeln!(
        text,
        "{} in {}\n{} as {}, seed {}",
        counts.join(", "),
        time(audited.duration),
        audited.url,
        audited.profile,
        audited.seed
    );
    for line in wrap(&verdict(audited), WIDTH) {
        let _ = writeln!(text, "{}", line.bold());
    }
    text
}

fn rule_off(text: &mut String) {
    let _ = writeln!(text, "{}", "─".repeat(WIDTH).dimmed());
}

/// A broken promise, told in full.
pub(super) fn broken(text: &mut String, checked: &Checked) {
    let _ = writeln!(text, "{} (broken)", checked.rule.id().red().bold());
    labelled(text, "promised", checked.rule.sentence());
    labelled(text, "seen", checked.judgement.text());
    labelled(text, "source", &source(checked));
    for exchange in checked.proof().take(2) {
        let _ = writeln!(text);
        proof(text, exchange);
    }
}

fn labelled(text: &mut String, label: &str, what: &str) {
    for (nth, line) in wrap(what, WIDTH - 12).into_iter().enumerate() {
        let label = if nth == 0 { label } else { "" };
        let _ = writeln!(text, "  {label:<9} {line}");
    }
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

/// One exchange, with its head and a piece of each body.
fn proof(text: &mut String, exchange: &Exchange) {
    let request = &exchange.request;
    let first = format!(
        "#{} {} {} ({})",
        exchange.number, request.method, request.target, exchange.what
    );
    let _ = writeln!(
        text,
        "  {:<62} {:>15}",
        cut(&first, 62).bold().to_string(),
        millis(exchange.began)
    );
    headers(text, shown(request));
    body(text, &request.body);
    let took = millis(exchange.ended.saturating_sub(exchange.began));
    let _ = writeln!(text, "   → {} after {took}", exchange.result());
    if let Some(answer) = exchange.answer() {
        let lines = answer.headers.iter();
        headers(
            text,
            lines.map(|(name, value)| (name.as_str(), value.as_str())),
        );
        body(text, &answer.body);
    }
}

fn headers<'a>(text: &mut String, lines: impl Iterator<Item = (&'a str, &'a str)>) {
    for (name, value) in lines {
        if !DULL.contains(&name) {
            let _ = writeln!(text, "     {}", cut(&format!("{name}: {value}"), WIDTH - 5));
        }
    }
}

fn body(text: &mut String, body: &[u8]) {
    let body = String::from_utf8_lossy(body).replace(['\n', '\r'], " ");
    for line in wrap(&cut(&body, BODY), WIDTH - 5) {
        let _ = writeln!(text, "     {line}");
    }
}
