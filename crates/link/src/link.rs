//! The hop: loss, then the queue, then the wire, then the propagation delay.

mod config;
mod early_departure;
mod settings;

pub use config::LinkConfig;

use crate::counters::{Counters, LinkCounters};
use crate::event::{DropReason, Event};
use crate::impairment::{Impairments, Jitter, Reordering};
use crate::in_flight::{InFlight, Travelling};
use crate::loss::Loss;
use crate::packet::Packet;
use crate::queue::{Queue, Waiting};
use crate::rate::{Wire, later};
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// One direction of one hop, for packets of any type `P`.
///
/// Hand packets in with [`handle_packet`](Link::handle_packet), take them out with
/// [`poll_output`](Link::poll_output) until it gives `None`, then wait for
/// [`poll_timeout`](Link::poll_timeout). The link computes every instant itself, so a caller that
/// comes late finds each packet due at the instant at which it was due.
///
/// Packets must arrive in the order of their `now`; an earlier one counts as simultaneous with the
/// last. It may lie before an instant that was passed to `poll_output`, as the kernel's receive time
/// of a packet read late does.
///
/// Sizes are sizes on the wire: for a UDP datagram over IPv4, its payload and 28 bytes.
// Three cache lines where `P` is a pointer and a number: the times, the packets, the books.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Link<P> {
    wire: Wire,
    /// The latest arrival or change: nothing happens before it.
    latest: Instant,
    /// When the last packet that did not fall behind comes out.
    last_output: Instant,
    /// Off the wire, in the order in which they come out; the last is still on it if it is busy. A
    /// packet that finds the wire idle is written here and nowhere else.
    in_flight: InFlight<P>,
    counters: LinkCounters,
    /// Apart, as most links of a simulation have none.
    impairments: Option<Box<Impairments>>,
    delay_nanos: u64,
    queue: Queue<P>,
}

