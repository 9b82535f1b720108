//! Two sessions joined by a path, in virtual time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_rtp::endpoint::{Datagram, Transmit};
use evenkeel_rtp::session::{
    CONTROL_BUFFER, Config, Event, EventKind, Incoming, MediaInfo, PathSignal, ReceiveConfig,
    SendConfig, Session,
};
use tfrc::Ecn;
use tfrc::sent_packets::Delivery;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

pub(crate) const PAYLOAD_TYPE: u8 = 26;
pub(crate) const PACKET: usize = 1_200;
/// The longest wait before the wire; what would wait longer is dropped.
const QUEUE: Duration = Duration::from_millis(50);
/// A session may need a few calls to act on one instant; one that spins needs more.
const MAX_STEPS_AT_AN_INSTANT: u32 = 1_000;

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The ends of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    A,
    B,
}

impl End {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    pub(crate) fn address(self) -> SocketAddr {
        match self {
            Self::A => SocketAddr::from(([192, 0, 2, 1], 5004)),
            Self::B => SocketAddr::from(([192, 0, 2, 2], 5004)),
        }
    }

    /// Someone who sends and receives media, at this end.
    pub(crate) fn caller(self, seed: u64) -> Config {
        let mut config = Config::new(format!("{self:?}@test"), seed);
        config.peer = Some(self.other().address());
        config.send = Some(SendConfig::new(PAYLOAD_TYPE));
        config.receive = Some(ReceiveConfig::new(PAYLOAD_TYPE));
        config
    }

    /// Someone who only sends.
    pub(crate) fn sender(self, seed: u64) -> Config {
        Config {
            receive: None,
            ..self.caller(seed)
        }
    }

    /// Someone who only receives, from anyone.
    pub(crate) fn receiver(self, seed: u64) -> Config {
        Config {
            send: None,
            peer: None,
            ..self.caller(seed)
        }
    }
}

/// A datagram on its way or off it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) from: End,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_media: bool,
}

/// A path sample, as an end gave it.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    pub(crate) at: Instant,
    pub(crate) from: End,
    pub(crate) signal: PathSignal,
    pub(crate) loss_event: bool,
    pub(crate) lost: u64,
    pub(crate) deliveries: Vec<Delivery>,
}

/// What the path does to the nth datagram of an end.
pub(crate) type Rule = Box<dyn FnMut(&Sent) -> bool>;

/// Two ends, each sending media whenever it is allowed to, and the path between them.
pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) sessions: BTreeMap<End, Session>,
    pub(crate) events: Vec<(End, Event)>,
    /// What each end's feedback measured of the path.
    pub(crate) samples: Vec<Sampled>,
    /// Every datagram that an end sent, lost ones included.
    pub(crate) log: Vec<Sent>,
    /// Propagation delay of each direction.
    pub(crate) delay: Duration,
    /// The rate of each direction, with a queue of [`QUEUE`] before it.
    pub(crate) rate: Rate,
    /// True for a datagram that is lost.
    pub(crate) drops: Rule,
    /// Bytes of payload in a media packet.
    pub(crate) payload: usize,
    /// True if the ends may send to others, where datagrams are lost.
    pub(crate) has_strangers: bool,
    /// An end behind an address translator that gave it another address.
    pub(crate) moved: Option<(End, SocketAddr)>,
    /// When each direction's wire is free.
    free: BTreeMap<End, Instant>,
    in_flight: BTreeMap<(Instant, u64), Sent>,
    count: u64,
}

impl Pair {
    /// Joins a sender at A and a receiver at B.
    pub(crate) fn one_way() -> Self {
        Self::new(End::A.sender(1), End::B.receiver(2))
    }

    pub(crate) fn new(a: Config, b: Config) -> Self {
        let now = Instant::from_secs(1);
        let sessions =
            [(End::A, a), (End::B, b)].map(|(end, config)| (end, Session::new(now, config)));
        Self {
            now,
            sessions: sessions.into(),
            events: Vec::new(),
            samples: Vec::new(),
            log: Vec::new(),
            delay: Duration::from_millis(25),
            rate: Rate::from_bits_per_sec(2e6),
            drops: Box::new(|_| false),
            payload: PACKET - 24,
            has_strangers: false,
            moved: None,
            free: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            count: 0,
        }
    }

    pub(crate) fn session(&self, end: End) -> &Session {
        &self.sessions[&end]
    }

    pub(crate) fn session_mut(&mut self, end: End) -> &mut Session {
        self.sessions.get_mut(&end).expect("an end has a session")
    }

    /// Replaces an end, as a process that was killed and started again does.
    pub(crate) fn restart(&mut self, end: End, config: Config) {
        self.sessions.insert(end, Session::new(self.now, config));
    }

    /// Takes an end away.
    pub(crate) fn kill(&mut self, end: End) {
        self.sessions.remove(&end);
    }

