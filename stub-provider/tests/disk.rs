//! What is kept on disk outlives the provider.

mod lab;

use std::{path::Path, sync::Arc, time::Duration};

use lab::{
    Answer, LONG, OTHER, TO, Watch, ask, delivered,
    endpoint::{SECRET, endpoint, statuses, take},
    fault, get, message, post, rule, with_body,
};
use serde_json::{Value, json};
use stub_provider::{
    Config, LifeTimes, Profile, Provider, Quota, StoreConfig, WebhookTimes, event::EventKind,
    fault::MessageStatus,
};

const HOUR: Duration = Duration::from_hours(1);

fn kept_in(dir: &Path) -> Config {
    Config {
        store: StoreConfig::Disk {
            dir: dir.to_owned(),
            fsync: false,
        },
        ..Config::default()
    }
}

async fn start(dir: &Path) -> Provider {
    Provider::start(kept_in(dir))
        .await
        .expect("a provider that keeps what it knows")
}

async fn again(provider: Provider, dir: &Path) -> Provider {
    provider.stop().await;
    start(dir).await
}

async fn send(provider: &Provider, key: &str, to: &str) -> Answer {
    ask(provider.addr(), &post(Some(key), &message(to, "code 4711"))).await
}

async fn read(provider: &Provider, target: &str) -> Value {
    ask(provider.addr(), &get(target)).await.json()
}

#[tokio::test]
async fn a_restart_forgets_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = start(dir.path()).await;
    let mut watch = Watch::new(&first);
    let accepted = send(&first, "good", TO).await;
    // Twilio's number that is not valid: a stored error.
    let refused = send(&first, "bad", "+15005550001").await;
    assert_eq!((accepted.status, refused.status), (201, 400));
    let keyless = ask(first.addr(), &post(None, &message(OTHER, "no key"))).await;
    assert_eq!(keyless.status, 201);
    for attempt in 1..=3 {
        watch.end_of(attempt).await;
    }
    let before = (
        read(&first, "/admin/attempts").await,
        delivered(&first).await,
    );

    let second = again(first, dir.path()).await;
    let after = (
        read(&second, "/admin/attempts").await,
        delivered(&second).await,
    );
    assert_eq!(after.0, before.0);
    let facts = |delivered: &Value| {
        let mut delivered = delivered.clone();
        // The status goes on with time.
        for list in delivered.as_object_mut().expect("an object").values_mut() {
            list[0]["status"].take();
        }
        delivered
    };
    assert_eq!(facts(&after.1), facts(&before.1));

    for (key, to, stored) in [("good", TO, accepted), ("bad", "+15005550001", refused)] {
        let replay = send(&second, key, to).await;
        assert_eq!(replay.header("idempotent-replayed"), Some("true"));
        assert_eq!(replay.lasting(), stored.lasting());
    }
    assert_eq!(send(&second, "good", OTHER).await.status, 422);
    let id = read(&second, "/v1/messages?idempotency_key=good").await["messages"][0]["id"].take();
    let shown = read(
        &second,
        &format!("/v1/messages/{}", id.as_str().expect("an id")),
    )
    .await;
    assert_eq!(shown["idempotency_key"], "good");

    let store = read(&second, "/admin/store").await;
    assert_eq!(store["recovered"]["keys"], 2);
    assert_eq!(store["recovered"]["deliveries"], 2);
    assert_eq!(store["recovered"]["attempts"], 3);
    assert_eq!(store["recovered"]["torn_bytes_cut"], 0);
    second.stop().await;
}

