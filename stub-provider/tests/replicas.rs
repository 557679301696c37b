//! Several providers on one `PostgreSQL` database are one provider.
//!
//! They need a server: `scripts/postgres.sh` starts one and says where it is in `CHAOS_POSTGRES`.
//! `STUB_REPLICA_ROUNDS=100` kills a replica that often.

mod lab;

use std::{
    net::SocketAddr,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use lab::{
    Answer, LONG, OTHER, TO, ask, buzzes, delivered, fault, get, message, post, process::Process,
    rule, with_body,
};
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, postgres::PgConnectOptions};
use stub_provider::{Config, Profile, Provider, StoreConfig};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

static DATABASES: AtomicU32 = AtomicU32::new(0);

/// A database of its own.
async fn database() -> String {
    let server = std::env::var("CHAOS_POSTGRES").expect("a server: see scripts/postgres.sh");
    let options: PgConnectOptions = format!("{server}/postgres").parse().expect("an address");
    let mut admin = options.connect().await.expect("the server");
    let number = DATABASES.fetch_add(1, Ordering::Relaxed);
    let name = format!("stub_{}_{number}", process::id());
    admin
        .execute(format!("create database {name}").as_str())
        .await
        .expect("a database");
    admin.close().await.expect("closed");
    format!("{server}/{name}")
}

fn shared(url: &str, connections: u32) -> Config {
    Config {
        store: StoreConfig::Shared {
            url: url.to_owned(),
            connections,
        },
        ..Config::default()
    }
}

async fn replica(url: &str) -> Provider {
    Provider::start(shared(url, 4)).await.expect("a replica")
}

async fn send(provider: &Provider, key: &str, to: &str) -> Answer {
    ask(provider.addr(), &post(Some(key), &message(to, "code 4711"))).await
}

async fn read(provider: &Provider, target: &str) -> Value {
    ask(provider.addr(), &get(target)).await.json()
}

