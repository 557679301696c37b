//! A provider that speaks a profile, and what every answer of it is compared with.

use std::sync::Arc;

use serde_json::Value;
use stub_provider::{
    Config, Profile, Provider,
    profile::{Composed, Draft, ErrorAnswer},
};

use crate::lab::{Answer, TO, ask, buzzes, wire};

/// A provider that speaks a profile, and a client of it.
pub(crate) struct Bench {
    pub(crate) name: String,
    pub(crate) profile: Arc<Profile>,
    pub(crate) provider: Provider,
    pub(crate) key: String,
}

impl Bench {
    pub(crate) async fn open(profile: Arc<Profile>) -> Self {
        let config = Config {
            profile: profile.clone(),
            ..Config::default()
        };
        Self {
            name: profile.name().to_owned(),
            provider: Provider::start(config).await.expect("a provider"),
            key: profile.sample_key(1),
            profile,
        }
    }

    /// One for each built-in profile.
    pub(crate) async fn each() -> Vec<Self> {
        let mut all = Vec::new();
        for name in Profile::names() {
            let profile = Profile::builtin(name).expect("a built-in profile");
            all.push(Self::open(profile).await);
        }
        all
    }

    /// One for each that has a key.
    pub(crate) async fn keyed() -> Vec<Self> {
        let mut all = Self::each().await;
        all.retain(|bench| bench.profile.has_key());
        all
    }

    pub(crate) fn draft(&self) -> Draft<'_> {
        Draft {
            to: TO,
            text: "Your code is 471142",
            from: "+12025550100",
            key: Some(self.key.as_str()).filter(|_| self.profile.has_key()),
            customer: "acme",
        }
    }

    pub(crate) async fn send(&self, draft: &Draft<'_>) -> Answer {
        self.ask(&self.profile.compose(draft)).await
    }

    pub(crate) async fn ask(&self, composed: &Composed) -> Answer {
        ask(self.provider.addr(), &wire(composed)).await
    }

    pub(crate) async fn buzzes(&self) -> usize {
        buzzes(&self.provider).await
    }

    pub(crate) fn status(&self, answer: &Answer) -> u16 {
        self.profile.message_status(answer.status, &answer.body)
    }

    pub(crate) fn replayed(&self, answer: &Answer) -> bool {
        let header = self.profile.replay_header();
        header.is_some_and(|name| answer.header(name) == Some("true"))
    }

    pub(crate) fn assert_accepted(&self, answer: &Answer) {
        let said = String::from_utf8_lossy(&answer.body);
        assert_eq!(
            answer.status,
            self.profile.success(),
            "{}: {said}",
            self.name
        );
        assert!(
            self.profile.message_id(&answer.body).is_some(),
            "{}: {said}",
            self.name
        );
        assert!(!self.replayed(answer), "{}: {said}", self.name);
    }

    pub(crate) fn assert_error(&self, answer: &Answer, expected: &ErrorAnswer) {
        let said = String::from_utf8_lossy(&answer.body);
        assert_eq!(
            self.status(answer),
            expected.status,
            "{}: {said}",
            self.name
        );
        let wait = expected.retry_after.map(|wait| wait.as_secs().to_string());
        assert_eq!(
            answer.header("retry-after"),
            wait.as_deref(),
            "{}",
            self.name
        );
        if let Some(code) = &expected.code {
            assert!(said.contains(code.as_str()), "{}: {said}", self.name);
        }
        assert!(!self.replayed(answer), "{}", self.name);
        serde_json::from_slice::<Value>(&answer.body).expect("an error is JSON");
    }

    /// The answer to a second request under a key that was answered by `first`.
    pub(crate) fn assert_second(&self, first: &Answer, second: &Answer) {
        if let Some(used) = self.profile.used() {
            return self.assert_error(second, &used);
        }
        assert_eq!(second.status, first.status, "{}", self.name);
        assert_eq!(second.body, first.body, "{}: byte for byte", self.name);
        let marked = self.profile.replay_header().is_some();
        assert_eq!(self.replayed(second), marked, "{}", self.name);
    }
}