#[tokio::test]
async fn numbers_and_counts_go_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = start(dir.path()).await;
    let one = send(&first, "one", TO).await.json();
    send(&first, "one", TO).await;
    let second = again(first, dir.path()).await;
    let two = send(&second, "two", TO).await.json();
    assert_ne!(one["id"], two["id"]);
    let attempts = read(&second, "/admin/attempts").await;
    let numbers: Vec<_> = attempts.as_array().expect("a list").iter().collect();
    let numbers: Vec<_> = numbers.iter().map(|attempt| &attempt["attempt"]).collect();
    assert_eq!(numbers, [1, 2, 3]);
    // The third attempt of its key, though the first that this process sees.
    let third = fault(&json!({ "respond": { "stage": "before-accept", "status": 503 } }));
    second.add_fault(rule(1, 3, third));
    assert_eq!(send(&second, "one", TO).await.status, 503);
    assert_eq!(send(&second, "one", TO).await.status, 201);
    second.stop().await;
}

#[tokio::test]
async fn a_key_is_kept_as_long_as_if_the_provider_had_never_been_away() {
    let dir = tempfile::tempdir().expect("a directory");
    let day = Duration::from_hours(24);
    let first = start(dir.path()).await;
    let advance = |by: &str| with_body("POST", "/admin/clock", &json!({ "advance": by }));
    ask(first.addr(), &advance("100h")).await;
    let accepted = send(&first, "otp", TO).await;
    ask(first.addr(), &advance("23h")).await;

    // The clock goes on where it was advanced to: neither back nor twice as far.
    let second = again(first, dir.path()).await;
    let replay = send(&second, "otp", TO).await;
    assert_eq!(replay.lasting(), accepted.clone().lasting());
    second
        .clock()
        .advance(day.saturating_sub(Duration::from_hours(23)));
    let next = send(&second, "otp", TO).await;
    assert_ne!(next.json()["id"], accepted.json()["id"]);

    let third = again(second, dir.path()).await;
    let replay = send(&third, "otp", TO).await;
    assert_eq!(replay.lasting(), next.lasting());
    let both = read(&third, "/v1/messages?idempotency_key=otp").await;
    assert_eq!(both["messages"].as_array().expect("a list").len(), 2);
    third.stop().await;
}

#[tokio::test]
async fn what_was_reset_or_forgotten_stays_so_and_numbers_go_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = start(dir.path()).await;
    let one = send(&first, "otp", TO).await.json();
    ask(first.addr(), &with_body("POST", "/admin/reset", &json!({}))).await;

    let second = again(first, dir.path()).await;
    assert_eq!(delivered(&second).await, json!({}));
    let two = send(&second, "otp", TO).await.json();
    assert_ne!(one["id"], two["id"]);
    // The provider crashes and loses its memory: the key is free, the delivery stays a fact.
    let mut watch = Watch::new(&second);
    second.add_fault(rule(
        1,
        2,
        fault(&json!({ "crash": { "stage": "before-accept", "for": "10ms", "memory": "lost" } })),
    ));
    let mut client = lab::Client::connect(second.addr()).await;
    client
        .send(&post(Some("otp"), &message(TO, "code 4711")))
        .await;
    watch
        .until(|kind| matches!(kind, EventKind::Restarted).then_some(()))
        .await;

    let third = again(second, dir.path()).await;
    assert_eq!(lab::buzzes(&third).await, 1);
    let next = send(&third, "otp", TO).await;
    assert_eq!(next.header("idempotent-replayed"), None);
    assert_ne!(next.json()["id"], two["id"]);
    third.stop().await;
}

#[tokio::test]
async fn a_stored_fault_is_what_replays_return_after_a_restart() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = start(dir.path()).await;
    for (key, stage) in [("early", "before-accept"), ("late", "after-accept")] {
        let respond = json!({ "respond": { "stage": stage, "status": 500, "stored": true,
            "headers": { "x-trace": "7" } } });
        let mut rule = rule(1, 1, fault(&respond));
        rule.key = Some(key.into());
        first.add_fault(rule);
    }
    let early = send(&first, "early", TO).await;
    let late = send(&first, "late", TO).await;
    assert_eq!((early.status, late.status), (500, 500));
    let second = again(first, dir.path()).await;
    for (key, stored) in [("early", early), ("late", late)] {
        let replay = send(&second, key, TO).await;
        assert_eq!(replay.header("x-trace"), Some("7"));
        assert_eq!(replay.lasting(), stored.lasting());
    }
    // The late one was accepted before it was answered wrongly.
    assert_eq!(lab::buzzes(&second).await, 1);
    second.stop().await;
}

