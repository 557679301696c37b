//! What the proxy knows of its connections: a record of each, and the events
//! that tell of them as they happen.
//!
//! Owns the words and the book-keeping; moves no data.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

/// How many closed connections are remembered; the oldest are forgotten first.
const REMEMBERED: usize = 10_000;

/// How one side of a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SideEnd {
    /// Still open.
    Open,
    /// Closed in the orderly way (FIN), by whichever end.
    Fin,
    /// Aborted (RST), by whichever end.
    Rst,
    /// Never opened: the upstream could not be reached.
    Unreachable,
}

/// One of the two peers of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Peer {
    /// Who connected to the proxy.
    Client,
    /// Whom the proxy connected to.
    Upstream,
}

/// Something that happened to a connection of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// Both sides are connected; no byte has been passed on yet.
    Opened {
        /// Counted from 1 in the order of acceptance.
        id: u64,
        /// The client's address.
        client: SocketAddr,
        /// The proxy's own address towards the upstream, which the upstream
        /// sees as its peer.
        upstream_local: SocketAddr,
    },
    /// The upstream could not be reached; the client's side has been closed.
    Unreachable {
        /// The connection.
        id: u64,
        /// The client's address.
        client: SocketAddr,
    },
    /// A toxic acted on this connection for the first time. Told before the
    /// effect can be seen.
    ToxicHit {
        /// The connection.
        id: u64,
        /// The toxic's name.
        toxic: String,
    },
    /// A peer has ended its sending, by itself.
    PeerEnded {
        /// The connection.
        id: u64,
        /// Which of the two.
        peer: Peer,
        /// `Fin` or `Rst`.
        how: SideEnd,
    },
    /// Both sides are closed. Without an `Opened` before it where the upstream
    /// has reset the connection at once, before the proxy had its address.
    Closed {
        /// The connection.
        id: u64,
        /// How the client's side ended.
        client_end: SideEnd,
        /// How the upstream's side ended.
        upstream_end: SideEnd,
        /// Bytes delivered to the upstream.
        bytes_up: u64,
        /// Bytes delivered to the client.
        bytes_down: u64,
    },
}

/// What is known of one connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConnectionInfo {
    /// Counted from 1 in the order of acceptance.
    pub id: u64,
    /// The client's address.
    pub client: SocketAddr,
    /// The proxy's own address towards the upstream; absent while the
    /// upstream has not been reached.
    pub upstream_local: Option<SocketAddr>,
    /// When the client was accepted, in milliseconds since the proxy's creation.
    pub opened: u64,
    /// When both sides were closed, in milliseconds since the proxy's creation.
    pub closed: Option<u64>,
    /// Bytes delivered to the upstream.
    pub bytes_up: u64,
    /// Bytes delivered to the client.
    pub bytes_down: u64,
    /// How the client's side ended.
    pub client_end: SideEnd,
    /// How the upstream's side ended.
    pub upstream_end: SideEnd,
    /// The toxics that have acted on it, in the order of their first act.
    pub toxics: Vec<String>,
}

/// Bytes delivered so far, each way.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) up: AtomicU64,
    pub(crate) down: AtomicU64,
}

#[derive(Debug)]
struct Record {
    info: ConnectionInfo,
    counters: Arc<Counters>,
}

#[derive(Debug, Default)]
struct Book {
    records: BTreeMap<u64, Record>,
    by_upstream: HashMap<SocketAddr, u64>,
    closed: VecDeque<u64>,
    subscribers: Vec<UnboundedSender<ConnectionEvent>>,
}

impl Book {
    fn tell(&mut self, event: &ConnectionEvent) {
        self.subscribers
            .retain(|subscriber| subscriber.send(event.clone()).is_ok());
    }

    fn forget_oldest(&mut self) {
        while self.closed.len() > REMEMBERED {
            let Some(id) = self.closed.pop_front() else {
                return;
            };
            if let Some(address) = self
                .records
                .remove(&id)
                .and_then(|record| record.info.upstream_local)
                && self.by_upstream.get(&address) == Some(&id)
            {
                self.by_upstream.remove(&address);
            }
        }
    }
}

