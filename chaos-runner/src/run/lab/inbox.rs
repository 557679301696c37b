//! What happens in a lab, one thing after the other.
//!
//! Owns the order in which it is heard. What a server saw comes before what came of it elsewhere: a
//! client ends after its answer has left, so the end of its process is heard after the answer, however
//! busy the machine is. It decides nothing.

use std::{
    future::poll_fn,
    task::{Context, Poll},
};

use stub_provider::event as wire;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use toxic_proxy::ConnectionEvent;

use super::Signal;

/// Everything that a lab hears.
#[derive(Debug)]
pub(super) struct Inbox {
    signals: UnboundedReceiver<Signal>,
    /// Taken from `signals`, and not told yet.
    next: Option<Signal>,
    servers: Vec<Server>,
}

/// The two servers of a side.
#[derive(Debug)]
struct Server {
    provider: UnboundedReceiver<wire::Event>,
    /// Taken from `provider`, and not told yet.
    next: Option<wire::Event>,
    proxy: UnboundedReceiver<ConnectionEvent>,
}

impl Inbox {
    /// An inbox, and the way into it for whatever is not a server.
    pub(super) fn new() -> (UnboundedSender<Signal>, Self) {
        let (sender, signals) = mpsc::unbounded_channel();
        let inbox = Self {
            signals,
            next: None,
            servers: Vec::new(),
        };
        (sender, inbox)
    }

    /// Hears the servers of one more side.
    pub(super) fn listen(
        &mut self,
        provider: UnboundedReceiver<wire::Event>,
        proxy: UnboundedReceiver<ConnectionEvent>,
    ) {
        self.servers.push(Server {
            provider,
            next: None,
            proxy,
        });
    }

    /// The next thing that happened. What was not awaited to its end is not lost.
    pub(super) async fn recv(&mut self) -> Signal {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// The next thing that has happened already.
    pub(super) fn try_recv(&mut self) -> Option<Signal> {
        self.next = self.next.take().or_else(|| self.signals.try_recv().ok());
        self.servers
            .iter_mut()
            .enumerate()
            .find_map(|(side, server)| server.try_recv(side))
            .or_else(|| self.next.take())
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Signal> {
        // Later things are taken first and told last: whatever they are the consequence of is then
        // to be had when the servers are asked.
        if self.next.is_none()
            && let Poll::Ready(signal) = self.signals.poll_recv(cx)
        {
            self.next = signal;
        }
        for (side, server) in self.servers.iter_mut().enumerate() {
            if let Some(signal) = server.poll(side, cx) {
                return Poll::Ready(signal);
            }
        }
        match self.next.take() {
            Some(signal) => Poll::Ready(signal),
            None => Poll::Pending,
        }
    }
}

impl Server {
    /// What the proxy saw comes before what its passing on led to at the provider.
    fn try_recv(&mut self, side: usize) -> Option<Signal> {
        self.next = self.next.take().or_else(|| self.provider.try_recv().ok());
        match self.proxy.try_recv() {
            Ok(event) => Some(Signal::Connection(side, event)),
            Err(_) => Some(Signal::Provider(side, self.next.take()?)),
        }
    }

    /// The same, and a waker where there is nothing. (`poll_recv` alone can claim that there is
    /// nothing, when its task has run for long enough.)
    fn poll(&mut self, side: usize, cx: &mut Context<'_>) -> Option<Signal> {
        if let Some(signal) = self.try_recv(side) {
            return Some(signal);
        }
        if let Poll::Ready(Some(event)) = self.proxy.poll_recv(cx) {
            return Some(Signal::Connection(side, event));
        }
        if let Poll::Ready(event) = self.provider.poll_recv(cx) {
            return Some(Signal::Provider(side, event?));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::history::Process;

    fn seen() -> wire::Event {
        wire::Event {
            seq: 1,
            at: Instant::now(),
            kind: wire::EventKind::Crashed,
        }
    }

    #[tokio::test]
    async fn what_a_server_saw_is_heard_before_the_end_of_the_client_that_it_led_to() {
        let (signals, mut inbox) = Inbox::new();
        let (provider, events) = mpsc::unbounded_channel();
        let (proxy, connections) = mpsc::unbounded_channel();
        inbox.listen(events, connections);
        let ended = Signal::ProcessEnded(Process::Worker(1), 1, Some(0));
        signals.send(ended).expect("an inbox");
        for _ in 0..500 {
            provider.send(seen()).expect("an inbox");
        }
        let hit = ConnectionEvent::ToxicHit {
            id: 1,
            toxic: "mine".into(),
        };
        proxy.send(hit).expect("an inbox");
        // More than a task of tokio's may take at a time.
        assert!(matches!(inbox.recv().await, Signal::Connection(0, _)));
        for _ in 0..500 {
            assert!(matches!(inbox.recv().await, Signal::Provider(0, _)));
        }
        assert!(matches!(inbox.recv().await, Signal::ProcessEnded(..)));
        assert!(inbox.try_recv().is_none());
    }

    #[tokio::test]
    async fn whoever_waits_is_woken_by_each_source() {
        let (signals, mut inbox) = Inbox::new();
        let (provider, events) = mpsc::unbounded_channel();
        let (_proxy, connections) = mpsc::unbounded_channel();
        inbox.listen(events, connections);
        let waiting = tokio::spawn(async move {
            let first = inbox.recv().await;
            (first, inbox)
        });
        tokio::task::yield_now().await;
        provider.send(seen()).expect("an inbox");
        let (first, mut inbox) = waiting.await.expect("it was woken");
        assert!(matches!(first, Signal::Provider(0, _)));
        let waiting = tokio::spawn(async move { inbox.recv().await });
        tokio::task::yield_now().await;
        signals.send(Signal::Ready(Ok(()))).expect("an inbox");
        assert!(matches!(
            waiting.await.expect("it was woken"),
            Signal::Ready(_)
        ));
    }
}