impl<P: Packet> Link<P> {
    /// An empty link. `seed` fixes all that it will draw.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        let wire = Wire::new(config.rate);
        let is_plain = config.jitter == Jitter::None
            && config.loss == Loss::None
            && config.reordering == Reordering::default()
            && config.duplication == 0.0;
        let impairments = || {
            let LinkConfig { loss, jitter, .. } = config;
            Box::new(Impairments::new(
                loss,
                jitter,
                config.reordering,
                config.duplication,
                seed,
            ))
        };
        Self {
            queue: Queue::new(config.queue, config.discipline, wire.rate(), seed),
            wire,
            in_flight: InFlight::new(),
            delay_nanos: nanos(config.delay),
            latest: Instant::ZERO,
            last_output: Instant::ZERO,
            counters: LinkCounters::default(),
            impairments: (!is_plain).then(impairments),
        }
    }

    /// A packet of `size` bytes on the wire arrives at `now`.
    // Called, it would cost a hop of a simulation a fiftieth more.
    #[inline(always)]
    pub fn handle_packet(&mut self, now: Instant, packet: P, size: Bytes) {
        if self.wire.is_ahead() {
            self.handle_early_departure(now, packet, size);
        } else {
            self.handle_in_turn(now, packet, size);
        }
    }

    #[inline(never)]
    fn handle_in_turn(&mut self, now: Instant, packet: P, size: Bytes) {
        let at = self.settle(now);
        self.counters.received(size);
        let impairments = self.impairments.as_mut();
        if impairments.is_some_and(|impairments| impairments.loses_next(at, size)) {
            return self.counters.lost(at, size, packet.number());
        }
        if self.is_at_capacity(size) {
            let number = packet.number();
            let reason = DropReason::Capacity;
            return self.counters.refused(at, size, reason, number);
        }
        let waiting = Waiting {
            packet,
            size,
            arrival: at,
        };
        let is_idle = self.wire.is_idle();
        if is_idle && self.queue.is_transparent() {
            self.counters.admitted(at, size, size);
            self.begin(at, waiting);
        } else {
            self.queue.push(waiting, is_idle, &mut self.counters);
            self.start_next(at);
        }
        // A packet may take no time at all.
        self.advance(at);
    }

    /// The next packet that has come out by `now`, in order.
    #[inline]
    pub fn poll_output(&mut self, now: Instant) -> Option<P> {
        self.poll_sized(now).map(|(packet, _)| packet)
    }

    /// [`poll_output`](Link::poll_output), with the packet's size on the wire.
    #[inline]
    pub fn poll_sized(&mut self, now: Instant) -> Option<(P, Bytes)> {
        self.advance(now);
        let due = self.in_flight.first_due()?;
        if due > now || due == Instant::MAX {
            return None;
        }
        let Travelling { packet, size, .. } = self.in_flight.pop_first()?;
        self.counters.delivered(size);
        Some((packet, size))
    }

    /// When the next packet comes out, if nothing changes; `None` if none will. Where packets fall
    /// behind, perhaps earlier: when the wire is free, as what it takes next may come out before others.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let mut next = self.in_flight.first_due()?;
        if let Some(impairments) = &self.impairments {
            next = next.min(self.next_through(impairments));
        }
        (next < Instant::MAX).then_some(next)
    }

    /// When the packet on the wire may come out, or let another one out.
    #[inline(never)]
    fn next_through(&self, impairments: &Impairments) -> Instant {
        let end = self.wire.end();
        end.map_or(Instant::MAX, |end| match impairments.reorders() {
            true => end,
            false => self.output_time(end),
        })
    }

    /// The packets that come out by `until` if nothing changes, as far as that is known: all of a link that
    /// is of early departures, else those that are off the queue.
    pub fn leaving(&self, until: Instant) -> impl Iterator<Item = &P> {
        let due = self.in_flight.iter().take_while(move |it| it.due <= until);
        due.map(|travelling| &travelling.packet)
    }

    /// Lets what lies behind a link come near: the packets that come out next and, where some wait, the
    /// queue. For a simulation that does so some time ahead, when the link itself is near.
    #[inline]
    pub fn prefetch_packets(&self) {
        self.in_flight.prefetch();
        if self.has_waiting() {
            self.queue.prefetch();
        }
    }

    /// The same for the packets that wait, when [`prefetch_packets`](Link::prefetch_packets) has brought the
    /// queue.
    #[inline]
    pub fn prefetch_waiting(&self) {
        if self.has_waiting() {
            self.queue.prefetch_first();
        }
    }

    fn has_waiting(&self) -> bool {
        self.counters.held().packets > self.in_flight.len() as u64
    }

    /// Keeps events from now on, for [`Link::poll_event`]: a link does not unless it is told to.
    ///
    /// A packet that already waits in a link of early departures counts as having arrived now.
    pub fn keep_events(&mut self, now: Instant) {
        self.lay_open(now);
        self.counters.keep_events();
    }

    /// The next event, oldest first. At most a few thousand are kept.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.counters.poll_event()
    }

    /// What became of the packets so far.
    pub fn counters(&self) -> Counters {
        self.counters.counters()
    }

    /// Brings the link to `now`, which is not let back before the last arrival or change.
    #[inline]
    fn settle(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.advance(self.latest);
        self.latest
    }

    /// Completes every packet that is through by `now`, each at its own instant.
    #[inline]
    fn advance(&mut self, now: Instant) {
        if self.wire.is_through(now) {
            self.complete(now);
        }
    }

    fn complete(&mut self, now: Instant) {
        while let Some(end) = self.wire.complete(now) {
            self.come_off(end);
            self.start_next(end);
        }
    }

    /// The packet on the wire is through.
    #[inline]
    fn come_off(&mut self, end: Instant) {
        let due = self.output_time(end);
        self.counters.transmitted(end);
        let Some(impairments) = &self.impairments else {
            self.last_output = due;
            return;
        };
        let is_full = self.is_at_capacity(Bytes::ZERO);
        let Some(through) = self.in_flight.last_mut() else {
            return;
        };
        through.due = due;
        let size = through.size;
        let fate = impairments.fate;
        if fate.behind.is_none() {
            self.last_output = due;
        }
        let copy = (fate.is_duplicated && !is_full).then(|| through.clone());
        self.in_flight.sort_last();
        if let Some(copy) = copy {
            self.counters.duplicated(size);
            self.in_flight.push(copy);
            self.in_flight.sort_last();
        }
    }

    /// Puts the next packet of the queue on the wire, if that is idle.
    #[inline]
    fn start_next(&mut self, at: Instant) {
        // That none waits is known without a look at the queue; only the other disciplines want to know.
        let none_waits = self.counters.held().packets == self.in_flight.len() as u64;
        if self.wire.is_idle() && !(none_waits && self.queue.is_transparent()) {
            self.take_next(at);
        }
    }

    fn take_next(&mut self, at: Instant) {
        if let Some(waiting) = self.queue.pop(at, &mut self.counters) {
            self.begin(at, waiting);
        }
    }

    /// Puts a packet on the idle wire.
    // Called, it would have the packet copied once more at every hop.
    #[inline(always)]
    fn begin(&mut self, at: Instant, waiting: Waiting<P>) {
        let begun = self.wire.begin(at, waiting.size);
        self.counters.begun(begun, waiting.size, waiting.arrival);
        let due = match &mut self.impairments {
            None => self.due_on_wire(),
            // Where it belongs in the line is known only when it is through.
            Some(impairments) => {
                impairments.draw();
                Instant::MAX
            }
        };
        self.in_flight.push(Travelling {
            packet: waiting.packet,
            size: waiting.size,
            due,
        });
    }

    /// When the packet on the wire comes out of a link without impairments.
    #[inline]
    fn due_on_wire(&self) -> Instant {
        let end = self.wire.end();
        end.map_or(Instant::MAX, |end| self.output_time(end))
    }

    /// The packet on the wire is to come out at another time than it was.
    fn on_wire_changed(&mut self) {
        if self.impairments.is_none() && !self.wire.is_idle() {
            let due = self.due_on_wire();
            if let Some(on_wire) = self.in_flight.last_mut() {
                on_wire.due = due;
            }
        }
    }

    /// When the packet comes out that leaves the wire at `end`: in order, unless it falls behind.
    #[inline]
    fn output_time(&self, end: Instant) -> Instant {
        let undisturbed = later(end, self.delay_nanos);
        let Some(impairments) = &self.impairments else {
            return undisturbed.max(self.last_output);
        };
        let fate = impairments.fate;
        let in_order = (undisturbed + fate.jitter).max(self.last_output);
        in_order + fate.behind.unwrap_or(Duration::ZERO)
    }

    fn is_at_capacity(&self, size: Bytes) -> bool {
        let held = self.counters.held();
        held.packets >= MAX_HELD_PACKETS || held.bytes + size > MAX_HELD_BYTES
    }

    fn rate_changed(&mut self, at: Instant) {
        let rate = self.wire.rate();
        self.queue.set_rate(rate);
        self.counters.record(|| Event::RateChanged { at, rate });
        self.on_wire_changed();
        // The rest of the packet on the wire may take no time now.
        self.advance(at);
    }
}

fn nanos(delay: Duration) -> u64 {
    delay.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// The most that a link holds, queue and propagation together, so that no configuration exhausts
/// the memory: two seconds at 1 Gb/s.
const MAX_HELD_BYTES: Bytes = Bytes::new(256 << 20);

/// The same bound for small packets, whose cost is their bookkeeping: 1500 bytes each make 375 MB.
const MAX_HELD_PACKETS: u64 = 1 << 18;
