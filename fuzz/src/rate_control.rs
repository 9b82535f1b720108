//! Any calls in any order on a TFRC sender, a receiver and a sequence number extender.

use arbitrary::{Arbitrary, Unstructured};
use tfrc::loss::{Average, MAX_INTERVALS, Weights};
use tfrc::sender::RetransmissionTimeout;
use tfrc::seq::Extender;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, LossEventRate, Rate};
use tfrc::{Arrival, Ecn, Feedback, Receiver, ReceiverConfig, Sender, SenderConfig, Standard};

use crate::Span;

#[derive(Arbitrary, Debug)]
struct Start {
    now: u64,
    segment_size: u32,
    oscillation_reduction: bool,
    discounting: bool,
    reordering: bool,
    rfc_3448: bool,
    small_packets: bool,
    average: Mean,
    timeout: Timeout,
    max_credit: Span,
    min_nofeedback: Span,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Mean {
    Standard,
    Falling(u8),
    Equal(u8),
    Plain(u8),
    Ewma(f64),
    Window(u32),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Timeout {
    FourRoundTrips,
    AtLeastASecond,
    Rfc6298,
}

#[derive(Arbitrary, Debug)]
enum Call {
    Wait(Span),
    /// A clock that is set anew, in either direction.
    Jump(u64),
    Sent(u32),
    Timer,
    Feedback {
        sent: Span,
        delay: Span,
        receive_rate: f64,
        p: u32,
    },
    Data {
        step: i8,
        ago: Span,
        rtt: Option<Span>,
        size: u32,
        ecn: Codepoint,
    },
    FarData {
        seq: u64,
        rtt: Option<u64>,
        size: u64,
    },
    Report,
    Extend(u16),
}

#[derive(Arbitrary, Debug)]
enum Codepoint {
    NotEct,
    Ect0,
    Ce,
}

/// Plays the bytes as calls.
pub fn check(data: &[u8]) {
    let mut calls = Unstructured::new(data);
    let Ok(start) = Start::arbitrary(&mut calls) else {
        return;
    };
    let mut flow = Flow::new(&start);
    while !calls.is_empty() {
        let Ok(call) = Call::arbitrary(&mut calls) else {
            return;
        };
        flow.play(call);
        flow.check();
    }
}

/// A number of intervals that an average takes.
fn intervals(n: u8) -> u8 {
    n.clamp(1, MAX_INTERVALS as u8)
}

impl Mean {
    fn config(self) -> Average {
        match self {
            Self::Standard => Average::default(),
            Self::Falling(n) => Average::Weighted(Weights::falling(intervals(n).into())),
            Self::Equal(n) => Average::Weighted(Weights::equal(intervals(n).into())),
            Self::Plain(n) => Average::Plain(intervals(n)),
            Self::Ewma(weight) => Average::Ewma(if weight > 0.0 { weight.min(1.0) } else { 1.0 }),
            Self::Window(round_trips) => Average::Window(round_trips),
        }
    }
}

struct Flow {
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    /// Bounds of X and of X_inst below, in s / 64 s: TFRC-SP takes the headers' share off both, and
    /// RFC 3448 gives X_inst none.
    floors: [f64; 2],
    /// RFC 5348's own average: p cannot rise between loss events.
    rises_with_events_only: bool,
    extender: Extender,
    seq: u64,
}

impl Flow {
    #[allow(
        clippy::needless_update,
        reason = "an option that is new keeps its default"
    )]
    fn new(start: &Start) -> Self {
        let now = Instant::from_nanos(start.now);
        let standard = if start.rfc_3448 {
            Standard::Rfc3448
        } else {
            Standard::Rfc5348
        };
        let sender = SenderConfig {
            segment_size: Bytes::new(start.segment_size.clamp(1, 65_535).into()),
            oscillation_reduction: start.oscillation_reduction,
            max_credit: start.max_credit.duration(),
            min_nofeedback: start.min_nofeedback.duration(),
            retransmission_timeout: match start.timeout {
                Timeout::FourRoundTrips => RetransmissionTimeout::FourRoundTrips,
                Timeout::AtLeastASecond => RetransmissionTimeout::AtLeastASecond,
                Timeout::Rfc6298 => RetransmissionTimeout::Rfc6298,
            },
            small_packets: start.small_packets,
            standard,
            ..SenderConfig::default()
        };
        Self {
            now,
            sender: Sender::new(now, sender),
            receiver: Receiver::new(ReceiverConfig {
                discounting: start.discounting,
                reordering: start.reordering,
                average: start.average.config(),
                small_packets: start.small_packets,
                standard,
                ..ReceiverConfig::default()
            }),
            floors: match (start.small_packets, start.rfc_3448) {
                (true, _) => [0.0, 0.0],
                (false, true) => [1.0, 0.0],
                (false, false) => [1.0, 1.0],
            },
            rises_with_events_only: matches!(start.average, Mean::Standard) && !start.small_packets,
            extender: Extender::new(),
            seq: 1_000,
        }
    }

