//! One honest receiver on one path, both drawn from a seed, in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tfrc::sent_packets::{
    AckVector, Arrivals, MeteredArrivals, PacketStatus, ReportHeader, SentPacketTracker,
};
use tfrc::time::{Duration, Instant};
use tfrc::trust::Receivable;
use tfrc::units::{Bytes, Rate};
use tfrc::{Arrival, Ecn, ReceiverConfig};

const PACKETS: u64 = 1_000;
/// The first number, so near the end of 16 bits that most runs wrap.
const FIRST: u64 = 65_300;

/// What the sender makes of the receiver.
pub(crate) struct Verdict {
    /// It was called a liar.
    pub(crate) caught: bool,
    /// Receive rates that it told, computing p itself, and those that were cut.
    pub(crate) rates: u64,
    pub(crate) capped: u64,
    /// It was said to lose marks, which no path here does.
    pub(crate) loses_marks: bool,
    /// Packets that the path marked, as the sender counted them.
    pub(crate) marked: u64,
    /// Arrivals that were taken for claims of what was never sent.
    pub(crate) never_sent: u64,
    /// Packets that came, and those that the sender counted as received.
    pub(crate) came: u64,
    pub(crate) counted: u64,
}

struct Random(SplitMix64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    fn micros(&mut self, end: u64) -> Duration {
        Duration::from_micros(self.below(end))
    }
}

#[derive(Clone)]
enum Event {
    Leaves(u64),
    Arrives(u64),
    Reports,
    /// All reports of a datagram.
    Reported(Vec<SentReport>),
}

/// What a report says.
#[derive(Clone)]
enum SentReport {
    Arrivals(ReportHeader, Vec<PacketStatus>),
    Vector(AckVector, Vec<bool>),
    /// X_recv, and the packet that it echoes.
    Rate(Rate, u64),
}

/// The receivers there are: one that tells when packets came, one that does not and one that computes p.
enum Receiver {
    Timed(Box<Arrivals<512>>),
    Metered(Box<MeteredArrivals<512>>),
    Computing(Box<tfrc::Receiver>),
}

impl Receiver {
    /// True if the packet is news to it.
    fn handle_data(&mut self, arrival: &Arrival) -> bool {
        match self {
            Self::Timed(arrivals) => arrivals.handle_data(arrival),
            Self::Metered(metered) => metered.handle_data(arrival),
            Self::Computing(receiver) => !receiver.handle_data(arrival).duplicate,
        }
    }

    fn due(&self) -> Option<Instant> {
        match self {
            Self::Timed(arrivals) => arrivals.poll_timeout(),
            Self::Metered(metered) => metered.arrivals().poll_timeout(),
            Self::Computing(receiver) => receiver.poll_timeout(),
        }
    }

    fn report(&mut self, now: Instant, clock: Clock) -> Option<SentReport> {
        Some(match self {
            Self::Timed(arrivals) => {
                let span = arrivals.poll_report(now)?;
                let seqs = span.first..span.first + span.count as u64;
                let reported = seqs.map(|seq| match arrivals.status(seq) {
                    PacketStatus::Arrived { at: Some(at), ecn } => PacketStatus::Arrived {
                        at: Some(clock.show(at)),
                        ecn,
                    },
                    fate => fate,
                });
                let header = ReportHeader {
                    first: span.first as u16,
                    made_at: clock.show(now),
                    resolution: Duration::from_millis(1),
                };
                SentReport::Arrivals(header, reported.collect())
            }
            Self::Metered(metered) => {
                let (span, vector) = metered.poll_report(now)?;
                let seqs = span.first..span.first + span.count as u64;
                let statuses = seqs.map(|seq| metered.arrivals().status(seq));
                let received =
                    statuses.map(|status| matches!(status, PacketStatus::Arrived { .. }));
                SentReport::Vector(vector, received.collect())
            }
            Self::Computing(receiver) => {
                let report = receiver.poll_report(now)?;
                SentReport::Rate(report.receive_rate, report.timestamp.into())
            }
        })
    }
}

/// Its clock: another zero, up to 100 ppm fast or slow, and in some runs set anew in the middle.
#[derive(Clone, Copy)]
struct Clock {
    zero: u64,
    ppm: i64,
    set_at: Option<Instant>,
}

impl Clock {
    fn show(self, now: Instant) -> Instant {
        let drift = now.as_nanos() as i64 / 1_000_000 * self.ppm;
        let set = self.set_at.is_some_and(|at| now >= at);
        let zero = self.zero + u64::from(set) * 7_200_000_000_000;
        Instant::from_nanos((now.as_nanos() + zero).wrapping_add_signed(drift))
    }
}

/// Everything up to the last report, of a sender that remembers more packets than it sends, or a quarter of them and so
/// refuses late reports.
pub(crate) fn run(seed: u64) -> Verdict {
    if seed.is_multiple_of(2) {
        run_remembering::<2_048>(seed)
    } else {
        run_remembering::<256>(seed)
    }
}

