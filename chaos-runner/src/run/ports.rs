//! Ports for what a run starts.
//!
//! Owns their choice. A port that the system hands out (port 0) can be handed to another as soon as
//! its socket is closed, and a provider that crashes, a link that is down and a client that is
//! yet to start all have none for a while. So these are taken from below the range from which the
//! system hands out, and each is claimed against other runs by a UDP socket of the same number.

use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use socket2::{Domain, Protocol, Socket, Type};

use super::error::Error;

/// The first port, and how many there are: up to Linux' default range for port 0.
const FIRST: u32 = 10_000;
const COUNT: u32 = 22_000;

/// The ports of a run. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Ports {
    next: Arc<AtomicU32>,
}

/// A port of the loopback address that is ours until this is dropped.
#[derive(Debug)]
pub struct Claimed {
    /// Where.
    pub addr: SocketAddr,
    _claim: UdpSocket,
}

impl Ports {
    /// Ports that begin at a place of the process's own, so that two runs seldom meet.
    pub fn new(process: u32) -> Self {
        Self {
            next: Arc::new(AtomicU32::new(process.wrapping_mul(1_009) % COUNT)),
        }
    }

    /// A port on which nobody listens and that no other run has.
    ///
    /// # Errors
    ///
    /// When every one is taken.
    pub fn take(&self) -> Result<Claimed, Error> {
        let mut last = std::io::Error::other("no port was tried");
        for _ in 0..COUNT {
            let offset = self.next.fetch_add(1, Ordering::Relaxed) % COUNT;
            let port = u16::try_from(FIRST + offset).unwrap_or(u16::MAX);
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            match (UdpSocket::bind(addr), nobody_listens(addr)) {
                (Ok(claim), Ok(())) => {
                    return Ok(Claimed {
                        addr,
                        _claim: claim,
                    });
                }
                (Err(error), _) | (_, Err(error)) => last = error,
            }
        }
        Err(Error::Io {
            doing: "looking for a free port".into(),
            source: last,
        })
    }
}

/// Whether the port can be had. The socket is bound and never listens: a process that is being
/// started at this moment holds copies of all our sockets for a while, and a copy that listens
/// would keep the port from us.
fn nobody_listens(addr: SocketAddr) -> std::io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&addr.into())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn no_port_is_given_twice_and_one_that_is_taken_is_passed_over() {
        let ports = Ports::new(7);
        let first = ports.take().expect("a port").addr;
        let next = SocketAddr::from(([127, 0, 0, 1], first.port() + 1));
        let _taken = TcpListener::bind(next);
        let second = ports.take().expect("another port").addr;
        assert!(second.port() > next.port(), "{first} {second}");
    }

    #[test]
    fn two_runs_that_begin_at_one_place_do_not_meet() {
        let (one, other) = (Ports::new(40), Ports::new(40));
        let claimed: Vec<Claimed> = (0..20)
            .map(|k| if k % 2 == 0 { one.take() } else { other.take() }.expect("a port"))
            .collect();
        let mut numbers: Vec<u16> = claimed.iter().map(|claimed| claimed.addr.port()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), claimed.len());
    }
}
