//! What an emulator's records say of each flow.

use std::collections::BTreeMap;

use evenkeel_lab::real::{BedRecord, BedSetup};
use evenkeel_link::DropReason;
use evenkeel_net::{Direction, PacketEvent, PacketRecord};
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// Counts the packets of a run. A flow is told by the port that its data goes to.
#[derive(Debug)]
pub(crate) struct Meter {
    seen: BedRecord,
    /// When the run began.
    zero: Instant,
    measured: [Duration; 2],
    first_port: u16,
    /// What the link holds: whose it is, and its size.
    inside: BTreeMap<u64, (Option<usize>, Bytes)>,
    waiting: Bytes,
    /// When the queue is looked at next.
    next_look: Duration,
    bin: Duration,
    /// When the first flow's last packet came.
    before: Option<Duration>,
}

/// More gaps are not kept.
const MAX_GAPS: usize = 1_000_000;

impl Meter {
    /// Flow i sends to the port `first_port` + i.
    pub(crate) fn new(setup: &BedSetup, zero: Instant, first_port: u16) -> Self {
        Self {
            seen: BedRecord::new(setup),
            zero,
            measured: setup.measured,
            first_port,
            inside: BTreeMap::new(),
            waiting: Bytes::ZERO,
            next_look: setup.measured[0] + setup.bin,
            bin: setup.bin,
            before: None,
        }
    }

    /// Counts one record. Those of the way back say nothing of flows.
    pub(crate) fn count(&mut self, record: &PacketRecord) {
        if record.direction == Direction::Reverse {
            return;
        }
        let Some(at) = record.at.checked_since(self.zero) else {
            return self.before(record);
        };
        let is_measured = (self.measured[0]..self.measured[1]).contains(&at);
        match &record.event {
            PacketEvent::Arrived { flow, size, .. } => {
                let index = flow.destination_port.checked_sub(self.first_port);
                let index = index.map(usize::from).filter(|i| *i < self.seen.sent.len());
                if let Some(index) = index {
                    self.seen.sent[index].add(Instant::ZERO + at, *size);
                }
                if index == Some(0) {
                    self.gap(at, is_measured);
                }
                self.seen.arrived += u64::from(is_measured);
                self.inside.insert(record.number, (index, *size));
                self.waiting += *size;
            }
            PacketEvent::Dropped { reason } => {
                let count = match reason {
                    DropReason::Loss => &mut self.seen.lost,
                    _ => &mut self.seen.dropped,
                };
                *count += u64::from(is_measured);
                self.leave(record.number);
            }
            PacketEvent::Departed { .. } => {
                let Some((index, size)) = self.leave(record.number) else {
                    return;
                };
                if let Some(index) = index {
                    self.seen.received[index].add(Instant::ZERO + at, size);
                }
                if is_measured {
                    self.seen.carried += size;
                }
            }
            // A run with one such fails: it is neither the link's loss nor delivered.
            PacketEvent::Refused => drop(self.leave(record.number)),
        }
        while at >= self.next_look && self.next_look <= self.measured[1] {
            let now = (self.next_look.as_secs_f64(), self.waiting.get());
            self.seen.queue.push(now);
            self.next_look += self.bin;
        }
    }

    /// A packet of the first flow has come.
    fn gap(&mut self, at: Duration, is_measured: bool) {
        let before = self.before.replace(at);
        if is_measured && self.seen.gaps.len() < MAX_GAPS {
            let gap = before.map(|before| at.saturating_sub(before).as_secs_f64());
            self.seen.gaps.extend(gap);
        }
    }

    /// What entered the link before the run began leaves it during the run.
    fn before(&mut self, record: &PacketRecord) {
        match &record.event {
            PacketEvent::Arrived { size, .. } => {
                self.inside.insert(record.number, (None, *size));
                self.waiting += *size;
            }
            _ => drop(self.leave(record.number)),
        }
    }

    fn leave(&mut self, number: u64) -> Option<(Option<usize>, Bytes)> {
        let left = self.inside.remove(&number)?;
        self.waiting -= left.1;
        Some(left)
    }

    /// All of it.
    pub(crate) fn finish(self) -> BedRecord {
        self.seen
    }
}
