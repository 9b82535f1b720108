//! Repair packets beside the media: counted by TFRC as one flow, and of use.

use std::collections::VecDeque;
use std::time::Duration;

use crate::pair::End;
use evenkeel_rtp::endpoint::Datagram;
use evenkeel_rtp::packet::flexfec::{Encoder, dummy};
use evenkeel_rtp::packet::rtp::RtpPacket;
use evenkeel_rtp::session::{
    Config, EventKind, FeedbackMode, Ignored, Incoming, MediaInfo, RepairConfig, Session,
};
use tfrc::Ecn;
use tfrc::time::Instant;

const REPAIR: u8 = RepairConfig::PAYLOAD_TYPE;
const DELAY: Duration = Duration::from_millis(20);
/// Packets of a frame.
const FRAME: u32 = 4;

fn sender(feedback: FeedbackMode) -> Config {
    let mut config = End::A.sender(1);
    if let Some(send) = &mut config.send {
        send.feedback = feedback;
        send.repair = Some(RepairConfig {
            payload_type: REPAIR,
            ssrc: None,
        });
    }
    config
}

fn receiver(feedback: FeedbackMode, repair: Option<u8>) -> Config {
    let mut config = End::B.receiver(2);
    if let Some(receive) = &mut config.receive {
        (receive.feedback, receive.repair) = (feedback, repair);
    }
    config
}

/// A sender whose frames of four packets each have a repair packet behind them, and a receiver.
struct World {
    now: Instant,
    sender: Session,
    receiver: Session,
    encoder: Encoder,
    forward: VecDeque<(Instant, Vec<u8>)>,
    back: VecDeque<(Instant, Vec<u8>)>,
    /// Media packets written.
    media: u32,
    repairs: u32,
    /// True for a media packet, by its count, that is lost.
    loses: fn(u32) -> bool,
    /// Sequence numbers of media, as they reached the application.
    got: Vec<u64>,
}

impl World {
    fn new(sender: Config, receiver: Config) -> Self {
        let now = Instant::from_secs(1);
        Self {
            now,
            sender: Session::new(now, sender),
            receiver: Session::new(now, receiver),
            encoder: Encoder::default(),
            forward: VecDeque::new(),
            back: VecDeque::new(),
            media: 0,
            repairs: 0,
            loses: |_| false,
            got: Vec::new(),
        }
    }

    /// Lets so many milliseconds pass.
    fn run(&mut self, ms: u64) {
        let mut buf = [0; 2_048];
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            let now = self.now;
            while let Some(bytes) = due(&mut self.back, now) {
                let datagram = datagram(End::B, now, &bytes);
                self.sender.handle_datagram(now, datagram);
            }
            while let Some(bytes) = due(&mut self.forward, now) {
                self.deliver(&bytes);
            }
            self.sender.handle_timeout(now);
            self.receiver.handle_timeout(now);
            while let Some(transmit) = self.receiver.poll_transmit(now, &mut buf) {
                self.back
                    .push_back((now + DELAY, buf[..transmit.len].to_vec()));
            }
            while let Some(transmit) = self.sender.poll_transmit(now, &mut buf) {
                self.forward
                    .push_back((now + DELAY, buf[..transmit.len].to_vec()));
            }
            // A packet in ten milliseconds at most: the rate is the application's.
            if (self.now.as_nanos() / 1_000_000).is_multiple_of(10) {
                self.send(&mut buf);
            }
        }
    }

    fn deliver(&mut self, bytes: &[u8]) {
        let datagram = datagram(End::A, self.now, bytes);
        if let Incoming::Media(packet) = self.receiver.handle_datagram(self.now, datagram) {
            self.got.push(packet.sequence);
        }
        while let Some(packet) = self.receiver.poll_recovered() {
            assert!(
                packet
                    .payload
                    .iter()
                    .all(|&byte| byte == packet.sequence as u8)
            );
            self.got.push(packet.sequence);
        }
    }

    /// One packet, if it may go: media, or the repair packet of the frame that is over.
    fn send(&mut self, buf: &mut [u8]) {
        let may_go = |at: Instant| at <= self.now;
        if !self.sender.next_departure(self.now).is_some_and(may_go) {
            return;
        }
        let mut payload = Vec::new();
        if self.encoder.write(&mut payload) {
            let transmit = self
                .sender
                .write_repair(self.now, &payload, buf)
                .expect("it may go");
            self.repairs += 1;
            self.encoder.clear();
            self.forward
                .push_back((self.now + DELAY, buf[..transmit.len].to_vec()));
            return;
        }
        let sequence = self.sender.next_sequence();
        let info = MediaInfo {
            timestamp: self.media / FRAME * 3_600,
            marker: self.media % FRAME == FRAME - 1,
        };
        let payload = vec![sequence as u8; self.sender.payload_capacity()];
        let transmit = self
            .sender
            .write_media(self.now, &info, &payload, buf)
            .expect("it may go");
        self.encoder.push(sequence as u16, &buf[..transmit.len]);
        if info.marker && self.sender.repair_capacity() > 0 {
            self.encoder.plan(1);
        }
        if !(self.loses)(self.media) {
            self.forward
                .push_back((self.now + DELAY, buf[..transmit.len].to_vec()));
        }
        self.media += 1;
    }
}