    /// Lets `time` pass.
    pub(crate) fn run(&mut self, time: Duration) {
        let until = self.now + time;
        let mut steps = 0;
        loop {
            self.drain();
            let next = self.next_instant().filter(|&next| next <= until);
            let Some(next) = next else { break };
            steps = if next > self.now { 0 } else { steps + 1 };
            assert!(
                steps < MAX_STEPS_AT_AN_INSTANT,
                "time stands still at {next}"
            );
            self.now = next.max(self.now);
            self.deliver();
            for end in [End::A, End::B] {
                if let Some(session) = self.sessions.get_mut(&end) {
                    session.handle_timeout(self.now);
                    self.sample(end);
                }
            }
        }
        self.now = until;
    }

    /// Hands a datagram to `to` as if it came from `source` now.
    pub(crate) fn inject(&mut self, to: End, source: SocketAddr, bytes: &[u8]) -> String {
        let now = self.now;
        let incoming = self.session_mut(to).handle_datagram(
            now,
            Datagram {
                source,
                arrival: now,
                ecn: Ecn::NotEct,
                payload: bytes,
            },
        );
        match incoming {
            Incoming::Media(_) => "media".into(),
            Incoming::Repair => "repair".into(),
            Incoming::Dummy => "dummy".into(),
            Incoming::Control => "control".into(),
            Incoming::Ignored(kind) => kind.name().into(),
        }
    }

    /// The kinds of the events at an end.
    pub(crate) fn kinds(&self, end: End) -> impl Iterator<Item = EventKind> {
        self.events
            .iter()
            .filter(move |(at, _)| *at == end)
            .map(|(_, event)| event.kind)
    }

    /// The address of an end as the other one sees it.
    fn address_of(&self, end: End) -> SocketAddr {
        let moved = self.moved.filter(|(moved, _)| *moved == end);
        moved.map_or(end.address(), |(_, address)| address)
    }

    /// Media packets that `end` sent from `since` on.
    pub(crate) fn media_since(&self, end: End, since: Instant) -> usize {
        self.log
            .iter()
            .filter(|sent| sent.from == end && sent.is_media && sent.at >= since)
            .count()
    }

    fn next_instant(&self) -> Option<Instant> {
        let timers = self.sessions.values().flat_map(|session| {
            let timer = session.poll_timeout().map(|(at, _)| at);
            [timer, session.next_departure(self.now)]
        });
        let flight = self.in_flight.keys().next().map(|&(at, _)| at);
        timers.chain([flight]).flatten().min()
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.in_flight.first_entry() {
            let (at, _) = *entry.key();
            if at > self.now {
                break;
            }
            let sent = entry.remove();
            let source = self.address_of(sent.from);
            let datagram = Datagram {
                source,
                arrival: at,
                ecn: Ecn::NotEct,
                payload: &sent.bytes,
            };
            if let Some(session) = self.sessions.get_mut(&sent.from.other()) {
                session.handle_datagram(self.now, datagram);
                self.sample(sent.from.other());
            }
        }
    }

    fn sample(&mut self, end: End) {
        let session = self.sessions.get_mut(&end);
        let Some(sample) = session.and_then(Session::poll_path) else {
            return;
        };
        self.samples.push(Sampled {
            at: self.now,
            from: end,
            signal: sample.signal,
            loss_event: sample.loss_event,
            lost: sample.lost,
            deliveries: sample.deliveries().collect(),
        });
    }

    /// Lets every end send what it may.
    fn drain(&mut self) {
        for end in [End::A, End::B] {
            let Some(mut session) = self.sessions.remove(&end) else {
                continue;
            };
            let mut buf = [0; 2_048];
            while let Some(transmit) = session.poll_transmit(self.now, &mut buf) {
                assert!(transmit.len <= CONTROL_BUFFER);
                self.send(end, transmit, &buf, false);
            }
            while session
                .next_departure(self.now)
                .is_some_and(|at| at <= self.now)
            {
                let info = MediaInfo {
                    timestamp: evenkeel_rtp::packet::rtp::media_time(self.now, 90_000),
                    marker: true,
                };
                let transmit = session
                    .write_media(self.now, &info, &vec![0xab; self.payload], &mut buf)
                    .expect("a departure that was allowed");
                self.send(end, transmit, &buf, true);
            }
            while let Some(event) = session.poll_event() {
                self.events.push((end, event));
            }
            self.sessions.insert(end, session);
        }
    }

    fn send(&mut self, from: End, transmit: Transmit, buf: &[u8], is_media: bool) {
        let sent = Sent {
            at: self.now,
            from,
            bytes: buf[..transmit.len].to_vec(),
            is_media,
        };
        self.log.push(sent.clone());
        if transmit.destination != self.address_of(from.other()) {
            assert!(
                self.has_strangers,
                "{from:?} sends to {}",
                transmit.destination
            );
            return;
        }
        let free = self.free.entry(from).or_insert(self.now);
        let start = self.now.max(*free);
        if (self.drops)(&sent) || start - self.now > QUEUE {
            return;
        }
        *free = start + Bytes::from(transmit.len) / self.rate;
        self.count += 1;
        self.in_flight
            .insert((*free + self.delay, self.count), sent);
    }
}
