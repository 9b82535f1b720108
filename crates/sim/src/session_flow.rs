//! The product's own session as the ends of a flow: real RTP and RTCP, byte by byte.

use crate::agent::{Agent, Packet};
use crate::body::Body;
use crate::tfrc_flow::{LOWER_LAYERS, TfrcConfig};
use evenkeel_rtp::endpoint::{Datagram, Transmit};
use evenkeel_rtp::packet::rtp::media_time;
use evenkeel_rtp::session::{
    CONTROL_BUFFER, Config, FeedbackMode, MediaInfo, ReceiveConfig, SendConfig, Session,
};
use std::net::SocketAddr;
use tfrc::ReceiverConfig;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// When RTCP leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rtcp {
    /// The session's, which says how often compounds leave: [`Rtcp::bandwidth_for`].
    pub bandwidth: Rate,
    /// Reports leave when TFRC wants them.
    pub reduced_size: bool,
}

impl Rtcp {
    /// The bandwidth at which compounds leave so often on average (RFC 3550 §6.2).
    pub fn bandwidth_for(interval: Duration) -> Rate {
        Rate::from_bits_per_sec(360e3 / interval.as_secs_f64())
    }
}

/// As sessions have it.
impl Default for Rtcp {
    fn default() -> Self {
        let usual = Config::new("", 0);
        Self {
            bandwidth: usual.bandwidth,
            reduced_size: usual.reduced_size,
        }
    }
}

/// One end of a session that always has media to send, if it sends at all.
#[derive(Debug)]
pub struct SessionEnd {
    session: Session,
    peer: SocketAddr,
    start: Instant,
    stop: Option<Instant>,
    now: Instant,
    media: Vec<u8>,
    clock_rate: u32,
    buffer: Vec<u8>,
    received: Bytes,
}

impl SessionEnd {
    /// An end that `config` describes, with a peer at this address; it begins at `start`.
    ///
    /// # Panics
    ///
    /// Panics if [`Config::validate`] refuses `config`.
    #[track_caller]
    pub fn new(config: Config, peer: SocketAddr, start: Instant) -> Self {
        let send = config.send.as_ref();
        let clock_rate = send.map_or(1, |send| send.clock_rate);
        let packet_size = send.map_or(0, |send| send.packet_size.get() as usize);
        let session = Session::new(start, config);
        Self {
            media: vec![0; session.payload_capacity()],
            buffer: vec![0; packet_size.max(CONTROL_BUFFER)],
            session,
            peer,
            start,
            stop: None,
            now: start,
            clock_rate,
            received: Bytes::ZERO,
        }
    }

    /// Both ends of the flow that `config` describes, with feedback of any kind; `estimator` says how p is
    /// computed, wherever it is. Of RTCP's compounds the first alone leaves, as in a flow without bytes, but
    /// with [`FeedbackMode::App`], where they leave as `rtcp` says.
    ///
    /// # Panics
    ///
    /// Panics if [`Config::validate`] refuses the configuration of an end, that is, a field of `config.tfrc` or `estimator`.
    #[track_caller]
    pub fn pair(
        config: &TfrcConfig,
        estimator: &ReceiverConfig,
        feedback: FeedbackMode,
        rtcp: Rtcp,
        seed: u64,
    ) -> [Self; 2] {
        let [a, b] = [1, 2].map(|host| SocketAddr::from(([192, 0, 2, host], 5004)));
        let end = |name: &str, peer| Config {
            peer: Some(peer),
            ecn: config.ecn,
            bandwidth: match feedback {
                FeedbackMode::App => rtcp.bandwidth,
                _ => Rate::from_bits_per_sec(50.0),
            },
            reduced_size: rtcp.reduced_size,
            ..Config::new(name, seed)
        };
        let send = SendConfig {
            packet_size: config.packet_size - LOWER_LAYERS,
            tfrc: config.tfrc.clone(),
            feedback,
            estimator: estimator.clone(),
            // Nor does a flow without bytes ever give up.
            give_up: Duration::from_secs(86_400),
            leave_out_sequence_numbers: true,
            ..SendConfig::new(PAYLOAD_TYPE)
        };
        let receive = ReceiveConfig {
            tfrc: estimator.clone(),
            feedback,
            ..ReceiveConfig::new(PAYLOAD_TYPE)
        };
        let sender = Config {
            send: Some(send),
            ..end("sender@sim", b)
        };
        let receiver = Config {
            receive: Some(receive),
            ..end("receiver@s", a)
        };
        [
            Self {
                stop: config.stop,
                ..Self::new(sender, b, config.start)
            },
            Self::new(receiver, a, config.start),
        ]
    }

    /// Its state: X, R, p, what it counted.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What has arrived, headers of all layers included.
    pub fn received(&self) -> Bytes {
        self.received
    }

    fn has_stopped(&self, now: Instant) -> bool {
        self.stop.is_some_and(|stop| now >= stop)
    }

    fn transmit(&mut self) -> Option<Transmit> {
        if let Some(control) = self.session.poll_transmit(self.now, &mut self.buffer) {
            return Some(control);
        }
        if self.media.is_empty() {
            return None;
        }
        let info = MediaInfo {
            timestamp: media_time(self.now, self.clock_rate),
            marker: true,
        };
        self.session
            .write_media(self.now, &info, &self.media, &mut self.buffer)
            .ok()
    }
}

impl Agent for SessionEnd {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        let Body::Bytes(bytes) = &packet.body else {
            return;
        };
        self.received += packet.size;
        // A report could have it send earlier, in the past.
        if self.has_stopped(now) {
            return;
        }
        self.now = now;
        let datagram = Datagram {
            source: self.peer,
            arrival: now,
            ecn: packet.ecn,
            payload: bytes,
        };
        self.session.handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.session.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        if now < self.start || self.has_stopped(now) {
            return None;
        }
        self.now = now;
        let Transmit { len, ecn, .. } = self.transmit()?;
        Some(Packet {
            size: Bytes::from(len) + LOWER_LAYERS,
            ecn,
            body: Body::Bytes(self.buffer[..len].into()),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timer = self.session.poll_timeout().map(|(at, _)| at);
        let departure = self.session.next_departure(self.now);
        let departure = departure.filter(|_| !self.media.is_empty());
        let next = [timer, departure].into_iter().flatten().min();
        next.filter(|next| !self.has_stopped(*next))
    }
}

/// The first of the dynamic ones (RFC 3551 §6).
const PAYLOAD_TYPE: u8 = 96;