#[tokio::test]
async fn a_client_that_hangs_up_changes_nothing_about_what_is_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = start(dir.path()).await;
    let mut watch = Watch::new(&first);
    let mut client = lab::Client::connect(first.addr()).await;
    client
        .send(&post(Some("otp"), &message(TO, "code 4711")))
        .await;
    client.reset();
    watch
        .until(|kind| matches!(kind, EventKind::Delivered { .. }).then_some(()))
        .await;
    let second = again(first, dir.path()).await;
    let replay = send(&second, "otp", TO).await;
    assert_eq!(replay.header("idempotent-replayed"), Some("true"));
    assert_eq!(lab::buzzes(&second).await, 1);
    second.stop().await;
}

#[tokio::test]
async fn equal_keys_at_once_are_one_delivery() {
    let dir = tempfile::tempdir().expect("a directory");
    let provider = start(dir.path()).await;
    let addr = provider.addr();
    let request = post(Some("otp"), &message(TO, "code 4711"));
    let all = (0..32).map(|_| {
        let request = request.clone();
        tokio::spawn(async move { ask(addr, &request).await.lasting() })
    });
    let mut answers = Vec::new();
    for one in all.collect::<Vec<_>>() {
        answers.push(
            tokio::time::timeout(LONG, one)
                .await
                .expect("in time")
                .expect("an answer"),
        );
    }
    answers.dedup();
    assert_eq!(answers.len(), 1);
    assert_eq!(lab::buzzes(&provider).await, 1);
    provider.stop().await;
}

#[tokio::test]
async fn a_directory_has_one_provider_at_a_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = start(dir.path()).await;
    let second = Provider::start(kept_in(dir.path())).await;
    let error = second.expect_err("the directory is taken").to_string();
    assert!(error.contains("in use by another provider"), "{error}");
    again(first, dir.path()).await.stop().await;
}

#[tokio::test]
async fn a_directory_of_another_provider_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = start(dir.path()).await;
    send(&first, "otp", TO).await;
    first.stop().await;
    let other_seed = Config {
        seed: 7,
        ..kept_in(dir.path())
    };
    let mine = include_str!("../profiles/v1.toml").replace("\"v1\"", "\"mine\"");
    let other_profile = Config {
        profile: Arc::new(Profile::parse(&mine, "mine.toml").expect("a profile")),
        ..kept_in(dir.path())
    };
    for (config, what) in [
        (other_seed, "the seed `0`"),
        (other_profile, "the profile `v1`"),
    ] {
        let refused = Provider::start(config).await;
        let error = refused.expect_err("it belongs to another").to_string();
        assert!(error.contains(what), "{error}");
    }
    let same = start(dir.path()).await;
    assert_eq!(lab::buzzes(&same).await, 1);
    same.stop().await;
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_with_its_name() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("provider.db"), "not a database".repeat(999)).expect("writable");
    let refused = Provider::start(kept_in(dir.path())).await;
    let error = refused.expect_err("it is no database").to_string();
    assert!(error.contains("provider.db"), "{error}");
}

