//! The sender's side: what was sent, and what reports say became of it.

use core::ops::Range;
use core::time::Duration;

use super::clock::Clock;
use super::vector::{Anchor, Vector};
use super::{Fate, Header};
use crate::Ecn;
use crate::receiver::{Arrival, Counters, Receiver, ReceiverConfig};
use crate::sender::Feedback;
use crate::time::Instant;
use crate::units::Bytes;

/// Arrivals put into order at a time: more than one report of a datagram's size tells.
const BATCH: usize = 1_024;
/// This share of a round trip a report is waited for that another has overtaken.
const PATIENCE: u32 = 4;

/// What is known of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No report has spoken of it.
    Unreported,
    /// Reported as missing, and its turn has not come.
    Missing,
    /// Reported as arrived, and its turn has not come.
    Arrived { at: Instant, ecn: Ecn },
    /// Its turn came and it had not arrived; it may yet. `skipped` packets below it were never reported.
    Lost { skipped: u64 },
    /// Counted as arrived, or given up on.
    Done,
}

/// A packet that left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Instant,
    state: State,
    /// R when it left, microseconds; zero before one was known.
    rtt_micros: u32,
    size: u16,
}

impl Sent {
    const NONE: Self = Self {
        at: Instant::ZERO,
        state: State::Done,
        rtt_micros: 0,
        size: 0,
    };
}

/// A packet that is to be counted as arrived.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// When it arrived, on the time line of the receiver's clock.
    at: Instant,
    seq: u64,
    /// Its number among the packets that were reported.
    number: u64,
    ecn: Ecn,
}

/// What reports claimed and cannot be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Arrivals of packets that were never sent, or so long ago that they are forgotten.
    pub unknown: u64,
    /// Arrivals before the packet can have arrived, for the report came too soon after it left.
    pub too_early: u64,
}

/// The last N packets sent, N a power of two up to 2^15; what reports tell of them; and the
/// [`Receiver`] that is told.
///
/// Packets take their turn in the order of their numbers: a report that another overtook is waited for a
/// quarter of a round trip. Arrivals that are then known take theirs in the order of time. Packets
/// that no report spoke of count as never sent, neither received nor lost: a report that is lost says
/// nothing about the path of the data.
#[derive(Clone, Debug)]
pub struct Departures<const N: usize> {
    sent: [Sent; N],
    first: u64,
    /// The number of the next packet.
    next: u64,
    /// The packets below have had their turn.
    turn: u64,
    /// One past the highest packet that was reported.
    reported: u64,
    /// Packets that had their turn and were never reported.
    skipped: u64,
    /// Since when a packet that was not reported keeps others from their turn.
    waiting_since: Option<Instant>,
    /// R of the last packet that left, and in microseconds.
    rtt: Option<Duration>,
    rtt_micros: u32,
    /// R of the last packet that was counted, in microseconds and as the receiver is told it.
    told_rtt: (u32, Option<Duration>),
    clock: Clock,
    /// Where reports without arrival times are placed.
    pub(super) anchor: Option<Anchor>,
    receiver: Receiver,
    /// When the last packet to arrive did, and when it had left.
    arrived: Instant,
    departed: Instant,
    batch: [Known; BATCH],
    batch_len: usize,
    refused: Refused,
    /// The unit in which the last report told time.
    pub(super) resolution: Duration,
    /// What the last report said of X_recv and its own delay, if it told no arrival times.
    pub(super) vector: Option<Vector>,
}

impl<const N: usize> Departures<N> {
    const IS_IN_RANGE: () = assert!(N.is_power_of_two() && N <= 1 << 15);

    /// A sender whose first packet has this number, which has told nothing yet.
    pub fn new(first: u64, config: ReceiverConfig) -> Self {
        let () = Self::IS_IN_RANGE;
        Self {
            sent: [Sent::NONE; N],
            first,
            next: first,
            turn: first,
            reported: first,
            skipped: 0,
            waiting_since: None,
            rtt: None,
            rtt_micros: 0,
            told_rtt: (0, None),
            clock: Clock::default(),
            anchor: None,
            receiver: Receiver::new(config),
            arrived: Instant::ZERO,
            departed: Instant::ZERO,
            batch: [Known {
                at: Instant::ZERO,
                seq: 0,
                number: 0,
                ecn: Ecn::NotEct,
            }; BATCH],
            batch_len: 0,
            refused: Refused::default(),
            resolution: Duration::ZERO,
            vector: None,
        }
    }

