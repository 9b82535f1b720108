//! Computes departures ahead: where no later packet changes a departure, it is known at arrival.
//!
//! So it is in a link without impairments whose queue only drops what does not fit, as most of a simulation are.
//! A packet is written once then, in the line, with the time at which it comes out, and need not be looked at
//! when the wire is free for it. Whatever is changed lays the link open for good: packets that wait go back to
//! the queue, and take their turns as in any link.

use super::Link;
use crate::event::DropReason;
use crate::in_flight::Travelling;
use crate::packet::Packet;
use crate::queue::Waiting;
use crate::rate::later;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// Some years: what comes out later could come out at the end of time, where packets cannot be told apart.
const MAX_DELAY_NANOS: u64 = 1 << 57;

impl<P: Packet> Link<P> {
    /// Lets an empty link work ahead if it can, which changes nothing but the time that this takes: for those
    /// that hand in no packet at an instant before one that was passed to [`Link::poll_output`].
    pub fn depart_early(&mut self) {
        let is_plain = self.impairments.is_none() && self.queue.is_transparent();
        if is_plain && self.delay_nanos <= MAX_DELAY_NANOS && !self.counters.keeps_events() {
            self.wire.depart_early();
        }
    }

    #[inline(always)]
    pub(super) fn handle_early_departure(&mut self, now: Instant, packet: P, size: Bytes) {
        let at = self.latest.max(now);
        self.latest = at;
        let is_within_limit = self.wire.through_at() <= at || self.has_room(at, size);
        self.counters.received(size);
        let refusal = match is_within_limit {
            _ if self.is_at_capacity(size) => Some(DropReason::Capacity),
            true => None,
            false => Some(DropReason::QueueFull),
        };
        if let Some(reason) = refusal {
            return self.counters.refused(at, size, reason, packet.number());
        }
        self.counters.take_in(size);
        let end = self.wire.schedule(at, size);
        self.in_flight.push(Travelling {
            packet,
            size,
            due: self.out_when_through(end),
        });
    }

    /// True if a packet that arrives at `at`, while the wire is busy, may wait.
    // A call of its own, so that packets that find the wire idle have the registers.
    #[inline(never)]
    fn has_room(&mut self, at: Instant, size: Bytes) -> bool {
        let through = self.out_when_through(at);
        let taken = self.counters.taken();
        let mut out = taken;
        out.remove(self.counters.held());
        let begun = self.queue.begun_mut();
        if begun.packets < out.packets {
            *begun = out;
        }
        let mut begun = *begun;
        let with = |begun| {
            let mut waiting = taken;
            waiting.remove(begun);
            waiting.add(size);
            waiting
        };
        // As nearly always: what has begun since somebody last looked need not be known.
        if self.queue.holds(with(begun)) {
            return true;
        }
        let mut next = (begun.packets - out.packets) as usize;
        let before = next
            .checked_sub(1)
            .and_then(|last| self.in_flight.get(last));
        let mut before_due = before.map_or(Instant::ZERO, |packet| packet.due);
        while before_due <= through
            && let Some(packet) = self.in_flight.get(next)
        {
            begun.add(packet.size);
            before_due = packet.due;
            next += 1;
        }
        *self.queue.begun_mut() = begun;
        self.queue.holds(with(begun))
    }

    /// What waits at `now`.
    pub(super) fn waiting_ahead(&self, now: Instant) -> Bytes {
        let through = self.out_when_through(now);
        let dues = self.in_flight.iter().map(|packet| packet.due);
        let behind = self.in_flight.iter().skip(1).zip(dues);
        let waiting = behind.filter(|(_, before)| *before > through);
        waiting.fold(Bytes::ZERO, |sum, (packet, _)| sum + packet.size)
    }

