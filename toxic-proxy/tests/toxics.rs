//! Toxics on live connections: in force when the call returns, proven by what
//! the sockets see.

mod support;

use support::{Lab, PROXY, Seen, next, pass, rest};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant};
use toxic_proxy::toxics::{Bandwidth, Latency, LimitData, ResetPeer, Slicer, SlowClose, Timeout};
use toxic_proxy::{Attributes, ConnectionEvent, Peer, SideEnd, Stream, Toxic, ToxicUpdate};

const DOWN: Stream = Stream::Downstream;
const UP: Stream = Stream::Upstream;

fn add(lab: &Lab, toxic: Toxic) {
    lab.engine.add_toxic(PROXY, toxic).expect("a new toxic");
}

async fn warm_up(client: &mut TcpStream, provider: &mut TcpStream) {
    pass(client, provider, b"request").await;
    pass(provider, client, b"response").await;
}

#[tokio::test]
async fn reset_peer_downstream_is_an_rst_for_the_client_on_fresh_and_on_reused_connections() {
    for (reused, added_first) in [(false, true), (false, false), (true, false)] {
        let mut lab = Lab::new().await;
        if added_first {
            add(&lab, Toxic::new(DOWN, ResetPeer { timeout: 0 }));
        }
        let (mut client, mut provider) = lab.pair().await;
        if reused {
            warm_up(&mut client, &mut provider).await;
        }
        pass(&mut client, &mut provider, b"send").await;
        if !added_first {
            add(&lab, Toxic::new(DOWN, ResetPeer { timeout: 0 }));
        }
        provider.write_all(b"accepted").await.expect("written");
        assert_eq!(
            next(&mut client).await,
            Seen::Rst,
            "reused {reused}, added first {added_first}"
        );
        assert_eq!(next(&mut provider).await, Seen::Rst);
        lab.hit(1, "reset_peer_downstream").await;
    }
}

#[tokio::test]
async fn reset_peer_upstream_keeps_the_request_from_the_provider() {
    let lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    warm_up(&mut client, &mut provider).await;
    add(&lab, Toxic::new(UP, ResetPeer { timeout: 0 }));
    client.write_all(b"send").await.expect("written");
    assert_eq!(next(&mut client).await, Seen::Rst);
    assert_eq!(next(&mut provider).await, Seen::Rst);
}

#[tokio::test]
async fn reset_peer_turns_an_orderly_close_into_an_rst() {
    let lab = Lab::new().await;
    let (mut client, provider) = lab.pair().await;
    add(&lab, Toxic::new(DOWN, ResetPeer { timeout: 0 }));
    drop(provider);
    assert_eq!(next(&mut client).await, Seen::Rst);
}

