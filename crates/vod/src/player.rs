//! The player's end: datagrams wait for their time, and what the network did to them is counted.
//!
//! A datagram is played a start-up buffer's time after it was due at the server. One that comes later than that
//! while nothing else waits has found the picture standing still: a stall, which ends when the buffer has
//! filled again. So is a silence of a buffer's time after the last picture, unless the server has said goodbye.
//! A goodbye may be lost: the title has ended too where its server, with all its reports, was silent for 25 s, and
//! then the picture stood still for no stall.

use std::collections::BTreeMap;

use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use evenkeel_rtp::session::{Config, EventKind, Incoming, MediaPacket, ReceiveConfig, Session};
use tfrc::time::{Duration, Instant};
use tfrc::units::duration_from_secs;

use crate::transit::Transit;
use crate::ts::is_whole;
use crate::unheard::Unheard;
use crate::{CLOCK_RATE, PAYLOAD_TYPE};

/// Datagrams that wait at most: 21 MB. With more, playing begins whatever the start-up buffer should be.
const MAX_WAITING: usize = 1 << 14;

/// A server is gone after this silence, which is five of RTCP's intervals (RFC 3550 §6.3.5).
const SERVER_TIMEOUT: Duration = Duration::from_secs(25);

/// How a player is set up.
#[derive(Clone, Debug)]
pub struct PlayerConfig {
    /// The session. What it receives is set here.
    pub session: Config,
    /// How much is buffered before playing begins, and after a stall.
    pub buffer: Duration,
}

/// What a player does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerState {
    /// Nothing has come.
    Waiting,
    /// The start-up buffer fills.
    Buffering,
    /// The picture moves.
    Playing,
    /// The picture stands still while the buffer fills again.
    Stalled,
    /// The server said goodbye, or was silent for 25 s, and all has been played.
    Ended,
}

/// What a player has counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayerFigures {
    /// What it does.
    pub state: PlayerState,
    /// Datagrams that came.
    pub received: u64,
    /// Bytes of them, RTP headers included.
    pub bytes: u64,
    /// Datagrams that were sent and did not come: by their numbers, and by how many the server says to have sent.
    pub lost: u64,
    /// Those that were not played: they came after a later one was, found no room, or waited when another server
    /// took the place of theirs.
    pub unplayed: u64,
    /// Those that were no whole TS packets.
    pub malformed: u64,
    /// The time from the first datagram to the first picture.
    pub startup: Option<Duration>,
    /// How often the picture stood still, and for how long in all.
    pub stalls: u64,
    /// How long it stood still.
    pub stalled: Duration,
    /// How much is buffered now, as playing time.
    pub buffered: Duration,
    /// The mean time from when a datagram was due at the server to its arrival, if both wall clocks agree; of the
    /// present server's datagrams, and `None` before its first sender report.
    pub delay_mean: Option<Duration>,
    /// The longest such time.
    pub delay_max: Option<Duration>,
}

