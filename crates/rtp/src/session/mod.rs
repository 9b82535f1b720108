//! One end of a call: RTP and RTCP on one port, one peer at a time, TFRC in both directions.

mod config;
mod event;
mod media;
mod peer;
mod random;
mod receiver;
mod rtcp;
mod sender;
mod statistics;

use tfrc::time::Instant;
use tfrc::units::Rate;

pub use crate::packet::rtcp::{FeedbackMode, UnknownFeedback};
pub use config::{Config, ReceiveConfig, RepairConfig, SendConfig};
pub use event::{Event, EventKind};
pub use media::{Incoming, MediaInfo, MediaPacket};
pub use sender::{Breach, Lie, NotSent, Path, PathSample, PathSignal, RateSource};
pub use statistics::{Ignored, Statistics};

use event::EventQueue;
use peer::Peer;
use peer::unexpected_media::{SecondSource, UnexpectedMedia};
use random::Random;
use receiver::budget::Budget;
use receiver::inbound::Inbound;
use rtcp::keyframes::Keyframes;
use rtcp::sent_reports::SentReports;
use rtcp::timer::{self, RtcpTimer};
use sender::outbound::Outbound;

use crate::endpoint::{Datagram, MAX_DATAGRAM, Reason};
use crate::packet::flexfec::Decoder;
use crate::packet::rtcp::{TfrcFeedback, sdes};
use crate::packet::rtp::is_rtcp;

/// The length of the buffer that [`Session::poll_transmit`] needs, which fits into any path's MTU.
///
/// The longest datagram has a sender report with one block (52 bytes), the longest name (268), the longest report
/// of arrivals (820) and room to spare; a BYE takes 8 bytes.
pub const CONTROL_BUFFER: usize = 1_200;

/// One end of a call, which may send media, receive media, or both.
///
/// A session has one synchronisation source, and one peer at a time. Media that we send under TFRC carries
/// `rtt-sendts` in every packet; media of others needs it only where reports do ([`FeedbackMode::needs_send_times`]). The receiver sends feedback at TFRC's own times, within a budget of 5 % of what it receives. Feedback
/// has reduced size once the sender has shown that it receives us; full compounds leave by RFC 3550's timer.
///
/// Pass datagrams and timeouts; then drain [`poll_transmit`](Self::poll_transmit) and
/// [`poll_event`](Self::poll_event); send media while [`next_departure`](Self::next_departure) permits; then wait
/// for [`poll_timeout`](Self::poll_timeout). `now` must not go back; if it does, the session's own time stands
/// still.
///
/// **The peer.** A configured peer is the only address. Otherwise the source of the first valid media packet
/// becomes the peer. The peer is answered at once, because a TFRC sender starts with one packet a second, but gets
/// at most three times the bytes that it sent until RTCP of it names our source, which proves that it hears us (RFC
/// 9000 §8.1). Until then it yields at once to a source that proves as much, and to one that sends more packets. A
/// new synchronisation source at the peer's address takes over after a BYE or two seconds of silence (the peer was
/// restarted), another address after a BYE or five. A BYE counts once its source has been silent for half a second.
/// RTCP introduces a source only from the peer's address and only if it is about our own source. A peer whose
/// source continues in sequence from another address is followed there ([`EventKind::PeerMoved`]), and proves anew that it hears us.
/// So is one that only reports, once its address is silent for twice its usual time. Media of a source beside the one
/// that reported becomes the peer's at once if the latter sent none.
#[derive(Debug)]
pub struct Session {
    config: Config,
    ssrc: u32,
    now: Instant,
    /// The latest arrival so far, because arrivals must not go back either.
    arrived: Instant,
    peer: Peer,
    outbound: Option<Outbound>,
    inbound: Option<Inbound>,
    /// The decoder that recovers lost packets, from the peer's first repair packet on.
    decoder: Option<Box<Decoder>>,
    /// The packets that earlier sources lost.
    lost_before: u64,
    budget: Budget,
    keyframes: Keyframes,
    rtcp: RtcpTimer,
    sent_reports: SentReports,
    /// True if our last sender report carried a round-trip time.
    has_sent_round_trip: bool,
    closing: Closing,
    statistics: Statistics,
    unexpected_media: UnexpectedMedia,
    second_source: SecondSource,
    events: EventQueue,
}

/// The source of the rate, and the circuit breaker that tripped, with true if it ended the media.
type RateState = (RateSource, Option<(Breach, bool)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    Open,
    /// A BYE is still to be sent.
    Bye,
    Closed,
}

