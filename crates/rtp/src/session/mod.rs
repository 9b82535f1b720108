//! One end of a call: RTP and RTCP on one port, one peer at a time, TFRC in both directions.

mod config;
mod event;
mod statistics;

use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::{LossEventRate, Rate};

pub use config::{Config, ReceiveConfig, SendConfig};
pub use event::{Event, EventKind, FeedbackSummary};
pub use statistics::{Ignored, Statistics};

use crate::endpoint::{Datagram, Reason, Transmit};

/// The largest datagram that is looked at: a jumbo frame.
pub const MAX_DATAGRAM: usize = 9_216;

/// What a datagram turned out to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Incoming<'a> {
    /// Media from the peer.
    Media(MediaPacket<'a>),
    /// RTCP from the peer: the session has taken note of it.
    Control,
    /// Neither; it was counted.
    Ignored(Ignored),
}

/// A media packet that passed every check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaPacket<'a> {
    /// The RTP sequence number, extended: it neither wraps nor starts again while the peer stays
    /// the same. It may be lower than that of the packet before (reordering), never equal to one seen.
    pub sequence: u64,
    /// The RTP timestamp, on the peer's media clock.
    pub timestamp: u32,
    /// The marker bit: the last packet of a frame, for video.
    pub marker: bool,
    /// What follows the RTP headers, padding removed.
    pub payload: &'a [u8],
    /// When it arrived, never before the packet that was handed in before it.
    pub arrival: Instant,
    /// The sender's clock at departure, microseconds modulo 2^32: against `arrival` it gives jitter
    /// that owes nothing to the sender's pacing.
    pub send_time: u32,
    /// The round-trip time that the sender knew, if it knew one.
    pub rtt: Option<Duration>,
}

/// What the caller says about a media packet that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaInfo {
    /// The capture instant on the media clock, counted from [`Instant::ZERO`] modulo 2^32
    /// ([`media_time`](crate::rtp::media_time)). The session adds its random offset.
    pub timestamp: u32,
    /// Set on the last packet of a frame.
    pub marker: bool,
}

/// What a sender knows of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// The allowed rate *X*; the fixed rate where TFRC is off.
    pub allowed_rate: Rate,
    /// *X_inst*, at which packets leave (RFC 5348 §4.5).
    pub instantaneous_rate: Rate,
    /// The filtered round-trip time *R*, once one is known.
    pub rtt: Option<Duration>,
    /// The loss event rate *p* last reported.
    pub loss_event_rate: LossEventRate,
    /// The receive rate *X_recv* last reported.
    pub receive_rate: Rate,
}

/// One end of a call.
///
/// Call order: hand in datagrams and timeouts; then drain [`poll_transmit`](Self::poll_transmit)
/// and [`poll_event`](Self::poll_event); send media while
/// [`next_departure`](Self::next_departure) allows; then wait for
/// [`poll_timeout`](Self::poll_timeout).
#[derive(Debug)]
pub struct Session {
    statistics: Statistics,
    events: event::EventQueue,
}

impl Session {
    /// Starts a session at `now`. Nothing is sent before the first call.
    pub fn new(now: Instant, config: Config) -> Self {
        let _ = (now, config);
        Self {
            statistics: Statistics::default(),
            events: event::EventQueue::new(),
        }
    }

    /// A datagram arrived. `datagram.arrival` may lie before `now`, never after it.
    pub fn handle_datagram<'a>(&mut self, now: Instant, datagram: Datagram<'a>) -> Incoming<'a> {
        let _ = (now, datagram);
        self.statistics.count_ignored(Ignored::Closed);
        Incoming::Ignored(Ignored::Closed)
    }

    /// The instant of [`poll_timeout`](Self::poll_timeout) has come. Harmless if early.
    pub fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }

    /// Writes the next control packet (feedback, reports, BYE) that is due.
    pub fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        let _ = (now, buf);
        None
    }

    /// When the next media packet may leave: not after `now` if at once. `None` while none may (no
    /// peer yet, given up, closed, or a session that only receives).
    pub fn next_departure(&self, now: Instant) -> Option<Instant> {
        let _ = now;
        None
    }

    /// Writes a media packet around `payload` that departs at `now`. `None` if
    /// [`next_departure`](Self::next_departure) does not allow it, if the payload exceeds
    /// [`payload_capacity`](Self::payload_capacity) or if `buf` is too small.
    pub fn write_media(
        &mut self,
        now: Instant,
        info: &MediaInfo,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Option<Transmit> {
        let _ = (now, info, payload, buf);
        None
    }

    /// Bytes of payload that fit into a packet.
    pub fn payload_capacity(&self) -> usize {
        0
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next, and why. Departures are not
    /// among them: only the caller knows whether it has anything to send.
    pub fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        None
    }

    /// The oldest event that was not taken yet. At most 64 wait; the oldest give way.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// What the sender knows of the path; `None` for a session that only receives.
    pub fn path(&self) -> Option<Path> {
        None
    }

    /// The instant on *our* clock at which the peer captured what carries `timestamp`, by its last
    /// sender report and on the assumption that both wall clocks agree. `None` before such a report.
    pub fn captured_at(&self, timestamp: u32) -> Option<Instant> {
        let _ = timestamp;
        None
    }

    /// Counters since the start.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Ends the session: media stops, one BYE is left for `poll_transmit`.
    pub fn close(&mut self, now: Instant) {
        let _ = now;
    }
}
