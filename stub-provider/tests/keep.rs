//! What goes first where not everything is kept, and what is said of it.

mod lab;

use std::num::NonZeroUsize;

use lab::{Client, OTHER, TO, Watch, ask, buzzes, get, message, post};
use stub_provider::{
    Config, HoldRule, Limits, Provider,
    attempts::Attempts,
    fault::{RequestKind, Stage},
};

/// A provider that keeps a few attempts, asked one request after the other.
struct Keeping {
    provider: Provider,
    watch: Watch,
    asked: u64,
}

impl Keeping {
    async fn of(attempts: usize) -> Self {
        let config = Config {
            limits: Limits {
                keep: NonZeroUsize::new(attempts),
                ..Limits::default()
            },
            ..Config::default()
        };
        let provider = Provider::start(config).await.expect("a provider");
        let watch = Watch::new(&provider);
        Self {
            provider,
            watch,
            asked: 0,
        }
    }

    /// What it answers, once the attempt is over.
    async fn ask(&mut self, request: &str) -> lab::Answer {
        let answer = ask(self.provider.addr(), request).await;
        self.asked += 1;
        self.watch.end_of(self.asked).await;
        answer
    }

    async fn send(&mut self, key: Option<&str>, to: &str) -> Vec<u8> {
        let answer = self.ask(&post(key, &message(to, "111"))).await;
        assert_eq!(answer.status, 201);
        answer.body
    }

    /// Whether a lookup of a key finds its message.
    async fn finds(&mut self, key: &str) -> bool {
        let lookup = get(&format!("/v1/messages?idempotency_key={key}"));
        let answer = self.ask(&lookup).await;
        assert!([200, 404].contains(&answer.status), "{}", answer.status);
        answer.status == 200
    }

    async fn counted(&self, metric: &str) -> u64 {
        let page = ask(self.provider.addr(), &get("/metrics")).await;
        let page = String::from_utf8(page.body).expect("text");
        let start = format!("stub_provider_{metric} ");
        let line = page.lines().find_map(|line| line.strip_prefix(&start));
        line.expect("the metric").parse().expect("a number")
    }

    /// How many attempts are on record, how many have gone, and how many keys too early.
    async fn counts(&self) -> [u64; 3] {
        [
            self.counted("attempts_on_record").await,
            self.counted("attempts_dropped_total").await,
            self.counted("keys_dropped_early_total").await,
        ]
    }
}

#[tokio::test]
async fn the_oldest_attempts_go_with_their_keys_and_messages_and_that_is_said() {
    let mut keeping = Keeping::of(2).await;
    let first = keeping.send(Some("k1"), TO).await;
    keeping.send(Some("k2"), TO).await;
    assert_eq!(keeping.counts().await, [2, 0, 0]);
    keeping.send(Some("k3"), TO).await;
    assert_eq!(keeping.counts().await, [2, 1, 1]);
    assert_eq!(buzzes(&keeping.provider).await, 2);
    // What the count warns of: a retry is a new message.
    assert_ne!(keeping.send(Some("k1"), TO).await, first);
}

#[tokio::test]
async fn a_key_and_its_message_are_known_for_as_long_as_its_last_attempt_is() {
    let mut keeping = Keeping::of(2).await;
    let first = keeping.send(Some("k1"), TO).await;
    for _ in 0..3 {
        assert_eq!(keeping.send(Some("k1"), TO).await, first);
    }
    // The attempt that was accepted has gone.
    assert_eq!(keeping.counts().await, [2, 2, 0]);
    assert!(keeping.finds("k1").await);
    assert_eq!(buzzes(&keeping.provider).await, 1);
    // Lookups are attempts, too.
    assert!(!keeping.finds("k1").await);
    assert_eq!(keeping.counts().await, [2, 4, 1]);
    assert_eq!(buzzes(&keeping.provider).await, 0);
}

#[tokio::test]
async fn a_key_whose_retention_is_over_goes_without_a_word() {
    let mut keeping = Keeping::of(1).await;
    keeping.send(Some("k1"), TO).await;
    let over = keeping.provider.retention();
    keeping.provider.clock().advance(over);
    keeping.send(Some("k2"), TO).await;
    assert_eq!(keeping.counts().await, [1, 1, 0]);
}

#[tokio::test]
async fn without_a_key_a_recipient_is_counted_anew_once_its_last_attempt_has_gone() {
    let mut keeping = Keeping::of(1).await;
    let mut ordinals = Vec::new();
    for to in [TO, TO, OTHER, TO] {
        keeping.send(None, to).await;
        let attempts = get("/admin/attempts");
        let attempts = ask(keeping.provider.addr(), &attempts).await.json();
        ordinals.push(attempts[0]["ordinal"].as_u64().expect("a number"));
    }
    assert_eq!(ordinals, [1, 2, 1, 1]);
    assert_eq!(keeping.counts().await, [1, 3, 0]);
}

#[tokio::test]
async fn an_attempt_that_is_not_over_stays_and_all_that_came_after_it() {
    let mut keeping = Keeping::of(1).await;
    let first = HoldRule {
        intent: None,
        attempts: Attempts::only(1),
        request: RequestKind::Submit,
    };
    keeping.provider.hold(Stage::AfterAccept, first);
    let mut client = Client::connect(keeping.provider.addr()).await;
    client.send(&post(Some("k1"), &message(TO, "111"))).await;
    keeping.asked = keeping.watch.held().await;
    for _ in 0..3 {
        assert!(keeping.finds("k1").await);
    }
    assert_eq!(keeping.counts().await, [4, 0, 0]);
    keeping.provider.release_all();
    assert_eq!(client.answer().await.status, 201);
    keeping.watch.end_of(1).await;
    assert!(!keeping.finds("k2").await);
    assert_eq!(keeping.counts().await, [1, 4, 1]);
}
