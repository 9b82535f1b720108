//! One session, with the checks that hold after each call.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_media::policy::observe_signal;
use evenkeel_rate::{Params, PathModel};
use evenkeel_rtp::endpoint::Datagram;
use evenkeel_rtp::packet::flexfec::{Encoder, dummy};
use evenkeel_rtp::packet::rtcp::Packets;
use evenkeel_rtp::packet::rtp::{RtpPacket, is_rtcp};
use evenkeel_rtp::session::{CONTROL_BUFFER, Config, EventKind, Incoming, MediaInfo, Session};
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

/// A session that is not content after so many calls at one instant spins.
const MOST_CALLS_AT_AN_INSTANT: usize = 100;
/// What the path model begins with, and what it goes down to where TFRC allows less.
const FIRST_RATE: Rate = Rate::from_bits_per_sec(300e3);
const LEAST_RATE: Rate = Rate::from_bytes_per_sec(6e3);
pub(super) struct CheckedSession {
    pub(super) session: Session,
    /// The one address that it was configured to hear.
    peer: Option<SocketAddr>,
    /// Sequence numbers of the present peer's media that arrived, and that repair packets gave back.
    seen: BTreeSet<u64>,
    recovered: BTreeSet<u64>,
    /// Media that it sent and no repair packet protects yet.
    block: Encoder,
    /// What its feedback says of the path.
    model: PathModel,
}

impl CheckedSession {
    /// Creates the session of one end, which accepts datagrams of `peer` alone if one is given.
    pub(super) fn new(now: Instant, config: Config) -> Self {
        Self {
            peer: config.peer,
            session: Session::new(now, config),
            seen: BTreeSet::new(),
            recovered: BTreeSet::new(),
            block: Encoder::default(),
            model: PathModel::new(Params::CALL, Duration::from_millis(40), FIRST_RATE),
        }
    }

    /// The caller's loop until there is nothing more to do now.
    pub(super) fn settle(&mut self, now: Instant) -> Vec<Vec<u8>> {
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
                self.check(now);
                return sent;
            }
        }
        panic!("{:?} is due for ever", self.session.poll_timeout());
    }

    pub(super) fn send(&mut self, now: Instant, info: &MediaInfo, len: usize) -> Option<Vec<u8>> {
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

    pub(super) fn repair(&mut self, now: Instant) -> Option<Vec<u8>> {
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

    /// Hands a datagram to the session. A session with a fixed peer ignores all others, and no packet of media is given out or
    /// recovered twice.
    pub(super) fn take(&mut self, now: Instant, datagram: Datagram<'_>) {
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
        self.check(now);
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
        observe_signal(&mut self.model, now, &sample);
    }

    /// What the session tells is finite and in range.
    fn check(&mut self, now: Instant) {
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
