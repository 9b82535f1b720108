//! An Evenkeel sender, a link, and a foreign receiver.

use std::collections::VecDeque;
use std::time::Duration;

use crate::pair::{End, PACKET, PAYLOAD_TYPE};
use evenkeel_rtp::endpoint::Datagram;
use evenkeel_rtp::packet::rtcp::{
    Packet, Packets, ReceiverReport, ReportBlock, sdes, sender_report::SenderReport, twcc,
};
use evenkeel_rtp::packet::rtp::{RtpPacket, is_rtcp};
use evenkeel_rtp::session::{
    Breach, CONTROL_BUFFER, Config, EventKind, MediaInfo, RateSource, SendConfig, Session,
};
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

pub(super) const SSRC: u32 = 0xf0f0;
const TICK: Duration = Duration::from_millis(1);
pub(super) const DELAY: Duration = Duration::from_millis(20);
/// The longest wait before the wire.
const QUEUE: Duration = Duration::from_millis(100);

/// What the receiver sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sends {
    Nothing,
    /// A receiver report in this time.
    Reports(Duration),
    /// Transport-wide feedback of each frame; saved up for so long, as GStreamer does in the first seconds, and then
    /// all at once; and receiver reports.
    TransportWide(Duration, Datagrams),
}

/// How messages leave that were saved up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Datagrams {
    /// In one.
    One,
    /// In one each, as GStreamer does.
    Each,
}

/// A sender of ours, a link, and a receiver that is not ours.
pub(super) struct World {
    pub(super) now: Instant,
    pub(super) session: Session,
    pub(super) rate: Rate,
    free: Instant,
    media: VecDeque<(Instant, Vec<u8>)>,
    control: VecDeque<(Instant, Vec<u8>)>,
    pub(super) sends: Sends,
    /// The receiver gets nothing more.
    pub(super) is_cut: bool,
    pub(super) sent: u64,
    dropped: u64,
    bytes: Bytes,
    /// The transport-wide numbers of the packets that left last.
    pub(super) recent: VecDeque<u16>,
    pub(super) receiver: Receiver,
    pub(super) events: Vec<EventKind>,
}

#[derive(Default)]
pub(super) struct Receiver {
    pub(super) media_ssrc: u32,
    first: Option<u32>,
    highest: u32,
    received: u32,
    prior: (u32, u32),
    pub(super) last_report: Option<(SenderReport, Instant)>,
    next_report: Option<Instant>,
    next_feedback: Option<Instant>,
    /// Packets of the frames that no feedback told of: when each came, by number.
    frame: Vec<(u16, Instant)>,
    pub(super) complete: Vec<Vec<(u16, Instant)>>,
    made: u8,
}

impl World {
    pub(super) fn new(sends: Sends, set: impl FnOnce(&mut SendConfig)) -> Self {
        let now = Instant::from_secs(1);
        let mut config = Config {
            receive: None,
            ..End::A.sender(1)
        };
        let mut send = SendConfig::new(PAYLOAD_TYPE);
        send.fallback = true;
        set(&mut send);
        config.send = Some(send);
        Self {
            now,
            session: Session::new(now, config),
            rate: Rate::from_bits_per_sec(2e6),
            free: now,
            media: VecDeque::new(),
            control: VecDeque::new(),
            sends,
            is_cut: false,
            sent: 0,
            dropped: 0,
            bytes: Bytes::ZERO,
            recent: VecDeque::new(),
            receiver: Receiver::default(),
            events: Vec::new(),
        }
    }

    /// Lets seconds pass, and gives the rate that was sent and the share that was lost in them.
    pub(super) fn run(&mut self, seconds: u64) -> (Rate, f64) {
        let (sent, dropped, bytes) = (self.sent, self.dropped, self.bytes);
        let time = Duration::from_secs(seconds);
        self.run_for(time);
        let packets = (self.sent - sent).max(1) as f64;
        let bytes = Bytes::new(self.bytes.get() - bytes.get());
        (bytes / time, (self.dropped - dropped) as f64 / packets)
    }

