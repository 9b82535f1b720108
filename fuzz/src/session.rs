//! Two sessions, whatever reaches them: each other's datagrams in any order, late, twice, bent or from
//! elsewhere, foreign bytes, timeouts and leaps of time.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use evenkeel_rate::{Params, PathModel, TransitReport};
use evenkeel_rtp::endpoint::Datagram;
use evenkeel_rtp::packet::flexfec::{Encoder, dummy};
use evenkeel_rtp::packet::rtcp::Packets;
use evenkeel_rtp::packet::rtp::{RtpPacket, is_rtcp};
use evenkeel_rtp::session::{
    CONTROL_BUFFER, Config, EventKind, FeedbackMode, Incoming, MediaInfo, PathSignal,
    ReceiveConfig, RepairConfig, SendConfig, Session,
};
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

use crate::Span;

/// A session that is not content after so many calls at one instant spins.
const MOST_CALLS_AT_AN_INSTANT: usize = 100;
/// What the path model begins with, and what it goes down to where TFRC allows less.
const FIRST_RATE: Rate = Rate::from_bits_per_sec(300e3);
const LEAST_RATE: Rate = Rate::from_bytes_per_sec(6e3);
/// Datagrams on their way; the oldest are lost.
const MOST_IN_FLIGHT: usize = 64;

#[derive(Arbitrary, Debug)]
struct Start {
    ends: [End; 2],
}

#[derive(Arbitrary, Debug)]
struct End {
    knows_peer: bool,
    ssrc: Option<u32>,
    seed: u8,
    send: Option<Send>,
    receive: Option<u8>,
    feedback_format: Option<u8>,
    extension_id: Option<u8>,
    ecn: bool,
    bandwidth: u32,
    feedback: u8,
    repair: Option<u8>,
}

#[derive(Arbitrary, Debug)]
struct Send {
    payload_type: u8,
    clock_rate: u32,
    packet_size: u16,
    fixed_rate: Option<f32>,
    give_up: Span,
}

#[derive(Arbitrary, Debug)]
enum Step<'a> {
    Wait(Span),
    /// Until one of the two wants to be called.
    Sleep,
    Settle(Side),
    Media {
        from: Side,
        len: u8,
        timestamp: u32,
        marker: bool,
    },
    /// Protects the media that it sent since the last time; a dummy if there is none.
    Repair(Side),
    /// The datagram that was sent as the `index`th of those in flight; it stays there.
    Deliver {
        to: Side,
        index: u8,
        source: u8,
        late: Span,
        ecn: bool,
    },
    Bend {
        index: u8,
        at: u16,
        bits: u8,
    },
    Cut {
        index: u8,
        len: u16,
    },
    Inject {
        to: Side,
        source: u8,
        bytes: &'a [u8],
    },
    Close(Side),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Side {
    A,
    B,
}

/// Plays the bytes as what happens to two sessions.
pub fn check(data: &[u8]) {
    let mut steps = Unstructured::new(data);
    let Ok(start) = Start::arbitrary(&mut steps) else {
        return;
    };
    let mut pair = Pair::new(&start);
    while !steps.is_empty() {
        let Ok(step) = Step::arbitrary(&mut steps) else {
            return;
        };
        pair.play(&step);
    }
}

struct Pair {
    now: Instant,
    parties: [Party; 2],
    in_flight: VecDeque<Vec<u8>>,
}

struct Party {
    session: Session,
    /// The one address that it was told to listen to.
    peer: Option<SocketAddr>,
    /// Sequence numbers of the present peer's media that arrived, and that repair packets gave back.
    seen: BTreeSet<u64>,
    recovered: BTreeSet<u64>,
    /// Media that it sent and no repair packet protects yet.
    block: Encoder,
    /// What its feedback says of the path.
    model: PathModel,
}

fn address(index: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, index % 4], 5004))
}

impl Pair {
    fn new(start: &Start) -> Self {
        let now = Instant::from_secs(1);
        let mut index = 0;
        let parties = start.ends.each_ref().map(|end| {
            index += 1;
            let peer = end.knows_peer.then(|| address(3 - index));
            Party {
                session: Session::new(now, end.config(peer)),
                peer,
                seen: BTreeSet::new(),
                recovered: BTreeSet::new(),
                block: Encoder::default(),
                model: PathModel::new(Params::CALL, Duration::from_millis(40), FIRST_RATE),
            }
        });
        Self {
            now,
            parties,
            in_flight: VecDeque::new(),
        }
    }