impl PlayerFigures {
    /// Datagrams lost of those sent.
    pub fn loss_ratio(&self) -> f64 {
        let sent = self.received + self.lost;
        if sent == 0 {
            0.0
        } else {
            self.lost as f64 / sent as f64
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Clock {
    /// Since when; the picture has stood still since then if it ever moved.
    Stopped(Instant),
    /// What has this timestamp is played at that instant.
    Running(Instant, i64),
}

/// Receives a title and plays it: gives its TS packets in order, on time.
#[derive(Debug)]
pub struct Player {
    session: Session,
    buffer: Duration,
    now: Instant,
    /// Datagrams by their sequence number, with their timestamp, extended.
    waiting: BTreeMap<u64, (i64, Vec<u8>)>,
    /// The first sequence number that was not played or given up.
    next: u64,
    /// The newest timestamp, and when the first datagram came.
    newest: Option<(i64, Instant)>,
    clock: Clock,
    /// The server said goodbye.
    has_left: bool,
    /// When the server was heard last.
    heard: Option<Instant>,
    startup: Option<Duration>,
    unplayed: u64,
    malformed: u64,
    stalls: u64,
    stalled: Duration,
    transit: Transit,
    unheard: Unheard,
}

impl Player {
    /// A player that waits for a server.
    ///
    /// # Panics
    ///
    /// Panics if [`Config::validate`](evenkeel_rtp::session::Config::validate) refuses `config.session`.
    #[track_caller]
    pub fn new(now: Instant, mut config: PlayerConfig) -> Self {
        let receive = config
            .session
            .receive
            .get_or_insert_with(|| ReceiveConfig::new(PAYLOAD_TYPE));
        receive.payload_type = PAYLOAD_TYPE;
        receive.clock_rate = CLOCK_RATE;
        Self {
            session: Session::new(now, config.session),
            buffer: config.buffer,
            now,
            waiting: BTreeMap::new(),
            next: 0,
            newest: None,
            clock: Clock::Stopped(now),
            has_left: false,
            heard: None,
            startup: None,
            unplayed: 0,
            malformed: 0,
            stalls: 0,
            stalled: Duration::ZERO,
            transit: Transit::default(),
            unheard: Unheard::default(),
        }
    }

    /// The next TS packets that are to be played now. Whoever does not ask in time gets them later: nothing is
    /// dropped for that.
    pub fn poll_output(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.advance(now);
        let Clock::Running(at, position) = self.clock else {
            return None;
        };
        let (&sequence, &(timestamp, _)) = self.waiting.first_key_value()?;
        if play_time(at, position, timestamp) > self.now {
            return None;
        }
        self.next = sequence + 1;
        self.waiting.remove(&sequence).map(|(_, payload)| payload)
    }

    /// What it has counted so far.
    pub fn figures(&self) -> PlayerFigures {
        let statistics = self.session.statistics();
        let offset = self.clocks_apart();
        PlayerFigures {
            state: self.state(),
            received: statistics.packets_received,
            bytes: statistics.bytes_received,
            lost: statistics.packets_lost + self.unheard.count(self.has_left),
            unplayed: self.unplayed,
            malformed: self.malformed,
            startup: self.startup,
            stalls: self.stalls - u64::from(self.stood_still_for_the_end()),
            stalled: self.stalled + self.stalled_now(),
            buffered: self.span(),
            delay_mean: offset.and_then(|offset| self.transit.mean(offset)),
            delay_max: offset.and_then(|offset| self.transit.max(offset)),
        }
    }

    /// Ends the session: a BYE is left to be sent.
    pub fn close(&mut self, now: Instant) {
        self.session.close(now);
    }

    fn state(&self) -> PlayerState {
        match self.clock {
            _ if self.has_ended() && self.waiting.is_empty() => PlayerState::Ended,
            Clock::Running(..) => PlayerState::Playing,
            Clock::Stopped(_) if self.startup.is_some() => PlayerState::Stalled,
            Clock::Stopped(_) if self.newest.is_none() => PlayerState::Waiting,
            Clock::Stopped(_) => PlayerState::Buffering,
        }
    }

    fn has_ended(&self) -> bool {
        self.has_left
            || self
                .heard
                .is_some_and(|heard| self.now >= heard + SERVER_TIMEOUT)
    }

    /// True if what was taken for a stall was the end.
    fn stood_still_for_the_end(&self) -> bool {
        let stands_still = matches!(self.clock, Clock::Stopped(_)) && self.startup.is_some();
        stands_still && self.state() == PlayerState::Ended
    }

    /// Playing time that waits.
    fn span(&self) -> Duration {
        let oldest = self
            .waiting
            .first_key_value()
            .map(|(_, (timestamp, _))| *timestamp);
        match (oldest, self.newest) {
            (Some(oldest), Some((newest, _))) => ticks(newest - oldest),
            _ => Duration::ZERO,
        }
    }

    fn stalled_now(&self) -> Duration {
        match (self.clock, self.state()) {
            (Clock::Stopped(since), PlayerState::Stalled) => self.now - since,
            _ => Duration::ZERO,
        }
    }

    fn handle_events(&mut self) {
        while let Some(event) = self.session.poll_event() {
            match event.kind {
                EventKind::PeerLeft => self.has_left = true,
                EventKind::PeerChanged { .. } => self.begin_again(),
                EventKind::SenderReport { packets, .. } => self.unheard.handle_report(packets),
                _ => {}
            }
        }
    }

    /// Begins anew with another server, which has numbers and a clock of its own.
    fn begin_again(&mut self) {
        self.unplayed += self.waiting.len() as u64;
        self.waiting.clear();
        self.next = 0;
        self.newest = None;
        self.unheard.begin_again(self.has_left);
        self.has_left = false;
        self.transit = Transit::default();
        if let Clock::Running(..) = self.clock {
            self.stand_still(self.now);
        }
    }

    fn stand_still(&mut self, since: Instant) {
        self.clock = Clock::Stopped(since);
        self.stalls += 1;
    }

    fn take(&mut self, packet: &MediaPacket<'_>) {
        let newest = self
            .newest
            .map_or(i64::from(packet.timestamp), |(newest, _)| newest);
        let since = packet.timestamp.wrapping_sub(newest as u32).cast_signed();
        let timestamp = newest + i64::from(since);
        let first = self.newest.map_or(packet.arrival, |(_, first)| first);
        self.newest = Some((newest.max(timestamp), first));
        self.transit.record(packet.arrival, timestamp);
        if packet.sequence < self.next || self.waiting.len() >= MAX_WAITING {
            self.unplayed += 1;
            return;
        }
        if let Clock::Running(at, position) = self.clock {
            let due = play_time(at, position, timestamp);
            if self.waiting.is_empty() && packet.arrival > due {
                self.stand_still(due);
            }
        }
        let payload = packet.payload.to_vec();
        self.waiting.insert(packet.sequence, (timestamp, payload));
    }

    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        let since = match self.clock {
            Clock::Stopped(since) => since,
            Clock::Running(at, position) => return self.notice_silence(at, position),
        };
        let Some((_, &(oldest, _))) = self.waiting.first_key_value() else {
            return;
        };
        let is_full = self.span() >= self.buffer || self.waiting.len() >= MAX_WAITING;
        if !is_full && !self.has_ended() {
            return;
        }
        self.clock = Clock::Running(self.now, oldest);
        if self.startup.is_some() {
            self.stalled += self.now - since;
        }
        let first = self.newest.map_or(self.now, |(_, first)| first);
        self.startup.get_or_insert(self.now - first);
    }

    fn notice_silence(&mut self, at: Instant, position: i64) {
        let Some((newest, _)) = self.newest else {
            return;
        };
        let last = play_time(at, position, newest);
        if self.waiting.is_empty() && !self.has_ended() && self.now > last + self.buffer {
            self.stand_still(last);
        }
    }

    /// By how much our clock is ahead of the title's, in seconds.
    fn clocks_apart(&self) -> Option<f64> {
        let (newest, _) = self.newest?;
        let due = self.session.captured_at(newest as u32)?;
        Some(due.as_secs_f64() - newest as f64 / f64::from(CLOCK_RATE))
    }
}

impl Endpoint for Player {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        let incoming = self.session.handle_datagram(now, datagram);
        self.handle_events();
        if !matches!(incoming, Incoming::Ignored(_)) {
            self.heard = Some(now);
        }
        if let Incoming::Media(packet) = incoming {
            self.unheard.handle_packet(packet.sequence);
            if is_whole(packet.payload) {
                self.take(&packet);
            } else {
                self.malformed += 1;
            }
        }
        self.advance(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.session.handle_timeout(now);
        self.handle_events();
        self.advance(now);
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        self.advance(now);
        self.session.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        self.session.poll_timeout()
    }
}

fn play_time(at: Instant, position: i64, timestamp: i64) -> Instant {
    if timestamp >= position {
        at + ticks(timestamp - position)
    } else {
        at - ticks(position - timestamp)
    }
}

/// A time on the media clock.
fn ticks(count: i64) -> Duration {
    duration_from_secs(count.max(0) as f64 / f64::from(CLOCK_RATE))
}
