//! Flow queueing with CoDel: RFC 8290.

use super::codel::{CoDel, CoDelConfig};
use super::{Fifo, Waiting};
use crate::counters::LinkCounters;
use crate::event::DropReason;
use crate::packet::Packet;
use crate::random::{Random, stream};
use std::collections::VecDeque;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// How FQ-CoDel behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCoDelConfig {
    /// How each flow's queue behaves.
    pub codel: CoDelConfig,
    /// What a flow may send in a round: a full packet (RFC 8290 §5.2.4). At least 1 byte.
    pub quantum: Bytes,
    /// How many queues the flows are spread over (§5.2.2). At least 1.
    pub queues: u16,
}

impl Default for FqCoDelConfig {
    /// 1,024 queues, 1,514 bytes a round.
    fn default() -> Self {
        Self {
            codel: CoDelConfig::default(),
            quantum: Bytes::new(1_514),
            queues: 1_024,
        }
    }
}

#[derive(Clone, Debug)]
struct Flow<P> {
    fifo: Fifo<P>,
    codel: CoDel,
    /// Bytes that it may still send in this round; negative after a packet that was larger.
    credit: i64,
    is_listed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct FqCoDel<P> {
    flows: Vec<Flow<P>>,
    /// Flows that have just begun to send, and all others that have packets, by number.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: i64,
    /// Keeps two flows from sharing a queue in every run.
    salt: u64,
    packets: usize,
    bytes: Bytes,
}

impl<P: Packet> FqCoDel<P> {
    pub(super) fn new(config: FqCoDelConfig, seed: u64) -> Self {
        let flow = Flow {
            fifo: Fifo::default(),
            codel: CoDel::new(config.codel),
            credit: 0,
            is_listed: false,
        };
        Self {
            flows: vec![flow; usize::from(config.queues.max(1))],
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: i64::try_from(config.quantum.get()).map_or(i64::MAX, |quantum| quantum.max(1)),
            salt: Random::new(seed, stream::QUEUE).next_u64(),
            packets: 0,
            bytes: Bytes::ZERO,
        }
    }

    /// What waits in all queues.
    pub(super) fn into_order_of_arrival(self) -> Vec<Waiting<P>> {
        let queues = self.flows.into_iter().map(|flow| flow.fifo.waiting);
        let mut waiting: Vec<_> = queues.flatten().collect();
        waiting.sort_by_key(|packet| packet.arrival);
        waiting
    }

    pub(super) fn config(&self) -> FqCoDelConfig {
        let [flow, ..] = &self.flows[..] else {
            return FqCoDelConfig::default();
        };
        FqCoDelConfig {
            codel: flow.codel.config(),
            quantum: Bytes::new(self.quantum.unsigned_abs()),
            queues: self.flows.len() as u16,
        }
    }

    pub(super) fn packets(&self) -> usize {
        self.packets
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// §4.1.
    pub(super) fn push(&mut self, waiting: Waiting<P>) {
        let mixed = Random::new(self.salt, waiting.packet.flow()).next_u64();
        let number = (mixed % self.flows.len() as u64) as usize;
        self.packets += 1;
        self.bytes += waiting.size;
        let flow = &mut self.flows[number];
        flow.fifo.push(waiting);
        if !flow.is_listed {
            flow.is_listed = true;
            flow.credit = self.quantum;
            self.new.push_back(number);
        }
    }

    /// Drops half of the packets of the queue that is the longest in bytes, from its head (§4.1).
    pub(super) fn drop_from_longest(&mut self, now: Instant, counters: &mut LinkCounters) {
        let longest = self.flows.iter_mut().max_by_key(|flow| flow.fifo.bytes);
        let Some(flow) = longest else { return };
        for _ in 0..flow.fifo.waiting.len().div_ceil(2).min(DROP_BATCH) {
            if let Some(Waiting { size, packet, .. }) = flow.fifo.pop() {
                self.packets -= 1;
                self.bytes -= size;
                counters.dropped(now, size, DropReason::QueueFull, packet.number());
            }
        }
    }

    /// §4.2.
    pub(super) fn pop(&mut self, now: Instant, counters: &mut LinkCounters) -> Option<Waiting<P>> {
        loop {
            let (list, is_new) = if self.new.is_empty() {
                (&mut self.old, false)
            } else {
                (&mut self.new, true)
            };
            let number = list.pop_front()?;
            let flow = &mut self.flows[number];
            // "Negative", says §4.2, and means one that has sent a quantum: 0, too, as in Linux.
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                self.old.push_back(number);
                continue;
            }
            let (packets, bytes) = (flow.fifo.waiting.len(), flow.fifo.bytes);
            let next = flow.codel.pop(now, &mut flow.fifo, counters);
            self.packets -= packets - flow.fifo.waiting.len();
            self.bytes -= bytes - flow.fifo.bytes;
            if let Some(waiting) = next {
                flow.credit -= i64::try_from(waiting.size.get()).unwrap_or(i64::MAX);
                let list = if is_new { &mut self.new } else { &mut self.old };
                list.push_front(number);
                return Some(waiting);
            }
            if is_new {
                // Once through the old ones before it counts as new again.
                self.old.push_back(number);
            } else {
                flow.is_listed = false;
            }
        }
    }
}

/// The most that are dropped at once: to look for the longest queue takes time (§4.1).
const DROP_BATCH: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Of(u64);

