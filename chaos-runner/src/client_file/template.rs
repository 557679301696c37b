//! [`Template`]: a text with placeholders, read once and filled in for each lab and message.
//!
//! Owns the placeholders' names, where each may stand, and their values. `{{` is a brace; a `}`
//! that closes nothing is itself.

use std::{collections::BTreeSet, fmt};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::{diagnostic::did_you_mean, intent::Intent};

/// A word in braces that is filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placeholder {
    /// The message's identity in the business.
    Intent,
    /// The customer on whose behalf it goes out.
    Customer,
    /// The recipient.
    To,
    /// The words.
    Body,
    /// When it becomes useless, RFC 3339 with fractions; empty where it never does.
    ExpiresAt,
    /// The key on which the caller insists; empty where it does not.
    Key,
    /// A word of the lab's own, to name a database by.
    Lab,
    /// The lab's own directory, absolute.
    WorkDir,
    /// A free port, for the client's own server.
    Port,
    /// The seed.
    Seed,
}

impl Placeholder {
    /// Every placeholder: those of a message first, then those of a lab.
    pub const ALL: [Self; 10] = [
        Self::Intent,
        Self::Customer,
        Self::To,
        Self::Body,
        Self::ExpiresAt,
        Self::Key,
        Self::Lab,
        Self::WorkDir,
        Self::Port,
        Self::Seed,
    ];

    /// Its name, as it stands between the braces.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Customer => "customer",
            Self::To => "to",
            Self::Body => "body",
            Self::ExpiresAt => "expires_at",
            Self::Key => "key",
            Self::Lab => "lab",
            Self::WorkDir => "work_dir",
            Self::Port => "port",
            Self::Seed => "seed",
        }
    }

    /// Whether it has a value only where a message is submitted.
    #[must_use]
    pub fn is_of_intent(self) -> bool {
        !matches!(self, Self::Lab | Self::WorkDir | Self::Port | Self::Seed)
    }
}

/// Where a template stands, which decides the placeholders that it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Once for each lab: only the lab's placeholders.
    Lab,
    /// Once for each message: all of them.
    Intent,
}

/// The values of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabValues {
    /// A unique word.
    pub lab: String,
    /// The lab's directory, absolute.
    pub work_dir: String,
    /// A free port on the loopback address.
    pub port: u16,
    /// The seed.
    pub seed: u64,
}

/// The values of a message that is being submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntentValues {
    intent: String,
    customer: String,
    to: String,
    body: String,
    expires_at: String,
    key: String,
}

impl IntentValues {
    /// The values of a message that is submitted at `now`, from which its expiry counts.
    #[must_use]
    pub fn new(intent: &Intent, now: Timestamp) -> Self {
        let expires_at = intent.expires_after.map_or_else(String::new, |after| {
            let after = SignedDuration::try_from(after).unwrap_or(SignedDuration::MAX);
            format!("{:.6}", now.saturating_add(after).unwrap_or(Timestamp::MAX))
        });
        Self {
            intent: intent.id.clone(),
            customer: intent.customer.clone(),
            to: intent.to.clone(),
            body: intent.body.clone(),
            expires_at,
            key: intent.key.clone().unwrap_or_default(),
        }
    }

    /// The line of JSON that a client with `stdin` reads, without the line's end. A message that
    /// never expires has `null` for `expires_at`.
    #[must_use]
    pub fn json_line(&self) -> String {
        json!({
            "intent": self.intent,
            "customer": self.customer,
            "to": self.to,
            "body": self.body,
            "expires_at": (!self.expires_at.is_empty()).then_some(&self.expires_at),
        })
        .to_string()
    }
}

/// The values for every placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// Those of the lab.
    pub lab: LabValues,
    /// Those of the message; `None` where none is being submitted.
    pub intent: Option<IntentValues>,
}

impl Values {
    /// The value of a placeholder; empty for a message's where none is being submitted.
    #[must_use]
    pub fn get(&self, placeholder: Placeholder) -> String {
        let of_intent =
            |value: fn(&IntentValues) -> &String| self.intent.as_ref().map(value).cloned();
        match placeholder {
            Placeholder::Intent => of_intent(|i| &i.intent).unwrap_or_default(),
            Placeholder::Customer => of_intent(|i| &i.customer).unwrap_or_default(),
            Placeholder::To => of_intent(|i| &i.to).unwrap_or_default(),
            Placeholder::Body => of_intent(|i| &i.body).unwrap_or_default(),
            Placeholder::ExpiresAt => of_intent(|i| &i.expires_at).unwrap_or_default(),
            Placeholder::Key => of_intent(|i| &i.key).unwrap_or_default(),
            Placeholder::Lab => self.lab.lab.clone(),
            Placeholder::WorkDir => self.lab.work_dir.clone(),
            Placeholder::Port => self.lab.port.to_string(),
            Placeholder::Seed => self.lab.seed.to_string(),
        }
    }

    /// The same values as variables of the environment: `CHAOS_TO`, `CHAOS_WORK_DIR`… A
    /// message's are there only where one is being submitted.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        Placeholder::ALL
            .into_iter()
            .filter(|p| self.intent.is_some() || !p.is_of_intent())
            .map(|p| (format!("CHAOS_{}", p.as_str().to_uppercase()), self.get(p)))
            .collect()
    }
}

