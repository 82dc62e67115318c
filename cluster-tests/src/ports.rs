//! Ports for nodes: free now, and still free when a killed node comes back for its own.
//!
//! A port that the kernel chooses (bind to 0) lies where outgoing connections get theirs from, so one of those may sit on
//! it while its node is down. Therefore ports are taken from below that range, and held until their node is started.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below what Linux gives to outgoing connections (32768 and up), above what services are found at.
const FIRST: u16 = 15_000;
const LAST: u16 = 32_000;

/// A port that nobody else can take while this lives.
#[derive(Debug)]
pub struct Held {
    listener: TcpListener,
    /// Where it is.
    pub address: SocketAddr,
}

impl Held {
    /// The next free port of loopback.
    ///
    /// # Panics
    /// When none is free, which means that something else is wrong with the machine.
    #[must_use]
    pub fn take() -> Self {
        let tries = usize::from(LAST - FIRST);
        let listener = (0..tries).find_map(|_| TcpListener::bind(("127.0.0.1", next())).ok());
        let listener = listener.expect("a free port below 32768");
        let address = listener.local_addr().expect("a bound socket has an address");
        Self { listener, address }
    }

    /// Lets go of it, for its node to take.
    pub fn release(self) {
        drop(self.listener);
    }
}

/// An address that was free a moment ago: for a start that is refused before it gets there.
#[must_use]
pub fn free() -> SocketAddr {
    let held = Held::take();
    let address = held.address;
    held.release();
    address
}

/// Each test process begins somewhere else, so that two of them hardly ever ask for the same one.
fn next() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let room = u32::from(LAST - FIRST);
    let start = std::process::id().wrapping_mul(101) % room;
    let offset = (start + u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % room;
    FIRST + offset as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_ports_differ_and_can_be_taken_once_they_are_released() {
        let (one, two) = (Held::take(), Held::take());
        assert_ne!(one.address, two.address);
        assert!(TcpListener::bind(one.address).is_err(), "it is held");
        let address = one.address;
        one.release();
        assert!(TcpListener::bind(address).is_ok());
    }
}
