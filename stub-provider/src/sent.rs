//! [`Sent`]: an answer's body on its way.
//!
//! Owns saying on the line when hyper has taken an answer whole, and that its bytes are not copied
//! on the way there.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};

use crate::{reply::Reply, wire::Line};

/// A piece of a body.
pub(crate) enum Piece {
    Bytes(Bytes),
    /// An answer's body from a place on, which is not copied: it may be stored.
    Answer(Arc<Reply>, usize),
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.chunk().len()
    }

    fn chunk(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Answer(reply, from) => &reply.body[*from..],
        }
    }

    fn advance(&mut self, count: usize) {
        match self {
            Self::Bytes(bytes) => bytes.advance(count),
            Self::Answer(_, from) => *from += count,
        }
    }
}

/// An answer's body: notes when hyper has taken it whole.
pub(crate) struct Sent {
    data: Option<Arc<Reply>>,
    line: Arc<Line>,
}

impl Sent {
    /// The body of that answer, on that line.
    pub(crate) fn new(reply: Arc<Reply>, line: &Arc<Line>) -> Self {
        let data = Some(reply).filter(|reply| !reply.body.is_empty());
        if data.is_none() {
            line.leaving();
        }
        Self {
            data,
            line: line.clone(),
        }
    }
}

impl Body for Sent {
    type Data = Piece;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Infallible>>> {
        let data = self.data.take();
        self.line.leaving();
        Poll::Ready(data.map(|reply| Ok(Frame::data(Piece::Answer(reply, 0)))))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(
            self.data
                .as_ref()
                .map_or(0, |reply| reply.body.len() as u64),
        )
    }
}