/// The same of one that remembers N.
pub(crate) fn run_remembering<const N: usize>(seed: u64) -> Verdict {
    let mut random = Random(SplitMix64::seed_from_u64(seed));
    let rtt = Duration::from_micros(2_000 + random.below(300_000));
    let spacing = Duration::from_micros(50 + random.below(20_000));
    let [lost, doubled, unreported, told_twice] = [12, 5, 45, 10].map(|most| random.below(most));
    let [jitter, report_jitter] = [0; 2].map(|_| random.below(2 * rtt.as_micros() as u64));
    let clock = Clock {
        zero: random.below(1 << 60),
        ppm: random.below(201) as i64 - 100,
        set_at: random
            .percent(20)
            .then(|| Instant::ZERO + spacing * (PACKETS / 2) as u32),
    };
    let limit = 20 + random.below(400) as usize;
    let mut receiver = match random.below(6) {
        0..3 => Receiver::Timed(Box::new(Arrivals::new(limit))),
        3 => Receiver::Metered(Box::new(MeteredArrivals::new(limit))),
        _ => Receiver::Computing(Box::new(tfrc::Receiver::new(ReceiverConfig::default()))),
    };
    // Half of those that can tell of marks; the path marks up to this share, the sender one packet in twenty.
    let ecn = matches!(receiver, Receiver::Timed(_)) && random.percent(50);
    let marks = random.below(12);
    let mut tested = BTreeSet::new();
    let computed = matches!(receiver, Receiver::Computing(_));
    let mut sender = Box::new(SentPacketTracker::<N>::new(
        FIRST,
        ReceiverConfig::default(),
    ));
    let mut events = BTreeMap::from([((Instant::from_secs(1), 0), Event::Leaves(FIRST))]);
    let (mut receivable, mut left) = (Receivable::default(), BTreeMap::new());
    let (mut rates, mut last_echo) = (0, (Instant::ZERO, Rate::ZERO));
    let mut saved = Vec::new();
    let (mut count, mut came) = (0, 0);
    while let Some(((now, _), event)) = events.pop_first() {
        let mut add = |at: Instant, event| {
            count += 1;
            events.insert((at, count), event);
        };
        match event {
            Event::Leaves(seq) => {
                // Senders that have nothing to send for a while.
                let silence = if computed && random.percent(2) {
                    random.micros(8 * rtt.as_micros() as u64)
                } else {
                    Duration::ZERO
                };
                if seq + 1 < FIRST + PACKETS {
                    add(now + spacing + silence, Event::Leaves(seq + 1));
                }
                // Far more often than a session does it.
                if seq > FIRST && random.percent(5) {
                    sender.handle_left_out(now);
                    continue;
                }
                sender.handle_sent(now, Bytes::new(1_000), Some(rtt));
                receivable.handle_sent(now, Bytes::new(1_000), Some(rtt));
                left.insert(seq, now);
                if ecn && random.percent(5) {
                    sender.handle_test_mark();
                    tested.insert(seq);
                }
                let copies = u64::from(!random.percent(lost)) + u64::from(random.percent(doubled));
                for _ in 0..copies {
                    add(now + rtt / 2 + random.micros(jitter), Event::Arrives(seq));
                }
            }
            Event::Arrives(seq) => {
                let is_marked = tested.contains(&seq) || random.percent(marks);
                let arrival = Arrival {
                    seq,
                    at: now,
                    timestamp: seq as u32,
                    rtt: Some(rtt),
                    size: Bytes::new(1_000),
                    ecn: match (ecn, is_marked) {
                        (false, _) => Ecn::NotEct,
                        (true, false) => Ecn::Ect0,
                        (true, true) => Ecn::Ce,
                    },
                };
                came += u64::from(receiver.handle_data(&arrival));
                if let Some(due) = receiver.due() {
                    add(due.max(now), Event::Reports);
                }
            }
            Event::Reports => {
                let Some(reported) = receiver.report(now, clock) else {
                    continue;
                };
                saved.push(reported);
                // Other people's receivers save reports up.
                if !computed && random.percent(15) {
                    continue;
                }
                let datagram = mem::take(&mut saved);
                let copies =
                    u64::from(!random.percent(unreported)) + u64::from(random.percent(told_twice));
                for _ in 0..copies {
                    let at = now + rtt / 2 + random.micros(report_jitter);
                    add(at, Event::Reported(datagram.clone()));
                }
            }
            Event::Reported(datagram) => {
                for reported in datagram {
                    match reported {
                        SentReport::Arrivals(header, reported) => {
                            sender.ingest_report(now, &header, reported);
                        }
                        SentReport::Vector(vector, received) => {
                            sender.ingest_vector(now, &vector, received);
                        }
                        SentReport::Rate(rate, echoed) => {
                            // Sessions take no report about an earlier packet, nor one twice.
                            let sent_at = left[&echoed];
                            if sent_at >= last_echo.0 && (sent_at, rate) != last_echo {
                                last_echo = (sent_at, rate);
                                receivable.handle_report(sent_at, rate);
                                rates += 1;
                            }
                        }
                    }
                }
                if !computed {
                    sender.settle(now);
                }
            }
        }
    }
    let counted = match &receiver {
        Receiver::Computing(receiver) => receiver.counters().received,
        _ => sender.counters().received,
    };
    Verdict {
        caught: sender.has_caught_a_lie() || receivable.has_caught_a_lie(),
        rates,
        capped: receivable.capped(),
        loses_marks: sender.loses_marks(),
        marked: sender.counters().marked,
        never_sent: sender.refused().never_sent,
        came,
        counted,
    }
}