/// The records and subscribers of one proxy.
#[derive(Debug)]
pub(crate) struct Traffic {
    created: Instant,
    book: Mutex<Book>,
}

impl Traffic {
    pub(crate) fn new() -> Self {
        Self {
            created: Instant::now(),
            book: Mutex::default(),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.created.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn accepted(&self, id: u64, client: SocketAddr) -> Arc<Counters> {
        let counters = Arc::new(Counters::default());
        let info = ConnectionInfo {
            id,
            client,
            upstream_local: None,
            opened: self.now_ms(),
            closed: None,
            bytes_up: 0,
            bytes_down: 0,
            client_end: SideEnd::Open,
            upstream_end: SideEnd::Open,
            toxics: Vec::new(),
        };
        self.book().records.insert(
            id,
            Record {
                info,
                counters: Arc::clone(&counters),
            },
        );
        counters
    }

    pub(crate) fn opened(&self, id: u64, client: SocketAddr, upstream_local: SocketAddr) {
        let mut book = self.book();
        if let Some(record) = book.records.get_mut(&id) {
            record.info.upstream_local = Some(upstream_local);
        }
        book.by_upstream.insert(upstream_local, id);
        book.tell(&ConnectionEvent::Opened {
            id,
            client,
            upstream_local,
        });
    }

    pub(crate) fn hit(&self, id: u64, toxic: &str) {
        let mut book = self.book();
        if let Some(record) = book.records.get_mut(&id)
            && !record.info.toxics.iter().any(|known| known == toxic)
        {
            record.info.toxics.push(toxic.to_owned());
        }
        book.tell(&ConnectionEvent::ToxicHit {
            id,
            toxic: toxic.to_owned(),
        });
    }

    pub(crate) fn peer_ended(&self, id: u64, peer: Peer, how: SideEnd) {
        let mut book = self.book();
        if let Some(record) = book.records.get_mut(&id) {
            match peer {
                Peer::Client => record.info.client_end = how,
                Peer::Upstream => record.info.upstream_end = how,
            }
        }
        book.tell(&ConnectionEvent::PeerEnded { id, peer, how });
    }

    pub(crate) fn closed(&self, id: u64, client_end: SideEnd, upstream_end: SideEnd) {
        let closed = self.now_ms();
        let mut book = self.book();
        let Some(record) = book.records.get_mut(&id) else {
            return;
        };
        record.info.closed = Some(closed);
        record.info.client_end = client_end;
        record.info.upstream_end = upstream_end;
        let (bytes_up, bytes_down) = (
            record.counters.up.load(Ordering::Relaxed),
            record.counters.down.load(Ordering::Relaxed),
        );
        let event = if upstream_end == SideEnd::Unreachable {
            ConnectionEvent::Unreachable {
                id,
                client: record.info.client,
            }
        } else {
            ConnectionEvent::Closed {
                id,
                client_end,
                upstream_end,
                bytes_up,
                bytes_down,
            }
        };
        book.closed.push_back(id);
        book.forget_oldest();
        book.tell(&event);
    }

    pub(crate) fn connections(&self) -> Vec<ConnectionInfo> {
        self.book()
            .records
            .values()
            .map(|record| ConnectionInfo {
                bytes_up: record.counters.up.load(Ordering::Relaxed),
                bytes_down: record.counters.down.load(Ordering::Relaxed),
                ..record.info.clone()
            })
            .collect()
    }

    pub(crate) fn by_upstream_addr(&self, address: SocketAddr) -> Option<u64> {
        self.book().by_upstream.get(&address).copied()
    }

    pub(crate) fn subscribe(&self) -> UnboundedReceiver<ConnectionEvent> {
        let (sender, receiver) = unbounded_channel();
        self.book().subscribers.push(sender);
        receiver
    }
}