    impl Packet for Of {
        fn flow(&self) -> u64 {
            self.0
        }
    }

    fn queue() -> FqCoDel<Of> {
        let config = FqCoDelConfig {
            quantum: Bytes::new(1_000),
            ..FqCoDelConfig::default()
        };
        FqCoDel::new(config, 1)
    }

    fn push(queue: &mut FqCoDel<Of>, counters: &mut LinkCounters, flow: u64, size: u64) {
        let size = Bytes::new(size);
        counters.received(size);
        queue.push(Waiting {
            packet: Of(flow),
            size,
            arrival: Instant::ZERO,
        });
        counters.admitted(Instant::ZERO, size, queue.bytes());
    }

    fn order(queue: &mut FqCoDel<Of>, counters: &mut LinkCounters, count: usize) -> Vec<u64> {
        let out = std::iter::from_fn(|| queue.pop(Instant::ZERO, counters));
        out.take(count).map(|waiting| waiting.packet.0).collect()
    }

    #[test]
    fn flows_take_turns_by_bytes_and_a_new_one_goes_first() {
        let (mut queue, mut counters) = (queue(), LinkCounters::default());
        for _ in 0..6 {
            push(&mut queue, &mut counters, 1, 1_000);
        }
        for _ in 0..12 {
            push(&mut queue, &mut counters, 2, 500);
        }
        // A thousand bytes each in turn.
        let turns = order(&mut queue, &mut counters, 9);
        assert_eq!(turns, [1, 2, 2, 1, 2, 2, 1, 2, 2]);
        push(&mut queue, &mut counters, 3, 100);
        assert_eq!(order(&mut queue, &mut counters, 1), [3]);
        let rest = order(&mut queue, &mut counters, 100);
        assert_eq!(rest.len(), 3 + 6);
        assert_eq!((queue.packets(), queue.bytes()), (0, Bytes::ZERO));
    }

    #[test]
    fn a_packet_larger_than_the_quantum_costs_its_flow_the_next_turn() {
        let (mut queue, mut counters) = (queue(), LinkCounters::default());
        for _ in 0..3 {
            push(&mut queue, &mut counters, 1, 1_500);
        }
        for _ in 0..6 {
            push(&mut queue, &mut counters, 2, 750);
        }
        // Credits by hand: 1 begins with 1000 and has -500 after its first, so 500 in its second turn
        // and -1000 after it, so nothing in its third. 2 has 250 after its first and -500 after its
        // second, then 500, -250; 750, 0.
        assert_eq!(
            order(&mut queue, &mut counters, 9),
            [1, 2, 2, 1, 2, 2, 1, 2, 2]
        );
    }

    #[test]
    fn a_new_flow_that_runs_empty_waits_for_the_old_ones_before_it_is_new_again() {
        let (mut queue, mut counters) = (queue(), LinkCounters::default());
        for _ in 0..4 {
            push(&mut queue, &mut counters, 1, 1_000);
        }
        // 1 has spent its credit, and is old from the next look on.
        assert_eq!(order(&mut queue, &mut counters, 1), [1]);
        push(&mut queue, &mut counters, 2, 100);
        assert_eq!(order(&mut queue, &mut counters, 1), [2]);
        // 2 is empty, but still the first of the new ones: it goes on in its turn, with the credit
        // that it has left, then behind 1. A packet of it that comes now has no priority (§4.2: this
        // prevents starvation).
        assert_eq!(order(&mut queue, &mut counters, 1), [1]);
        push(&mut queue, &mut counters, 2, 100);
        assert_eq!(order(&mut queue, &mut counters, 3), [2, 1, 1]);
        assert_eq!(order(&mut queue, &mut counters, 1), []);
        // All are gone from both lists, so each is new.
        assert_eq!((queue.new.len(), queue.old.len()), (0, 0));
    }

    #[test]
    fn the_longest_queue_pays_for_a_full_one() {
        let (mut queue, mut counters) = (queue(), LinkCounters::default());
        push(&mut queue, &mut counters, 1, 1_000);
        for _ in 0..5 {
            push(&mut queue, &mut counters, 2, 300);
        }
        // Half of five, rounded up; then 1's packet is more than the rest of 2.
        queue.drop_from_longest(Instant::ZERO, &mut counters);
        assert_eq!(counters.counters().dropped.bytes, Bytes::new(900));
        queue.drop_from_longest(Instant::ZERO, &mut counters);
        assert_eq!(counters.counters().dropped.bytes, Bytes::new(1_900));
        assert_eq!(order(&mut queue, &mut counters, 100), [2, 2]);
        for _ in 0..200 {
            push(&mut queue, &mut counters, 3, 10);
        }
        queue.drop_from_longest(Instant::ZERO, &mut counters);
        assert_eq!(queue.packets(), 200 - 64);
    }
}
