//! Reports of arrivals, whatever they claim and in whatever order, against what was sent.

use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use tfrc::sent_packets::{
    AckVector, Arrivals, MeteredArrivals, PacketStatus, ReportHeader, ReportSpan,
    SentPacketTracker, StatusRun,
};
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};
use tfrc::{Arrival, Ecn, Feedback, ReceiverConfig};

use crate::Span;

#[derive(Arbitrary, Debug)]
enum Step {
    Wait(Span),
    Send {
        size: u16,
        rtt: Option<u16>,
        count: u8,
    },
    Report {
        first: u16,
        made_at: u64,
        resolution: u16,
        told: Vec<(u8, u64)>,
        repeated: u8,
    },
    AckVector {
        first: u16,
        rate: u32,
        delay: Span,
        received: Vec<bool>,
    },
    /// At the receivers; most near the highest that came.
    Arrive {
        seq: u16,
        ecn: u8,
        rtt: Option<u16>,
    },
}

fn ecn(bits: u8) -> Ecn {
    [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(bits % 4)]
}

fn micros(micros: Option<u16>) -> Option<Duration> {
    micros.map(|micros| Duration::from_micros(micros.into()))
}

/// The most packets that a receiver reports.
const LIMIT: usize = 50;

/// A receiver that reports times, and one that reports a bit a packet.
struct Receivers {
    arrivals: Arrivals<64>,
    metered: MeteredArrivals<64>,
    highest: u64,
}

impl Receivers {
    fn new() -> Self {
        Self {
            arrivals: Arrivals::new(LIMIT),
            metered: MeteredArrivals::new(LIMIT),
            highest: 0,
        }
    }

    fn arrive(&mut self, at: Instant, seq: u16, ecn: Ecn, rtt: Option<Duration>) {
        let seq = match seq {
            ..0x2000 => u64::from(seq),
            _ => (self.highest + 3).saturating_sub(u64::from(seq % 8)),
        };
        self.highest = self.highest.max(seq);
        let arrival = Arrival {
            seq,
            at,
            timestamp: 0,
            rtt,
            size: Bytes::new(1_000),
            ecn,
        };
        self.arrivals.handle_data(&arrival);
        self.metered.handle_data(&arrival);
    }

    /// Both report what is due.
    fn report(&mut self, now: Instant) {
        if let Some(span) = self.arrivals.poll_report(now) {
            let came = came(&self.arrivals, span);
            assert!(came.len() <= LIMIT && came.contains(&true));
        }
        if let Some((span, vector)) = self.metered.poll_report(now) {
            let came = came(self.metered.arrivals(), span);
            assert!(came.len() <= LIMIT && came.contains(&true));
            let bytes = came.chunks(8).map(|eight| {
                let bits = (0..).zip(eight);
                bits.fold(0, |byte, (bit, came)| byte | u8::from(*came) << (7 - bit))
            });
            assert!(bytes.eq(self.metered.bits(span)));
            assert!(vector.receive_rate.is_finite());
        }
    }
}

/// Which of these packets came.
fn came(arrivals: &Arrivals<64>, span: ReportSpan) -> Vec<bool> {
    let seqs = (span.first..).take(span.count);
    seqs.map(|seq| arrivals.status(seq) != PacketStatus::Missing)
        .collect()
}

/// Plays the bytes as what happens to a sender, and to receivers that report what comes.
pub fn check(data: &[u8]) {
    let mut steps = Unstructured::new(data);
    let mut now = Instant::from_secs(1);
    let mut sent = 0;
    let mut departures = Box::new(SentPacketTracker::<256>::new(
        65_500,
        ReceiverConfig::default(),
    ));
    let mut receivers = Receivers::new();
    while let Ok(step) = Step::arbitrary(&mut steps) {
        if steps.is_empty() {
            return;
        }
        let feedback = match step {
            Step::Wait(span) => {
                now += span.duration();
                None
            }
            Step::Send { size, rtt, count } => {
                for _ in 0..count {
                    if size == 0 {
                        departures.handle_left_out(now);
                        continue;
                    }
                    departures.handle_sent(now, Bytes::new(size.into()), micros(rtt));
                    sent += 1;
                    if size % 16 == 1 {
                        departures.handle_test_mark();
                    }
                }
                None
            }
            Step::Report {
                first,
                made_at,
                resolution,
                told,
                repeated,
            } => {
                let header = ReportHeader {
                    first,
                    made_at: Instant::from_nanos(made_at),
                    resolution: Duration::from_micros(resolution.into()),
                };
                let count = told.len() * usize::from(repeated);
                let told = told.iter().map(|(kind, value)| match kind % 6 {
                    0 => StatusRun::Missing { count: 1 },
                    1 => StatusRun::Missing {
                        count: *value as u16,
                    },
                    kind => StatusRun::Arrived {
                        at: (kind > 2).then(|| Instant::from_nanos(*value)),
                        ecn: ecn(kind),
                    },
                });
                let told = told.cycle().take(count);
                // A datagram may have more than one, or the last is never concluded.
                if repeated % 4 == 3 {
                    departures.ingest_report(now, &header, told);
                    None
                } else {
                    departures.handle_report(now, &header, told)
                }
            }
            Step::AckVector {
                first,
                rate,
                delay,
                received,
            } => {
                let vector = AckVector {
                    first,
                    receive_rate: Rate::from_bytes_per_sec(rate.into()),
                    delay: delay.duration(),
                };
                departures.handle_vector(now, &vector, received)
            }
            Step::Arrive {
                seq,
                ecn: bits,
                rtt,
            } => {
                receivers.arrive(now, seq, ecn(bits), micros(rtt));
                receivers.report(now);
                None
            }
        };
        if let Some(feedback) = feedback {
            check_feedback(now, &feedback);
        }
        let counters = departures.counters();
        assert!(
            counters.received + counters.lost <= sent,
            "{counters:?} of {sent}"
        );
    }
}

fn check_feedback(now: Instant, feedback: &Feedback) {
    assert!(feedback.sent_at + feedback.delay <= now);
    assert!(feedback.receive_rate.is_finite());
    assert!((0.0..=1.0).contains(&feedback.loss_event_rate.get()));
}
