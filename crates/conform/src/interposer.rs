//! The interface system of the thesis's figure B.1: every datagram of two implementations passes here.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use tfrc::Ecn;
use tfrc::time::Instant;

use crate::log::{ArrivalRecord, Log, MAX_RECORDS, Record};
use crate::packet::{self, Packet};

/// One of the two implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// It sends data.
    Sender,
    /// It sends reports.
    Receiver,
}

impl Side {
    /// The one that it talks to.
    pub const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// What becomes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is lost.
    Drop,
    /// It is passed on after this time, overtaking what must wait longer.
    After(Duration),
    /// A report is passed on such that the sender's sample of the round-trip time is this: after what
    /// the data packet left of it, and with t_delay mended for what is late even so. Other datagrams
    /// are passed on at once.
    Held(Duration),
    /// It is passed on after the first of these times, and once more after the second beyond that.
    Twice(Duration, Duration),
}

impl Fate {
    /// It is passed on at once.
    pub const NOW: Self = Self::After(Duration::ZERO);

    /// The datagram is lost on this condition, or passed on at once.
    pub const fn lost_if(lost: bool) -> Self {
        if lost { Self::Drop } else { Self::NOW }
    }
}

/// A datagram on its way through.
#[derive(Debug)]
pub struct Passing<'a> {
    /// Whose it is.
    pub from: Side,
    /// When it came, counted from the first data packet of the run.
    pub at: Instant,
    /// What it says; changes are written back.
    pub packet: &'a mut Packet,
    /// All that came before it.
    pub log: &'a Log,
}

