//! Messages from phones: `STOP` and what follows from it.
//!
//! Owns the keywords, as in Twilio's "Support for opt-out keywords", who has opted out of what,
//! and telling the client that a message came in. What a send to such a number is answered is
//! decided where messages are accepted.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::{Deserialize, Serialize};

use crate::{
    core::Core,
    kept::Said,
    message::{push_hex, scramble},
    profile::numbers::Refused,
    tally::Count,
};

/// The number that is blocked under every profile: one that has opted out is refused in the same
/// way, with the profile's own code and words (Twilio's 21610 where it has none).
const BLOCKED: &str = "+15005550004";

/// A message from a phone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inbound {
    /// The phone.
    pub(crate) from: String,
    /// The sender's number that it answers; absent: all of them.
    #[serde(default)]
    pub(crate) to: Option<String>,
    /// Its words.
    pub(crate) body: String,
    /// Whose number that is; absent: any customer's.
    #[serde(default)]
    pub(crate) customer: Option<String>,
}

/// What a message asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Keyword {
    /// No more messages.
    Stop,
    /// Messages again.
    Start,
    /// An explanation; it changes nothing.
    Help,
}

const KEYWORDS: &[(&str, Keyword)] = &[
    ("STOP", Keyword::Stop),
    ("STOPALL", Keyword::Stop),
    ("UNSUBSCRIBE", Keyword::Stop),
    ("CANCEL", Keyword::Stop),
    ("END", Keyword::Stop),
    ("QUIT", Keyword::Stop),
    ("START", Keyword::Start),
    ("YES", Keyword::Start),
    ("UNSTOP", Keyword::Start),
    ("HELP", Keyword::Help),
    ("INFO", Keyword::Help),
];

/// The keyword that a message consists of. Only a message of the one word counts, in any case.
pub(crate) fn keyword(body: &str) -> Option<Keyword> {
    let word = body.trim();
    KEYWORDS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(word))
        .map(|(_, keyword)| *keyword)
}

/// Who has opted out.
#[derive(Debug, Default)]
pub(crate) struct OptOuts {
    /// Whether anybody has: until then a send costs one load.
    any: AtomicBool,
    of: RwLock<HashMap<String, Vec<Scope>>>,
    /// Inbound messages so far.
    count: Count,
}

/// Out of what.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scope {
    sender: Option<String>,
    customer: Option<String>,
}

/// Numbers are compared without the plus, which some APIs leave out.
fn bare(number: &str) -> &str {
    number.trim().trim_start_matches('+')
}

fn agree(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

impl OptOuts {
    /// Takes note of a message; which one it is, from 1.
    pub(crate) fn hear(&self, message: &Inbound, keyword: Option<Keyword>) -> u64 {
        let scope = Scope {
            sender: message.to.as_deref().map(|to| bare(to).to_owned()),
            customer: message.customer.clone(),
        };
        let mut all = self.of.write().unwrap_or_else(PoisonError::into_inner);
        match keyword {
            Some(Keyword::Stop) => {
                let of = all.entry(bare(&message.from).to_owned()).or_default();
                if !of.contains(&scope) {
                    of.push(scope);
                }
                self.any.store(true, Ordering::Release);
            }
            Some(Keyword::Start) => {
                if let Some(of) = all.get_mut(bare(&message.from)) {
                    of.retain(|known| {
                        !(agree(known.sender.as_deref(), scope.sender.as_deref())
                            && agree(known.customer.as_deref(), scope.customer.as_deref()))
                    });
                    if of.is_empty() {
                        all.remove(bare(&message.from));
                    }
                }
                self.any.store(!all.is_empty(), Ordering::Release);
            }
            Some(Keyword::Help) | None => {}
        }
        self.count.next()
    }

    /// Whether a send must not go out. One that names no sender would go out from the very number
    /// that was answered.
    pub(crate) fn block(&self, to: Option<&str>, sender: Option<&str>, customer: &str) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let all = self.of.read().unwrap_or_else(PoisonError::into_inner);
        to.and_then(|to| all.get(bare(to))).is_some_and(|of| {
            of.iter().any(|scope| {
                agree(scope.sender.as_deref(), sender.map(bare))
                    && agree(scope.customer.as_deref(), Some(customer))
            })
        })
    }

    pub(crate) fn forget(&self) {
        let mut all = self.of.write().unwrap_or_else(PoisonError::into_inner);
        all.clear();
        self.any.store(false, Ordering::Release);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.get()
    }
}