/// Deliveries without their status, which goes on with time.
fn facts(mut delivered: Value) -> Value {
    for list in delivered.as_object_mut().expect("an object").values_mut() {
        for one in list.as_array_mut().expect("a list") {
            one["status"].take();
        }
    }
    delivered
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn what_one_replica_accepts_all_of_them_know() {
    let url = database().await;
    let (one, two) = tokio::join!(replica(&url), replica(&url));
    let accepted = send(&one, "otp", TO).await;
    let refused = send(&two, "bad", "+15005550001").await;
    assert_eq!((accepted.status, refused.status), (201, 400));
    for (provider, key, to, first) in [
        (&two, "otp", TO, &accepted),
        (&one, "bad", "+15005550001", &refused),
    ] {
        let replay = send(provider, key, to).await;
        assert_eq!(replay.header("idempotent-replayed"), Some("true"));
        assert_eq!(replay.lasting(), first.clone().lasting());
    }
    assert_eq!(send(&two, "otp", OTHER).await.status, 422);
    let next = send(&two, "next", TO).await;
    assert_ne!(next.json()["id"], accepted.json()["id"]);
    ask(two.addr(), &post(None, &message(OTHER, "no key"))).await;

    assert_eq!(facts(delivered(&one).await), facts(delivered(&two).await));
    assert_eq!(buzzes(&one).await, 3);
    let id = accepted.json()["id"].as_str().expect("an id").to_owned();
    assert_eq!(
        read(&two, &format!("/v1/messages/{id}")).await["id"],
        id.as_str()
    );
    let under = read(&two, "/v1/messages?idempotency_key=otp").await;
    assert_eq!(under["messages"][0]["id"], id.as_str());
    let missing = ask(two.addr(), &get("/v1/messages?idempotency_key=none")).await;
    assert_eq!(missing.status, 404);
    let attempts = read(&one, "/admin/attempts").await;
    let attempts = attempts.as_array().expect("a list");
    let of_otp: Vec<_> = attempts
        .iter()
        .filter(|one| one["idempotency_key"] == "otp" && one["request"] == "submit")
        .map(|one| one["ordinal"].as_u64().expect("a number"))
        .collect();
    assert_eq!(of_otp, [1, 2, 3]);
    let messages = read(&one, "/admin/messages?idempotency_key=next").await;
    assert_eq!(messages.as_array().expect("a list").len(), 1);
    one.stop().await;
    two.stop().await;
    // And whoever comes later.
    let three = replica(&url).await;
    assert_eq!(send(&three, "otp", TO).await.lasting(), accepted.lasting());
    three.stop().await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn attempt_k_is_the_same_attempt_for_all_replicas() {
    let url = database().await;
    let (one, two) = tokio::join!(replica(&url), replica(&url));
    let unavailable = json!({ "respond": { "stage": "before-accept", "status": 503 } });
    for provider in [&one, &two] {
        provider.add_fault(rule(1, 2, fault(&unavailable)));
    }
    assert_eq!(send(&one, "otp", TO).await.status, 201);
    assert_eq!(send(&two, "otp", TO).await.status, 503);
    assert_eq!(send(&two, "otp", TO).await.status, 201);
    assert_eq!(buzzes(&one).await, 1);
    one.stop().await;
    two.stop().await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn all_replicas_live_by_one_clock() {
    let url = database().await;
    let (one, two) = tokio::join!(replica(&url), replica(&url));
    let accepted = send(&one, "otp", TO).await;
    let advance = with_body("POST", "/admin/clock", &json!({ "advance": "23h" }));
    ask(two.addr(), &advance).await;
    assert_eq!(
        send(&one, "otp", TO).await.lasting(),
        accepted.clone().lasting()
    );
    ask(one.addr(), &advance).await;
    let next = send(&two, "otp", TO).await;
    assert_ne!(next.json()["id"], accepted.json()["id"]);
    let three = replica(&url).await;
    assert_eq!(send(&three, "otp", TO).await.lasting(), next.lasting());
    let both = read(&three, "/v1/messages?idempotency_key=otp").await;
    assert_eq!(both["messages"].as_array().expect("a list").len(), 2);
    ask(one.addr(), &with_body("POST", "/admin/reset", &json!({}))).await;
    assert_eq!(delivered(&three).await, json!({}));
    assert_eq!(
        send(&two, "otp", TO).await.header("idempotent-replayed"),
        None
    );
    for provider in [one, two, three] {
        provider.stop().await;
    }
}

/// A profile that refuses equal keys while one is worked on.
fn refusing() -> Arc<Profile> {
    let source = include_str!("../profiles/v1.toml");
    let written = source.replace("in-flight = \"wait\"", "in-flight = { status = 409 }");
    assert_ne!(written, source);
    Arc::new(Profile::parse(&written, "refusing.toml").expect("a profile"))
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_key_that_one_replica_works_on_is_in_flight_for_all() {
    let url = database().await;
    let config = || Config {
        profile: refusing(),
        ..shared(&url, 1)
    };
    let one = Provider::start(config()).await.expect("a replica");
    let two = Provider::start(config()).await.expect("a replica");
    let hold = json!({ "delay": { "stage": "before-accept", "for": "1h" } });
    one.add_fault(rule(1, 1, fault(&hold)));
    let mut events = one.subscribe();
    let mut client = lab::Client::connect(one.addr()).await;
    client
        .send(&post(Some("otp"), &message(TO, "code 4711")))
        .await;
    // A clock that is advanced before the delay begins would not end it.
    while let Some(event) = events.recv().await {
        if matches!(
            event.kind,
            stub_provider::event::EventKind::FaultFired { .. }
        ) {
            break;
        }
    }
    // It has the key once the other finds it in flight.
    loop {
        let known = ask(two.addr(), &get("/v1/messages?idempotency_key=otp")).await;
        if known.status == 200 {
            assert_eq!(known.json()["status"], "in_progress");
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(send(&two, "otp", TO).await.status, 409);
    assert_eq!(send(&two, "other", TO).await.status, 201);
    let advance = with_body("POST", "/admin/clock", &json!({ "advance": "1h" }));
    ask(one.addr(), &advance).await;
    let accepted = client.answer().await;
    assert_eq!(accepted.status, 201);
    assert_eq!(send(&two, "otp", TO).await.lasting(), accepted.lasting());
    assert_eq!(buzzes(&two).await, 2);
    one.stop().await;
    two.stop().await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn with_one_connection_everybody_waits_and_nobody_for_ever() {
    let url = database().await;
    let one = Provider::start(shared(&url, 1)).await.expect("a replica");
    let two = Provider::start(shared(&url, 1)).await.expect("a replica");
    let mut all = Vec::new();
    for number in 0..60 {
        let addr = [one.addr(), two.addr()][number % 2];
        let request = post(
            Some(&format!("k-{}", number / 6)),
            &message(TO, "code 4711"),
        );
        all.push(tokio::spawn(
            async move { ask(addr, &request).await.status },
        ));
    }
    for answer in all {
        let answer = tokio::time::timeout(LONG, answer).await.expect("in time");
        assert_eq!(answer.expect("an answer"), 201);
    }
    assert_eq!(buzzes(&one).await, 10);
    one.stop().await;
    two.stop().await;
}

/// A way to a server that can be cut.
struct Way {
    addr: SocketAddr,
    cut: Arc<AtomicBool>,
    open: std::sync::Mutex<CancellationToken>,
}

impl Way {
    async fn to(server: SocketAddr) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let way = Arc::new(Self {
            addr: listener.local_addr().expect("bound"),
            cut: Arc::default(),
            open: std::sync::Mutex::default(),
        });
        let own = way.clone();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                if own.cut.load(Ordering::Acquire) {
                    continue;
                }
                let open = own.open.lock().expect("nothing fails here").clone();
                tokio::spawn(open.run_until_cancelled_owned(async move {
                    let mut far = TcpStream::connect(server).await.expect("the server");
                    // However it ends, it ends.
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                }));
            }
        });
        way
    }

    fn cut(&self) {
        self.cut.store(true, Ordering::Release);
        self.open.lock().expect("nothing fails here").cancel();
    }

    fn mend(&self) {
        *self.open.lock().expect("nothing fails here") = CancellationToken::new();
        self.cut.store(false, Ordering::Release);
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn without_its_database_a_replica_accepts_nothing_and_says_so() {
    let url = database().await;
    let options: PgConnectOptions = url.parse().expect("an address");
    let server = format!("{}:{}", options.get_host(), options.get_port());
    let way = Way::to(server.parse().expect("an address")).await;
    let through = url.replace(&server, &way.addr.to_string());
    let provider = replica(&through).await;
    let accepted = send(&provider, "before", TO).await;
    assert_eq!(accepted.status, 201);

    // One attempt has its key when the database goes.
    let mut hold = rule(
        1,
        1,
        fault(&json!({ "delay": { "stage": "before-accept", "for": "1h" } })),
    );
    hold.key = Some("during".into());
    provider.add_fault(hold);
    let mut client = lab::Client::connect(provider.addr()).await;
    client
        .send(&post(Some("during"), &message(TO, "code 4711")))
        .await;
    let other = replica(&url).await;
    while ask(other.addr(), &get("/v1/messages?idempotency_key=during"))
        .await
        .status
        != 200
    {
        tokio::task::yield_now().await;
    }
    way.cut();
    for key in ["before", "after"] {
        assert_eq!(send(&provider, key, TO).await.status, 503);
    }
    assert_eq!(
        ask(provider.addr(), &get("/admin/delivered")).await.status,
        503
    );
    provider.clock().advance(std::time::Duration::from_hours(1));
    assert_eq!(client.answer().await.status, 503, "nothing was committed");

    way.mend();
    assert_eq!(
        send(&provider, "before", TO).await.lasting(),
        accepted.lasting()
    );
    assert_eq!(buzzes(&other).await, 1);
    assert_eq!(send(&provider, "during", TO).await.status, 201);
    assert_eq!(send(&other, "during", TO).await.status, 201);
    assert_eq!(buzzes(&other).await, 2);
    provider.stop().await;
    other.stop().await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn a_database_of_another_provider_is_refused() {
    let url = database().await;
    replica(&url).await.stop().await;
    let other = Provider::start(Config {
        seed: 7,
        ..shared(&url, 1)
    });
    let error = other.await.expect_err("it belongs to another").to_string();
    assert!(error.contains("the seed `0`"), "{error}");
}

/// Keeps asking, at one replica after the other, until it is answered.
async fn insist(addrs: Vec<SocketAddr>, first: usize, request: String) -> Answer {
    for turn in 0.. {
        let addr = addrs[(first + turn) % addrs.len()];
        let Ok(mut stream) = TcpStream::connect(addr).await else {
            continue;
        };
        if let Ok(answer) = lab::try_ask(&mut stream, &request).await
            && answer.status != 503
        {
            return answer;
        }
    }
    unreachable!("there is always one more turn")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL"]
async fn a_replica_that_is_killed_leaves_one_delivery_for_equal_keys_at_all_of_them() {
    let rounds: usize = std::env::var("STUB_REPLICA_ROUNDS")
        .map_or(5, |rounds| rounds.parse().expect("a number of rounds"));
    let url = database().await;
    let start = || Process::start(&["--store", &url, "--store-connections", "4"]);
    let mut replicas: Vec<_> = (0..4).map(|_| start()).collect();
    let mut taken_over = 0;
    for round in 0..rounds {
        let key = format!("otp-{round}");
        let request = post(Some(&key), &message(TO, &format!("code {round}")));
        let victim = round % 4;
        let addrs: Vec<_> = replicas.iter().map(|replica| replica.addr).collect();
        // In every other round the victim is known to have the key when it is killed.
        let holds = round % 2 == 0;
        let mut held = None;
        if holds {
            let delay = json!({ "key": key, "attempt": "all",
                "provider": { "delay": { "stage": "before-accept", "for": "1h" } } });
            let set = ask(addrs[victim], &with_body("POST", "/admin/faults", &delay)).await;
            assert_eq!(set.status, 201);
            let mut client = lab::Client::connect(addrs[victim]).await;
            client.send(&request).await;
            held = Some(client);
            let known = format!("/v1/messages?idempotency_key={key}");
            while ask(addrs[(victim + 1) % 4], &get(&known)).await.status != 200 {
                tokio::task::yield_now().await;
            }
        }
        let clients: Vec<_> = (0..8)
            .map(|client| {
                let first = if holds {
                    victim + 1 + client % 3
                } else {
                    client
                };
                tokio::spawn(insist(addrs.clone(), first % 4, request.clone()))
            })
            .collect();
        if !holds {
            // Somewhere on the way, another place each round.
            for _ in 0..round * 7 % 50 {
                tokio::task::yield_now().await;
            }
        }
        replicas.remove(victim).kill();
        drop(held);
        let mut answers = Vec::new();
        for client in clients {
            let answer = tokio::time::timeout(LONG, client).await.expect("in time");
            answers.push(answer.expect("an answer").lasting());
        }
        assert_eq!(answers[0].status, 201);
        answers.dedup();
        assert_eq!(answers.len(), 1, "round {round}: {answers:?}");
        let delivered = ask(replicas[0].addr, &get("/admin/delivered")).await.json();
        let list = delivered[&key].as_array().expect("deliveries");
        assert_eq!(list.len(), 1, "round {round}");
        taken_over += usize::from(holds);
        replicas.insert(victim, start());
    }
    println!(
        "{rounds} replicas of 4 were killed, {taken_over} of them while they had the key: \
         one delivery for each key, one answer for all"
    );
}