#[tokio::test]
async fn who_has_opted_out_and_what_was_used_of_a_quota_is_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let limited = || {
        Provider::start(Config {
            quota: Quota {
                daily: Some(2),
                queue: Some(1),
                ..Quota::default()
            },
            life: LifeTimes {
                queued: Duration::from_mins(1),
                ..LifeTimes::default()
            },
            ..kept_in(dir.path())
        })
    };
    let first = limited().await.expect("a provider");
    let stop = json!({ "from": OTHER, "body": "STOP" });
    let heard = ask(first.addr(), &with_body("POST", "/admin/inbound", &stop)).await;
    assert_eq!(heard.status, 201);
    // From its midnight on the whole day is ahead.
    for key in ["yesterday", "too"] {
        assert_eq!(send(&first, key, TO).await.status, 201);
        first.clock().advance(Duration::from_mins(1));
    }
    let over = send(&first, "one", TO).await;
    let midnight = over.header("retry-after").expect("how long to wait");
    let midnight = midnight.parse().expect("whole seconds");
    first.clock().advance(Duration::from_secs(midnight));
    assert_eq!(send(&first, "one", TO).await.status, 201);
    first.stop().await;

    let second = limited().await.expect("a provider");
    let refused = send(&second, "out", OTHER).await;
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (400, &json!(21610))
    );
    let code = |answer: &Answer| (answer.status, answer.json()["code"].clone());
    // One is in the queue still; then the day has room for one more.
    assert_eq!(code(&send(&second, "two", TO).await), (429, json!(21611)));
    second.clock().advance(Duration::from_mins(1));
    assert_eq!(send(&second, "two", TO).await.status, 201);
    second.clock().advance(Duration::from_mins(1));
    assert_eq!(code(&send(&second, "three", TO).await), (429, json!(63038)));
    ask(
        second.addr(),
        &with_body("POST", "/admin/reset", &json!({})),
    )
    .await;
    second.stop().await;

    let third = limited().await.expect("a provider");
    assert_eq!(send(&third, "out", OTHER).await.status, 201);
    third.stop().await;
}

#[tokio::test]
async fn receipts_that_were_not_acknowledged_go_on_after_a_restart() {
    let dir = tempfile::tempdir().expect("a directory");
    let start = |url: String| {
        Provider::start(Config {
            callback: Some(url),
            webhook_secret: SECRET.into(),
            webhooks: WebhookTimes {
                retry_base: HOUR * 24,
                ..WebhookTimes::default()
            },
            // Every state an hour after the one before.
            life: LifeTimes {
                accepted: HOUR,
                queued: HOUR,
                sent: HOUR,
                validity: HOUR * 10,
            },
            ..kept_in(dir.path())
        })
    };
    let told = |kind: &EventKind| match kind {
        EventKind::ReceiptSent {
            event_id,
            status,
            attempt,
            answered,
            ..
        } => Some((*status, *attempt, *answered, event_id.clone())),
        _ => None,
    };

    let (url, _receipts) = endpoint(&[200, 503]).await;
    let first = start(url).await.expect("a provider");
    let mut watch = lab::Watch::new(&first);
    assert_eq!(send(&first, "one", TO).await.status, 201);
    first.clock().advance(HOUR * 2);
    let (status, _, answered, _) = watch.until(told).await;
    assert_eq!((status, answered), (MessageStatus::Queued, Some(200)));
    let (status, attempt, answered, refused) = watch.until(told).await;
    assert_eq!(
        (status, attempt, answered),
        (MessageStatus::Sent, 1, Some(503))
    );
    first.stop().await;

    let (url, mut receipts) = endpoint(&[]).await;
    let second = start(url.clone()).await.expect("a provider");
    let mut watch = lab::Watch::new(&second);
    second.clock().advance(HOUR);
    // What was acknowledged does not come again; what was not is the same event, tried again.
    let (status, attempt, answered, again) = watch.until(told).await;
    assert_eq!(
        (status, attempt, answered),
        (MessageStatus::Sent, 2, Some(200))
    );
    assert_eq!(again, refused);
    assert_eq!(watch.until(told).await.0, MessageStatus::Delivered);
    let taken = take(&mut receipts, 2).await;
    assert_eq!(statuses(&taken), ["sent", "delivered"]);
    second.stop().await;

    let third = start(url).await.expect("a provider");
    assert!(!third.has_work_under_way(), "everything was acknowledged");
    third.stop().await;
}
