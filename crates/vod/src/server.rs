//! The server's end: datagrams leave when they are due and TFRC allows it.

use evenkeel_rtp::endpoint::{Datagram as Arrived, Endpoint, Reason, Transmit};
use evenkeel_rtp::packet::rtp::media_time;
use evenkeel_rtp::session::{Config, EventKind, MediaInfo, Path, SendConfig, Session};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use crate::ladder::Ladder;
use crate::title::{Content, Datagram, Mismatch, TitleError};
use crate::{CLOCK_RATE, HEADERS, PAYLOAD_TYPE, TS_LEN, TS_PER_DATAGRAM};

/// Faster than any title: what is sent by its own pace alone is not paced a second time.
const UNLIMITED: Rate = Rate::from_bits_per_sec(10e9);

/// How a title is sent.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The session, with the player's address. What it sends is set here.
    pub session: Config,
    /// At the title's own pace, whatever the network does; for comparison.
    pub is_uncontrolled: bool,
    /// TS packets in a datagram, 1 to 7 ([`ts_per_datagram`](crate::ts_per_datagram)).
    pub ts_per_datagram: usize,
}

/// How a server knows that nobody receives any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerDeparture {
    /// The player said goodbye.
    Left,
    /// No report came for as long as the session waits.
    Silent,
}

/// What a server has done and how it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerFigures {
    /// Datagrams sent.
    pub datagrams: u64,
    /// RTP packets with their headers.
    pub bytes: u64,
    /// How far into the title it is.
    pub position: Duration,
    /// For how long the next datagram has been due: what waits for TFRC.
    pub lag: Duration,
    /// The longest that a datagram waited for TFRC, and the sum over all.
    pub lag_max: Duration,
    /// For the mean: the waits of all datagrams together.
    pub lag_total: Duration,
    /// The rendition that is sent, from 0, the lowest rate.
    pub rendition: usize,
    /// How often it changed.
    pub changes: u64,
    /// The title has been sent.
    pub is_done: bool,
    /// The player is gone: nothing more is sent.
    pub gone: Option<PlayerDeparture>,
}

/// Sends one title to one player.
pub struct Server {
    session: Session,
    content: Box<dyn Content>,
    /// TS packets in a datagram.
    count: usize,
    ladder: Option<Ladder>,
    now: Instant,
    /// When the title began. It begins again with every datagram until the first report has come: before,
    /// TFRC sends a packet a second.
    start: Instant,
    has_started: bool,
    next: Option<Datagram>,
    figures: ServerFigures,
    error: Option<TitleError>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("figures", &self.figures)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// A server that begins as soon as the player answers; at once if it is uncontrolled.
    ///
    /// # Panics
    ///
    /// Panics if [`Config::validate`](evenkeel_rtp::session::Config::validate) refuses `config.session`.
    #[track_caller]
    pub fn new(now: Instant, mut config: ServerConfig, content: Box<dyn Content>) -> Self {
        let send = config
            .session
            .send
            .get_or_insert_with(|| SendConfig::new(PAYLOAD_TYPE));
        send.payload_type = PAYLOAD_TYPE;
        send.clock_rate = CLOCK_RATE;
        let count = config.ts_per_datagram.clamp(1, TS_PER_DATAGRAM);
        send.packet_size = Bytes::from(count * TS_LEN + HEADERS);
        send.fixed_rate = config.is_uncontrolled.then_some(UNLIMITED);
        // What it is compared with has none.
        send.circuit_breakers = !config.is_uncontrolled;
        let ladder = Ladder::new(content.rates());
        let mut server = Self {
            session: Session::new(now, config.session),
            content,
            count,
            ladder: (!config.is_uncontrolled).then_some(ladder),
            now,
            start: now,
            has_started: config.is_uncontrolled,
            next: None,
            figures: ServerFigures::default(),
            error: None,
        };
        server.read();
        server
    }

    /// What it has done so far.
    pub fn figures(&self) -> ServerFigures {
        ServerFigures {
            lag: self.lag(),
            position: self
                .next
                .as_ref()
                .map_or(self.figures.position, |next| next.due),
            ..self.figures.clone()
        }
    }

