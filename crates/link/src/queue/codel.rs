//! Controlled delay: RFC 8289.

use super::{Fifo, Waiting, mark};
use crate::counters::LinkCounters;
use crate::event::DropReason;
use crate::packet::Packet;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, duration_from_secs};

/// How CoDel behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDelConfig {
    /// The delay that a standing queue may have (RFC 8289 §4.3).
    pub target: Duration,
    /// For so long it may be exceeded: the round trip of most flows (§4.4).
    pub interval: Duration,
    /// Marks instead of dropping.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    /// 5 ms and 100 ms, without ECN.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
        }
    }
}

/// The state of RFC 8289 §5, for one queue.
#[derive(Clone, Debug)]
pub(super) struct CoDel {
    config: CoDelConfig,
    /// When the delay will have been above the target for an interval, if it stays so.
    first_above: Option<Instant>,
    is_dropping: bool,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    largest: Bytes,
}

impl CoDel {
    pub(super) fn new(config: CoDelConfig) -> Self {
        Self {
            config,
            first_above: None,
            is_dropping: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            largest: Bytes::ZERO,
        }
    }

    pub(super) fn config(&self) -> CoDelConfig {
        self.config
    }

    /// The packet that goes next, after those that go nowhere (§5.5).
    pub(super) fn pop<P: Packet>(
        &mut self,
        now: Instant,
        fifo: &mut Fifo<P>,
        counters: &mut LinkCounters,
    ) -> Option<Waiting<P>> {
        let (mut next, mut may_drop) = self.take(now, fifo);
        if self.is_dropping {
            self.is_dropping = may_drop;
            while self.is_dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if self.marks(now, &mut next, counters) {
                    self.drop_next = self.control_law(self.drop_next);
                    return next;
                }
                drop_packet(now, next.as_ref(), counters);
                (next, may_drop) = self.take(now, fifo);
                self.is_dropping = may_drop;
                if may_drop {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if may_drop {
            if !self.marks(now, &mut next, counters) {
                drop_packet(now, next.as_ref(), counters);
                (next, _) = self.take(now, fifo);
            }
            self.is_dropping = true;
            // Where it left off, if that was not long ago: the rate was about right then.
            let added = self.count.saturating_sub(self.last_count);
            let is_recent = now.saturating_since(self.drop_next) < 16 * self.config.interval;
            self.count = if added > 1 && is_recent { added } else { 1 };
            self.last_count = self.count;
            self.drop_next = self.control_law(now);
        }
        next
    }

    /// The head of the queue, and whether it may be dropped (§5.6).
    fn take<P>(&mut self, now: Instant, fifo: &mut Fifo<P>) -> (Option<Waiting<P>>, bool) {
        let Some(head) = fifo.pop() else {
            self.first_above = None;
            return (None, false);
        };
        self.largest = self.largest.max(head.size);
        let delay = now.saturating_since(head.arrival);
        if delay < self.config.target || fifo.bytes <= self.largest {
            self.first_above = None;
            return (Some(head), false);
        }
        let first_above = *self.first_above.get_or_insert(now + self.config.interval);
        (Some(head), now >= first_above)
    }

    /// §5.4.
    fn control_law(&self, at: Instant) -> Instant {
        let interval = self.config.interval.as_secs_f64();
        at + duration_from_secs(interval / f64::from(self.count).sqrt())
    }

    fn marks<P: Packet>(
        &self,
        now: Instant,
        next: &mut Option<Waiting<P>>,
        counters: &mut LinkCounters,
    ) -> bool {
        let Some(waiting) = next.as_mut().filter(|_| self.config.ecn) else {
            return false;
        };
        mark(now, waiting, counters)
    }
}

fn drop_packet<P: Packet>(now: Instant, packet: Option<&Waiting<P>>, counters: &mut LinkCounters) {
    if let Some(Waiting { size, packet, .. }) = packet {
        counters.dropped(now, *size, DropReason::Early, packet.number());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::Ecn;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Marked(Ecn);

    impl Packet for Marked {
        fn ecn(&self) -> Ecn {
            self.0
        }

        fn mark(&mut self) {
            self.0 = Ecn::Ce;
        }
    }

    /// Takes a packet each millisecond that has waited for `delay`, for half a second, and gives the
    /// milliseconds in which the counter moved.
    fn moments(
        config: CoDelConfig,
        ecn: Ecn,
        delay: u64,
        count: fn(&LinkCounters) -> u64,
    ) -> Vec<u64> {
        let (mut codel, mut fifo) = (CoDel::new(config), Fifo::default());
        let (mut counters, mut moments) = (LinkCounters::default(), Vec::new());
        let waiting = |arrival| Waiting {
            packet: Marked(ecn),
            size: Bytes::new(1_000),
            arrival,
        };
        for ms in 1_000..1_500 {
            let now = Instant::from_millis(ms);
            while fifo.waiting.len() < 10 {
                fifo.push(waiting(now));
                counters.received(Bytes::new(1_000));
                counters.admitted(now, Bytes::new(1_000), fifo.bytes);
            }
            for packet in &mut fifo.waiting {
                packet.arrival = now - Duration::from_millis(delay);
            }
            let before = count(&counters);
            codel.pop(now, &mut fifo, &mut counters);
            if count(&counters) > before {
                moments.push(ms - 1_000);
            }
        }
        moments
    }

    #[test]
    fn a_standing_delay_is_answered_faster_and_faster() {
        let dropped = |counters: &LinkCounters| counters.counters().dropped.packets;
        // An interval after it began; then after 100/√1, 100/√2, 100/√3 and 100/√4 ms, each at the
        // first packet from there on: 100, 200, 270.7, 328.4, 378.4, 423.2, 464.0.
        let expected = [100, 200, 271, 329, 379, 424, 464];
        let plain = CoDelConfig::default();
        assert_eq!(moments(plain, Ecn::NotEct, 20, dropped), expected);
        assert_eq!(moments(plain, Ecn::NotEct, 4, dropped), []);
        let ecn = CoDelConfig { ecn: true, ..plain };
        let marked = |counters: &LinkCounters| counters.counters().marked.packets;
        assert_eq!(moments(ecn, Ecn::Ect0, 20, marked), expected);
        assert_eq!(moments(ecn, Ecn::Ect0, 20, dropped), []);
        assert_eq!(moments(ecn, Ecn::NotEct, 20, dropped), expected);
    }

    #[test]
    fn drops_that_are_overdue_are_made_at_once() {
        let (mut codel, mut fifo) = (CoDel::new(CoDelConfig::default()), Fifo::default());
        let mut counters = LinkCounters::default();
        for _ in 0..20 {
            fifo.push(Waiting {
                packet: (),
                size: Bytes::new(1_000),
                arrival: Instant::ZERO,
            });
            counters.received(Bytes::new(1_000));
            counters.admitted(Instant::ZERO, Bytes::new(1_000), fifo.bytes);
        }
        let mut dropped_at = |ms| {
            codel.pop(Instant::from_millis(ms), &mut fifo, &mut counters);
            counters.counters().dropped.packets
        };
        // Above the target from 50 ms, so the first is dropped at 150 ms. Those of 250, 320.7 and
        // 378.4 ms are overdue at 400 ms; the next, at 428.4 ms, is not.
        assert_eq!([50, 149, 150, 249].map(&mut dropped_at), [0, 0, 1, 1]);
        assert_eq!([400, 428, 429].map(&mut dropped_at), [4, 4, 5]);
    }

    #[test]
    fn the_last_packet_is_never_dropped() {
        let (mut codel, mut fifo) = (CoDel::new(CoDelConfig::default()), Fifo::default());
        for ms in (0..1_000).step_by(50) {
            fifo.push(Waiting {
                packet: (),
                size: Bytes::new(1_000),
                arrival: Instant::from_millis(ms),
            });
            let now = Instant::from_millis(ms + 40);
            let next = codel.pop(now, &mut fifo, &mut LinkCounters::default());
            assert!(next.is_some());
        }
    }

    #[test]
    fn it_goes_on_where_it_left_off() {
        let mut codel = CoDel::new(CoDelConfig::default());
        (codel.count, codel.last_count) = (9, 1);
        codel.drop_next = Instant::from_secs(10);
        let mut enter = |now: Instant| {
            let mut fifo = Fifo::default();
            let mut counters = LinkCounters::default();
            for _ in 0..5 {
                fifo.push(Waiting {
                    packet: (),
                    size: Bytes::new(1_000),
                    arrival: now - Duration::from_millis(50),
                });
                counters.admitted(now, Bytes::new(1_000), fifo.bytes);
            }
            codel.first_above = Some(now);
            codel.is_dropping = false;
            codel.pop(now, &mut fifo, &mut counters);
            codel.count
        };
        assert_eq!(enter(Instant::from_secs(11)), 8);
        assert_eq!(enter(Instant::from_secs(20)), 1);
    }
}
