//! FIN stays FIN and RST stays RST, without toxics, both ways.

mod support;

use support::{Lab, PROXY, Seen, abort, next, pass, rest};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use toxic_proxy::toxics::{Bandwidth, Latency};
use toxic_proxy::{ConnectionEvent, NewProxy, Peer, SideEnd, Stream, Toxic};

#[tokio::test]
async fn bytes_pass_unchanged_both_ways() {
    let lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    pass(&mut client, &mut provider, b"request").await;
    pass(&mut provider, &mut client, b"response").await;
    let connections = lab.engine.connections(PROXY).expect("the proxy is there");
    assert_eq!((connections[0].bytes_up, connections[0].bytes_down), (7, 8));
}

#[tokio::test]
async fn a_megabyte_passes_unchanged_each_way_at_once() {
    let lab = Lab::new().await;
    let (client, provider) = lab.pair().await;
    let sent: Vec<u8> = (0..1_000_000_u32).map(|i| (i % 251) as u8).collect();
    let exchange = async |socket: tokio::net::TcpStream| {
        let (mut read, mut write) = socket.into_split();
        let mut got = Vec::new();
        let write = async {
            write.write_all(&sent).await.expect("written");
            write.shutdown().await.expect("shut");
        };
        let read = async {
            tokio::io::AsyncReadExt::read_to_end(&mut read, &mut got)
                .await
                .expect("read")
        };
        tokio::join!(write, read);
        got
    };
    let (at_client, at_provider) = tokio::join!(exchange(client), exchange(provider));
    assert!(at_client == sent && at_provider == sent);
}

#[tokio::test]
async fn a_half_closed_client_still_gets_its_response() {
    let lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    client.write_all(b"request").await.expect("written");
    client.shutdown().await.expect("shut");
    assert_eq!(rest(&mut provider).await, (b"request".to_vec(), Seen::Fin));
    provider.write_all(b"response").await.expect("written");
    drop(provider);
    assert_eq!(rest(&mut client).await, (b"response".to_vec(), Seen::Fin));
}

#[tokio::test]
async fn a_half_closed_provider_still_gets_data() {
    let lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    provider.shutdown().await.expect("shut");
    assert_eq!(next(&mut client).await, Seen::Fin);
    client.write_all(b"late").await.expect("written");
    drop(client);
    assert_eq!(rest(&mut provider).await, (b"late".to_vec(), Seen::Fin));
}

#[tokio::test]
async fn a_reset_by_the_provider_is_a_reset_for_the_client_fresh_or_reused() {
    for warm_up in [false, true] {
        let lab = Lab::new().await;
        let (mut client, mut provider) = lab.pair().await;
        if warm_up {
            pass(&mut client, &mut provider, b"one").await;
            pass(&mut provider, &mut client, b"two").await;
        }
        abort(provider);
        assert_eq!(next(&mut client).await, Seen::Rst, "warm-up {warm_up}");
    }
}

#[tokio::test]
async fn a_reset_by_the_client_is_a_reset_for_the_provider_fresh_or_reused() {
    for warm_up in [false, true] {
        let lab = Lab::new().await;
        let (mut client, mut provider) = lab.pair().await;
        if warm_up {
            pass(&mut client, &mut provider, b"one").await;
            pass(&mut provider, &mut client, b"two").await;
        }
        abort(client);
        assert_eq!(next(&mut provider).await, Seen::Rst, "warm-up {warm_up}");
    }
}

#[tokio::test]
async fn a_close_by_either_is_a_fin_for_the_other() {
    let mut lab = Lab::new().await;
    let (client, mut provider) = lab.pair().await;
    drop(client);
    assert_eq!(next(&mut provider).await, Seen::Fin);
    drop(provider);
    let ends = lab
        .event(|event| match event {
            ConnectionEvent::Closed {
                client_end,
                upstream_end,
                ..
            } => Some((*client_end, *upstream_end)),
            _ => None,
        })
        .await;
    assert_eq!(ends, (SideEnd::Fin, SideEnd::Fin));
    let (mut client, provider) = lab.pair().await;
    drop(provider);
    assert_eq!(next(&mut client).await, Seen::Fin);
}

#[tokio::test]
async fn a_reset_after_a_half_close_reaches_the_other_side_without_any_traffic() {
    let mut lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    client.shutdown().await.expect("shut");
    assert_eq!(next(&mut provider).await, Seen::Fin);
    abort(client);
    let how = lab
        .event(|event| match event {
            ConnectionEvent::PeerEnded {
                peer: Peer::Client,
                how: SideEnd::Rst,
                ..
            } => Some(()),
            _ => None,
        })
        .await;
    assert_eq!(how, ());
    // FIN has been read already; the error is told by the socket itself.
    let mut error = None;
    while error.is_none() {
        provider
            .ready(tokio::io::Interest::ERROR)
            .await
            .expect("an event");
        error = provider.take_error().expect("readable");
    }
}

#[tokio::test]
async fn a_reset_follows_the_data_that_is_still_on_its_way() {
    let mut lab = Lab::new().await;
    let latency = Latency {
        latency: 100,
        jitter: 0,
    };
    lab.engine
        .add_toxic(PROXY, Toxic::new(Stream::Upstream, latency))
        .expect("added");
    let (mut client, mut provider) = lab.pair().await;
    client.write_all(b"request").await.expect("written");
    client.shutdown().await.expect("shut");
    let fin = ConnectionEvent::PeerEnded {
        id: 1,
        peer: Peer::Client,
        how: SideEnd::Fin,
    };
    lab.event(|event| (*event == fin).then_some(())).await;
    abort(client);
    assert_eq!(rest(&mut provider).await, (b"request".to_vec(), Seen::Rst));
}

