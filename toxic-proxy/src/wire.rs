//! The two sockets of a connection and what each end of one means for the other.
//!
//! A FIN from one peer becomes a FIN to the other and the way back stays open;
//! an RST becomes an RST; a close by a toxic closes both, once what is on its
//! way has been delivered.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::half::Half;
use crate::item::{End, Item};
use crate::link::Link;
use crate::pump::{Pump, Pumped};
use crate::toxic::Stream;
use crate::traffic::{Counters, Peer, SideEnd, Traffic};

/// How a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// In the orderly way.
    Fin,
    /// Aborted: whoever still listens gets an RST.
    Reset,
}

/// Where a connection's events and byte counts go.
pub(crate) struct Report<'a> {
    pub(crate) id: u64,
    pub(crate) traffic: &'a Traffic,
    pub(crate) counters: &'a Counters,
}

impl Report<'_> {
    /// Ends a link from its source's end, and tells of toxics that act on it.
    fn feed(&self, link: &mut Link, end: End) {
        let mut acted = Vec::new();
        link.feed(Item::End(end), Instant::now(), &mut acted);
        for toxic in acted {
            self.traffic.hit(self.id, &toxic);
        }
    }
}

/// Two sockets with a pump each way.
pub(crate) struct Wire {
    client: Half,
    upstream: Half,
    up: Pump,
    down: Pump,
    client_end: Option<SideEnd>,
    upstream_end: Option<SideEnd>,
    /// A peer has reset its side; the other is to be told at the end.
    lost: bool,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Wire {
    pub(crate) fn new(client: Half, upstream: Half) -> Self {
        Self {
            client,
            upstream,
            up: Pump::new(),
            down: Pump::new(),
            client_end: None,
            upstream_end: None,
            lost: false,
            timer: None,
        }
    }

    /// Moves both directions until the connection is over.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        up: &mut Link,
        down: &mut Link,
        report: &mut Report<'_>,
    ) -> Poll<Finish> {
        loop {
            let mut deadline = None;
            let mut again = false;
            for stream in [Stream::Upstream, Stream::Downstream] {
                let pumped = self.pump(stream, cx, up, down, report);
                let Some(pumped) = pumped else { continue };
                let other = match stream {
                    Stream::Upstream => &mut *down,
                    Stream::Downstream => &mut *up,
                };
                match pumped {
                    Pumped::Waiting(at) => deadline = earlier(deadline, at),
                    Pumped::Ended(End::Reset) => return Poll::Ready(Finish::Reset),
                    // What was on its way has arrived; now the reset that followed it.
                    Pumped::Ended(_) if self.lost => return Poll::Ready(Finish::Reset),
                    Pumped::Ended(end) => {
                        self.deliver_end(stream, end, other, cx, report);
                        again = true;
                    }
                    Pumped::SinkLost => {
                        if self.lose_sink(stream, other, report) {
                            return Poll::Ready(Finish::Reset);
                        }
                        again = true;
                    }
                }
            }
            if self.up.done && self.down.done {
                return Poll::Ready(if self.lost {
                    Finish::Reset
                } else {
                    Finish::Fin
                });
            }
            for (peer, other) in [(Peer::Client, &mut *up), (Peer::Upstream, &mut *down)] {
                if self.has_reset_after_fin(peer, cx) {
                    let towards = match peer {
                        Peer::Client => Stream::Downstream,
                        Peer::Upstream => Stream::Upstream,
                    };
                    if self.lose_sink(towards, other, report) {
                        return Poll::Ready(Finish::Reset);
                    }
                    again = true;
                }
            }
            if !again && self.poll_timer(deadline, cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// One direction, unless it is done. A source that ends is reported first.
    fn pump(
        &mut self,
        stream: Stream,
        cx: &mut Context<'_>,
        up: &mut Link,
        down: &mut Link,
        report: &mut Report<'_>,
    ) -> Option<Pumped> {
        let (pump, link, source, sink, delivered, peer) = match stream {
            Stream::Upstream => (
                &mut self.up,
                up,
                &mut self.client,
                &mut self.upstream,
                &report.counters.up,
                Peer::Client,
            ),
            Stream::Downstream => (
                &mut self.down,
                down,
                &mut self.upstream,
                &mut self.client,
                &report.counters.down,
                Peer::Upstream,
            ),
        };
        if pump.done {
            return None;
        }
        let pumped = pump.poll(cx, link, source, sink, delivered, &mut |toxic| {
            report.traffic.hit(report.id, toxic);
        });
        if let Some(end) = pump.source_end.take() {
            self.peer_ended(
                peer,
                if end == End::Reset {
                    SideEnd::Rst
                } else {
                    SideEnd::Fin
                },
                report,
            );
        }
        Some(pumped)
    }

    fn peer_ended(&mut self, peer: Peer, how: SideEnd, report: &Report<'_>) {
        let side = match peer {
            Peer::Client => &mut self.client_end,
            Peer::Upstream => &mut self.upstream_end,
        };
        *side = Some(how);
        report.traffic.peer_ended(report.id, peer, how);
    }

    /// The sink of `stream` sees an orderly end. A toxic's close ends the
    /// other direction too, as if the sink had hung up.
    fn deliver_end(
        &mut self,
        stream: Stream,
        end: End,
        other: &mut Link,
        cx: &mut Context<'_>,
        report: &Report<'_>,
    ) {
        match stream {
            Stream::Upstream => {
                self.up.done = true;
                self.upstream.finish_writing(cx);
            }
            Stream::Downstream => {
                self.down.done = true;
                self.client.finish_writing(cx);
            }
        }
        if end == End::Close {
            report.feed(other, End::Fin);
        }
    }

    /// The sink of `stream` has been reset by its peer. Returns whether that
    /// is the end of the connection; where data of the other direction is
    /// still on its way, the reset follows it.
    fn lose_sink(&mut self, stream: Stream, other: &mut Link, report: &Report<'_>) -> bool {
        let (pump, back, peer) = match stream {
            Stream::Upstream => (&mut self.up, &self.down, Peer::Upstream),
            Stream::Downstream => (&mut self.down, &self.up, Peer::Client),
        };
        pump.done = true;
        let over = back.done;
        self.lost = true;
        self.peer_ended(peer, SideEnd::Rst, report);
        report.feed(other, End::Reset);
        over
    }

    fn has_reset_after_fin(&mut self, peer: Peer, cx: &mut Context<'_>) -> bool {
        match peer {
            Peer::Client => !self.down.done && self.client.poll_reset(cx).is_ready(),
            Peer::Upstream => !self.up.done && self.upstream.poll_reset(cx).is_ready(),
        }
    }

    fn poll_timer(&mut self, deadline: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = deadline else {
            return Poll::Pending;
        };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx)
    }

    /// Closes both sockets; returns how each side ended.
    pub(crate) fn close(self, finish: Finish) -> (SideEnd, SideEnd) {
        let reset = finish == Finish::Reset;
        self.client.close(reset);
        self.upstream.close(reset);
        let side = |end: Option<SideEnd>| {
            if reset {
                SideEnd::Rst
            } else {
                end.unwrap_or(SideEnd::Fin)
            }
        };
        (side(self.client_end), side(self.upstream_end))
    }
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