    /// Notes that the next packet left, of this size, while the sender's round-trip time was `rtt`.
    #[inline]
    pub fn handle_sent(&mut self, now: Instant, size: Bytes, rtt: Option<Duration>) {
        let seq = self.next;
        if seq - self.turn >= N as u64 {
            self.give_up(seq - (N as u64 - 1));
        }
        if rtt != self.rtt {
            self.rtt = rtt;
            let micros = rtt.map_or(0, |rtt| rtt.as_micros().max(1));
            self.rtt_micros = u32::try_from(micros).unwrap_or(u32::MAX);
        }
        self.sent[seq as usize % N] = Sent {
            at: now,
            state: State::Unreported,
            rtt_micros: self.rtt_micros,
            size: u16::try_from(size.get()).unwrap_or(u16::MAX),
        };
        self.next = seq + 1;
    }

    /// Takes in a report that came at `now`, alone: [`Departures::note_report`] and
    /// [`Departures::conclude`].
    pub fn handle_report(
        &mut self,
        now: Instant,
        header: &Header,
        packets: impl IntoIterator<Item = Fate>,
    ) -> Option<Feedback> {
        self.note_report(now, header, packets);
        self.conclude(now)
    }

    /// Notes a report that came at `now`: what it says of itself, then of one packet after the other.
    pub fn note_report(
        &mut self,
        now: Instant,
        header: &Header,
        packets: impl IntoIterator<Item = Fate>,
    ) {
        let Some(first) = self.extend(header.first) else {
            return;
        };
        self.resolution = header.resolution;
        self.vector = None;
        let made_at = self.clock.handle_report(now, header.made_at);
        let came = now + header.resolution;
        let remembered = self.remembered();
        for (seq, fate) in (first..).zip(packets).take(1 << 16) {
            match fate {
                Fate::Missing if remembered.contains(&seq) => self.note_missing(seq),
                Fate::Missing => {}
                Fate::Arrived { at, ecn } if remembered.contains(&seq) => {
                    let at = at.map_or(made_at, |at| self.clock.place(at).min(made_at));
                    // How long before the report it came is what the report was under way at least.
                    let age = made_at.nanos_since(at);
                    self.note_arrived(seq, at, ecn, came - age);
                }
                Fate::Arrived { .. } => self.refuse_unknown(),
            }
        }
    }

    /// Counts what the reports that came at `now` have made known: what RFC 5348 §4.3 makes of them, if they
    /// told of an arrival and all before that is known. Reports that waited for one another at the receiver
    /// are concluded together: the round trip of the first among them would contain that wait.
    pub fn conclude(&mut self, now: Instant) -> Option<Feedback> {
        self.advance();
        self.wait(now);
        self.count().then(|| self.feedback(now))
    }

    /// p, X_recv and the packets of the receiver as the reports tell it.
    pub const fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Packets since the start, as far as they were reported.
    pub const fn counters(&self) -> Counters {
        self.receiver.counters()
    }

    /// What was refused.
    pub const fn refused(&self) -> Refused {
        self.refused
    }

    /// Packets that had their turn and that no report ever spoke of.
    pub const fn never_reported(&self) -> u64 {
        self.skipped
    }

    /// The number whose lower 16 bits these are: the last at or before the highest sent.
    pub(super) fn extend(&self, seq: u16) -> Option<u64> {
        let highest = self.next.checked_sub(1)?;
        let behind = (highest as u16).wrapping_sub(seq);
        highest.checked_sub(behind.into())
    }

    /// The packets that are remembered.
    #[inline]
    pub(super) fn remembered(&self) -> Range<u64> {
        self.first.max(self.next.saturating_sub(N as u64))..self.next
    }

    /// Notes that a packet, which is remembered, is reported as missing. It may yet arrive, and what arrived
    /// stays so.
    #[inline]
    pub(super) fn note_missing(&mut self, seq: u64) {
        let sent = self.slot(seq);
        if sent.state == State::Unreported {
            sent.state = State::Missing;
            self.reported = self.reported.max(seq + 1);
        }
    }

    /// Notes that a packet, which is remembered, is reported as arrived, no later than `latest` on our
    /// clock: it must have left before.
    #[inline]
    pub(super) fn note_arrived(&mut self, seq: u64, at: Instant, ecn: Ecn, latest: Instant) {
        let sent = self.slot(seq);
        match sent.state {
            State::Arrived { .. } | State::Done => {}
            _ if latest <= sent.at => self.refused.too_early += 1,
            State::Unreported | State::Missing => {
                sent.state = State::Arrived { at, ecn };
                self.reported = self.reported.max(seq + 1);
            }
            State::Lost { skipped } => {
                sent.state = State::Done;
                let number = seq - skipped;
                self.push(Known {
                    at,
                    seq,
                    number,
                    ecn,
                });
            }
        }
    }