    /// What it knows of the path.
    pub fn path(&self) -> Option<Path> {
        self.session.path()
    }

    /// Why it ended before the title did. Asked once.
    pub fn take_error(&mut self) -> Option<TitleError> {
        self.error.take()
    }

    /// The first place where the renditions did not match.
    pub fn mismatch(&self) -> Option<&Mismatch> {
        self.content.mismatch()
    }

    /// Sets the number of TS packets in the datagrams that are read from now on, at most the number of [`ServerConfig`].
    pub fn set_ts_per_datagram(&mut self, count: usize) {
        self.count = count.clamp(1, self.session.payload_capacity() / TS_LEN);
    }

    /// Ends the session: a BYE is left to be sent.
    pub fn close(&mut self, now: Instant) {
        self.session.close(now);
    }

    fn lag(&self) -> Duration {
        let due = self.next.as_ref().map(|next| self.start + next.due);
        due.filter(|_| self.has_started)
            .map_or(Duration::ZERO, |due| self.now.saturating_since(due))
    }

    fn read(&mut self) {
        let allowed = self
            .session
            .path()
            .map_or(Rate::ZERO, |path| path.allowed_rate);
        let (now, lag) = (self.now, self.lag());
        let payload = self.count * TS_LEN;
        let share = payload as f64 / (payload + HEADERS) as f64;
        let wanted = self
            .ladder
            .as_mut()
            .map_or(0, |ladder| ladder.choose(now, allowed * share, lag));
        self.next = self
            .content
            .next(wanted, self.count)
            .unwrap_or_else(|error| {
                self.error = Some(error);
                None
            });
        let rendition = self.content.current();
        self.figures.changes += u64::from(rendition != self.figures.rendition);
        self.figures.rendition = rendition;
        self.figures.is_done = self.next.is_none();
    }

    fn handle_events(&mut self) {
        while let Some(event) = self.session.poll_event() {
            let gone = match event.kind {
                EventKind::PeerLeft => PlayerDeparture::Left,
                EventKind::GaveUp => PlayerDeparture::Silent,
                _ => continue,
            };
            self.figures.gone.get_or_insert(gone);
        }
    }

    /// When the next datagram may leave; `None` if none will.
    fn next_departure(&self) -> Option<Instant> {
        if self.figures.gone.is_some() {
            return None;
        }
        let due = self.start + self.next.as_ref()?.due;
        Some(self.session.next_departure(self.now)?.max(due))
    }

    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        if self.has_started {
            return;
        }
        self.has_started = self.session.path().is_some_and(|path| path.rtt.is_some());
        if let Some(next) = &self.next {
            self.start = self.now - next.due;
        }
    }
}

impl Endpoint for Server {
    fn handle_datagram(&mut self, now: Instant, datagram: Arrived<'_>) {
        self.session.handle_datagram(now, datagram);
        self.handle_events();
        self.advance(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.session.handle_timeout(now);
        self.handle_events();
        self.advance(now);
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        self.advance(now);
        if let Some(control) = self.session.poll_transmit(now, buf) {
            return Some(control);
        }
        if self.next_departure()? > self.now {
            return None;
        }
        let next = self.next.as_ref()?;
        let info = MediaInfo {
            timestamp: media_time(self.start + next.due, CLOCK_RATE),
            marker: false,
        };
        let transmit = self
            .session
            .write_media(self.now, &info, &next.payload, buf)
            .ok()?;
        let lag = self.lag();
        self.figures.position = next.due;
        self.figures.datagrams += 1;
        self.figures.bytes += transmit.len as u64;
        self.figures.lag_max = self.figures.lag_max.max(lag);
        self.figures.lag_total += lag;
        self.read();
        Some(transmit)
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let departure = self.next_departure().map(|at| (at, Reason::Departure));
        [self.session.poll_timeout(), departure]
            .into_iter()
            .flatten()
            .min_by_key(|&(at, _)| at)
    }
}
