//! `audit`: does a *provider* keep what its profile promises about idempotency keys?
//!
//! Data flows one way: a [`bench`] sends requests and records each [`exchange`]; a rule judges
//! what it observed by a [`promise`], with a function of plain data; the [`result`] is told by
//! [`report`]. The audit knows a provider by its URL and its profile, and by nothing else.
//!
//! | what | where |
//! |---|---|
//! | the rules, one file each | [`rule`] |
//! | what is promised; the API it is promised for | [`promise`], `api` |
//! | bytes out and in | `bench`, `wire`, `answer`, [`target`] |
//! | pieces of judgements | [`judgement`], [`effects`], `stored` |
//! | faults and clock of a provider that is made for tests | [`admin`] |

pub mod admin;
mod answer;
mod api;
mod bench;
pub mod effects;
pub mod exchange;
mod invent;
pub mod judgement;
#[cfg(test)]
mod made;
pub mod promise;
pub mod report;
pub mod result;
pub mod rule;
mod stored;
pub mod target;
mod wire;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use stub_provider::Profile;
use tokio_util::sync::CancellationToken;

use self::{
    admin::Admin,
    api::Api,
    bench::Bench,
    exchange::Exchange,
    judgement::Judgement,
    result::{Audited, Checked},
    rule::Rule,
    target::Target,
};

/// The page about audits, in Markdown: its text, an example and the rules.
#[must_use]
pub fn reference() -> String {
    include_str!("reference.md")
        .replace("{{example}}", include_str!("example.txt").trim_end())
        .replace("{{rules}}", &rule::table())
}

/// What an audit is asked to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The provider.
    pub target: Target,
    /// The rules to check, in their order.
    pub rules: Vec<Rule>,
    /// The seed of keys, numbers and words.
    pub seed: u64,
    /// Whose credential requests bear.
    pub customer: String,
    /// Another customer's credential; `None`: customers are not told apart.
    pub customer_2: Option<String>,
    /// The number that every message goes to; `None`: numbers that are kept free for fiction.
    pub to: Option<String>,
    /// The number that messages come from.
    pub from: String,
    /// How long one exchange may take.
    pub timeout: Duration,
    /// How many requests are sent at once.
    pub concurrency: usize,
    /// The admin API of a provider that is made for tests.
    pub admin: Option<Admin>,
    /// Where its clock can be moved, if that is elsewhere.
    pub clock: Option<Target>,
    /// A command for `sh` that restarts the provider and returns when it is back.
    pub restart: Option<String>,
}

impl Options {
    /// Where the provider's clock can be moved.
    fn clock(&self) -> Option<Target> {
        self.clock
            .clone()
            .or_else(|| self.admin.as_ref().map(Admin::clock))
    }
}

/// Puts a provider to the test, rule by rule; `tell` hears of each rule as it is judged. A
/// cancelled audit ends before its next rule.
pub async fn audit(
    options: Options,
    profile: Arc<Profile>,
    cancel: CancellationToken,
    tell: &mut dyn FnMut(&Checked),
) -> Audited {
    let began = Instant::now();
    let mut audited = Audited {
        url: options.target.url(),
        profile: profile.name().to_owned(),
        title: profile.title().to_owned(),
        seed: options.seed,
        first: None,
        keyless: false,
        rules: Vec::new(),
        interrupted: false,
        duration: Duration::ZERO,
    };
    let rules = options.rules.clone();
    let api = Api::new(profile);
    let Some(promise) = api.promise() else {
        audited.keyless = true;
        for rule in rules {
            let judgement = Judgement::NotApplicable(
                "the API takes no key: a retry after a lost answer can send the message again"
                    .to_owned(),
            );
            let checked = api.checked(rule, judgement);
            tell(&checked);
            audited.rules.push(checked);
        }
        return audited;
    };
    let bench = Bench::new(options, api, promise);
    let mut work = async || {
        let plain = plain(&bench).await;
        bench.take_record();
        audited.first = Some(plain.0.clone());
        for rule in &rules {
            let began = Instant::now();
            let judgement = match &plain.1 {
                Ok(()) => rule.check(&bench).await,
                Err(why) => Judgement::Undecided(why.clone()),
            };
            let mut checked = bench.api.checked(*rule, judgement);
            checked.exchanges = bench.take_record();
            checked.duration = began.elapsed();
            tell(&checked);
            audited.rules.push(checked);
        }
    };
    let interrupted = tokio::select! {
        () = work() => false,
        () = cancel.cancelled() => true,
    };
    audited.interrupted = interrupted;
    audited.duration = began.elapsed();
    audited
}

/// One plain message under a new key: where that does not work, nothing else can be judged.
async fn plain(bench: &Bench) -> (Exchange, Result<(), String>) {
    let sent = bench.api.compose(&bench.draft());
    let first = bench.send("one plain message", &sent).await;
    let judged = match stored::accepted_anew(&bench.promise, &first) {
        Judgement::Kept(_) => Ok(()),
        Judgement::Broken(broken) if first.succeeded() => Err(format!(
            "the first plain message: {} (was this seed used before?)",
            broken.why
        )),
        _ => Err(format!(
            "the first plain message failed ({})",
            first.result()
        )),
    };
    (first, judged)
}