    /// Gives their turn to packets, up to the first that was not reported.
    #[inline]
    fn advance(&mut self) {
        while self.turn < self.reported
            && self.sent[self.turn as usize % N].state != State::Unreported
        {
            self.take_turn();
        }
    }

    fn take_turn(&mut self) {
        let (seq, skipped) = (self.turn, self.skipped);
        self.turn = seq + 1;
        let sent = self.slot(seq);
        let state = sent.state;
        sent.state = State::Done;
        match state {
            State::Arrived { at, ecn } => {
                let number = seq - skipped;
                self.push(Known {
                    at,
                    seq,
                    number,
                    ecn,
                });
            }
            State::Missing => sent.state = State::Lost { skipped },
            State::Unreported | State::Lost { .. } | State::Done => self.skipped += 1,
        }
    }

    #[inline]
    pub(super) fn slot(&mut self, seq: u64) -> &mut Sent {
        &mut self.sent[seq as usize % N]
    }

    pub(super) fn size(&self, seq: u64) -> Bytes {
        Bytes::new(self.sent[seq as usize % N].size.into())
    }

    /// Notes that an arrival was reported of a packet that is not remembered.
    pub(super) const fn refuse_unknown(&mut self) {
        self.refused.unknown += 1;
    }

    /// Waits for packets that were not reported, or goes on without them.
    fn wait(&mut self, now: Instant) {
        if self.turn == self.reported {
            self.waiting_since = None;
            return;
        }
        let since = *self.waiting_since.get_or_insert(now);
        let patience = self.rtt.map_or(Duration::ZERO, |rtt| rtt / PATIENCE);
        if now.saturating_since(since) >= patience {
            self.give_up(self.reported);
            self.waiting_since = None;
        }
    }

    /// Gives their turn to all packets below `end`, reported or not.
    #[inline(never)]
    fn give_up(&mut self, end: u64) {
        while self.turn < end {
            self.take_turn();
        }
    }

    fn push(&mut self, known: Known) {
        if self.batch_len == BATCH {
            self.count();
        }
        self.batch[self.batch_len] = known;
        self.batch_len += 1;
    }

    /// Hands arrivals on in the order of their times; false if there are none.
    #[inline(never)]
    fn count(&mut self) -> bool {
        let batch = &mut self.batch[..self.batch_len];
        sort(batch);
        for known in &*batch {
            let sent = &self.sent[known.seq as usize % N];
            if known.at >= self.arrived {
                (self.arrived, self.departed) = (known.at, sent.at);
            }
            if sent.rtt_micros != self.told_rtt.0 {
                let rtt = Duration::from_micros(sent.rtt_micros.into());
                self.told_rtt = (sent.rtt_micros, (sent.rtt_micros > 0).then_some(rtt));
            }
            self.receiver.handle_data(&Arrival {
                seq: known.number,
                at: self.arrived,
                timestamp: 0,
                rtt: self.told_rtt.1,
                size: Bytes::new(sent.size.into()),
                ecn: known.ecn,
            });
        }
        let any = self.batch_len > 0;
        self.batch_len = 0;
        any
    }

    /// What a receiver that knows TFRC would have reported.
    fn feedback(&mut self, now: Instant) -> Feedback {
        let report = self.receiver.report(self.arrived);
        let longest = now
            .saturating_since(self.departed)
            .saturating_sub(self.resolution);
        let (delay, receive_rate) = match self.vector {
            Some(vector) => (vector.delay, vector.receive_rate),
            None => (self.clock.age(self.arrived, now), report.receive_rate),
        };
        Feedback {
            sent_at: self.departed,
            delay: delay.min(longest),
            receive_rate,
            loss_event_rate: report.loss_event_rate,
        }
    }
}

/// Sorts by time of arrival and then by number, as which they come: almost in order, or at a cost that
/// their number bounds.
fn sort(batch: &mut [Known]) {
    let mut moves = 0;
    for end in 1..batch.len() {
        let mut place = end;
        while place > 0 && batch[place - 1].at > batch[place].at {
            batch.swap(place - 1, place);
            place -= 1;
        }
        moves += end - place;
        if moves > 8 * batch.len() {
            batch.sort_unstable_by_key(|known| (known.at, known.seq));
            return;
        }
    }
}