/// A text with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Placeholder),
}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateError {
    /// The words to mark, as they stand in the text.
    pub(crate) marked: String,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Template {
    /// A text without placeholders, as it stands.
    #[must_use]
    pub fn plain(text: &str) -> Self {
        Self {
            parts: vec![Part::Text(text.to_owned())],
        }
    }

    pub(crate) fn parse(text: &str, scope: Scope) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, at) = rest.split_at(open);
            plain.push_str(before);
            if let Some(after) = at.strip_prefix("{{") {
                plain.push('{');
                rest = after;
                continue;
            }
            let Some(close) = at.find('}') else {
                return Err(TemplateError {
                    marked: at.to_owned(),
                    message: "a brace is opened and not closed".to_owned(),
                    help: "write {{ for a brace that is meant as one".to_owned(),
                });
            };
            let placeholder = find(&at[1..close], scope)?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Value(placeholder));
            rest = &at[close + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }

    /// The text with the values in place.
    #[must_use]
    pub fn render(&self, values: &Values) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Value(placeholder) => values.get(*placeholder),
            })
            .collect()
    }

    /// Whether the text begins with these words, whatever the placeholders are.
    #[must_use]
    pub fn begins_with(&self, words: &str) -> bool {
        matches!(self.parts.first(), Some(Part::Text(text)) if text.starts_with(words))
    }

    /// The placeholders that it uses.
    #[must_use]
    pub fn placeholders(&self) -> BTreeSet<Placeholder> {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Value(placeholder) => Some(*placeholder),
                Part::Text(_) => None,
            })
            .collect()
    }

    /// The text, where it is the same in every lab.
    pub(crate) fn fixed(&self) -> Option<String> {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                Part::Value(_) => None,
            })
            .collect()
    }

    /// The text before the first placeholder.
    pub(crate) fn beginning(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }
}

/// The template as a file has it.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Text(text) => f.write_str(&text.replace('{', "{{"))?,
                Part::Value(placeholder) => write!(f, "{{{}}}", placeholder.as_str())?,
            }
        }
        Ok(())
    }
}

fn find(name: &str, scope: Scope) -> Result<Placeholder, TemplateError> {
    let known = |p: &Placeholder| scope == Scope::Intent || !p.is_of_intent();
    let list = || {
        let names: Vec<String> = Placeholder::ALL
            .iter()
            .filter(|p| known(p))
            .map(|p| format!("{{{}}}", p.as_str()))
            .collect();
        names.join(", ")
    };
    let marked = format!("{{{name}}}");
    match Placeholder::ALL.iter().find(|p| p.as_str() == name) {
        Some(placeholder) if known(placeholder) => Ok(*placeholder),
        Some(_) => Err(TemplateError {
            message: format!("`{marked}` has no value here: this is not done for one message"),
            help: format!("known here: {}", list()),
            marked,
        }),
        None => {
            let guess = did_you_mean(name, Placeholder::ALL.iter().map(|p| p.as_str()))
                .map(|guess| format!("did you mean {{{guess}}}? "))
                .unwrap_or_default();
            Err(TemplateError {
                message: format!("`{marked}` is not a placeholder"),
                help: format!("{guess}Known here: {}; write {{{{ for a brace", list()),
                marked,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn values() -> Values {
        let intent = Intent {
            number: 1,
            id: "6f1c".into(),
            customer: "default".into(),
            to: "+12025550142".into(),
            body: "Your login code is 483920".into(),
            code: "483920".into(),
            expires_after: Some(Duration::from_millis(1500)),
            key: None,
        };
        let now = "2026-01-02T03:04:05Z".parse().expect("a timestamp");
        Values {
            lab: LabValues {
                lab: "lab7".into(),
                work_dir: "/tmp/lab7".into(),
                port: 4711,
                seed: 9,
            },
            intent: Some(IntentValues::new(&intent, now)),
        }
    }

    fn render(text: &str) -> String {
        Template::parse(text, Scope::Intent)
            .expect("a right template")
            .render(&values())
    }

    #[test]
    fn placeholders_are_filled_in() {
        assert_eq!(
            render("{lab}:{port} {to}={body}; {seed}"),
            "lab7:4711 +12025550142=Your login code is 483920; 9"
        );
        assert_eq!(render("{expires_at}"), "2026-01-02T03:04:06.500000Z");
        assert_eq!(render("<{key}>"), "<>");
    }

    #[test]
    fn two_braces_are_a_brace_and_a_closing_one_is_itself() {
        assert_eq!(render("{{\"to\": \"{to}\"}"), "{\"to\": \"+12025550142\"}");
        assert_eq!(render("{{to}"), "{to}");
    }

    #[test]
    fn what_is_not_a_placeholder_is_refused_with_the_one_that_was_meant() {
        let error = Template::parse("a {bdoy}", Scope::Intent).expect_err("a slip");
        assert_eq!(error.marked, "{bdoy}");
        assert!(error.help.contains("{body}"), "{}", error.help);
        assert!(Template::parse("{", Scope::Lab).is_err());
    }

    #[test]
    fn a_messages_placeholder_has_no_place_where_no_message_is_submitted() {
        assert!(Template::parse("{to}", Scope::Lab).is_err());
        assert!(Template::parse("{port}", Scope::Lab).is_ok());
    }

    #[test]
    fn the_environment_has_the_same_values() {
        let environment = values().environment();
        assert!(environment.contains(&("CHAOS_TO".into(), "+12025550142".into())));
        assert!(environment.contains(&("CHAOS_WORK_DIR".into(), "/tmp/lab7".into())));
        let lab = Values {
            intent: None,
            ..values()
        };
        assert!(lab.environment().iter().all(|(name, _)| name != "CHAOS_TO"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_what_is_read_is_printed_back(text in "\\PC*") {
            if let Ok(template) = Template::parse(&text, Scope::Intent) {
                let again = Template::parse(&template.to_string(), Scope::Intent);
                prop_assert_eq!(again, Ok(template));
            }
        }

        #[test]
        fn escaped_text_comes_out_as_it_went_in(text in "\\PC*") {
            prop_assert_eq!(render(&text.replace('{', "{{")), text);
        }
    }
}
