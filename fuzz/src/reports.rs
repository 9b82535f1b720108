//! Reports of arrivals, whatever they claim and in whatever order, against what was sent.

use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use tfrc::report::{Arrivals, Departures, Fate, Header, Told, Vector};
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
    Vector {
        first: u16,
        rate: u32,
        delay: Span,
        received: Vec<bool>,
    },
    /// At a receiver.
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

/// Plays the bytes as what happens to a sender, and to a receiver that reports what comes.
pub fn check(data: &[u8]) {
    let mut steps = Unstructured::new(data);
    let mut now = Instant::from_secs(1);
    let mut sent = 0;
    let mut departures = Box::new(Departures::<256>::new(65_500, ReceiverConfig::default()));
    let mut arrivals = Arrivals::<64>::new(50);
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
                let header = Header {
                    first,
                    made_at: Instant::from_nanos(made_at),
                    resolution: Duration::from_micros(resolution.into()),
                };
                let count = told.len() * usize::from(repeated);
                let told = told.iter().map(|(kind, value)| match kind % 6 {
                    0 => Told::Missing { count: 1 },
                    1 => Told::Missing {
                        count: *value as u16,
                    },
                    kind => Told::Arrived {
                        at: (kind > 2).then(|| Instant::from_nanos(*value)),
                        ecn: ecn(kind),
                    },
                });
                departures.handle_report(now, &header, told.cycle().take(count))
            }
            Step::Vector {
                first,
                rate,
                delay,
                received,
            } => {
                let vector = Vector {
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
                arrivals.handle_data(&Arrival {
                    seq: seq.into(),
                    at: now,
                    timestamp: 0,
                    rtt: micros(rtt),
                    size: Bytes::new(1_000),
                    ecn: ecn(bits),
                });
                if let Some(span) = arrivals.poll_report(now) {
                    assert!(span.count <= 50);
                    let told = (span.first..).take(span.count);
                    assert!(
                        told.map(|seq| arrivals.fate(seq))
                            .any(|fate| fate != Fate::Missing)
                    );
                }
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
