//! What goes beyond the original: toxics bound to a connection, the record of
//! connections, events, the blackhole.

mod support;

use std::net::SocketAddr;

use support::{LONG, Lab, PROXY, Seen, next, pass};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use toxic_proxy::toxics::{Latency, LimitData, ResetPeer, Timeout};
use toxic_proxy::{ConnectionEvent, SideEnd, Stream, Toxic};

const DOWN: Stream = Stream::Downstream;

#[tokio::test]
async fn a_bound_toxic_touches_its_connection_alone_whether_open_or_to_come() {
    let lab = Lab::new().await;
    let reset = |id: u64| {
        Toxic::new(DOWN, ResetPeer { timeout: 0 })
            .named(format!("reset {id}"))
            .bound_to(id)
    };
    let (mut first, mut first_provider) = lab.pair().await;
    let (mut second, mut second_provider) = lab.pair().await;
    lab.engine.add_toxic(PROXY, reset(2)).expect("added");
    lab.engine.add_toxic(PROXY, reset(4)).expect("added");
    let (mut third, mut third_provider) = lab.pair().await;
    let (mut fourth, mut fourth_provider) = lab.pair().await;
    second_provider.write_all(b"x").await.expect("written");
    fourth_provider.write_all(b"x").await.expect("written");
    assert_eq!(next(&mut second).await, Seen::Rst);
    assert_eq!(next(&mut fourth).await, Seen::Rst);
    pass(&mut first_provider, &mut first, b"untouched").await;
    pass(&mut third_provider, &mut third, b"untouched").await;
    lab.engine.remove_toxic(PROXY, "reset 2").expect("removed");
    pass(&mut first_provider, &mut first, b"untouched").await;
    pass(&mut third_provider, &mut third, b"untouched").await;
}

#[tokio::test]
async fn ids_count_accepted_connections_from_one_even_across_disabling() {
    let lab = Lab::new().await;
    let _first = lab.pair().await;
    lab.engine
        .set_enabled(PROXY, false)
        .await
        .expect("disabled");
    lab.engine.set_enabled(PROXY, true).await.expect("enabled");
    let _second = lab.pair().await;
    let ids: Vec<u64> = lab
        .engine
        .connections(PROXY)
        .expect("there")
        .iter()
        .map(|c| c.id)
        .collect();
    assert_eq!(ids, [1, 2]);
}

#[tokio::test]
async fn the_upstream_can_name_its_connection_when_the_first_byte_arrives() {
    let lab = Lab::new().await;
    for id in 1..=20 {
        let mut client = lab.client().await;
        client.write_all(b"x").await.expect("written");
        let (mut provider, seen_from) = lab.upstream.accept().await.expect("accepted");
        assert_eq!(next(&mut provider).await, Seen::Data(b"x".to_vec()));
        assert_eq!(
            lab.engine.connection_by_upstream_addr(PROXY, seen_from),
            Some(id)
        );
    }
    let nowhere: SocketAddr = "127.0.0.1:1".parse().expect("an address");
    assert_eq!(lab.engine.connection_by_upstream_addr(PROXY, nowhere), None);
    assert_eq!(
        lab.engine.connection_by_upstream_addr("nobody", nowhere),
        None
    );
}

#[tokio::test]
async fn events_tell_a_connections_life_in_order() {
    let mut lab = Lab::new().await;
    lab.engine
        .add_toxic(PROXY, Toxic::new(DOWN, LimitData { bytes: 3 }))
        .expect("added");
    let (mut client, mut provider) = lab.pair().await;
    let (client_addr, seen_from) = (
        client.local_addr().expect("bound"),
        provider.peer_addr().expect("connected"),
    );
    pass(&mut client, &mut provider, b"request").await;
    provider.write_all(b"response").await.expect("written");
    assert_eq!(
        support::rest(&mut client).await,
        (b"res".to_vec(), Seen::Fin)
    );
    let mut events = Vec::new();
    while !matches!(events.last(), Some(ConnectionEvent::Closed { .. })) {
        events.push(
            timeout(LONG, lab.events.recv())
                .await
                .expect("in time")
                .expect("there"),
        );
    }
    assert_eq!(
        events,
        [
            ConnectionEvent::Opened {
                id: 1,
                client: client_addr,
                upstream_local: seen_from
            },
            ConnectionEvent::ToxicHit {
                id: 1,
                toxic: "limit_data_downstream".to_owned()
            },
            ConnectionEvent::Closed {
                id: 1,
                client_end: SideEnd::Fin,
                upstream_end: SideEnd::Fin,
                bytes_up: 7,
                bytes_down: 3
            },
        ]
    );
    let record = &lab.engine.connections(PROXY).expect("there")[0];
    assert_eq!((record.bytes_up, record.bytes_down), (7, 3));
    assert_eq!(record.toxics, ["limit_data_downstream"]);
    assert!(record.closed.is_some_and(|closed| closed >= record.opened));
}

