//! Our own implementation as the suite tests it: a session with dummy data, sender or receiver.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use evenkeel_rtp::packet::rtp::media_time;
use evenkeel_rtp::session::{Config, FeedbackMode, MediaInfo, ReceiveConfig, SendConfig, Session};
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};
use tfrc::{ReceiverConfig, SenderConfig};

use crate::check::{Pause, Setup};

/// Payload type of the dummy data. That of JPEG (RFC 3551 §6) needs no description to be agreed on; what
/// is in the packets is no picture.
const PAYLOAD_TYPE: u8 = 26;
const CLOCK_RATE: u32 = 90_000;
/// Reports are a part of the session's bandwidth, which must not hold them up.
const BANDWIDTH: Rate = Rate::from_bits_per_sec(1e9);
/// Longer than any run: what a sender does without feedback is what is tested.
const GIVE_UP: Duration = Duration::from_secs(3_600);

/// A session that sends full packets whenever it may, or one that receives them.
#[derive(Debug)]
pub struct Implementation {
    session: Session,
    payload: Vec<u8>,
    /// Added to every instant: the session's clock began that much before ours.
    ahead: Duration,
    source: Source,
    now: Instant,
}

/// What the application has to send.
#[derive(Debug)]
struct Source {
    started: Instant,
    pause: Option<Pause>,
    shortfall: usize,
    packets: usize,
    last: Option<Instant>,
}

impl Source {
    const fn new(started: Instant, pause: Option<Pause>, shortfall: u16) -> Self {
        Self {
            started,
            pause,
            shortfall: shortfall as usize,
            packets: 0,
            last: None,
        }
    }

    /// The first time from `at` on at which there is a packet.
    fn ready(&self, at: Instant) -> Instant {
        match (self.pause, self.last) {
            (Some(pause), Some(last)) => {
                let (from, to) = (self.started + pause.from, self.started + pause.to);
                if from <= at && at < to {
                    (last + pause.every).clamp(at, to)
                } else {
                    at
                }
            }
            _ => at,
        }
    }

    /// The next packet's share of a full payload.
    fn cut<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        let short = if self.packets % 2 == 1 {
            self.shortfall
        } else {
            0
        };
        &payload[..payload.len().saturating_sub(short)]
    }

    fn handle_sent(&mut self, at: Instant) {
        self.packets += 1;
        self.last = Some(at);
    }
}

impl Implementation {
    /// A sender of dummy data to `peer`.
    pub fn sender(
        now: Instant,
        peer: SocketAddr,
        setup: &Setup,
        tfrc: SenderConfig,
        seed: u64,
    ) -> Self {
        let mut config = Config::new("sender", seed);
        config.peer = Some(peer);
        config.bandwidth = BANDWIDTH;
        let mut send = SendConfig::new(PAYLOAD_TYPE);
        send.packet_size = Bytes::new(setup.packet_size.into());
        send.give_up = GIVE_UP;
        send.tfrc = tfrc;
        send.feedback = setup.feedback;
        // A run is short, and what it counts must not depend on which numbers are left out. Scripts also claim
        // what no receiver can have received.
        send.verify = false;
        config.send = Some(send);
        let source = Source::new(now, setup.pause, setup.shortfall);
        Self::new(now, config, setup.clock_ahead, source)
    }

    /// A receiver that answers whoever sends to it.
    pub fn receiver(now: Instant, feedback: FeedbackMode, tfrc: ReceiverConfig, seed: u64) -> Self {
        let mut config = Config::new("receiver", seed);
        config.bandwidth = BANDWIDTH;
        let mut receive = ReceiveConfig::new(PAYLOAD_TYPE);
        receive.tfrc = tfrc;
        receive.feedback = feedback;
        config.receive = Some(receive);
        Self::new(now, config, Duration::ZERO, Source::new(now, None, 0))
    }

    fn new(now: Instant, config: Config, ahead: Duration, source: Source) -> Self {
        let session = Session::new(now + ahead, config);
        Self {
            payload: vec![0; session.payload_capacity()],
            session,
            ahead,
            source,
            now,
        }
    }
}

impl Endpoint for Implementation {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        self.now = now;
        let arrival = datagram.arrival + self.ahead;
        self.session.handle_datagram(
            now + self.ahead,
            Datagram {
                arrival,
                ..datagram
            },
        );
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
    }

    /// What may leave at an instant leaves before the nofeedback timer of the same instant is served,
    /// as in the thesis's trace of a sender without reports: 0, 1 and 2 s, then 4.
    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        self.now = now;
        let has_data = self.source.ready(now) <= now;
        let now = now + self.ahead;
        let info = MediaInfo {
            timestamp: media_time(now, CLOCK_RATE),
            marker: false,
        };
        let payload = self.source.cut(&self.payload);
        if has_data && let Ok(media) = self.session.write_media(now, &info, payload, buf) {
            self.source.handle_sent(self.now);
            return Some(media);
        }
        self.session.handle_timeout(now);
        // Told to nobody: what it does must show on the wire.
        while self.session.poll_event().is_some() {}
        self.session.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let departure = self.session.next_departure(self.now + self.ahead);
        let departure = departure.map(|at| {
            let ready = self.source.ready((at - self.ahead).max(self.now));
            (ready + self.ahead, Reason::Departure)
        });
        let (at, reason) = [departure, self.session.poll_timeout()]
            .into_iter()
            .flatten()
            .min_by_key(|(at, _)| *at)?;
        Some((at - self.ahead, reason))
    }
}