/// The next datagram that arrives by now.
fn due(queue: &mut VecDeque<(Instant, Vec<u8>)>, now: Instant) -> Option<Vec<u8>> {
    let arrives = queue.front().is_some_and(|(at, _)| *at <= now);
    if !arrives {
        return None;
    }
    queue.pop_front().map(|(_, bytes)| bytes)
}

fn datagram(from: End, now: Instant, bytes: &[u8]) -> Datagram<'_> {
    Datagram {
        source: from.address(),
        arrival: now,
        ecn: Ecn::NotEct,
        payload: bytes,
    }
}

#[test]
fn lost_packets_come_back_and_stay_lost_for_tfrc() {
    for feedback in [FeedbackMode::Tfrc, FeedbackMode::Twcc] {
        let mut world = World::new(sender(feedback), receiver(feedback, Some(REPAIR)));
        world.run(2_000);
        // One of every fifth frame.
        world.loses = |n| n % 20 == 6;
        world.run(10_000);
        let p = world.sender.path().unwrap().loss_event_rate.get();
        // One packet in 25, repair packets counted.
        assert!((p - 0.04).abs() < 0.005, "{feedback:?} {p}");
        world.loses = |_| false;
        world.run(1_000);
        let statistics = world.receiver.statistics();
        assert!(statistics.packets_recovered > 20, "{statistics:?}");
        assert_eq!(statistics.packets_recovered, statistics.packets_lost);
        assert_eq!(statistics.ignored_total(), 0, "{statistics:?}");
        // The last 20 ms of both are under way.
        assert!(statistics.repair_received >= u64::from(world.repairs) - 2);
        assert!(world.got.len() as u32 >= world.media - 3);
        assert_eq!(world.sender.statistics().ignored_total(), 0);
    }
}

#[test]
fn a_receiver_without_them_takes_the_media_and_counts_the_rest() {
    let mut world = World::new(
        sender(FeedbackMode::Tfrc),
        receiver(FeedbackMode::Tfrc, None),
    );
    world.run(5_000);
    let statistics = world.receiver.statistics();
    assert_eq!(statistics.packets_lost, 0);
    assert!(world.got.len() as u32 >= world.media - 3);
    let ignored = statistics.ignored(Ignored::UnknownPayloadType);
    assert!(ignored >= u64::from(world.repairs) - 3);
    assert!(world.sender.path().unwrap().loss_event_rate.is_zero());
}

#[test]
fn sack_leaves_no_room_for_repair_packets() {
    let session = Session::new(Instant::ZERO, sender(FeedbackMode::Sack));
    assert_eq!(session.repair_capacity(), 0);
}

/// RFC 8888 names packets by the numbers of one source, so both ends go over to transport-wide numbers.
#[test]
fn ccfb_becomes_transport_wide_beside_repair_packets() {
    let mut world = World::new(
        sender(FeedbackMode::Ccfb),
        receiver(FeedbackMode::Ccfb, Some(REPAIR)),
    );
    assert!(world.sender.repair_capacity() > 0);
    world.loses = |n| n % 20 == 6;
    world.run(5_000);
    let formats = std::iter::from_fn(|| world.receiver.poll_event());
    let formats: Vec<FeedbackMode> = formats
        .filter_map(|event| match event.kind {
            EventKind::ArrivalsReported { format, .. } => Some(format),
            _ => None,
        })
        .collect();
    assert!(!formats.is_empty());
    assert!(formats.iter().all(|format| *format == FeedbackMode::Twcc));
    assert!(world.receiver.statistics().packets_recovered > 5);
    let statistics = world.sender.statistics();
    assert!(statistics.feedback_received > 10, "{statistics:?}");
    assert_eq!(statistics.ignored_total(), 0, "{statistics:?}");
    let p = world.sender.path().unwrap().loss_event_rate.get();
    assert!((0.02..0.06).contains(&p), "{p}");
}

#[test]
fn ccfb_stays_without_repair_packets() {
    let mut config = sender(FeedbackMode::Ccfb);
    config.send.as_mut().expect("it sends").repair = None;
    let mut world = World::new(config, receiver(FeedbackMode::Ccfb, Some(REPAIR)));
    world.run(2_000);
    let events = std::iter::from_fn(|| world.receiver.poll_event());
    let mut formats = events.filter_map(|event| match event.kind {
        EventKind::ArrivalsReported { format, .. } => Some(format),
        _ => None,
    });
    assert!(formats.all(|format| format == FeedbackMode::Ccfb));
    assert!(world.sender.statistics().feedback_received > 10);
}

