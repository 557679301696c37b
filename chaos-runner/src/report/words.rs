//! Small pieces of text that several reports share: times, commands, lines that fit.

use std::{fmt::Write as _, time::Duration};

use crate::result::{ScenarioResult, SuiteResult};

/// The width of what is printed, in columns.
pub const WIDTH: usize = 80;

/// A length of time, short: `0.42 s`, `1 min 5 s`.
#[must_use]
pub fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds >= 60 {
        format!("{} min {} s", seconds / 60, seconds % 60)
    } else {
        format!("{:.2} s", duration.as_secs_f64())
    }
}

/// `text`, cut at `width` columns with a sign that it was.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// `text` with what cannot be seen made visible: control characters as their pictures (Unicode
/// block Control Pictures), what turns the direction of writing as its number. What a client sent
/// neither drives a terminal nor reorders a line.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0'..='\u{1f}' => shown.extend(char::from_u32(0x2400 + u32::from(c))),
            '\u{7f}' => shown.push('\u{2421}'),
            '\u{80}'..='\u{9f}'
            | '\u{061c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}

/// `text` in lines of at most `width` columns, broken at spaces where there are any.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word = word;
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        while word.chars().count() > width {
            let at = word
                .char_indices()
                .nth(width)
                .map_or(word.len(), |(at, _)| at);
            lines.push(word[..at].to_owned());
            word = &word[at..];
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// `count` and its noun: `1 scenario`, `2 scenarios`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// The command that runs one scenario again.
#[must_use]
pub fn replay(suite: &SuiteResult, scenario: &ScenarioResult) -> String {
    // A file of the user's holds every value of its matrix; a name of the standard suite is one.
    let name = scenario.file.as_deref().unwrap_or(&scenario.name);
    command("run", &[name], suite.seed, &suite.client_words)
}

/// The command that runs everything again: the files and the scenarios of the standard suite that
/// were run. Where that is too long a line, the whole standard suite.
#[must_use]
pub fn replay_all(suite: &SuiteResult) -> String {
    const MOST: usize = 8;
    let mut names: Vec<&str> = Vec::new();
    for scenario in &suite.scenarios {
        let stem = scenario.name.split('[').next().unwrap_or(&scenario.name);
        let name = scenario.file.as_deref().unwrap_or(stem);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let files = suite.scenarios.iter().any(|s| s.file.is_some());
    if names.len() > MOST && !files {
        names.clear();
    }
    command("run", &names, suite.seed, &suite.client_words)
}

/// A command line that does something with these names under a seed, for a client that is chosen by
/// these words. What a shell would take for its own is quoted.
pub(super) fn command(verb: &str, names: &[&str], seed: u64, client_words: &[String]) -> String {
    let mut words = vec!["chaos-runner".to_owned(), verb.to_owned()];
    words.extend(names.iter().map(|name| quoted(name)));
    let seed = ["--seed".to_owned(), seed.to_string()];
    let client: Vec<String> = client_words.iter().map(|w| quoted(w)).collect();
    if client.first().is_some_and(|w| w == "--") {
        words.extend(seed);
        words.extend(client);
    } else {
        words.extend(client);
        words.extend(seed);
    }
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_long_words_at_the_width() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("", 4), Vec::<String>::new());
    }

    #[test]
    fn what_a_shell_would_take_for_its_own_is_quoted() {
        assert_eq!(quoted("hang"), "hang");
        assert_eq!(quoted("retryable[status=503]"), "'retryable[status=503]'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn what_drives_a_terminal_or_turns_a_line_is_shown() {
        assert_eq!(visible("a\u{1b}[31m\u{202e}b"), "a␛[31m⟨U+202E⟩b");
        assert_eq!(visible("Ключ 🙂"), "Ключ 🙂");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(time(Duration::from_millis(420)), "0.42 s");
        assert_eq!(time(Duration::from_secs(65)), "1 min 5 s");
    }
}