    fn play(&mut self, step: &Step<'_>) {
        match *step {
            Step::Wait(span) => self.now += span.duration(),
            Step::Sleep => {
                let timeouts = self
                    .parties
                    .iter()
                    .filter_map(|party| party.session.poll_timeout());
                if let Some(at) = timeouts.map(|(at, _)| at).min() {
                    self.now = self.now.max(at);
                }
            }
            Step::Settle(side) => {
                let sent = self.parties[side as usize].settle(self.now);
                self.in_flight.extend(sent);
            }
            Step::Media {
                from,
                len,
                timestamp,
                marker,
            } => {
                let info = MediaInfo { timestamp, marker };
                let sent = self.parties[from as usize].send(self.now, &info, len.into());
                self.in_flight.extend(sent);
            }
            Step::Repair(side) => {
                let sent = self.parties[side as usize].repair(self.now);
                self.in_flight.extend(sent);
            }
            Step::Deliver {
                to,
                index,
                source,
                late,
                ecn,
            } => {
                let Some(bytes) = self.in_flight.get(usize::from(index)) else {
                    return;
                };
                let arrival = self
                    .now
                    .as_nanos()
                    .saturating_sub(late.duration().as_nanos() as u64);
                self.parties[to as usize].take(
                    self.now,
                    Datagram {
                        source: address(source),
                        arrival: Instant::from_nanos(arrival),
                        ecn: if ecn { Ecn::Ce } else { Ecn::Ect0 },
                        payload: bytes,
                    },
                );
            }
            Step::Bend { index, at, bits } => {
                let datagram = self.in_flight.get_mut(usize::from(index));
                if let Some(byte) = datagram.and_then(|bytes| bytes.get_mut(usize::from(at))) {
                    *byte ^= bits;
                }
            }
            Step::Cut { index, len } => {
                if let Some(bytes) = self.in_flight.get_mut(usize::from(index)) {
                    bytes.truncate(len.into());
                }
            }
            Step::Inject { to, source, bytes } => self.parties[to as usize].take(
                self.now,
                Datagram {
                    source: address(source),
                    arrival: self.now,
                    ecn: Ecn::NotEct,
                    payload: bytes,
                },
            ),
            Step::Close(side) => self.parties[side as usize].session.close(self.now),
        }
        while self.in_flight.len() > MOST_IN_FLIGHT {
            self.in_flight.pop_front();
        }
    }
}

impl Party {
    /// The caller's loop until there is nothing more to do now.
    fn settle(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut sent = Vec::new();
        for _ in 0..MOST_CALLS_AT_AN_INSTANT {
            self.session.handle_timeout(now);
            let mut buf = [0; CONTROL_BUFFER];
            while let Some(transmit) = self.session.poll_transmit(now, &mut buf) {
                assert_eq!(Some(transmit.destination), self.session.peer_address());
                let bytes = &buf[..transmit.len];
                assert!(is_rtcp(bytes));
                let mut packets = Packets::parse(bytes).expect("what we write, we read");
                assert!(packets.all(|packet| packet.is_ok()));
                sent.push(bytes.to_vec());
                assert!(sent.len() <= MOST_CALLS_AT_AN_INSTANT, "RTCP without end");
            }
            if self.session.poll_timeout().is_none_or(|(at, _)| at > now) {
                self.look(now);
                return sent;
            }
        }
        panic!("{:?} is due for ever", self.session.poll_timeout());
    }

    fn send(&mut self, now: Instant, info: &MediaInfo, len: usize) -> Option<Vec<u8>> {
        let mut buf = vec![0; usize::from(u16::MAX)];
        let len = len.min(self.session.payload_capacity());
        let transmit = self
            .session
            .write_media(now, info, &vec![7; len], &mut buf)
            .ok()?;
        assert_eq!(Some(transmit.destination), self.session.peer_address());
        buf.truncate(transmit.len);
        let packet = RtpPacket::parse(&buf).expect("what we write, we read");
        assert_eq!(packet.payload(), vec![7; len]);
        assert!(packet.elements().all(|element| element.is_ok()));
        self.block.push(packet.header().sequence, &buf);
        let number = self.session.last_number();
        self.model
            .handle_sent(now, number, Bytes::from(transmit.len), info.marker);
        Some(buf)
    }

    fn repair(&mut self, now: Instant) -> Option<Vec<u8>> {
        let mut payload = Vec::new();
        self.block.plan(1);
        if !self.block.write(&mut payload) {
            dummy(self.session.repair_capacity(), &mut payload);
        }
        let mut buf = vec![0; usize::from(u16::MAX)];
        let transmit = self.session.write_repair(now, &payload, &mut buf).ok()?;
        assert_eq!(Some(transmit.destination), self.session.peer_address());
        self.block.clear();
        buf.truncate(transmit.len);
        let packet = RtpPacket::parse(&buf).expect("what we write, we read");
        assert_eq!(packet.payload(), payload);
        Some(buf)
    }

