//! One honest receiver on one path, both drawn from a seed, in virtual time.

use std::collections::BTreeMap;

use tfrc::report::{Arrivals, Departures, Fate, Header, MeteredArrivals, Vector};
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;
use tfrc::{Arrival, Ecn, ReceiverConfig};

const PACKETS: u64 = 1_000;
/// The first number, so near the end of 16 bits that most runs wrap.
const FIRST: u64 = 65_300;

/// What the sender makes of the receiver.
pub(crate) struct Verdict {
    /// It was called a liar.
    pub(crate) caught: bool,
    /// Arrivals that were taken for claims of what was never sent.
    pub(crate) never_sent: u64,
    /// Packets that came, and those that the sender counted as received.
    pub(crate) came: u64,
    pub(crate) counted: u64,
}

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
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
    Reported(Header, Option<Vector>, Vec<Fate>),
}

/// The receivers there are: one that tells when packets came and one that does not.
enum Receiver {
    Timed(Box<Arrivals<512>>),
    Metered(Box<MeteredArrivals<512>>),
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

/// Everything up to the last report.
pub(crate) fn run(seed: u64) -> Verdict {
    let mut random = Random(seed);
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
    let mut receiver = if random.percent(75) {
        Receiver::Timed(Box::new(Arrivals::new(limit)))
    } else {
        Receiver::Metered(Box::new(MeteredArrivals::new(limit)))
    };
    let mut sender = Box::new(Departures::<2_048>::new(FIRST, ReceiverConfig::default()));
    let mut events = BTreeMap::from([((Instant::from_secs(1), 0), Event::Leaves(FIRST))]);
    let (mut count, mut came) = (0, 0);
    while let Some(((now, _), event)) = events.pop_first() {
        let mut add = |at: Instant, event| {
            count += 1;
            events.insert((at, count), event);
        };
        match event {
            Event::Leaves(seq) => {
                if seq + 1 < FIRST + PACKETS {
                    add(now + spacing, Event::Leaves(seq + 1));
                }
                // Far more often than a session does it.
                if seq > FIRST && random.percent(5) {
                    sender.handle_left_out(now);
                    continue;
                }
                sender.handle_sent(now, Bytes::new(1_000), Some(rtt));
                let copies = u64::from(!random.percent(lost)) + u64::from(random.percent(doubled));
                for _ in 0..copies {
                    add(now + rtt / 2 + random.micros(jitter), Event::Arrives(seq));
                }
            }
            Event::Arrives(seq) => {
                let arrival = Arrival {
                    seq,
                    at: now,
                    timestamp: 0,
                    rtt: Some(rtt),
                    size: Bytes::new(1_000),
                    ecn: Ecn::NotEct,
                };
                let (is_new, due) = match &mut receiver {
                    Receiver::Timed(arrivals) => {
                        (arrivals.handle_data(&arrival), arrivals.poll_timeout())
                    }
                    Receiver::Metered(metered) => (
                        metered.handle_data(&arrival),
                        metered.arrivals().poll_timeout(),
                    ),
                };
                came += u64::from(is_new);
                if let Some(due) = due {
                    add(due.max(now), Event::Reports);
                }
            }
            Event::Reports => {
                let (vector, span) = match &mut receiver {
                    Receiver::Timed(arrivals) => (None, arrivals.poll_report(now)),
                    Receiver::Metered(metered) => {
                        let report = metered.poll_report(now);
                        (
                            report.map(|(_, vector)| vector),
                            report.map(|(span, _)| span),
                        )
                    }
                };
                let Some(span) = span else {
                    continue;
                };
                let arrivals = match &receiver {
                    Receiver::Timed(arrivals) => &**arrivals,
                    Receiver::Metered(metered) => metered.arrivals(),
                };
                let told = (span.first..span.first + span.count as u64).map(|seq| {
                    match arrivals.fate(seq) {
                        Fate::Arrived { at: Some(at), ecn } => Fate::Arrived {
                            at: Some(clock.show(at)),
                            ecn,
                        },
                        fate => fate,
                    }
                });
                let told: Vec<Fate> = told.collect();
                let header = Header {
                    first: span.first as u16,
                    made_at: clock.show(now),
                    resolution: Duration::from_millis(1),
                };
                let copies =
                    u64::from(!random.percent(unreported)) + u64::from(random.percent(told_twice));
                for _ in 0..copies {
                    let at = now + rtt / 2 + random.micros(report_jitter);
                    add(at, Event::Reported(header, vector, told.clone()));
                }
            }
            Event::Reported(header, None, told) => {
                sender.handle_report(now, &header, told);
            }
            Event::Reported(_, Some(vector), told) => {
                let received = told.iter().map(|fate| matches!(fate, Fate::Arrived { .. }));
                sender.handle_vector(now, &vector, received);
            }
        }
    }
    Verdict {
        caught: sender.has_caught_a_lie(),
        never_sent: sender.refused().never_sent,
        came,
        counted: sender.counters().received,
    }
}
