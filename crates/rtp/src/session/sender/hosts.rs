//! Keeps the memory of hosts while the peer is at another host.

use std::collections::VecDeque;
use std::net::IpAddr;

/// The most hosts that are remembered, of which the longest absent is forgotten first. Another host replaces a peer
/// after a BYE or five seconds of silence, so an honest session has few hosts.
const HOSTS: usize = 8;

/// The hosts at which the peer was and no longer is.
#[derive(Debug)]
pub(super) struct Hosts<T>(VecDeque<(IpAddr, T)>);

impl<T> Hosts<T> {
    pub(super) const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Keeps the memory of a host that the peer has left.
    pub(super) fn keep(&mut self, host: IpAddr, known: T) {
        if self.0.len() == HOSTS {
            self.0.pop_front();
        }
        self.0.push_back((host, known));
    }

    /// Takes the memory of a host to which the peer returns, if there is one.
    pub(super) fn take(&mut self, host: IpAddr) -> Option<T> {
        let index = self.0.iter().position(|(at, _)| *at == host)?;
        self.0.remove(index).map(|(_, known)| known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    #[test]
    fn what_is_known_of_a_host_says_nothing_of_another() {
        let mut hosts = Hosts::new();
        hosts.keep(host(1), 'a');
        assert_eq!(hosts.take(host(2)), None);
        assert_eq!(hosts.take(host(1)), Some('a'));
        assert_eq!(hosts.take(host(1)), None);
    }

    #[test]
    fn eight_hosts_are_remembered_whoever_comes() {
        let mut hosts = Hosts::new();
        for number in 0..=255 {
            hosts.keep(host(number), number);
            assert!(hosts.0.len() <= HOSTS);
        }
        assert_eq!(hosts.take(host(247)), None);
        assert_eq!(hosts.take(host(248)), Some(248));
    }
}
