//! [`Api`]: the provider's API as its profile describes it.
//!
//! Owns the way from a message to a request, from an answer to the message in it, and from a
//! profile to its [`Promise`]. It is the only part of the audit that knows profiles.

use std::{sync::Arc, time::Duration};

use stub_provider::{
    Profile,
    place::Place,
    profile::{self, Binds, KeyForm, KeyScope, Question, Rule as Promised, StatusClass},
};

use super::{
    exchange::{Answer, Sent},
    judgement::Judgement,
    promise::{Bound, InFlight, Missing, Promise, Quoting, Scope},
    result::Checked,
    rule::Rule,
};

/// One message to be sent.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) to: String,
    pub(super) text: String,
    pub(super) from: String,
    pub(super) key: Option<String>,
    pub(super) customer: String,
}

/// The provider's API as its profile describes it.
#[derive(Clone, Debug)]
pub(super) struct Api(Arc<Profile>);

impl Draft {
    fn as_profile(&self) -> profile::Draft<'_> {
        profile::Draft {
            to: &self.to,
            text: &self.text,
            from: &self.from,
            key: self.key.as_deref(),
            customer: &self.customer,
        }
    }

    /// How one asks for its messages.
    fn question(&self) -> Option<Question<'_>> {
        self.key.as_deref().map(Question::ByKey)
    }
}

impl From<profile::Composed> for Sent {
    fn from(composed: profile::Composed) -> Self {
        Self {
            method: composed.method.to_owned(),
            target: composed.target,
            headers: composed.headers,
            body: composed.body,
        }
    }
}

impl Api {
    pub(super) fn new(profile: Arc<Profile>) -> Self {
        Self(profile)
    }

    /// The draft as a request.
    pub(super) fn compose(&self, draft: &Draft) -> Sent {
        self.0.compose(&draft.as_profile()).into()
    }

    /// The draft with a key exactly as it is written here.
    pub(super) fn compose_as_written(&self, draft: &Draft, key: &str) -> Sent {
        let draft = draft.as_profile();
        self.0.compose_with_key_as_written(&draft, key).into()
    }

    /// The draft to another operation of the API; `None`: there is none.
    pub(super) fn compose_elsewhere(&self, draft: &Draft) -> Option<Sent> {
        let composed = self.0.compose_elsewhere(&draft.as_profile())?;
        Some(composed.into())
    }

    /// The question which messages there are under the draft's key; `None`: it cannot be asked.
    pub(super) fn compose_lookup(&self, draft: &Draft) -> Option<Sent> {
        let composed = self.0.compose_lookup(draft.question()?, &draft.customer)?;
        Some(composed.into())
    }

    /// The messages in the answer to that; `None`: it does not say.
    pub(super) fn listed(&self, draft: &Draft, answer: &Answer) -> Option<Vec<String>> {
        if answer.status == 404 {
            return Some(Vec::new());
        }
        self.0.listed_ids(draft.question()?, &answer.body)
    }

    /// The answer with the message that it names, and the status that counts.
    pub(super) fn read(&self, mut answer: Answer) -> Answer {
        answer.counts = self.0.message_status(answer.status, &answer.body);
        if answer.is_success() {
            answer.message = self.0.message_id(&answer.body);
        }
        answer
    }

    /// A key that is allowed, another for each number.
    pub(super) fn key(&self, number: u64) -> String {
        self.0.sample_key(number)
    }

    /// Keys that are not allowed, as they are written, each with what is wrong with it. Those
    /// that are only too long are another question.
    pub(super) fn malformed_keys(&self) -> Vec<(&'static str, String)> {
        let mut keys = self.0.malformed_keys();
        keys.retain(|(why, _)| *why != "too long");
        keys
    }

    /// A rule that was judged, with where the promise is documented.
    pub(super) fn checked(&self, rule: Rule, judgement: Judgement) -> Checked {
        let documented = |promised: &Promised| match rule {
            Rule::Replay | Rule::Concurrency | Rule::StoredErrors | Rule::Restart => {
                *promised == Promised::Replay
            }
            Rule::ResetDuringAnswer => matches!(promised, Promised::Replay | Promised::Key),
            Rule::Mismatch => matches!(promised, Promised::Mismatch | Promised::Binding),
            Rule::InFlight => *promised == Promised::InFlight,
            Rule::CustomerScope => *promised == Promised::Scope,
            Rule::KeyForm => matches!(promised, Promised::Missing | Promised::Malformed),
            Rule::KeyLength => *promised == Promised::Form,
            Rule::Retention => *promised == Promised::Retention,
        };
        let mut sources: Vec<String> = self
            .0
            .rules()
            .into_iter()
            .filter(|known| documented(&known.rule))
            .filter_map(|known| known.source?.url)
            // A page of this repository is no provider's document.
            .filter(|url| url.contains("://"))
            .collect();
        sources.dedup();
        Checked {
            rule,
            judgement,
            sources,
            exchanges: Vec::new(),
            duration: Duration::ZERO,
        }
    }

    /// What the profile promises; `None`: requests bear no key.
    pub(super) fn promise(&self) -> Option<Promise> {
        let profile = &self.0;
        let malformed = profile.malformed()?.status;
        let (least, most) = profile.key_lengths();
        let shaped = profile
            .malformed_keys()
            .iter()
            .any(|(why, _)| *why == "not a UUID");
        Some(Promise {
            header: match profile.key_place() {
                Place::Header(name) => Some(name.as_str().to_owned()),
                _ => None,
            },
            quoting: match profile.key_form() {
                KeyForm::Bare => Quoting::Bare,
                KeyForm::Quoted => Quoting::Quoted,
                KeyForm::Either => Quoting::Either,
            },
            empty_is_missing: least == 0,
            max_length: (!shaped).then_some(most),
            bound: match profile.binds() {
                Binds::Bytes => Bound::Bytes,
                Binds::Content => Bound::Content,
                Binds::Nothing => Bound::Nothing,
            },
            scope: match profile.scope() {
                KeyScope::Customer => Scope::Customer,
                KeyScope::CustomerAndOperation => Scope::CustomerAndOperation,
            },
            repeats: profile.used().is_none(),
            keeps_refusals: profile.keeps(StatusClass::Refused),
            keeps_failures: profile.keeps(StatusClass::Failed),
            missing: profile
                .missing()
                .map_or(Missing::Delivers, |answer| Missing::Refused(answer.status)),
            malformed,
            // Where nothing is bound there is no mismatch, and the number is never looked at.
            mismatch: profile.mismatch().map_or(422, |answer| answer.status),
            used: profile.used().map_or(409, |answer| answer.status),
            in_flight: profile
                .in_flight()
                .map_or(InFlight::Waits, |answer| InFlight::Refused(answer.status)),
            replay_mark: profile.replay_header().map(ToOwned::to_owned),
            retention: profile.retention(),
            refused: profile.refused_recipient().map(ToOwned::to_owned),
        })
    }
}