#[tokio::test]
async fn a_hit_is_told_once_for_each_connection_and_toxic() {
    let mut lab = Lab::new().await;
    lab.engine
        .add_toxic(
            PROXY,
            Toxic::new(
                DOWN,
                Latency {
                    latency: 1,
                    jitter: 0,
                },
            ),
        )
        .expect("added");
    let (mut client, mut provider) = lab.pair().await;
    for _ in 0..5 {
        pass(&mut provider, &mut client, b"again").await;
    }
    drop((client, provider));
    let mut hits = 0;
    lab.event(|event| {
        hits += usize::from(matches!(event, ConnectionEvent::ToxicHit { .. }));
        matches!(event, ConnectionEvent::Closed { .. }).then_some(())
    })
    .await;
    assert_eq!(hits, 1);
}

#[tokio::test]
async fn a_toxic_can_be_added_on_every_connection_while_a_thousand_open_and_close() {
    let lab = Lab::new().await;
    let listen = lab.listen.clone();
    let clients = tokio::spawn(async move {
        for _ in 0..300 {
            let mut client = TcpStream::connect(&listen).await.expect("accepted");
            let _ = client.write_all(b"x").await;
        }
    });
    for round in 0..100 {
        let toxic = Toxic::new(DOWN, Timeout { timeout: 0 }).named(format!("t{round}"));
        lab.engine.add_toxic(PROXY, toxic).expect("added");
        tokio::task::yield_now().await;
        lab.engine
            .remove_toxic(PROXY, &format!("t{round}"))
            .expect("removed");
    }
    timeout(LONG, clients)
        .await
        .expect("in time")
        .expect("no panic");
    timeout(LONG, lab.engine.delete_proxy(PROXY))
        .await
        .expect("a delete never hangs")
        .expect("deleted");
}

#[tokio::test]
async fn a_blackhole_leaves_connects_unanswered_and_open_connections_alone() {
    let lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    lab.engine.set_blackhole(PROXY, true).await.expect("dark");
    assert!(lab.engine.proxy(PROXY).expect("there").blackhole);
    for _ in 0..3 {
        let connect = timeout(
            std::time::Duration::from_millis(300),
            TcpStream::connect(&lab.listen),
        )
        .await;
        assert!(connect.is_err(), "no SYN is answered, not even refused");
    }
    pass(&mut client, &mut provider, b"still here").await;
    pass(&mut provider, &mut client, b"me too").await;

    // A connect that is under way when the light comes back gets through: the
    // kernel sends its SYN again.
    let listen = lab.listen.clone();
    let late = tokio::spawn(async move { TcpStream::connect(listen).await });
    lab.engine.set_blackhole(PROXY, false).await.expect("light");
    let mut late = timeout(LONG, late)
        .await
        .expect("in time")
        .expect("no panic")
        .expect("connected");
    let (mut late_provider, _) = timeout(LONG, lab.upstream.accept())
        .await
        .expect("in time")
        .expect("accepted");
    pass(&mut late, &mut late_provider, b"finally").await;
    // Nothing but real clients ever reached the upstream.
    let records = lab.engine.connections(PROXY).expect("there");
    assert_eq!(records.len(), 2);
}

#[tokio::test]
async fn a_blackhole_ends_with_the_proxy_being_disabled() {
    let lab = Lab::new().await;
    lab.engine.set_blackhole(PROXY, true).await.expect("dark");
    lab.engine
        .set_enabled(PROXY, false)
        .await
        .expect("disabled");
    assert!(lab.engine.set_blackhole(PROXY, true).await.is_err());
    lab.engine.set_enabled(PROXY, true).await.expect("enabled");
    let (mut client, mut provider) = lab.pair().await;
    pass(&mut client, &mut provider, b"light").await;
    assert_eq!(lab.engine.connections(PROXY).expect("there").len(), 1);
}