impl Session {
    /// Starts a session at `now`, which sends nothing before the first call.
    ///
    /// # Panics
    ///
    /// Panics if [`Config::validate`] refuses `config`.
    #[track_caller]
    pub fn new(now: Instant, mut config: Config) -> Self {
        if let Err(error) = config.validate() {
            panic!("{error}");
        }
        config.clamp();
        let mut random = Random::new(config.seed, &config.cname);
        let drawn = random.next_u32();
        let least = if config.works_with(FeedbackMode::App) {
            timer::LEAST_MINIMUM_OF_APP
        } else {
            timer::LEAST_MINIMUM
        };
        let has_timing = config.extension_id.is_some();
        let outbound = config
            .send
            .take()
            .map(|send| Outbound::new(now, send, config.ecn, has_timing, &mut random));
        // The size covers a receiver report with a block, the name, and feedback.
        let transit_bounds = config.receive.as_ref().is_some_and(|it| it.transit_bounds);
        let transit_len = if transit_bounds {
            TfrcFeedback::TRANSIT_LEN
        } else {
            0
        };
        let feedback_len = TfrcFeedback::PACKET_LEN + transit_len;
        let first_size = 32 + sdes::cname_len(&config.cname) + feedback_len;
        Self {
            ssrc: config.ssrc.unwrap_or(drawn),
            now,
            arrived: Instant::ZERO,
            peer: Peer::new(config.peer),
            outbound,
            inbound: None,
            decoder: None,
            lost_before: 0,
            budget: Budget::new(now),
            keyframes: Keyframes::default(),
            rtcp: RtcpTimer::new(random, config.bandwidth, least, first_size),
            sent_reports: SentReports::default(),
            has_sent_round_trip: false,
            closing: Closing::Open,
            statistics: Statistics::default(),
            unexpected_media: UnexpectedMedia::default(),
            second_source: SecondSource::default(),
            events: EventQueue::new(),
            config,
        }
    }

