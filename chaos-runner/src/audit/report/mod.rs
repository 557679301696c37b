//! What people and programs read of an audit.
//!
//! Owns the console, JSON and `JUnit` reports, and hiding credentials in all of them.

pub mod console;
pub mod json;
pub mod junit;

use super::{
    exchange::Sent,
    result::{Audited, Checked},
    rule::DRAFT,
};

/// Where a rule comes from: the section of the draft, and the provider's own pages.
fn source(checked: &Checked) -> String {
    let mut words = format!("{DRAFT}, section {}", checked.rule.section());
    for url in &checked.sources {
        words.push_str("; ");
        words.push_str(url);
    }
    words
}

/// The headers of a request as reports may show them: a credential stays with who gave it.
fn shown(sent: &Sent) -> impl Iterator<Item = (&str, &str)> {
    const SECRET: [&str; 5] = [
        "authorization",
        "api-key",
        "apikey",
        "x-api-key",
        "x-auth-token",
    ];
    sent.headers.iter().map(|(name, value)| {
        let secret = SECRET.iter().any(|word| name.eq_ignore_ascii_case(word));
        (name.as_str(), if secret { "…" } else { value.as_str() })
    })
}

/// What an audit says in the end, in a sentence or two.
fn verdict(audited: &Audited) -> String {
    use crate::exit_code::ExitCode;
    if audited.keyless {
        return "Nothing to audit: this API takes no idempotency key, so a retry after a lost \
                answer can send the message a second time, and the provider cannot tell. After a \
                timeout look the message up before sending it again, or leave it to a person."
            .to_owned();
    }
    let list = |word: &str| {
        let named = audited.rules.iter();
        let named = named.filter(|checked| checked.judgement.as_str() == word);
        named.map(|c| c.rule.id()).collect::<Vec<_>>().join(", ")
    };
    match audited.exit_code() {
        ExitCode::Violation => format!(
            "The provider does not keep what `{}` promises: {}. A client must not rely on it.",
            audited.profile,
            list("broken")
        ),
        ExitCode::Inconclusive => format!(
            "Nothing is proven broken, and nothing can be said of {}: the reason stands beside it.",
            list("inconclusive")
        ),
        ExitCode::NothingRan => {
            "Nothing was checked, for the reasons that stand beside the rules.".to_owned()
        }
        ExitCode::Interrupted => {
            "The audit was interrupted: nothing is said of what was not checked.".to_owned()
        }
        _ => format!(
            "The provider keeps what `{}` promises, as far as it was checked.",
            audited.profile
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_shown_to_nobody() {
        let sent = Sent {
            method: "POST".into(),
            target: "/".into(),
            headers: vec![
                ("Authorization".into(), "Bearer secret".into()),
                ("idempotency-key".into(), "k".into()),
            ],
            body: Vec::new(),
        };
        let headers: Vec<(&str, &str)> = shown(&sent).collect();
        assert_eq!(headers, [("Authorization", "…"), ("idempotency-key", "k")]);
    }
}