#[tokio::test]
async fn data_that_nobody_reads_does_not_turn_a_close_into_a_reset() {
    let lab = Lab::new().await;
    lab.engine
        .add_toxic(PROXY, Toxic::new(Stream::Upstream, Bandwidth { rate: 0 }))
        .expect("added");
    let (mut client, _provider) = lab.pair().await;
    client.write_all(&vec![7; 200_000]).await.expect("written");
    lab.engine
        .set_enabled(PROXY, false)
        .await
        .expect("disabled");
    assert_eq!(next(&mut client).await, Seen::Fin);
    // An RST after the FIN would be an error of the socket.
    assert!(client.take_error().expect("readable").is_none());
}

#[tokio::test]
async fn a_client_that_is_gone_when_the_response_comes_resets_the_provider() {
    let mut lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    pass(&mut client, &mut provider, b"request").await;
    drop(client);
    assert_eq!(next(&mut provider).await, Seen::Fin);
    // The first write is answered with RST, which the proxy passes on.
    provider.write_all(b"response").await.expect("written");
    let ends = lab
        .event(|event| match event {
            ConnectionEvent::Closed {
                client_end,
                upstream_end,
                ..
            } => Some((*client_end, *upstream_end)),
            _ => None,
        })
        .await;
    assert_eq!(ends, (SideEnd::Rst, SideEnd::Rst));
}

#[tokio::test]
async fn an_upstream_that_refuses_closes_the_client_with_fin() {
    let mut lab = Lab::new().await;
    let vacant = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port")
        .local_addr()
        .expect("bound");
    lab.engine.delete_proxy(PROXY).await.expect("it was there");
    let proxy = NewProxy::new(PROXY, "127.0.0.1:0", vacant.to_string());
    lab.listen = lab
        .engine
        .create_proxy(proxy)
        .await
        .expect("created")
        .listen;
    lab.events = lab.engine.subscribe(PROXY);
    let mut client = lab.client().await;
    assert_eq!(next(&mut client).await, Seen::Fin);
    let id = lab
        .event(|event| match event {
            ConnectionEvent::Unreachable { id, .. } => Some(*id),
            _ => None,
        })
        .await;
    assert_eq!(id, 1);
    assert_eq!(
        lab.engine.connections(PROXY).expect("there")[0].upstream_end,
        SideEnd::Unreachable
    );
}

#[tokio::test]
async fn disabling_and_deleting_close_everything_with_fin_and_refuse_connects() {
    let lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    pass(&mut client, &mut provider, b"one").await;
    lab.engine
        .set_enabled(PROXY, false)
        .await
        .expect("disabled");
    assert_eq!(next(&mut client).await, Seen::Fin);
    assert_eq!(next(&mut provider).await, Seen::Fin);
    assert!(tokio::net::TcpStream::connect(&lab.listen).await.is_err());

    lab.engine.set_enabled(PROXY, true).await.expect("enabled");
    let (mut client, mut provider) = lab.pair().await;
    pass(&mut client, &mut provider, b"one").await;
    lab.engine.delete_proxy(PROXY).await.expect("deleted");
    assert_eq!(next(&mut client).await, Seen::Fin);
    assert_eq!(next(&mut provider).await, Seen::Fin);
    assert!(tokio::net::TcpStream::connect(&lab.listen).await.is_err());
}

#[tokio::test]
async fn stopping_the_server_closes_everything() {
    let lab = Lab::new().await;
    let (mut client, mut provider) = lab.pair().await;
    pass(&mut client, &mut provider, b"one").await;
    lab.stop().await;
    assert_eq!(next(&mut client).await, Seen::Fin);
    assert_eq!(next(&mut provider).await, Seen::Fin);
}

#[tokio::test]
async fn a_dial_that_never_ends_blocks_no_other_client_and_no_delete() {
    let lab = Lab::new().await;
    // Behind the first proxy stands a blackhole: its dial is never answered.
    lab.engine.set_blackhole(PROXY, true).await.expect("dark");
    let slow = NewProxy::new("slow", "127.0.0.1:0", &lab.listen);
    let slow = lab.engine.create_proxy(slow).await.expect("created");
    let mut stuck = tokio::net::TcpStream::connect(&slow.listen)
        .await
        .expect("accepted");
    let mut second = tokio::net::TcpStream::connect(&slow.listen)
        .await
        .expect("accepted");
    while lab.engine.connections("slow").expect("there").len() < 2 {
        tokio::task::yield_now().await;
    }
    lab.engine.delete_proxy("slow").await.expect("deleted");
    assert_eq!(next(&mut stuck).await, Seen::Fin);
    assert_eq!(next(&mut second).await, Seen::Fin);
}

#[tokio::test]
async fn dropping_the_last_handle_of_an_engine_stops_its_proxies() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let engine = toxic_proxy::Engine::new(1);
    let to = upstream.local_addr().expect("bound").to_string();
    let proxy = engine
        .create_proxy(NewProxy::new("short", "127.0.0.1:0", to))
        .await
        .expect("created");
    let mut client = tokio::net::TcpStream::connect(&proxy.listen)
        .await
        .expect("accepted");
    drop(engine.clone());
    let (mut provider, _) = upstream.accept().await.expect("accepted");
    pass(&mut client, &mut provider, b"still here").await;
    drop(engine);
    assert_eq!(next(&mut client).await, Seen::Fin);
    assert_eq!(next(&mut provider).await, Seen::Fin);
    assert!(tokio::net::TcpStream::connect(&proxy.listen).await.is_err());
}