    pub(super) fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.step();
            self.now += TICK;
        }
    }

    /// Hands a datagram to the sender as if it came from the receiver.
    pub(super) fn inject(&mut self, bytes: &[u8]) {
        let datagram = Datagram {
            source: End::B.address(),
            payload: bytes,
            arrival: self.now,
            ecn: Ecn::NotEct,
        };
        self.session.handle_datagram(self.now, datagram);
    }

    fn step(&mut self) {
        let now = self.now;
        while let Some(bytes) = due(&mut self.control, now) {
            self.inject(&bytes);
        }
        self.session.handle_timeout(now);
        let mut buf = [0; CONTROL_BUFFER];
        while let Some(transmit) = self.session.poll_transmit(now, &mut buf) {
            self.media
                .push_back((now + DELAY, buf[..transmit.len].to_vec()));
        }
        let mut buf = [0; PACKET];
        let payload = [0; PACKET];
        let len = self.session.payload_capacity();
        while self.session.next_departure(now).is_some_and(|at| at <= now) {
            // A frame has four packets.
            let marker = self.session.next_sequence().is_multiple_of(4);
            let info = MediaInfo {
                timestamp: 0,
                marker,
            };
            let sent = self
                .session
                .write_media(now, &info, &payload[..len], &mut buf);
            let len = sent.expect("a packet may leave").len;
            self.carry(&buf[..len]);
        }
        while let Some(event) = self.session.poll_event() {
            self.events.push(event.kind);
        }
        while let Some(bytes) = due(&mut self.media, now) {
            self.receiver.handle(now, &bytes);
        }
        for bytes in self.receiver.reports(now, self.sends) {
            self.control.push_back((now + DELAY, bytes));
        }
    }

    fn carry(&mut self, packet: &[u8]) {
        self.sent += 1;
        self.bytes += Bytes::from(packet.len());
        self.recent
            .push_back(number_of(&RtpPacket::parse(packet).expect("RTP of ours")));
        if self.recent.len() > 8 {
            self.recent.pop_front();
        }
        let begins = self.free.max(self.now);
        if self.is_cut || begins.saturating_since(self.now) > QUEUE {
            self.dropped += 1;
            return;
        }
        self.free = begins + Bytes::from(packet.len()) / self.rate;
        self.media.push_back((self.free + DELAY, packet.to_vec()));
        self.media.make_contiguous().sort_by_key(|(at, _)| *at);
    }

    pub(super) fn sources(&self) -> Vec<RateSource> {
        let sources = self.events.iter().filter_map(|event| match event {
            EventKind::RateSource(source) => Some(*source),
            _ => None,
        });
        sources.collect()
    }

    pub(super) fn breaches(&self) -> Vec<(Breach, bool)> {
        let breaches = self.events.iter().filter_map(|event| match event {
            EventKind::CircuitBreaker { breach, ceased } => Some((*breach, *ceased)),
            _ => None,
        });
        breaches.collect()
    }
}

/// The transport-wide number of a packet, or its sequence number if it has none.
fn number_of(rtp: &RtpPacket<'_>) -> u16 {
    let mut elements = rtp.elements().flatten();
    let number = elements.find(|element| element.id == Config::TRANSPORT_SEQUENCE_ID);
    number.map_or(rtp.header().sequence, |element| {
        u16::from_be_bytes(element.data.try_into().expect("two bytes"))
    })
}

/// The first datagram of a queue, if it has come by then.
fn due(queue: &mut VecDeque<(Instant, Vec<u8>)>, now: Instant) -> Option<Vec<u8>> {
    let is_due = queue.front().is_some_and(|(at, _)| *at <= now);
    is_due.then(|| queue.pop_front())?.map(|(_, bytes)| bytes)
}