    fn play(&mut self, call: Call) {
        let now = self.now;
        match call {
            Call::Wait(span) => self.now = now + span.duration(),
            Call::Jump(nanos) => self.now = Instant::from_nanos(nanos),
            Call::Sent(size) => self.sender.handle_sent(now, Bytes::new(size.into())),
            Call::Timer => {
                let due = now >= self.sender.poll_timeout();
                let served = self.sender.handle_timeout(now);
                assert_eq!(served.is_some(), due);
                assert!(
                    self.sender.poll_timeout() > now || now == Instant::MAX,
                    "a timer spins"
                );
            }
            Call::Feedback {
                sent,
                delay,
                receive_rate,
                p,
            } => {
                let sent_at = now
                    .as_nanos()
                    .saturating_sub(sent.duration().as_nanos() as u64);
                let feedback = Feedback {
                    sent_at: Instant::from_nanos(sent_at),
                    delay: delay.duration(),
                    receive_rate: Rate::from_bytes_per_sec(receive_rate),
                    loss_event_rate: LossEventRate::new(f64::from(p) / f64::from(u32::MAX)),
                };
                self.sender.handle_feedback(now, &feedback);
                assert!(self.sender.rtt().is_some_and(|rtt| rtt > Duration::ZERO));
            }
            Call::Data {
                step,
                ago,
                rtt,
                size,
                ecn,
            } => {
                let at = now
                    .as_nanos()
                    .saturating_sub(ago.duration().as_nanos() as u64);
                let seq = self.seq.saturating_add_signed(step.into());
                self.seq = self.seq.max(seq);
                self.arrive(&Arrival {
                    seq,
                    at: Instant::from_nanos(at),
                    timestamp: seq as u32,
                    rtt: rtt.map(Span::duration),
                    size: Bytes::new(size.into()),
                    ecn: match ecn {
                        Codepoint::NotEct => Ecn::NotEct,
                        Codepoint::Ect0 => Ecn::Ect0,
                        Codepoint::Ce => Ecn::Ce,
                    },
                });
            }
            Call::FarData { seq, rtt, size } => self.arrive(&Arrival {
                seq,
                at: now,
                timestamp: 0,
                rtt: rtt.map(Duration::from_nanos),
                size: Bytes::new(size),
                ecn: Ecn::NotEct,
            }),
            Call::Report => {
                if let Some(report) = self.receiver.poll_report(now) {
                    assert!(report.receive_rate.is_finite(), "{report:?}");
                    assert!(
                        (0.0..=1.0).contains(&report.loss_event_rate.get()),
                        "{report:?}"
                    );
                }
            }
            Call::Extend(seq) => {
                let highest = self.extender.highest();
                if let Some(extended) = self.extender.extend(seq) {
                    assert_eq!(extended as u16, seq);
                }
                assert!(self.extender.highest() >= highest);
            }
        }
    }

    /// What is received again changes nothing. p rises with a new loss event, and where a late packet takes
    /// one back that had closed a long interval; otherwise never.
    fn arrive(&mut self, arrival: &Arrival) {
        let before = self.receiver.loss_event_rate();
        let arrived = self.receiver.handle_data(arrival);
        let after = self.receiver.loss_event_rate();
        if arrived.duplicate {
            assert_eq!(after, before);
        } else if self.rises_with_events_only && arrived.new_events == 0 && !arrived.merged {
            assert!(
                after <= before,
                "p rises without a loss event: {before:?} to {after:?}"
            );
        }
    }

    fn check(&self) {
        let (sender, now) = (&self.sender, self.now);
        let slowest = sender.segment_size().as_f64() / 64.0;
        let rates = [sender.allowed_rate(), sender.instantaneous_rate()];
        for (rate, floor) in rates.into_iter().zip(self.floors) {
            let (rate, floor) = (rate.bytes_per_sec(), floor * slowest);
            assert!(
                (floor..=1e12).contains(&rate),
                "{rate} outside {floor} to 1e12"
            );
        }
        assert!((0.0..=1.0).contains(&sender.loss_event_rate().get()));
        let _ = sender.next_departure(now);
        let p = self.receiver.loss_event_rate().get();
        assert!((0.0..=1.0).contains(&p), "p = {p}");
        let counters = self.receiver.counters();
        assert!(counters.marked <= counters.received);
    }
}
