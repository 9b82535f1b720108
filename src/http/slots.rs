//! What hosts have open, connections or messages, and which of them ends where there is no room for another.

use std::net::{IpAddr, Ipv6Addr};

/// The most that there may be of something that hosts open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotLimits {
    /// The most of all hosts together.
    pub(crate) total: usize,
    /// The most of one host, which then leave room for another host.
    pub(crate) per_host: usize,
}

/// What hosts have open. Those that have had no answer come first, in the order of their arrival; then those that have,
/// in the order of their last one. A viewer's connections are answered some ten times a second, so an idle one ends before
/// them.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    limits: SlotLimits,
    idle: Vec<Slot<T>>,
    answered: Vec<Slot<T>>,
}

#[derive(Debug)]
struct Slot<T> {
    id: u64,
    host: IpAddr,
    value: T,
}

impl<T> Slots<T> {
    pub(crate) const fn new(limits: SlotLimits) -> Self {
        Self {
            limits,
            idle: Vec::new(),
            answered: Vec::new(),
        }
    }

    /// Adds a connection or a message; returns one that must end for it, if there are too many.
    pub(crate) fn add(&mut self, id: u64, address: IpAddr, value: T) -> Option<T> {
        let host = host(address);
        let of_host = self.all().filter(|slot| slot.host == host).count();
        let evicted = if of_host >= self.limits.per_host {
            self.evict(|slot| slot.host == host)
        } else if self.all().count() >= self.limits.total {
            self.evict(|_| true)
        } else {
            None
        };
        let slot = Slot { id, host, value };
        self.idle.push(slot);
        evicted
    }

    /// Records that a connection has been sent bytes of an answer.
    pub(crate) fn answer(&mut self, id: u64) {
        let slot = take(&mut self.idle, |slot| slot.id == id)
            .or_else(|| take(&mut self.answered, |slot| slot.id == id));
        self.answered.extend(slot);
    }

    /// Removes a connection that has ended.
    pub(crate) fn remove(&mut self, id: u64) {
        self.idle.retain(|slot| slot.id != id);
        self.answered.retain(|slot| slot.id != id);
    }

    /// Returns what is open, each with its number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.all().map(|slot| (slot.id, &slot.value))
    }

    fn all(&self) -> impl Iterator<Item = &Slot<T>> {
        self.idle.iter().chain(&self.answered)
    }

    fn evict(&mut self, may_end: impl Fn(&Slot<T>) -> bool) -> Option<T> {
        let slot = take(&mut self.idle, &may_end).or_else(|| take(&mut self.answered, &may_end));
        slot.map(|slot| slot.value)
    }
}

/// Takes the first slot for which `is_wanted` holds.
fn take<T>(slots: &mut Vec<Slot<T>>, is_wanted: impl Fn(&Slot<T>) -> bool) -> Option<Slot<T>> {
    let position = slots.iter().position(is_wanted)?;
    Some(slots.remove(position))
}

/// Returns the host of an address. A host has all addresses of an IPv6 prefix of 64 bits (RFC 4291 §2.5.1).
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let prefix = u128::from(v6) & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from(prefix))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_CONNECTIONS: usize = 64;
    const MAX_PER_HOST: usize = 32;
    const LIMITS: SlotLimits = SlotLimits {
        total: MAX_CONNECTIONS,
        per_host: MAX_PER_HOST,
    };

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn oldest_idle_connection_of_the_host_ends_first() {
        let mut slots = Slots::new(LIMITS);
        let (host, other) = (address("192.0.2.1"), address("192.0.2.2"));
        assert_eq!(slots.add(0, other, 0), None);
        for id in 1..=MAX_PER_HOST as u64 {
            assert_eq!(slots.add(id, host, id), None);
        }
        slots.answer(1);
        slots.answer(2);
        // Of its own host, the oldest that had no answer.
        assert_eq!(slots.add(100, host, 100), Some(3));
        slots.remove(100);
        assert_eq!(slots.add(101, host, 101), None);
        for id in (4..=MAX_PER_HOST as u64).chain([101]) {
            slots.answer(id);
        }
        // All were answered, the second one longest ago.
        slots.answer(1);
        assert_eq!(slots.add(102, host, 102), Some(2));
    }

    #[test]
    fn many_hosts_together_are_bounded_too() {
        let mut slots = Slots::new(LIMITS);
        let ended = (0..200_u64).filter_map(|id| {
            let address = IpAddr::from([10, 0, 0, id as u8]);
            slots.add(id, address, id)
        });
        let ended: Vec<u64> = ended.collect();
        assert_eq!(ended, (0..200 - MAX_CONNECTIONS as u64).collect::<Vec<_>>());
    }

    #[test]
    fn addresses_of_one_prefix_are_one_host() {
        assert_eq!(host(address("2001:db8::1")), host(address("2001:db8::2:3")));
        assert_ne!(
            host(address("2001:db8::1")),
            host(address("2001:db8:0:1::1"))
        );
        assert_eq!(host(address("::ffff:192.0.2.1")), address("192.0.2.1"));
    }
}