impl Receiver {
    fn handle(&mut self, now: Instant, bytes: &[u8]) {
        if is_rtcp(bytes) {
            for packet in Packets::parse(bytes).expect("RTCP of ours").flatten() {
                if let Packet::SenderReport(report, _) = packet {
                    self.last_report = Some((report, now));
                }
            }
            return;
        }
        let rtp = RtpPacket::parse(bytes).expect("RTP of ours");
        let header = rtp.header();
        self.media_ssrc = header.ssrc;
        let sequence = match self.first {
            None => header.sequence.into(),
            Some(_) => {
                let ahead = header.sequence.wrapping_sub(self.highest as u16);
                self.highest.wrapping_add(ahead.into())
            }
        };
        self.first.get_or_insert(sequence);
        self.highest = self.highest.max(sequence);
        self.received += 1;
        self.frame.push((number_of(&rtp), now));
        if header.marker {
            self.complete.push(std::mem::take(&mut self.frame));
        }
    }

    fn reports(&mut self, now: Instant, sends: Sends) -> Vec<Vec<u8>> {
        if self.first.is_none() {
            return Vec::new();
        }
        let mut datagrams = Vec::new();
        let interval = match sends {
            Sends::Nothing => return datagrams,
            Sends::Reports(interval) => interval,
            Sends::TransportWide(..) => Duration::from_secs(5),
        };
        let due = *self.next_report.get_or_insert(now + interval / 10);
        if due <= now {
            self.next_report = Some(now + interval);
            datagrams.push(self.receiver_report(now));
        }
        if let Sends::TransportWide(hold, in_datagrams) = sends
            && !self.complete.is_empty()
            && self.next_feedback.is_none_or(|at| at <= now)
        {
            self.next_feedback = Some(now + hold);
            let messages = self.feedback();
            match in_datagrams {
                Datagrams::One => datagrams.push(messages.concat()),
                Datagrams::Each => datagrams.extend(messages),
            }
        }
        datagrams
    }

    fn receiver_report(&mut self, now: Instant) -> Vec<u8> {
        let expected = self.highest - self.first.unwrap_or(0) + 1;
        let (expected_since, received_since) =
            (expected - self.prior.0, self.received - self.prior.1);
        self.prior = (expected, self.received);
        let lost = expected_since.saturating_sub(received_since);
        let (last_sender_report, delay_since) = self.last_report.map_or((0, 0), |(report, at)| {
            let waited = now.saturating_since(at).as_nanos() * 65_536 / 1_000_000_000;
            (report.ntp.middle(), waited as u32)
        });
        let block = ReportBlock {
            ssrc: self.media_ssrc,
            fraction_lost: (lost * 256)
                .checked_div(expected_since)
                .unwrap_or(0)
                .min(255) as u8,
            cumulative_lost: (expected - self.received.min(expected)).cast_signed(),
            highest_sequence: self.highest,
            jitter: 0,
            last_sender_report,
            delay_since,
        };
        let mut buf = [0; 128];
        let mut len = ReceiverReport { ssrc: SSRC }
            .emit(&[block], &mut buf)
            .expect("it fits");
        len += sdes::emit_cname(SSRC, "foreign", &mut buf[len..]).expect("it fits");
        buf[..len].to_vec()
    }

    /// All frames that were saved up, a message each.
    fn feedback(&mut self) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        for frame in std::mem::take(&mut self.complete) {
            let (first, last) = (frame[0].0, frame[frame.len() - 1].0);
            let count = usize::from(last.wrapping_sub(first)) + 1;
            let mut reported = vec![None; count];
            for (sequence, at) in frame {
                reported[usize::from(sequence.wrapping_sub(first))] = Some(at);
            }
            let mut buf = [0; 512];
            let ssrcs = (SSRC, self.media_ssrc);
            let len = twcc::emit(ssrcs, first, reported.into_iter(), self.made, &mut buf);
            self.made = self.made.wrapping_add(1);
            messages.push(buf[..len.expect("a frame fits")].to_vec());
        }
        messages
    }
}