/// What the interface system does in a run.
pub type Script = Box<dyn FnMut(Passing<'_>) -> Fate + Send>;

/// Datagrams that wait to be passed on at most; what comes beyond is lost, as in any queue.
const MAX_WAITING: usize = 1 << 15;

/// A datagram that waits to be passed on.
#[derive(Clone, Debug)]
struct Waiting {
    to: Side,
    packet: Packet,
    /// Where its record is, if it has one.
    record: Option<usize>,
    /// The same of a report of arrivals.
    arrivals: Option<usize>,
    held: Option<Duration>,
    ecn: Ecn,
    bytes: Vec<u8>,
}

/// The interface system: it knows datagrams and times, and nothing else of either implementation.
///
/// It has one address; who sends from the receiver's is the receiver, everyone else the sender.
pub struct Interposer {
    /// `None` once the run has ended.
    script: Option<Script>,
    sender: Option<SocketAddr>,
    receiver: SocketAddr,
    /// The only sender that is listened to, if it is known beforehand.
    expected: Option<SocketAddr>,
    /// Their synchronisation sources, for a goodbye in their names.
    sources: BTreeMap<Side, u32>,
    /// The arrival of the first data packet.
    started: Option<Instant>,
    /// The sender's clock less ours, in microseconds modulo 2^32, at the fastest passage so far.
    clock_lead: Option<u32>,
    waiting: BTreeMap<(Instant, u64), Waiting>,
    count: u64,
    log: Log,
}

impl Interposer {
    /// Between a receiver at this address and whoever sends to it.
    pub fn new(receiver: SocketAddr, script: Script) -> Self {
        Self {
            script: Some(script),
            sender: None,
            receiver,
            expected: None,
            sources: BTreeMap::new(),
            started: None,
            clock_lead: None,
            waiting: BTreeMap::new(),
            count: 0,
            log: Log::default(),
        }
    }

    /// Listens to this sender only.
    #[must_use]
    pub fn expecting(mut self, sender: SocketAddr) -> Self {
        self.expected = Some(sender);
        self
    }

    /// Ends the run: from now on nothing passes or is recorded, and each side is told that the other has left,
    /// so that it begins anew if it goes on to another run.
    pub fn say_goodbye(&mut self, now: Instant) {
        self.script = None;
        self.waiting.clear();
        for (side, ssrc) in self.sources.clone() {
            let Some(bytes) = packet::goodbye(ssrc) else {
                continue;
            };
            let waiting = Waiting {
                to: side.other(),
                packet: Packet::Other,
                record: None,
                arrivals: None,
                held: None,
                ecn: Ecn::NotEct,
                bytes,
            };
            self.count += 1;
            self.waiting.insert((now, self.count), waiting);
        }
    }

    /// What went through so far.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Gives the record of the run.
    pub fn into_log(self) -> Log {
        self.log
    }

    /// Time since the first data packet; `None` before it.
    pub fn elapsed(&self, now: Instant) -> Option<Duration> {
        self.started.map(|started| now.saturating_since(started))
    }

    fn since_start(&self, now: Instant) -> Instant {
        Instant::ZERO + self.elapsed(now).unwrap_or_default()
    }

    /// Learns the sender's clock: the packet that took the least time tells it best.
    fn compare_clocks(&mut self, at: Instant, timestamp: u32) {
        let lead = timestamp.wrapping_sub(at.as_micros() as u32);
        let is_faster = |known: u32| lead.wrapping_sub(known).cast_signed() > 0;
        if self.clock_lead.is_none_or(is_faster) {
            self.clock_lead = Some(lead);
        }
    }

    /// How long ago, in microseconds, the sender's clock showed `timestamp`.
    fn age(&self, now: Instant, timestamp: u32) -> Duration {
        let theirs = (now.as_micros() as u32).wrapping_add(self.clock_lead.unwrap_or(0));
        let age = theirs.wrapping_sub(timestamp).cast_signed();
        // A packet cannot leave after it arrived: less than nothing is the clocks' resolution.
        Duration::from_micros(u64::try_from(age).unwrap_or(0))
    }

    fn record(&mut self, at: Instant, seen: &Packet, passed: &Packet) -> Option<usize> {
        fn add<T>(records: &mut Vec<Record<T>>, record: Record<T>) -> Option<usize> {
            let index = records.len();
            (index < MAX_RECORDS).then(|| {
                records.push(record);
                index
            })
        }
        let delivered = None;
        match (*seen, *passed) {
            (Packet::Data(seen), Packet::Data(passed)) => add(
                &mut self.log.data,
                Record {
                    at,
                    seen,
                    passed,
                    delivered,
                },
            ),
            (Packet::Report(seen), Packet::Report(passed)) => add(
                &mut self.log.reports,
                Record {
                    at,
                    seen,
                    passed,
                    delivered,
                },
            ),
            _ => None,
        }
    }

    fn record_arrivals(&mut self, at: Instant, seen: &Packet, datagram: &[u8]) -> Option<usize> {
        let index = self.log.arrivals.len();
        if *seen != Packet::Arrivals || index == MAX_RECORDS {
            return None;
        }
        self.log.arrivals.push(ArrivalRecord {
            at,
            delivered: None,
            reported: packet::reported(datagram)?,
        });
        Some(index)
    }

    /// When a datagram that came at `now` is passed on, and the round-trip time it is held for.
    fn due(
        &self,
        now: Instant,
        fate: Fate,
        packet: &Packet,
    ) -> Option<(Instant, Option<Duration>)> {
        match (fate, packet) {
            (Fate::Drop, _) => None,
            (Fate::After(delay), _) => Some((now + delay, None)),
            (Fate::Twice(delay, _), _) => Some((now + delay, None)),
            (Fate::Held(rtt), Packet::Report(report)) => {
                // What the forward path took: the report waited t_delay, and has just come.
                let age = self.age(now, report.timestamp);
                let taken = age.saturating_sub(report.delay);
                let due = now + rtt.saturating_sub(taken);
                // On a whole microsecond, the resolution of what the sender subtracts from it.
                let due = Instant::from_micros(due.as_micros()).max(now);
                Some((due, Some(rtt)))
            }
            (Fate::Held(_), _) => Some((now, None)),
        }
    }
}

impl Endpoint for Interposer {
    fn handle_datagram(&mut self, _now: Instant, datagram: Datagram<'_>) {
        let from = if datagram.source == self.receiver {
            Side::Receiver
        } else if self.expected.is_none_or(|only| only == datagram.source) {
            self.sender = Some(datagram.source);
            Side::Sender
        } else {
            return;
        };
        if let Some(ssrc) = packet::source(datagram.payload) {
            self.sources.insert(from, ssrc);
        }
        let arrival = datagram.arrival;
        let seen = packet::read(datagram.payload, datagram.ecn);
        if let (Packet::Data(data), Side::Sender) = (&seen, from) {
            self.started.get_or_insert(arrival);
            self.compare_clocks(arrival, data.timestamp);
        }
        let at = self.since_start(arrival);
        let Some(script) = &mut self.script else {
            return;
        };
        let mut passed = seen;
        let fate = script(Passing {
            from,
            at,
            packet: &mut passed,
            log: &self.log,
        });
        let record = self.record(at, &seen, &passed);
        let arrivals = self.record_arrivals(at, &seen, datagram.payload);
        let Some((due, held)) = self.due(arrival, fate, &passed) else {
            return;
        };
        if self.waiting.len() == MAX_WAITING {
            return;
        }
        let ecn = match &passed {
            Packet::Data(data) => data.ecn,
            Packet::Report(_) | Packet::Arrivals | Packet::Other => datagram.ecn,
        };
        let bytes = datagram.payload.to_vec();
        self.count += 1;
        let waiting = Waiting {
            to: from.other(),
            packet: passed,
            record,
            arrivals,
            held,
            ecn,
            bytes,
        };
        if let Fate::Twice(_, later) = fate {
            let duplicate = Waiting {
                arrivals: None,
                record: None,
                ..waiting.clone()
            };
            self.waiting.insert((due + later, self.count), duplicate);
            self.count += 1;
        }
        self.waiting.insert((due, self.count), waiting);
    }

    /// Nothing: what is due is passed on when it is polled for.
    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        loop {
            let next = self.waiting.first_entry()?;
            if next.key().0 > now {
                return None;
            }
            let mut out = next.remove();
            let destination = match out.to {
                Side::Sender => self.sender,
                Side::Receiver => Some(self.receiver),
            };
            if let (Packet::Report(report), Some(rtt)) = (&mut out.packet, out.held) {
                report.delay = self.age(now, report.timestamp).saturating_sub(rtt);
            }
            packet::write(&out.packet, &mut out.bytes);
            let (Some(destination), Some(room)) = (destination, buf.get_mut(..out.bytes.len()))
            else {
                continue;
            };
            room.copy_from_slice(&out.bytes);
            let delivered = Some(self.since_start(now));
            if let Some(arrivals) = out.arrivals {
                self.log.arrivals[arrivals].delivered = delivered;
            }
            match (out.record, out.packet) {
                (Some(index), Packet::Data(_)) => self.log.data[index].delivered = delivered,
                (Some(index), Packet::Report(passed)) => {
                    let record = &mut self.log.reports[index];
                    (record.passed, record.delivered) = (passed, delivered);
                }
                _ => {}
            }
            return Some(Transmit {
                destination,
                len: out.bytes.len(),
                ecn: out.ecn,
            });
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let ((due, _), _) = self.waiting.first_key_value()?;
        Some((*due, Reason::Departure))
    }
}

impl fmt::Debug for Interposer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interposer")
            .field("sender", &self.sender)
            .field("receiver", &self.receiver)
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
