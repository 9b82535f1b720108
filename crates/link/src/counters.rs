//! Counts the fates of a link's packets, and keeps them as events for a reader.

use crate::event::{DropReason, Event, EventLog};
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// Packets and the bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many packets.
    pub packets: u64,
    /// Their sizes on the wire, added up.
    pub bytes: Bytes,
}

impl Count {
    pub(crate) fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }

    pub(crate) fn remove(&mut self, other: Count) {
        self.packets -= other.packets;
        self.bytes -= other.bytes;
    }
}

/// What became of the packets since the link was made:
/// `received + duplicated = delivered + lost + dropped + held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Handed to [`Link::handle_packet`](crate::Link::handle_packet).
    pub received: Count,
    /// Given out by [`Link::poll_output`](crate::Link::poll_output).
    pub delivered: Count,
    /// Lost by the [`Loss`](crate::Loss) model or by [`Link::lose`](crate::Link::lose).
    pub lost: Count,
    /// Refused by the queue or dropped from it, or refused by the bound on what the link holds.
    pub dropped: Count,
    /// Marked by the queue instead of dropped.
    pub marked: Count,
    /// Copies that the path made.
    pub duplicated: Count,
    /// In the queue, on the wire or on their way at this moment.
    pub held: Count,
    /// Events that were overwritten because nobody read them.
    pub events_overwritten: u64,
}

/// The books of a link. A box for what most links of a simulation do not have: its speed hangs on
/// how little memory a packet touches.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct LinkCounters {
    received: Count,
    occupancy: Occupancy,
    rare: Option<Box<RareCounters>>,
}

/// What the link holds, which is bounded so that half the width counts it: the books then take half a cache
/// line.
#[derive(Clone, Copy, Debug, Default)]
struct Occupancy {
    packets: u32,
    bytes: u32,
}

impl Occupancy {
    fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size.get() as u32;
    }

    fn remove(&mut self, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size.get() as u32;
    }
}

/// What does not happen to most packets.
#[derive(Clone, Debug, Default)]
struct RareCounters {
    lost: Count,
    dropped: Count,
    marked: Count,
    duplicated: Count,
    events: Option<EventLog>,
}

impl LinkCounters {
    pub(crate) fn keep_events(&mut self) {
        self.rare().events.get_or_insert_default();
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events()?.pop()
    }

    #[inline]
    pub(crate) fn held(&self) -> Count {
        Count {
            packets: self.occupancy.packets.into(),
            bytes: Bytes::new(self.occupancy.bytes.into()),
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        let nothing = RareCounters::default();
        let RareCounters {
            lost,
            dropped,
            marked,
            duplicated,
            events,
        } = self.rare.as_deref().unwrap_or(&nothing);
        let mut delivered = self.received;
        delivered.packets += duplicated.packets;
        delivered.bytes += duplicated.bytes;
        for other in [*lost, *dropped, self.held()] {
            delivered.remove(other);
        }
        Counters {
            received: self.received,
            delivered,
            lost: *lost,
            dropped: *dropped,
            marked: *marked,
            duplicated: *duplicated,
            held: self.held(),
            events_overwritten: events.as_ref().map_or(0, EventLog::overwritten),
        }
    }

    /// What has been taken in so far.
    #[inline]
    pub(crate) fn taken(&self) -> Count {
        let mut taken = self.received;
        if let Some(rare) = &self.rare {
            taken.remove(rare.lost);
            taken.remove(rare.dropped);
        }
        taken
    }

    #[inline]
    pub(crate) fn received(&mut self, size: Bytes) {
        self.received.add(size);
    }

    /// A packet that has arrived is lost by the path.
    pub(crate) fn lost(&mut self, at: Instant, size: Bytes, packet: u64) {
        self.rare().lost.add(size);
        self.record(|| Event::Dropped {
            at,
            size,
            reason: DropReason::Loss,
            packet,
        });
    }

    /// A packet that has arrived is not taken in.
    pub(crate) fn refused(&mut self, at: Instant, size: Bytes, reason: DropReason, packet: u64) {
        self.rare().dropped.add(size);
        self.record(|| Event::Dropped {
            at,
            size,
            reason,
            packet,
        });
    }

    pub(crate) fn keeps_events(&self) -> bool {
        let rare = self.rare.as_ref();
        rare.is_some_and(|rare| rare.events.is_some())
    }

    /// What [`LinkCounters::admitted`] does, where no events are kept.
    #[inline]
    pub(crate) fn take_in(&mut self, size: Bytes) {
        self.occupancy.add(size);
    }

    /// A packet that has arrived is taken in.
    pub(crate) fn admitted(&mut self, at: Instant, size: Bytes, backlog: Bytes) {
        self.occupancy.add(size);
        self.record(|| Event::Enqueued { at, size, backlog });
    }

    /// A packet that was taken in is dropped from the queue.
    pub(crate) fn dropped(&mut self, at: Instant, size: Bytes, reason: DropReason, packet: u64) {
        self.occupancy.remove(size);
        self.refused(at, size, reason, packet);
    }

    pub(crate) fn marked(&mut self, at: Instant, size: Bytes) {
        self.rare().marked.add(size);
        self.record(|| Event::Marked { at, size });
    }

    /// A packet is on the wire, which it waited for since its `arrival`.
    #[inline]
    pub(crate) fn begun(&mut self, at: Instant, size: Bytes, arrival: Instant) {
        if let Some(events) = self.events() {
            events.on_wire = Some((size, at.saturating_since(arrival)));
        }
    }

    /// The packet on the wire is through.
    #[inline]
    pub(crate) fn transmitted(&mut self, at: Instant) {
        if let Some(events) = self.events()
            && let Some((size, waited)) = events.on_wire.take()
        {
            events.push(Event::Transmitted { at, size, waited });
        }
    }

    pub(crate) fn duplicated(&mut self, size: Bytes) {
        self.rare().duplicated.add(size);
        self.occupancy.add(size);
    }

    #[inline]
    pub(crate) fn delivered(&mut self, size: Bytes) {
        self.occupancy.remove(size);
    }

    #[inline]
    pub(crate) fn record(&mut self, event: impl FnOnce() -> Event) {
        if let Some(events) = self.events() {
            events.push(event());
        }
    }

    #[inline]
    fn events(&mut self) -> Option<&mut EventLog> {
        self.rare.as_mut()?.events.as_mut()
    }

    #[cold]
    fn rare(&mut self) -> &mut RareCounters {
        self.rare.get_or_insert_default()
    }
}