#[test]
fn repair_packets_introduce_nobody() {
    let mut world = World::new(
        sender(FeedbackMode::Tfrc),
        receiver(FeedbackMode::Tfrc, Some(REPAIR)),
    );
    world.run(1_000);
    let mut payload = Vec::new();
    dummy(world.sender.repair_capacity(), &mut payload);
    let mut buf = [0; 2_048];
    let transmit = loop {
        world.now += Duration::from_millis(1);
        if let Ok(transmit) = world.sender.write_repair(world.now, &payload, &mut buf) {
            break transmit;
        }
    };
    assert!(transmit.len <= crate::pair::PACKET);
    let mut strange = Session::new(world.now, receiver(FeedbackMode::Tfrc, Some(REPAIR)));
    let bytes = &buf[..transmit.len];
    let incoming = strange.handle_datagram(world.now, datagram(End::A, world.now, bytes));
    assert_eq!(incoming, Incoming::Ignored(Ignored::WrongSsrc));
    let elsewhere = datagram(End::B, world.now, bytes);
    let incoming = world.receiver.handle_datagram(world.now, elsewhere);
    assert_eq!(incoming, Incoming::Ignored(Ignored::WrongSource));
    let incoming = world
        .receiver
        .handle_datagram(world.now, datagram(End::A, world.now, bytes));
    assert_eq!(incoming, Incoming::Dummy);
    let incoming = world
        .receiver
        .handle_datagram(world.now, datagram(End::A, world.now, bytes));
    assert_eq!(incoming, Incoming::Ignored(Ignored::Duplicate));
    assert_eq!(world.receiver.statistics().packets_lost, 0);
}

/// By its transport-wide number it would be new.
#[test]
fn a_media_packet_is_no_other_one_by_a_transport_wide_number_of_its_own() {
    let mut world = World::new(
        sender(FeedbackMode::Tfrc),
        receiver(FeedbackMode::Tfrc, Some(REPAIR)),
    );
    world.run(1_000);
    let sent = world.forward.iter().map(|(_, bytes)| bytes);
    let is_media = |bytes: &&Vec<u8>| bytes.len() > 100 && bytes[1] & 0x7f != REPAIR;
    let mut packet = sent.rev().find(is_media).expect("on its way").clone();
    world.run(100);
    let place = {
        let rtp = RtpPacket::parse(&packet).unwrap();
        let mut elements = rtp.elements().map(Result::unwrap);
        let number = elements.find(|element| element.data.len() == 2);
        number.expect("a number").data.as_ptr().addr() - packet.as_ptr().addr()
    };
    packet[place] ^= 1;
    let incoming = world
        .receiver
        .handle_datagram(world.now, datagram(End::A, world.now, &packet));
    assert_eq!(incoming, Incoming::Ignored(Ignored::Duplicate));
}

#[test]
fn a_false_packet_holds_up_no_good_one_behind_it_and_is_counted() {
    let mut world = World::new(
        sender(FeedbackMode::Tfrc),
        receiver(FeedbackMode::Tfrc, Some(REPAIR)),
    );
    world.run(2_000);
    world.encoder.clear();
    let mut buf = [0; 2_048];
    let mut packets = Vec::new();
    while packets.len() < 4 {
        world.now += Duration::from_millis(1);
        let sequence = world.sender.next_sequence();
        let payload = [sequence as u8; 100];
        let info = MediaInfo {
            timestamp: 0,
            marker: false,
        };
        let (sender, now) = (&mut world.sender, world.now);
        let Ok(transmit) = sender.write_media(now, &info, &payload, &mut buf) else {
            continue;
        };
        let mut packet = buf[..transmit.len].to_vec();
        packets.push(packet.clone());
        // The first is of no payload type that the receiver takes, as its repair packet tells it.
        packet[1] ^= u8::from(packets.len() == 1) << 4;
        assert!(world.encoder.push(sequence as u16, &packet));
    }
    world.encoder.plan(2);
    let mut payload = Vec::new();
    while world.encoder.write(&mut payload) {
        let repair = loop {
            world.now += Duration::from_millis(1);
            let (sender, now) = (&mut world.sender, world.now);
            if let Ok(transmit) = sender.write_repair(now, &payload, &mut buf) {
                break buf[..transmit.len].to_vec();
            }
        };
        packets.push(repair);
    }
    // The first two are lost.
    for packet in &packets[2..] {
        let datagram = datagram(End::A, world.now, packet);
        let incoming = world.receiver.handle_datagram(world.now, datagram);
        assert!(!matches!(incoming, Incoming::Ignored(_)), "{incoming:?}");
    }
    let recovered = world.receiver.poll_recovered().expect("the second");
    assert_eq!(recovered.payload, &packets[1][packets[1].len() - 100..]);
    assert!(world.receiver.poll_recovered().is_none());
    let statistics = world.receiver.statistics();
    assert_eq!(statistics.packets_recovered, 1);
    assert_eq!(statistics.ignored(Ignored::BadRepair), 1);
}
