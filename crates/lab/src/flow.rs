//! One TFRC flow over a fixed path, in virtual time: the product's sender and receiver, and nothing
//! beside them.

use crate::network::Tfrc;
use crate::reader::{Reader, Times};
use evenkeel_link::{Link, LinkConfig, Loss, Packet};
use tfrc::loss::Arrived;
use tfrc::time::{Duration, Instant};
use tfrc::trace::Trace;
use tfrc::units::{Bytes, LossEventRate, Rate};
use tfrc::{Arrival, Ecn, Feedback, Receiver, ReceiverConfig, Sender, SenderConfig};

/// The path and the packets.
#[derive(Clone, Debug)]
pub(crate) struct TfrcFlowSetup {
    /// Round-trip time with empty queues, half of it each way.
    pub rtt: Duration,
    /// Of every packet.
    pub packet: Bytes,
    /// What the path loses at first.
    pub loss: Loss,
    /// The edition that both ends follow, and t_RTO; nothing else of it.
    pub tfrc: Tfrc,
    /// What the receiver reckons with.
    pub times: Times,
    /// A floor under the nofeedback timer; the sender's own unless given.
    pub patience: Option<Duration>,
    /// Of random losses.
    pub seed: u64,
}

/// What happened, for whoever watches.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TfrcFlowEvent {
    /// A data packet came to the receiver.
    Arrival {
        /// Its number.
        seq: u64,
        /// What it meant.
        arrived: Arrived,
    },
    /// The receiver sent a report.
    Report {
        /// p as told.
        p: LossEventRate,
    },
    /// The sender took a report in.
    Feedback {
        /// X from now on.
        allowed: Rate,
        /// R.
        rtt: Duration,
    },
    /// The sender heard nothing for too long (RFC 5348 §4.4).
    Silence {
        /// X from now on.
        allowed: Rate,
    },
}

/// A flow that always has something to send.
pub(crate) struct Flow {
    packet: Bytes,
    sender: Sender,
    reader: Reader,
    forward: Link<DataPacket>,
    back: Link<ReportPacket>,
    next_seq: u64,
}

#[derive(Clone, Copy, Debug)]
struct DataPacket {
    seq: u64,
    sent_at: Instant,
    rtt: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct ReportPacket(Feedback);

impl Packet for DataPacket {}
impl Packet for ReportPacket {}

/// RTCP compounds are about this long; on a link without a limit it does not matter.
const REPORT_SIZE: Bytes = Bytes::new(100);

impl Flow {
    /// A flow that starts at the clock's zero, on a link that only `loss` limits.
    pub(crate) fn new(setup: &TfrcFlowSetup) -> Self {
        let path = |loss, stream| {
            let config = LinkConfig {
                delay: setup.rtt / 2,
                loss,
                ..LinkConfig::default()
            };
            Link::new(config, setup.seed.wrapping_mul(2).wrapping_add(stream))
        };
        let usual = setup.tfrc.follow(SenderConfig::default());
        let config = SenderConfig {
            segment_size: setup.packet,
            min_nofeedback: setup.patience.unwrap_or(usual.min_nofeedback),
            ..usual
        };
        let receiver = Receiver::new(setup.tfrc.follows(ReceiverConfig::default()));
        Self {
            packet: setup.packet,
            sender: Sender::new(Instant::ZERO, config),
            reader: Reader::new(receiver, setup.times),
            forward: path(setup.loss, 0),
            back: Link::new(
                LinkConfig {
                    delay: setup.rtt / 2,
                    ..LinkConfig::default()
                },
                0,
            ),
            next_seq: 0,
        }
    }

    /// Changes what the path loses.
    pub(crate) fn set_loss(&mut self, now: Instant, loss: Loss) {
        self.forward.set_loss(now, loss);
    }

    /// Takes the processor away from the receiver until then.
    pub(crate) fn deschedule_receiver(&mut self, until: Instant) {
        self.reader.deschedule(until);
    }

    /// Runs until `end`, and shows everything that happens before it.
    pub(crate) fn run_until(&mut self, end: Instant, see: &mut impl FnMut(Instant, TfrcFlowEvent)) {
        let mut now = Instant::ZERO;
        loop {
            let next = [
                Some(self.sender.next_departure(now)),
                Some(self.sender.poll_timeout()),
                self.reader.poll_timeout(),
                self.forward.poll_timeout(),
                self.back.poll_timeout(),
            ];
            let next = next.into_iter().flatten().min().unwrap_or(end).max(now);
            if next >= end {
                return;
            }
            now = next;
            self.step(now, see);
        }
    }

    fn step(&mut self, now: Instant, see: &mut impl FnMut(Instant, TfrcFlowEvent)) {
        while let Some(data) = self.forward.poll_output(now) {
            let arrival = Arrival {
                seq: data.seq,
                at: now,
                timestamp: data.sent_at.as_micros() as u32,
                rtt: data.rtt,
                size: self.packet,
                ecn: Ecn::NotEct,
            };
            self.reader.handle_data(arrival, data.sent_at);
        }
        let report = self.reader.poll_report(now, |seq, arrived| {
            see(now, TfrcFlowEvent::Arrival { seq, arrived });
        });
        if let Some((report, sent_at)) = report {
            let p = report.loss_event_rate;
            see(now, TfrcFlowEvent::Report { p });
            let feedback = Feedback {
                sent_at,
                delay: report.delay,
                receive_rate: report.receive_rate,
                loss_event_rate: p,
            };
            self.back
                .handle_packet(now, ReportPacket(feedback), REPORT_SIZE);
        }
        while let Some(ReportPacket(feedback)) = self.back.poll_output(now) {
            if let Trace::Feedback {
                allowed_rate: allowed,
                rtt,
                ..
            } = self.sender.handle_feedback(now, &feedback)
            {
                see(now, TfrcFlowEvent::Feedback { allowed, rtt });
            }
        }
        if let Some(Trace::NoFeedback {
            allowed_rate: allowed,
            ..
        }) = self.sender.handle_timeout(now)
        {
            see(now, TfrcFlowEvent::Silence { allowed });
        }
        while self.sender.next_departure(now) <= now {
            self.sender.handle_sent(now, self.packet);
            let data = DataPacket {
                seq: self.next_seq,
                sent_at: now,
                rtt: self.sender.rtt(),
            };
            self.next_seq += 1;
            self.forward.handle_packet(now, data, self.packet);
        }
    }
}

/// X in packets a round trip.
pub(crate) fn packets_per_rtt(rate: Rate, rtt: Duration, packet: Bytes) -> f64 {
    rate.bytes_per_sec() * rtt.as_secs_f64() / packet.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::equation;

    #[test]
    fn a_steady_loss_gives_the_rate_of_the_equation() {
        let setup = TfrcFlowSetup {
            rtt: Duration::from_millis(100),
            packet: Bytes::new(1_000),
            loss: Loss::Periodic(100),
            tfrc: Tfrc::default(),
            times: Times::Arrival,
            patience: None,
            seed: 1,
        };
        let mut flow = Flow::new(&setup);
        let mut last = None;
        flow.run_until(Instant::from_secs(60), &mut |at, seen| {
            if let TfrcFlowEvent::Feedback { allowed, rtt } = seen {
                last = Some((at, allowed, rtt));
            }
        });
        let (at, allowed, rtt) = last.unwrap();
        assert!(at < Instant::from_secs(60) && at > Instant::from_secs(59));
        assert_eq!(rtt, setup.rtt);
        let expected = equation::rate(setup.packet, setup.rtt, LossEventRate::new(0.01));
        assert!((allowed / expected - 1.0).abs() < 0.01, "{allowed}");
    }
}
