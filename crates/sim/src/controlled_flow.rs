//! A video flow of an ideal encoder that a [`RateController`] drives.
//!
//! It has the camera and the encoder of [`MediaEnd`](crate::MediaEnd) with [`Pictures::Sizes`], so that a
//! call and its peers have equal frames from equal seeds. Arrival times are exact: no feedback format
//! limits a peer.

use crate::agent::{Agent, Packet};
use crate::body::{ArrivalReport, Body, FramePacket};
use crate::camera::{Camera, Pictures, Shooting};
use crate::frame_log::FrameLog;
use crate::peer_end::PeerEnd;
use crate::rate_controller::{FeedbackReport, PacketReport, RateController};
use crate::tfrc_flow::LOWER_LAYERS;
use crate::traffic::Traffic;
use std::collections::{BTreeMap, VecDeque};
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// The largest packet above UDP, as a call's.
const MAX_PACKET: u64 = 1_200;
/// Packets that the sender remembers below the newest reported one, for arrivals that come late.
const REMEMBERED_PACKETS: u64 = 1_000;
/// RFC 8888 §3.1: RTCP header and SSRC of the sender, SSRC and range of the stream, report timestamp.
const REPORT_HEADERS: u64 = 8 + 8 + 4;
/// RFC 8888 §3.1: a 16-bit block for each packet.
const PACKET_BLOCK: u64 = 2;

/// Both ends of a flow that `controller` drives.
pub fn controlled_flow(
    pictures: Pictures,
    shooting: Shooting,
    controller: Box<dyn RateController>,
) -> [Traffic; 2] {
    let log = FrameLog::new(shooting, pictures.format().frame_rate);
    let receiver = ControlledReceiver::new(log, controller.feedback_interval());
    let sender = ControlledSender::new(pictures, shooting, controller);
    [Traffic::peer(sender), Traffic::peer(receiver)]
}

/// The end that captures, codes, paces and sends.
#[derive(Debug)]
pub struct ControlledSender {
    camera: Camera,
    controller: Box<dyn RateController>,
    interval: Duration,
    /// The frame that is being coded.
    coding: u32,
    /// Coded packets that have not left, and their size above UDP.
    waiting: VecDeque<(FramePacket, Bytes)>,
    backlog: Bytes,
    next_departure: Instant,
    next_sequence: u64,
    /// The newest packets, until `next_sequence`: when each left, and its size above UDP.
    sent: VecDeque<(Instant, Bytes)>,
}

impl ControlledSender {
    /// A sender that waits for the first capture.
    pub fn new(
        pictures: Pictures,
        shooting: Shooting,
        controller: Box<dyn RateController>,
    ) -> Self {
        let interval = pictures.format().frame_rate.interval();
        Self {
            camera: Camera::new(pictures, shooting),
            controller,
            interval,
            coding: 0,
            waiting: VecDeque::new(),
            backlog: Bytes::ZERO,
            next_departure: Instant::ZERO,
            next_sequence: 0,
            sent: VecDeque::new(),
        }
    }

    /// Captures and codes what is due.
    fn drive(&mut self, now: Instant) {
        if let Some(frame) = self.camera.poll_coded(now) {
            self.packetize(frame.picture.size());
        }
        if let Some(captured) = self.camera.poll_captured(now) {
            self.coding = self.camera.pictures_due() as u32 - 1;
            let target = self.controller.target_rate(self.backlog) * self.interval;
            self.camera.code(now, &captured, target);
        }
    }

    /// Cuts a frame into packets of one size.
    fn packetize(&mut self, frame: Bytes) {
        let of = frame.get().div_ceil(MAX_PACKET).max(1);
        let size = Bytes::new(frame.get().div_ceil(of));
        for index in 0..of {
            let packet = FramePacket {
                sequence: 0,
                frame: self.coding,
                index: index as u16,
                of: of as u16,
            };
            self.waiting.push_back((packet, size));
            self.backlog += size;
        }
    }