    /// Who was told its peer hears nobody else; no media packet is given out twice, nor given back that arrived or was
    /// given back.
    fn take(&mut self, now: Instant, datagram: Datagram<'_>) {
        let (source, payload) = (datagram.source, datagram.payload);
        let incoming = self.session.handle_datagram(now, datagram);
        let is_stranger = self.peer.is_some_and(|peer| peer != source);
        assert!(!is_stranger || matches!(incoming, Incoming::Ignored(_)));
        let sequence = match incoming {
            Incoming::Media(media) => {
                assert!(media.payload.len() < payload.len());
                Some(media.sequence)
            }
            Incoming::Repair | Incoming::Dummy | Incoming::Control | Incoming::Ignored(_) => None,
        };
        self.look(now);
        if let Some(sequence) = sequence {
            assert!(
                self.seen.insert(sequence),
                "packet {sequence} was given out twice"
            );
        }
        while let Some(media) = self.session.poll_recovered() {
            let sequence = media.sequence;
            assert!(
                !self.seen.contains(&sequence) && self.recovered.insert(sequence),
                "packet {sequence} was given back, and was there"
            );
        }
    }

    /// Hands feedback to the path model.
    fn observe_path(&mut self, now: Instant) {
        let Some(sample) = self.session.poll_path() else {
            return;
        };
        match sample.signal {
            PathSignal::Deliveries => self.model.handle_report(now, sample.deliveries()),
            PathSignal::TransitReport {
                sent_at,
                round_trip,
                least,
                largest,
                receive_rate,
            } => {
                let report = TransitReport {
                    sent_at,
                    round_trip,
                    least,
                    largest,
                    receive_rate,
                };
                self.model.handle_transit_bounds(now, &report);
            }
            PathSignal::RoundTrip {
                sent_at,
                round_trip,
                receive_rate,
            } => self
                .model
                .handle_round_trip(now, sent_at, round_trip, receive_rate),
        }
    }

    /// What the session tells is finite and in range.
    fn look(&mut self, now: Instant) {
        while let Some(event) = self.session.poll_event() {
            assert!(event.at <= now);
            if let EventKind::PeerChanged { .. } = event.kind {
                self.seen.clear();
                self.recovered.clear();
            }
        }
        if let Some(path) = self.session.path() {
            assert!(path.allowed_rate.is_finite() && path.instantaneous_rate.is_finite());
            assert!((0.0..=1.0).contains(&path.loss_event_rate.get()));
            assert!(path.rtt.is_none_or(|rtt| rtt > Duration::ZERO));
            self.model.set_bound(now, path.allowed_rate);
            self.observe_path(now);
            let most = path.allowed_rate.max(LEAST_RATE);
            assert!(self.model.rate() <= most && self.model.pacing_rate() <= most);
            let budget = self.model.frame_budget(now, Duration::from_millis(100));
            assert!(budget <= most * Duration::from_millis(41));
        }
        let _ = self.session.next_departure(now);
    }
}

impl End {
    fn config(&self, peer: Option<SocketAddr>) -> Config {
        let mut config = Config::new("fuzz", self.seed.into());
        config.peer = peer;
        config.ssrc = self.ssrc;
        config.ecn = self.ecn;
        config.bandwidth = Rate::from_bits_per_sec(self.bandwidth.into());
        if let Some(format) = self.feedback_format {
            config.feedback_format = format;
        }
        if let Some(id) = self.extension_id {
            config.extension_id = id;
        }
        let feedback = FeedbackMode::ALL[usize::from(self.feedback % 5)];
        config.receive = self.receive.map(|payload_type| ReceiveConfig {
            feedback,
            repair: self.repair,
            transit_bounds: self.feedback >= 128,
            ..ReceiveConfig::new(payload_type)
        });
        config.send = self.send.as_ref().map(|send| SendConfig {
            clock_rate: send.clock_rate,
            packet_size: Bytes::new(send.packet_size.into()),
            fixed_rate: send
                .fixed_rate
                .map(|rate| Rate::from_bytes_per_sec(rate.into())),
            give_up: send.give_up.duration(),
            feedback,
            fallback: send.payload_type.is_multiple_of(2),
            repair: self.repair.map(|payload_type| RepairConfig {
                payload_type,
                ssrc: None,
            }),
            ..SendConfig::new(send.payload_type)
        });
        config
    }
}