    /// Handles a datagram that arrived. `datagram.arrival` may precede `now`, but must not follow it.
    pub fn handle_datagram<'a>(&mut self, now: Instant, datagram: Datagram<'a>) -> Incoming<'a> {
        let now = self.advance(now);
        self.arrived = datagram.arrival.min(now).max(self.arrived);
        let before = self.rate_state();
        let result = if self.closing != Closing::Open {
            Err(Ignored::Closed)
        } else if datagram.payload.len() > MAX_DATAGRAM {
            Err(Ignored::Oversized)
        } else if is_rtcp(datagram.payload) {
            self.handle_rtcp(&datagram).map(|()| Incoming::Control)
        } else {
            self.handle_rtp(&datagram)
        };
        self.emit_rate_change(before);
        match result {
            Ok(incoming) => {
                self.resume();
                incoming
            }
            Err(kind) => {
                self.statistics.count_ignored(kind);
                Incoming::Ignored(kind)
            }
        }
    }

    /// Handles the expiry of [`poll_timeout`](Self::poll_timeout). An early call is harmless.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.advance(now);
        if self.closing != Closing::Open {
            return;
        }
        self.check_bye();
        let Some(outbound) = &mut self.outbound else {
            return;
        };
        let before = (outbound.rate_source(), outbound.breach());
        if let Err(kind) = self.settle_arrivals_due() {
            self.statistics.count_ignored(kind);
        }
        let Some(outbound) = &mut self.outbound else {
            return;
        };
        outbound.check_fallback(now);
        if outbound.check_give_up(now) {
            self.emit(EventKind::GaveUp);
        } else if let Some(trace) = outbound.handle_timeout(now) {
            self.statistics.nofeedback_expiries += 1;
            self.emit(EventKind::RateControl(trace));
        }
        self.emit_rate_change(Some(before));
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) and drain
    /// [`poll_transmit`](Self::poll_transmit) next, and why. Departures are not among the reasons, because only the
    /// caller knows whether it has media to send.
    pub fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        if self.closing != Closing::Open {
            return None;
        }
        let outbound = self.outbound.as_ref();
        [
            (self.feedback_due(), Reason::Feedback),
            (self.keyframe_due(), Reason::Feedback),
            (self.compound_expiry(), Reason::Rtcp),
            (self.peer.bye_expiry(), Reason::GiveUp),
            (outbound.and_then(Outbound::arrivals_due), Reason::Feedback),
            (
                outbound.and_then(Outbound::nofeedback_expiry),
                Reason::NoFeedback,
            ),
            (outbound.and_then(Outbound::give_up_expiry), Reason::GiveUp),
            (outbound.and_then(Outbound::fallback_expiry), Reason::GiveUp),
        ]
        .into_iter()
        .filter_map(|(at, reason)| Some((at?, reason)))
        .min_by_key(|&(at, _)| at)
    }

    /// Returns the oldest event that the caller has not taken. At most 64 events wait; newer ones overwrite the
    /// oldest.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Returns the sender's view of the path; `None` for a session that only receives.
    pub fn path(&self) -> Option<Path> {
        self.outbound.as_ref().map(Outbound::path)
    }

    /// Returns the sample of the path from feedback since the last call, if feedback arrived. Call this after each
    /// datagram and timeout, because only the newest sample is kept.
    pub fn poll_path(&mut self) -> Option<PathSample<'_>> {
        self.outbound.as_mut()?.poll_path()
    }

    /// Returns the number of the packet that left last; [`PathSample::deliveries`] use these numbers.
    pub fn last_number(&self) -> u64 {
        self.outbound.as_ref().map_or(0, Outbound::last_number)
    }

    /// Returns the source of the media rate; `None` for a session that only receives.
    pub fn rate_source(&self) -> Option<RateSource> {
        self.outbound.as_ref().map(Outbound::rate_source)
    }

    /// Limits the allowed rate to what the caller can use ([`tfrc::Sender::set_ceiling`]). A new peer starts
    /// without this limit.
    pub fn set_ceiling(&mut self, ceiling: Rate) {
        if let Some(outbound) = &mut self.outbound {
            outbound.set_ceiling(ceiling);
        }
    }

    /// Excludes `ratio` losses per packet from *p*, where reports of arrivals show losses. This departs from RFC
    /// 5348 ([`tfrc::Receiver::tolerate_losses`]). A new peer starts without the exclusion.
    pub fn tolerate_losses(&mut self, ratio: f64) {
        if let Some(outbound) = &mut self.outbound {
            outbound.tolerate_losses(ratio);
        }
    }

    /// Returns the instant on *our* clock at which the peer captured the media with this `timestamp`. The result
    /// assumes that both wall clocks agree. Returns `None` before the peer's first sender report.
    pub fn captured_at(&self, timestamp: u32) -> Option<Instant> {
        let time = self.inbound.as_ref()?.wallclock_of(timestamp)?;
        self.config.wallclock.instant_of(time)
    }

    /// Returns the timestamp that packets carry for a [`MediaInfo::timestamp`], which has our random offset. A
    /// session that only receives returns the timestamp unchanged.
    pub fn wire_timestamp(&self, timestamp: u32) -> u32 {
        self.outbound
            .as_ref()
            .map_or(timestamp, |outbound| outbound.offset(timestamp))
    }

    /// Returns our synchronisation source.
    pub fn ssrc(&self) -> u32 {
        self.ssrc
    }

    /// Returns the address of the peer, which was configured or found by a receiver.
    pub fn peer_address(&self) -> Option<std::net::SocketAddr> {
        self.peer.address()
    }

    /// Returns the counters since the start.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Ends the session: media stops, and one BYE remains for [`poll_transmit`](Self::poll_transmit).
    pub fn close(&mut self, now: Instant) {
        self.advance(now);
        if self.closing == Closing::Open {
            // A participant that never sent anything must not send a BYE (RFC 3550 §6.3.7).
            let was_heard = self.statistics.packets_sent > 0 || self.statistics.rtcp_sent > 0;
            self.closing = if was_heard {
                Closing::Bye
            } else {
                Closing::Closed
            };
        }
    }

    /// Advances our time to `now`, never back.
    fn advance(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }

    fn emit(&mut self, kind: EventKind) {
        if !self.events.push(self.now, kind) {
            self.statistics.events_lost += 1;
        }
    }

    fn rate_state(&self) -> Option<RateState> {
        let outbound = self.outbound.as_ref()?;
        Some((outbound.rate_source(), outbound.breach()))
    }

    /// Emits an event if the source of the rate changed since `before`.
    fn emit_rate_change(&mut self, before: Option<RateState>) {
        let (Some((source, breach)), Some(now)) = (before, self.rate_state()) else {
            return;
        };
        if now.0 != source {
            self.emit(EventKind::RateSource(now.0));
        }
        if breach.is_some_and(|(_, ceased)| ceased) && now.1.is_none() {
            self.emit(EventKind::Returned);
        }
        if let Some((breach, ceased)) = now.1.filter(|_| now.1 != breach) {
            self.emit(EventKind::CircuitBreaker { breach, ceased });
        }
    }
}