    fn handle_report(&mut self, now: Instant, report: &ArrivalReport) {
        let [begin, end] = report.range;
        let late = report.arrivals.range(..begin);
        let late = late.map(|(sequence, at)| (*sequence, Some(*at)));
        let fresh =
            (begin..end).map(|sequence| (sequence, report.arrivals.get(&sequence).copied()));
        let oldest = self.next_sequence - self.sent.len() as u64;
        let packets = late.chain(fresh).filter_map(|(sequence, arrival)| {
            let index = sequence.checked_sub(oldest)?;
            let &(sent, size) = self.sent.get(index as usize)?;
            Some(PacketReport {
                sequence,
                size,
                sent,
                arrival,
            })
        });
        let packets: Vec<PacketReport> = packets.collect();
        let feedback = FeedbackReport {
            reported: report.reported,
            packets: &packets,
        };
        self.controller.on_feedback(now, &feedback);
        let forgotten = end.saturating_sub(REMEMBERED_PACKETS + oldest);
        self.sent.drain(..self.sent.len().min(forgotten as usize));
    }
}

impl Agent for ControlledSender {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        if let Body::Arrivals(report) = &packet.body {
            self.handle_report(now, report);
        }
        self.drive(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.drive(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        if self.next_departure > now {
            return None;
        }
        let (packet, size) = self.waiting.pop_front()?;
        self.next_departure = now + size / self.controller.pacing_rate(self.backlog);
        self.backlog -= size;
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.sent.push_back((now, size));
        self.controller.on_sent(now, sequence, size);
        Some(Packet {
            size: size + LOWER_LAYERS,
            ecn: Ecn::NotEct,
            body: Body::FramePacket(FramePacket { sequence, ..packet }),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let departure = (!self.waiting.is_empty()).then_some(self.next_departure);
        self.camera
            .poll_timeout()
            .into_iter()
            .chain(departure)
            .min()
    }
}

impl PeerEnd for ControlledSender {
    fn frames(&self) -> Option<&FrameLog> {
        None
    }
}

/// The end that receives and reports.
#[derive(Clone, Debug)]
pub struct ControlledReceiver {
    frames: FrameLog,
    interval: Duration,
    /// When the next report is due; `None` before the first packet.
    due: Option<Instant>,
    /// Not reported yet.
    arrivals: BTreeMap<u64, Instant>,
    /// The first packet that no report covers.
    begin: u64,
    report: Option<Box<ArrivalReport>>,
}

impl ControlledReceiver {
    /// A receiver that reports every `interval` from the first packet on.
    pub const fn new(frames: FrameLog, interval: Duration) -> Self {
        Self {
            frames,
            interval,
            due: None,
            arrivals: BTreeMap::new(),
            begin: 0,
            report: None,
        }
    }
}

impl Agent for ControlledReceiver {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        let Body::FramePacket(packet) = packet.body else {
            return;
        };
        let (frame, index, of) = (packet.frame, packet.index, packet.of);
        self.frames
            .arrived(now, frame.into(), index.into(), Some(of.into()));
        self.arrivals.entry(packet.sequence).or_insert(now);
        self.due.get_or_insert(now + self.interval);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.due = Some(now + self.interval);
        let arrivals = std::mem::take(&mut self.arrivals);
        let newest = arrivals.last_key_value().map(|(sequence, _)| sequence + 1);
        let end = newest.map_or(self.begin, |newest| newest.max(self.begin));
        self.report = Some(Box::new(ArrivalReport {
            reported: now,
            range: [self.begin, end],
            arrivals,
        }));
        self.begin = end;
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Packet<Body>> {
        let report = self.report.take()?;
        let oldest = report.arrivals.first_key_value().map(|(first, _)| *first);
        let [begin, end] = report.range;
        let blocks = end - oldest.map_or(begin, |oldest| oldest.min(begin));
        let rtcp = REPORT_HEADERS + (blocks * PACKET_BLOCK).next_multiple_of(4);
        Some(Packet {
            size: Bytes::new(rtcp) + LOWER_LAYERS,
            ecn: Ecn::NotEct,
            body: Body::Arrivals(report),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}

impl PeerEnd for ControlledReceiver {
    fn frames(&self) -> Option<&FrameLog> {
        Some(&self.frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, End, FlowId, Observer, Shape, Simulation};
    use evenkeel_codec::source::{Format, FrameRate};
    use evenkeel_link::{LinkConfig, Random};
    use std::cell::RefCell;
    use std::rc::Rc;
    use tfrc::units::Rate;

    const TARGET: Rate = Rate::from_bits_per_sec(1e6);
    const STOP: Instant = Instant::from_secs(2);

    /// Ignores feedback, and remembers it.
    #[derive(Debug, Default)]
    struct Constant(Rc<RefCell<Vec<PacketReport>>>);

    impl RateController for Constant {
        fn on_feedback(&mut self, _now: Instant, feedback: &FeedbackReport<'_>) {
            self.0.borrow_mut().extend(feedback.packets);
        }

        fn target_rate(&self, _backlog: Bytes) -> Rate {
            TARGET
        }

        fn pacing_rate(&self, _backlog: Bytes) -> Rate {
            TARGET * 2.0
        }

        fn feedback_interval(&self) -> Duration {
            Duration::from_millis(100)
        }
    }

    #[derive(Default)]
    struct Departures(Vec<(Instant, Bytes)>);

    impl Observer<Traffic> for Departures {
        fn sent(&mut self, now: Instant, _flow: FlowId, end: End, packet: &Packet<Body>) {
            if end == End::Sender {
                self.0.push((now, packet.size));
            }
        }
    }

    /// What was reported, when packets left, and the frames, over 5 ms of delay without these packets.
    fn run(lost: &[u64]) -> (Vec<PacketReport>, Departures, FrameLog) {
        let link = LinkConfig {
            delay: Duration::from_millis(5),
            ..LinkConfig::default()
        };
        let none = LinkConfig::default();
        let shape = Shape::dumbbell([link; 2], [Access::even(none)]).unwrap();
        let mut sim = Simulation::new(&shape.topology, 1);
        let reports = Rc::default();
        let format = Format {
            width: 176,
            height: 144,
            frame_rate: FrameRate::new(25, 1).unwrap(),
        };
        let shooting = Shooting {
            start: Instant::ZERO,
            stop: STOP,
            pause: None,
            most: TARGET * 9.0,
        };
        let [sender, receiver] = controlled_flow(
            Pictures::Sizes(format, Random::new(1, 0)),
            shooting,
            Box::new(Constant(Rc::clone(&reports))),
        );
        let place = &shape.places[0];
        let flow = sim.add_flow(&place.forward, &place.reverse, sender, receiver);
        sim.lose_packets(shape.bottlenecks[0][0], lost.iter().copied());
        let mut departures = Departures::default();
        sim.run_observed(STOP + Duration::from_secs(1), &mut departures);
        let Traffic::Peer(receiver) = sim.agent(flow, End::Receiver) else {
            panic!("the receiver is a peer");
        };
        let frames = receiver.frames().unwrap().clone();
        drop(sim);
        (reports.take(), departures, frames)
    }

    #[test]
    fn frames_have_the_target_size_and_are_paced() {
        let (_, Departures(departures), frames) = run(&[]);
        let sizes = departures.iter().map(|(_, size)| *size);
        assert!(
            sizes
                .clone()
                .all(|size| size <= Bytes::new(MAX_PACKET) + LOWER_LAYERS)
        );
        let payload = sizes.map(|size| size - LOWER_LAYERS).sum::<Bytes>();
        let share = payload / (STOP - Instant::ZERO) / TARGET;
        assert!((0.95..1.0).contains(&share), "{share}");
        // 3 ms of coding, three packets of 1,188 or four of 1,000 bytes before the last at 2 Mb/s, 5 ms of delay.
        let delays = frames
            .frames()
            .map(|frame| frame.complete.unwrap() - frame.captured);
        for delay in delays {
            let millis = delay.as_secs_f64() * 1e3;
            assert!((22.2..=24.1).contains(&millis), "{millis} ms");
        }
        assert_eq!(frames.frames().count(), 50);
    }

    #[test]
    fn every_packet_is_reported_once_as_arrived_or_lost() {
        let (reports, Departures(departures), frames) = run(&[3, 7]);
        let lost: Vec<u64> = reports
            .iter()
            .filter(|packet| packet.arrival.is_none())
            .map(|packet| packet.sequence)
            .collect();
        assert_eq!(lost, [3, 7]);
        assert!(
            reports
                .iter()
                .map(|packet| packet.sequence)
                .eq(0..departures.len() as u64)
        );
        let transit = Duration::from_millis(5);
        let arrived = reports
            .iter()
            .filter_map(|packet| Some((packet, packet.arrival?)));
        for (packet, arrival) in arrived {
            assert_eq!(arrival, packet.sent + transit);
        }
        let whole = frames.frames().filter(|frame| frame.complete.is_some());
        assert_eq!(whole.count(), 48);
    }
}