    /// Lets packets take their turns from now on, and brings the link to `now` as for any change.
    pub(super) fn lay_open(&mut self, now: Instant) -> Instant {
        let at = self.settle(now);
        if !self.wire.is_ahead() {
            return at;
        }
        let through = self.out_when_through(at);
        while let Some(before) = self.in_flight.len().checked_sub(2)
            && let Some(before) = self.in_flight.get(before).map(|packet| packet.due)
            && before > through
            && let Some(last) = self.in_flight.pop_last()
        {
            let end = before.saturating_since(Instant::from_nanos(self.delay_nanos));
            self.wire.unschedule(last.size, Instant::ZERO + end);
            self.queue.put_back(Waiting {
                packet: last.packet,
                size: last.size,
                arrival: at,
            });
        }
        self.wire.begin_again(at);
        let on_wire = usize::from(!self.wire.is_idle());
        let last_off = (self.in_flight.len() - on_wire).checked_sub(1);
        let last_off = last_off.and_then(|last| self.in_flight.get(last));
        self.last_output = last_off.map_or(Instant::ZERO, |packet| packet.due);
        at
    }

    /// When a packet comes out that is through at `at`.
    #[inline]
    fn out_when_through(&self, at: Instant) -> Instant {
        later(at, self.delay_nanos)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Link, LinkConfig, Loss, QueueLimit};
    use proptest::prelude::*;
    use tfrc::time::{Duration, Instant};
    use tfrc::units::{Bytes, Rate};

    proptest! {
        #[test]
        fn a_link_of_early_departures_does_what_any_other_does(
            rate in prop_oneof![1e3..1e6f64, Just(8e6), Just(8e6), 1e9..1e13f64],
            delay in 0..3_000_000u64,
            limit in prop_oneof![
                (0..9u64).prop_map(QueueLimit::Packets),
                (0..9_000u64).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
                (0..9u64).prop_map(|millis| QueueLimit::Time(Duration::from_millis(millis))),
            ],
            steps in prop::collection::vec((0..3_000_000u64, 0..3u8, 0..1_500u64), 1..200),
            // On a coarse grid packets arrive when others are just through.
            grid in prop_oneof![Just(1), Just(500)],
            change in 0..8u8,
        ) {
            let delay = delay / (1_000 * grid) * 1_000 * grid;
            let config = LinkConfig {
                rate: Rate::from_bits_per_sec(rate),
                delay: Duration::from_nanos(delay),
                queue: limit,
                ..LinkConfig::default()
            };
            let mut links = [Link::new(config, 1), Link::new(config, 1)];
            links[1].depart_early();
            let half = steps.len() / 2;
            let mut now = Instant::ZERO;
            for (number, (pause, arrivals, size)) in steps.into_iter().enumerate() {
                now += Duration::from_nanos(pause / (1_000 * grid) * 1_000 * grid);
                let size = Bytes::new(size / grid * grid);
                loop {
                    let outputs = links.each_mut().map(|link| {
                        let at = link.poll_timeout();
                        (at, at.filter(|at| *at <= now).and_then(|at| link.poll_sized(at)))
                    });
                    prop_assert_eq!(outputs[0], outputs[1]);
                    if outputs[0].1.is_none() {
                        break;
                    }
                }
                let [one, other] = &mut links;
                // Lets it see that packets have begun.
                prop_assert_eq!(one.poll_output(now), None);
                prop_assert_eq!(other.poll_output(now), None);
                prop_assert_eq!(one.queue_bytes(now), other.queue_bytes(now));
                prop_assert_eq!(one.queue_delay(now), other.queue_delay(now));
                for link in &mut links {
                    for _ in 0..arrivals {
                        link.handle_packet(now, number as u64, size);
                    }
                    match change {
                        _ if number != half => {}
                        0 => link.set_rate(now, Rate::from_bits_per_sec(rate / 3.0)),
                        1 => link.set_rate(now, Rate::ZERO),
                        2 => link.set_delay(now, Duration::from_nanos(delay / 2)),
                        3 => link.set_loss(now, Loss::Bernoulli(0.5)),
                        4 => link.lose(now, [1]),
                        5 => link.set_queue(now, QueueLimit::Packets(2)),
                        6 => link.keep_events(now),
                        _ => {}
                    }
                }
                prop_assert_eq!(links[0].counters(), links[1].counters());
            }
        }
    }
}