#[tokio::test]
async fn a_held_answer_is_swallowed_and_the_client_hanging_up_reaches_the_provider() {
    let mut lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    pass(&mut client, &mut provider, b"send").await;
    add(&lab, Toxic::new(DOWN, Timeout { timeout: 0 }).bound_to(1));
    assert_eq!(
        lab.engine.toxics(PROXY).expect("there")[0].connection,
        Some(1)
    );
    provider.write_all(b"accepted").await.expect("written");
    lab.hit(1, "timeout_downstream").await;
    drop(client);
    assert_eq!(next(&mut provider).await, Seen::Fin);
    assert_eq!(
        lab.engine.connections(PROXY).expect("there")[0].bytes_down,
        0
    );
    lab.event(|event| {
        (*event
            == ConnectionEvent::PeerEnded {
                id: 1,
                peer: Peer::Client,
                how: SideEnd::Fin,
            })
        .then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_client_that_resets_while_its_answer_is_swallowed_resets_the_provider() {
    let mut lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    pass(&mut client, &mut provider, b"send").await;
    add(&lab, Toxic::new(DOWN, Timeout { timeout: 0 }));
    provider.write_all(b"accepted").await.expect("written");
    lab.hit(1, "timeout_downstream").await;
    support::abort(client);
    assert_eq!(next(&mut provider).await, Seen::Rst);
}

#[tokio::test]
async fn removing_timeout_closes_what_it_held_and_nothing_else() {
    let lab = Lab::new().await;
    let (mut held, mut held_provider) = lab.pair().await;
    let (mut free, mut free_provider) = lab.pair().await;
    add(&lab, Toxic::new(DOWN, Timeout { timeout: 0 }).bound_to(1));
    held_provider
        .write_all(b"swallowed")
        .await
        .expect("written");
    lab.engine
        .remove_toxic(PROXY, "timeout_downstream")
        .expect("it is there");
    assert_eq!(next(&mut held).await, Seen::Fin);
    assert_eq!(next(&mut held_provider).await, Seen::Fin);
    warm_up(&mut free, &mut free_provider).await;
}

#[tokio::test]
async fn timeout_closes_with_fin_after_its_time() {
    let lab = Lab::new().await;
    add(&lab, Toxic::new(DOWN, Timeout { timeout: 50 }));
    let (mut client, mut provider) = lab.pair().await;
    provider.write_all(b"swallowed").await.expect("written");
    assert_eq!(next(&mut client).await, Seen::Fin);
    assert_eq!(next(&mut provider).await, Seen::Fin);
}

#[tokio::test]
async fn upstream_timeout_swallows_the_request() {
    let mut lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    add(&lab, Toxic::new(UP, Timeout { timeout: 0 }));
    client.write_all(b"send").await.expect("written");
    lab.hit(1, "timeout_upstream").await;
    pass(&mut provider, &mut client, b"unasked").await;
    drop(client);
    assert_eq!(rest(&mut provider).await, (Vec::new(), Seen::Fin));
}

#[tokio::test]
async fn limit_data_lets_exactly_so_many_bytes_through_and_sends_fin() {
    let lab = Lab::new().await;
    add(&lab, Toxic::new(DOWN, LimitData { bytes: 5 }));
    let (mut client, mut provider) = lab.pair().await;
    pass(&mut client, &mut provider, b"send").await;
    provider.write_all(b"accepted").await.expect("written");
    assert_eq!(rest(&mut client).await, (b"accep".to_vec(), Seen::Fin));
    assert_eq!(next(&mut provider).await, Seen::Fin);
}

#[tokio::test]
async fn latency_delays_and_its_removal_lets_go_at_once() {
    let mut lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    add(
        &lab,
        Toxic::new(
            DOWN,
            Latency {
                latency: 100,
                jitter: 0,
            },
        ),
    );
    let start = Instant::now();
    pass(&mut provider, &mut client, b"late").await;
    assert!(start.elapsed() >= Duration::from_millis(100));

    let hour = Attributes::Latency(Latency {
        latency: 3_600_000,
        jitter: 0,
    });
    let update = ToxicUpdate {
        attributes: Some(hour),
        toxicity: None,
    };
    lab.engine
        .update_toxic(PROXY, "latency_downstream", update)
        .expect("updated");
    lab.hit(1, "latency_downstream").await;
    provider.write_all(b"very late").await.expect("written");
    provider.shutdown().await.expect("shut");
    lab.event(|event| {
        matches!(
            event,
            ConnectionEvent::PeerEnded {
                peer: Peer::Upstream,
                ..
            }
        )
        .then_some(())
    })
    .await;
    lab.engine
        .remove_toxic(PROXY, "latency_downstream")
        .expect("removed");
    assert_eq!(rest(&mut client).await, (b"very late".to_vec(), Seen::Fin));
}

#[tokio::test]
async fn slow_close_delays_only_the_close() {
    let lab = Lab::new().await;
    add(&lab, Toxic::new(DOWN, SlowClose { delay: 150 }));
    let (mut client, mut provider) = lab.pair().await;
    pass(&mut provider, &mut client, b"at once").await;
    let start = Instant::now();
    drop(provider);
    assert_eq!(next(&mut client).await, Seen::Fin);
    assert!(start.elapsed() >= Duration::from_millis(150));
}

#[tokio::test]
async fn bandwidth_zero_holds_until_it_is_raised() {
    let mut lab = Lab::new().await;
    add(&lab, Toxic::new(DOWN, Bandwidth { rate: 0 }));
    let (mut client, mut provider) = lab.pair().await;
    provider.write_all(b"held").await.expect("written");
    lab.hit(1, "bandwidth_downstream").await;
    let update = ToxicUpdate {
        attributes: Some(Bandwidth { rate: 1000 }.into()),
        toxicity: None,
    };
    lab.engine
        .update_toxic(PROXY, "bandwidth_downstream", update)
        .expect("updated");
    assert_eq!(next(&mut client).await, Seen::Data(b"held".to_vec()));
}

#[tokio::test]
async fn a_chain_of_slicer_latency_and_bandwidth_keeps_the_bytes() {
    let lab = Lab::new().await;
    add(
        &lab,
        Toxic::new(
            UP,
            Slicer {
                average_size: 100,
                size_variation: 50,
                delay: 10,
            },
        ),
    );
    add(
        &lab,
        Toxic::new(
            UP,
            Latency {
                latency: 5,
                jitter: 5,
            },
        ),
    );
    add(&lab, Toxic::new(UP, Bandwidth { rate: 10_000 }));
    let (mut client, mut provider) = lab.pair().await;
    let sent: Vec<u8> = (0..50_000_u32).map(|i| (i % 251) as u8).collect();
    let write = async {
        client.write_all(&sent).await.expect("written");
        client.shutdown().await.expect("shut");
    };
    let ((), (got, end)) = tokio::join!(write, rest(&mut provider));
    assert_eq!(end, Seen::Fin);
    assert!(got == sent, "{} of {} bytes", got.len(), sent.len());
}

#[tokio::test]
async fn data_in_flight_meets_a_toxic_that_is_added_meanwhile() {
    let lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    let sender = tokio::spawn(async move {
        let chunk = [7; 1000];
        let mut sent = 0_usize;
        while provider.write_all(&chunk).await.is_ok() {
            sent += chunk.len();
        }
        sent
    });
    assert!(matches!(next(&mut client).await, Seen::Data(_)));
    add(&lab, Toxic::new(DOWN, LimitData { bytes: 10 }));
    let (_, end) = rest(&mut client).await;
    assert_eq!(end, Seen::Fin);
    drop(client);
    assert!(sender.await.expect("no panic") > 0);
}

#[tokio::test]
async fn a_reset_does_not_wait_for_a_client_that_reads_nothing() {
    let mut lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    add(
        &lab,
        Toxic::new(
            DOWN,
            Latency {
                latency: 1,
                jitter: 0,
            },
        ),
    );
    // Fills every buffer on the way, since the client reads nothing.
    let chunk = vec![7; 65536];
    let mut writer = tokio::spawn(async move { while provider.write_all(&chunk).await.is_ok() {} });
    let full = tokio::time::timeout(Duration::from_secs(1), &mut writer).await;
    assert!(full.is_err(), "the writer is blocked in the end");
    // Where it was not blocked yet, on a machine without time for it, it is by what follows.
    add(&lab, Toxic::new(DOWN, ResetPeer { timeout: 0 }));
    lab.event(|event| {
        matches!(
            event,
            ConnectionEvent::Closed {
                client_end: SideEnd::Rst,
                ..
            }
        )
        .then_some(())
    })
    .await;
    assert_eq!(rest(&mut client).await.1, Seen::Rst);
}

#[tokio::test]
async fn toxicity_zero_never_acts_and_one_always_does() {
    let mut lab = Lab::new().await;
    add(
        &lab,
        Toxic::new(DOWN, LimitData { bytes: 0 }).with_toxicity(0.0),
    );
    let (mut client, mut provider) = lab.pair().await;
    warm_up(&mut client, &mut provider).await;
    let update = ToxicUpdate {
        attributes: None,
        toxicity: Some(1.0),
    };
    lab.engine
        .update_toxic(PROXY, "limit_data_downstream", update)
        .expect("updated");
    provider.write_all(b"cut").await.expect("written");
    assert_eq!(next(&mut client).await, Seen::Fin);
    lab.hit(1, "limit_data_downstream").await;
}

/// Which of 40 connections a toxic with toxicity 0.5 hits.
async fn hits(seed: u64) -> Vec<bool> {
    let lab = Lab::seeded(seed).await;
    add(
        &lab,
        Toxic::new(DOWN, LimitData { bytes: 0 }).with_toxicity(0.5),
    );
    let mut hits = Vec::new();
    for _ in 0..40 {
        let (mut client, mut provider) = lab.pair().await;
        provider.write_all(b"x").await.expect("written");
        hits.push(next(&mut client).await == Seen::Fin);
    }
    hits
}

#[tokio::test]
async fn toxicity_replays_with_the_seed() {
    let first = hits(7).await;
    assert_eq!(first, hits(7).await);
    assert_ne!(first, hits(8).await);
    let count = first.iter().filter(|hit| **hit).count();
    assert!((8..=32).contains(&count), "{count} of 40");
}

#[tokio::test]
async fn an_update_draws_toxicity_again() {
    let lab = Lab::new().await;
    add(
        &lab,
        Toxic::new(
            DOWN,
            Latency {
                latency: 1,
                jitter: 0,
            },
        )
        .with_toxicity(0.5),
    );
    let mut pairs = Vec::new();
    for _ in 0..10 {
        pairs.push(lab.pair().await);
    }
    for _ in 0..64 {
        let update = ToxicUpdate {
            attributes: None,
            toxicity: Some(0.5),
        };
        lab.engine
            .update_toxic(PROXY, "latency_downstream", update)
            .expect("updated");
        for (client, provider) in &mut pairs {
            pass(provider, client, b"x").await;
        }
    }
    let connections = lab.engine.connections(PROXY).expect("there");
    assert!(
        connections
            .iter()
            .all(|connection| connection.toxics == ["latency_downstream"])
    );
}

#[tokio::test]
async fn adding_and_removing_one_toxic_does_not_draw_another_again() {
    let lab = Lab::new().await;
    add(
        &lab,
        Toxic::new(DOWN, LimitData { bytes: 1 << 40 }).with_toxicity(0.5),
    );
    let (mut client, mut provider) = lab.pair().await;
    for round in 0..20 {
        add(
            &lab,
            Toxic::new(DOWN, Attributes::Noop).named(format!("noop {round}")),
        );
        warm_up(&mut client, &mut provider).await;
        lab.engine
            .remove_toxic(PROXY, &format!("noop {round}"))
            .expect("there");
    }
    warm_up(&mut client, &mut provider).await;
}

#[tokio::test]
async fn reset_removes_toxics_and_enables() {
    let lab = Lab::new().await;
    add(
        &lab,
        Toxic::new(
            DOWN,
            Latency {
                latency: 3_600_000,
                jitter: 0,
            },
        ),
    );
    lab.engine
        .set_enabled(PROXY, false)
        .await
        .expect("disabled");
    lab.engine.reset().await.expect("reset");
    let (mut client, mut provider) = lab.pair().await;
    warm_up(&mut client, &mut provider).await;
    assert!(lab.engine.toxics(PROXY).expect("there").is_empty());
}
