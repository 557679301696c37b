//! Moves one direction of a connection: socket to link to socket.
//!
//! Where no toxic applies, bytes go from the read straight into the write
//! through one buffer, without a queue or an allocation in between.

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

/// One direction's data that has been taken out and not yet been written.
pub(crate) struct Pump {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
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
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
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
            match self.poll_write(cx, sink, delivered) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(())) => return Pumped::SinkLost,
                Poll::Pending if link.is_direct() => return Pumped::Waiting(None),
                Poll::Pending => return Self::blocked(link, hit),
            }
            if link.is_direct() {
                match source.poll_read(cx, &mut self.buffer) {
                    Poll::Ready(Read::Data(n)) => (self.start, self.end) = (0, n),
                    Poll::Ready(Read::End(end)) => {
                        self.source_end = Some(end);
                        return Pumped::Ended(end);
                    }
                    Poll::Pending => return Pumped::Waiting(None),
                }
                continue;
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
                && let Poll::Ready(ready) = source.poll_read(cx, &mut self.buffer)
            {
                let item = match ready {
                    Read::Data(n) => {
                        let bytes = Bytes::copy_from_slice(&self.buffer[..n]);
                        Item::Data(Chunk {
                            bytes,
                            received: now,
                        })
                    }
                    Read::End(end) => {
                        self.source_end = Some(end);
                        Item::End(end)
                    }
                };
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

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut Half,
        delivered: &AtomicU64,
    ) -> Poll<Result<(), ()>> {
        loop {
            let raw = self.start < self.end;
            let bytes = if raw {
                &self.buffer[self.start..self.end]
            } else {
                &self.chunk[..]
            };
            if bytes.is_empty() {
                return Poll::Ready(Ok(()));
            }
            match sink.poll_write(cx, bytes) {
                Poll::Ready(Ok(n)) if n > 0 => {
                    delivered.fetch_add(n as u64, Ordering::Relaxed);
                    if raw {
                        self.start += n;
                    } else {
                        self.chunk.advance(n);
                    }
                }
                Poll::Ready(_) => return Poll::Ready(Err(())),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
