//! Moves one direction of a connection: socket to link to socket.
//!
//! Where no toxic applies, bytes go from the read straight into the write,
//! without a queue or an allocation in between. They are read into a buffer of
//! the thread, which its connections share: one that is idle holds none, and
//! only what a sink does not take at once is kept.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::time::Instant;

use crate::half::{Half, Read};
use crate::item::{Chunk, End, Item};
use crate::link::Link;

/// Bytes read in one go.
const BUFFER: usize = 32 * 1024;

thread_local! {
    /// Of use within one poll only.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; BUFFER].into_boxed_slice());
}

/// One direction's data that has been taken out and not yet been written.
pub(crate) struct Pump {
    chunk: Bytes,
    /// Nothing more is to be moved in this direction.
    pub(crate) done: bool,
    /// How the source has ended by itself.
    pub(crate) source_end: Option<End>,
}

/// Where a direction stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pumped {
    /// Nothing can be moved before a socket is ready or this time has come.
    Waiting(Option<Instant>),
    /// The sink is to see this end now.
    Ended(End),
    /// The sink refuses data: its peer has reset the connection.
    SinkLost,
}

impl Pump {
    pub(crate) fn new() -> Self {
        Self {
            chunk: Bytes::new(),
            done: false,
            source_end: None,
        }
    }

    /// Moves what can be moved. `hit` is told of toxics that act for the first
    /// time, before anyone can see the effect.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        link: &mut Link,
        source: &mut Half,
        sink: &mut Half,
        delivered: &AtomicU64,
        hit: &mut dyn FnMut(&str),
    ) -> Pumped {
        loop {
            match poll_write(cx, sink, &mut self.chunk, delivered) {
                // What it was stays allocated for as long as it is held.
                Poll::Ready(Ok(())) => self.chunk = Bytes::new(),
                Poll::Ready(Err(())) => return Pumped::SinkLost,
                Poll::Pending if link.is_direct() => return Pumped::Waiting(None),
                Poll::Pending => return Self::blocked(link, hit),
            }
            if link.is_direct() {
                let pumped = SCRATCH
                    .with_borrow_mut(|buffer| self.poll_relay(cx, buffer, source, sink, delivered));
                match pumped {
                    Some(pumped) => return pumped,
                    None => continue,
                }
            }
            match link.pop_ready() {
                Some(Item::Data(chunk)) => {
                    self.chunk = chunk.bytes;
                    continue;
                }
                Some(Item::End(end)) => return Pumped::Ended(end),
                None => {}
            }
            let now = Instant::now();
            let mut acted: Vec<Arc<str>> = Vec::new();
            link.step(now, &mut acted);
            let mut read = None;
            if !link.has_ready()
                && link.has_room()
                && let Poll::Ready(item) =
                    SCRATCH.with_borrow_mut(|buffer| self.poll_item(cx, buffer, source, now))
            {
                read = Some(item);
            }
            let has_read = read.is_some();
            if let Some(item) = read {
                link.feed(item, now, &mut acted);
            }
            for toxic in acted {
                hit(&toxic);
            }
            if !has_read && !link.has_ready() {
                return Pumped::Waiting(link.deadline_after(now));
            }
        }
    }

    /// The sink takes no more for now. A reset does not wait behind the data
    /// that it will discard.
    fn blocked(link: &mut Link, hit: &mut dyn FnMut(&str)) -> Pumped {
        let now = Instant::now();
        let mut acted = Vec::new();
        link.step(now, &mut acted);
        for toxic in acted {
            hit(&toxic);
        }
        if link.is_reset() {
            Pumped::Ended(End::Reset)
        } else {
            Pumped::Waiting(link.deadline_after(now))
        }
    }

    /// From one socket into the other; `None` where something has been moved.
    fn poll_relay(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        source: &mut Half,
        sink: &mut Half,
        delivered: &AtomicU64,
    ) -> Option<Pumped> {
        match source.poll_read(cx, buffer) {
            Poll::Ready(Read::Data(n)) => {
                let mut rest = &buffer[..n];
                let written = poll_write(cx, sink, &mut rest, delivered);
                if written == Poll::Ready(Err(())) {
                    return Some(Pumped::SinkLost);
                }
                if !rest.is_empty() {
                    self.chunk = Bytes::copy_from_slice(rest);
                }
                None
            }
            Poll::Ready(Read::End(end)) => {
                self.source_end = Some(end);
                Some(Pumped::Ended(end))
            }
            Poll::Pending => Some(Pumped::Waiting(None)),
        }
    }

    /// What the source has for the toxics.
    fn poll_item(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        source: &mut Half,
        received: Instant,
    ) -> Poll<Item> {
        source.poll_read(cx, buffer).map(|read| match read {
            Read::Data(n) => {
                let bytes = Bytes::copy_from_slice(&buffer[..n]);
                Item::Data(Chunk { bytes, received })
            }
            Read::End(end) => {
                self.source_end = Some(end);
                Item::End(end)
            }
        })
    }
}

/// Writes until nothing is left, or the sink takes no more.
fn poll_write(
    cx: &mut Context<'_>,
    sink: &mut Half,
    rest: &mut impl Buf,
    delivered: &AtomicU64,
) -> Poll<Result<(), ()>> {
    while rest.has_remaining() {
        match sink.poll_write(cx, rest.chunk()) {
            Poll::Ready(Ok(n)) if n > 0 => {
                delivered.fetch_add(n as u64, Ordering::Relaxed);
                rest.advance(n);
            }
            Poll::Ready(_) => return Poll::Ready(Err(())),
            Poll::Pending => return Poll::Pending,
        }
    }
    Poll::Ready(Ok(()))
}
