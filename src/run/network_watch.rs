//! Watches the addresses of this machine, so that an encrypted call survives a change of network.

use std::net::SocketAddr;

use evenkeel_secure::endpoint::Candidate;
use tfrc::time::{Duration, Instant};

/// The time between two looks: a person notices a longer gap.
const INTERVAL: Duration = Duration::from_secs(1);

/// The addresses at which a peer may reach this end.
pub(super) struct NetworkWatch {
    /// The address of the socket.
    local: SocketAddr,
    known: Vec<SocketAddr>,
    next: Instant,
}

impl NetworkWatch {
    /// Creates the watch of a socket that a peer reaches at `known`. A socket that is bound to one address keeps it.
    pub(super) fn new(now: Instant, local: SocketAddr, known: &[Candidate]) -> Option<Self> {
        local.ip().is_unspecified().then(|| Self {
            local,
            known: addresses(known),
            next: now + INTERVAL,
        })
    }

    /// Returns the addresses if they have changed. `list` returns those of a socket.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        list: impl FnOnce(SocketAddr) -> Vec<Candidate>,
    ) -> Option<Vec<Candidate>> {
        if now < self.next {
            return None;
        }
        self.next = now + INTERVAL;
        let candidates = list(self.local);
        let found = addresses(&candidates);
        if found == self.known {
            return None;
        }
        self.known = found;
        Some(candidates)
    }
}

fn addresses(candidates: &[Candidate]) -> Vec<SocketAddr> {
    candidates.iter().map(Candidate::addr).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_of_addresses_is_reported_once() {
        let local = SocketAddr::from(([0, 0, 0, 0], 5_004));
        let at = |host: u8| {
            let address = SocketAddr::from(([192, 0, 2, host], 5_004));
            vec![Candidate::host(address, "udp").expect("an address")]
        };
        let mut watch = NetworkWatch::new(Instant::ZERO, local, &at(1)).expect("any address");
        let mut poll = |secs, host| {
            let found = watch.poll(Instant::from_secs(secs), |_| at(host));
            found.map(|found| addresses(&found))
        };
        assert_eq!(poll(0, 2), None, "too early");
        assert_eq!(poll(1, 1), None);
        assert_eq!(poll(2, 2), Some(addresses(&at(2))));
        assert_eq!(poll(3, 2), None);
        assert_eq!(poll(4, 1), Some(addresses(&at(1))));
        let bound = SocketAddr::from(([192, 0, 2, 1], 5_004));
        assert!(NetworkWatch::new(Instant::ZERO, bound, &at(1)).is_none());
    }
}