impl Core {
    /// How an attempt is refused whose recipient has opted out.
    pub(crate) fn opted_out(&self, said: Said<'_>) -> Option<&Refused> {
        if self.opt_outs.block(said.to, said.sender, said.customer) {
            self.profile.refusal(Some(BLOCKED), None)
        } else {
            None
        }
    }

    /// A phone has sent a message: notes what it asks for and tells the client.
    pub(crate) fn hear(self: &Arc<Self>, message: &Inbound) -> Option<Keyword> {
        let keyword = keyword(&message.body);
        let nth = self.opt_outs.hear(message, keyword);
        if self.webhooks.callback().is_some() && self.webhooks.has_room() {
            let mut event_id = String::from("evt_in_");
            push_hex(&mut event_id, scramble(self.seed ^ nth));
            let body = serde_json::json!({
                "type": "inbound",
                "event_id": event_id,
                "from": message.from,
                "to": message.to,
                "body": message.body,
                "keyword": keyword,
                "timestamp": self.clock.timestamp(self.clock.now()).to_string(),
            })
            .to_string();
            let core = self.clone();
            self.send_on(async move {
                core.webhooks.insist(&core, &body, 1, |_, _| {}).await;
            });
        }
        keyword
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHONE: &str = "+12025550142";
    const OURS: &str = "+12025550100";
    const THEIRS: &str = "+12025550101";

    fn hear(list: &OptOuts, to: Option<&str>, customer: Option<&str>, body: &str) {
        let message = Inbound {
            from: PHONE.into(),
            to: to.map(Into::into),
            body: body.into(),
            customer: customer.map(Into::into),
        };
        list.hear(&message, keyword(body));
    }

    #[test]
    fn only_the_word_alone_is_a_keyword() {
        for word in [
            "STOP",
            "stop",
            " Stop\n",
            "StopAll",
            "quit",
            "END",
            "cancel",
            "unsubscribe",
        ] {
            assert_eq!(keyword(word), Some(Keyword::Stop), "{word}");
        }
        for word in ["START", "unstop", "Yes"] {
            assert_eq!(keyword(word), Some(Keyword::Start), "{word}");
        }
        assert_eq!(keyword("help"), Some(Keyword::Help));
        for words in ["", "STOP PLEASE", "please stop", "STOP.", "STOPP"] {
            assert_eq!(keyword(words), None, "{words}");
        }
    }

    #[test]
    fn stop_holds_for_the_number_that_was_answered() {
        let list = OptOuts::default();
        hear(&list, Some(OURS), None, "STOP");
        assert!(list.block(Some(PHONE), Some(OURS), "default"));
        assert!(list.block(Some("12025550142"), Some("12025550100"), "default"));
        assert!(list.block(Some(PHONE), None, "default"));
        assert!(!list.block(Some(PHONE), Some(THEIRS), "default"));
        assert!(!list.block(Some(OURS), Some(OURS), "default"));
        assert!(!list.block(None, Some(OURS), "default"));
    }

    #[test]
    fn stop_to_a_customers_number_is_no_other_customers_business() {
        let list = OptOuts::default();
        hear(&list, None, Some("acme"), "STOP");
        assert!(list.block(Some(PHONE), None, "acme"));
        assert!(list.block(Some(PHONE), Some(THEIRS), "acme"));
        assert!(!list.block(Some(PHONE), None, "other"));
    }

    #[test]
    fn start_lets_messages_through_again_and_help_changes_nothing() {
        let list = OptOuts::default();
        hear(&list, Some(OURS), None, "STOP");
        hear(&list, Some(THEIRS), None, "STOP");
        hear(&list, Some(OURS), None, "HELP");
        assert!(list.block(Some(PHONE), Some(OURS), "default"));
        hear(&list, Some(OURS), None, "UNSTOP");
        assert!(!list.block(Some(PHONE), Some(OURS), "default"));
        assert!(list.block(Some(PHONE), Some(THEIRS), "default"));
        hear(&list, None, None, "START");
        assert!(!list.block(Some(PHONE), Some(THEIRS), "default"));
    }
}
