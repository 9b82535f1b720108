//! The mailboxes of a rendezvous, bounded in number, size and time.

use std::net::IpAddr;

use axum::body::Bytes;
use tfrc::time::{Duration, Instant};

use crate::http::{SlotLimits, Slots};

/// The time for which a message is kept: a person who pastes an invitation is waited for elsewhere.
pub(super) const MESSAGE_LIFETIME: Duration = Duration::from_secs(300);

/// The most mailboxes. With messages of 2 KiB they take 2 MiB.
pub(super) const MAILBOX_LIMITS: SlotLimits = SlotLimits {
    total: 1_024,
    per_host: 16,
};

/// A message in a mailbox.
struct StoredMessage {
    name: String,
    sealed: Bytes,
    until: Instant,
}

/// The mailboxes. Each has one message, the last one.
///
/// Where there are too many, the oldest of the writer's host gives way, or else the oldest of all: a reader that waits has
/// read a message the moment it was left.
pub(super) struct MailboxStore {
    messages: Slots<StoredMessage>,
    /// The number of the last message. The first is `start`.
    last: u64,
}

impl MailboxStore {
    /// Creates a store whose messages are numbered from `start`: another number than that of a store before, of which a reader
    /// may remember a message.
    pub(super) const fn new(start: u64) -> Self {
        Self {
            messages: Slots::new(MAILBOX_LIMITS),
            last: start,
        }
    }

    /// Leaves a message in place of the one before.
    pub(super) fn leave(&mut self, now: Instant, source: IpAddr, name: String, sealed: Bytes) {
        self.forget(|message| message.until <= now || message.name == name);
        self.last += 1;
        let message = StoredMessage {
            name,
            sealed,
            until: now + MESSAGE_LIFETIME,
        };
        self.messages.add(self.last, source, message);
    }

    /// Returns the message in a mailbox, and its number, unless that is `known`.
    pub(super) fn read(
        &mut self,
        now: Instant,
        name: &str,
        known: Option<u64>,
    ) -> Option<(u64, Bytes)> {
        self.forget(|message| message.until <= now);
        let mut messages = self.messages.iter();
        let found = messages.find(|(_, message)| message.name == name);
        let found = found.filter(|(number, _)| Some(*number) != known);
        found.map(|(number, message)| (number, message.sealed.clone()))
    }

    fn forget(&mut self, is_over: impl Fn(&StoredMessage) -> bool) {
        let over = self.messages.iter().filter(|(_, message)| is_over(message));
        let over: Vec<_> = over.map(|(number, _)| number).collect();
        for number in over {
            self.messages.remove(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

    fn other(n: usize) -> IpAddr {
        IpAddr::from([10, 0, (n >> 8) as u8, n as u8])
    }

    #[test]
    fn last_message_is_read_until_its_time_is_over() {
        let mut store = MailboxStore::new(0);
        let now = Instant::ZERO;
        store.leave(now, HOST, "a".into(), Bytes::from_static(b"1"));
        let (first, sealed) = store.read(now, "a", None).expect("it lies there");
        assert_eq!(&*sealed, b"1");
        assert_eq!(store.read(now, "a", Some(first)), None);
        assert_eq!(store.read(now, "b", None), None);
        store.leave(now, HOST, "a".into(), Bytes::from_static(b"2"));
        let (second, sealed) = store.read(now, "a", Some(first)).expect("another");
        assert_eq!(&*sealed, b"2");
        assert_ne!(first, second);
        assert_eq!(store.read(now + MESSAGE_LIFETIME, "a", None), None);
        assert_eq!(store.messages.iter().count(), 0);
    }

    #[test]
    fn a_host_fills_its_share_alone() {
        let mut store = MailboxStore::new(0);
        let now = Instant::ZERO;
        store.leave(now, other(0), "kept".into(), Bytes::new());
        for n in 0..10_000 {
            store.leave(now, HOST, format!("{n}"), Bytes::new());
        }
        assert_eq!(store.messages.iter().count(), MAILBOX_LIMITS.per_host + 1);
        assert!(store.read(now, "kept", None).is_some());
        assert!(store.read(now, "9999", None).is_some());
    }

    #[test]
    fn many_hosts_together_are_bounded() {
        let mut store = MailboxStore::new(0);
        for n in 0..2 * MAILBOX_LIMITS.total {
            store.leave(Instant::ZERO, other(n), format!("{n}"), Bytes::new());
        }
        assert_eq!(store.messages.iter().count(), MAILBOX_LIMITS.total);
    }
}
