//! Short TCP connections, as a browser makes them.

use crate::agent::{Agent, Packet};
use crate::distribution::exponential;
use crate::tcp::{Config, ConfigError, Connection, Receiver, Sender};
use crate::traffic::Body;
use evenkeel_link::Random;
use std::ops::Range;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, duration_from_secs};

/// Connections of one agent at the same time; more are refused.
pub const MAX_CONNECTIONS: u16 = 1_024;

/// Bursts of connections that each fetch one file, with random times in between.
#[derive(Clone, Debug, PartialEq)]
pub struct WebConfig {
    /// How each connection behaves; its length is drawn from `file`.
    pub tcp: Config,
    /// The smallest and the largest file, all sizes equally likely.
    pub file: [Bytes; 2],
    /// Connections that start together.
    pub burst: u16,
    /// The mean of the exponential time between bursts.
    pub gap: Duration,
    /// From where that is counted.
    pub gap_from: GapFrom,
    /// When the first burst starts, but for `first_gap`.
    pub start: Instant,
    /// A gap comes before the first burst.
    pub first_gap: bool,
    /// No burst starts from then on; those under way end as they would.
    pub stop: Instant,
}

/// What makes bursts wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapFrom {
    /// The start of the last: a Poisson process, which does not mind how full the network is.
    Start,
    /// The end of the last: a reader, who waits for the page.
    End,
}

/// Short TCP flows of RFC 8868 §5.1: 30 to 50 KB, a mean of 10 s from one to the next; a connection at
/// a time, which stands for one of RFC 8867's flows.
impl Default for WebConfig {
    fn default() -> Self {
        Self {
            tcp: Config::default(),
            file: [30_000, 50_000].map(Bytes::new),
            burst: 1,
            gap: Duration::from_secs(10),
            gap_from: GapFrom::End,
            start: Instant::ZERO,
            first_gap: false,
            stop: Instant::MAX,
        }
    }
}

/// A value that no web traffic can have, by the name of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebConfigError {
    /// `tcp`, or the smallest `file` is empty.
    Tcp(ConfigError),
    /// The smallest `file` is larger than the largest.
    File,
    /// `burst` is zero or above [`MAX_CONNECTIONS`].
    Burst,
    /// `gap` is zero.
    Gap,
}

impl std::fmt::Display for WebConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(error) => error.fmt(f),
            Self::File => f.write_str("file: the smallest size is above the largest"),
            Self::Burst => write!(
                f,
                "burst is not between 1 and {MAX_CONNECTIONS} connections"
            ),
            Self::Gap => f.write_str("gap is 0; bursts take some time to follow each other"),
        }
    }
}

impl std::error::Error for WebConfigError {}

impl WebConfig {
    /// Finds the first value that no web traffic can have.
    pub fn check(&self) -> Result<(), WebConfigError> {
        let [least, most] = self.file;
        let tcp = Config {
            length: Some(least),
            ..self.tcp.clone()
        };
        tcp.check().map_err(WebConfigError::Tcp)?;
        if least > most {
            return Err(WebConfigError::File);
        }
        if !(1..=MAX_CONNECTIONS).contains(&self.burst) {
            return Err(WebConfigError::Burst);
        }
        if self.gap.is_zero() {
            return Err(WebConfigError::Gap);
        }
        Ok(())
    }
}

/// What was fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetches {
    /// Connections that were started.
    pub started: u64,
    /// Connections whose file is acknowledged in full.
    pub finished: u64,
    /// Connections that found [`MAX_CONNECTIONS`] others.
    pub refused: u64,
    /// Data of the finished ones.
    pub data: Bytes,
    /// From start to last acknowledgement, of all finished ones together.
    pub time_sum: Duration,
    /// The longest of these times.
    pub time_max: Duration,
}

/// The sending end of all connections: a server.
#[derive(Clone, Debug)]
pub struct WebSender {
    config: WebConfig,
    random: Random,
    next_burst: Option<Instant>,
    slots: Vec<Slot>,
    active: usize,
    /// Slots that may have something to send.
    ready: Range<usize>,
    fetches: Fetches,
}

#[derive(Clone, Debug)]
struct Slot {
    generation: u16,
    began: Instant,
    /// `None` between two connections.
    sender: Option<Sender>,
}

impl WebSender {
    /// A server that waits for its start. `random` draws the sizes and gaps, and nothing else.
    pub fn new(config: WebConfig, mut random: Random) -> Result<Self, WebConfigError> {
        config.check()?;
        let gap = if config.first_gap {
            config.gap.as_secs_f64() * exponential(&mut random)
        } else {
            0.0
        };
        let first = config.start + duration_from_secs(gap);
        Ok(Self {
            next_burst: Some(first).filter(|&at| at < config.stop),
            config,
            random,
            slots: Vec::new(),
            active: 0,
            ready: 0..0,
            fetches: Fetches::default(),
        })
    }

    /// What was fetched so far.
    pub fn fetches(&self) -> Fetches {
        self.fetches
    }

    fn start_burst(&mut self, now: Instant) {
        self.next_burst = None;
        for _ in 0..self.config.burst {
            self.start_connection(now);
        }
        if self.config.gap_from == GapFrom::Start {
            self.schedule_burst(now);
        }
    }

    fn start_connection(&mut self, now: Instant) {
        let length = self.draw_length();
        let free = self.slots.iter().position(|slot| slot.sender.is_none());
        let index = free.unwrap_or(self.slots.len());
        if index == usize::from(MAX_CONNECTIONS) {
            self.fetches.refused += 1;
            return;
        }
        if index == self.slots.len() {
            self.slots.push(Slot {
                generation: 0,
                began: now,
                sender: None,
            });
        }
        let slot = &mut self.slots[index];
        slot.generation = slot.generation.wrapping_add(1);
        slot.began = now;
        let config = Config {
            length: Some(length),
            ..self.config.tcp.clone()
        };
        slot.sender = Sender::new(&config).ok();
        self.active += 1;
        self.fetches.started += 1;
    }

    /// The next burst is a random gap after `now`.
    fn schedule_burst(&mut self, now: Instant) {
        let gap = self.config.gap.as_secs_f64() * exponential(&mut self.random);
        let next = now + duration_from_secs(gap);
        self.next_burst = Some(next).filter(|&at| at < self.config.stop);
    }

    fn draw_length(&mut self) -> Bytes {
        let [least, most] = self.config.file;
        let range = (most - least) + Bytes::new(1);
        least + Bytes::new((self.random.unit() * range.as_f64()) as u64)
    }

    fn finish(&mut self, now: Instant, index: usize, data: Bytes) {
        let time = now - self.slots[index].began;
        self.slots[index].sender = None;
        self.active -= 1;
        self.fetches.finished += 1;
        self.fetches.data += data;
        self.fetches.time_sum += time;
        self.fetches.time_max = self.fetches.time_max.max(time);
        if self.active == 0 && self.config.gap_from == GapFrom::End {
            self.schedule_burst(now);
        }
    }
}

impl Agent for WebSender {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: Packet<Body>) {
        let Body::TcpAck(ack) = packet.body else {
            return;
        };
        let index = usize::from(ack.connection.slot);
        let Some(slot) = self.slots.get_mut(index) else {
            return;
        };
        let Some(sender) = &mut slot.sender else {
            return;
        };
        if slot.generation != ack.connection.generation {
            return;
        }
        sender.handle_ack(now, ack);
        self.ready = index..index + 1;
        if sender.is_done() {
            let data = sender.acknowledged();
            self.finish(now, index, data);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for slot in &mut self.slots {
            if let Some(sender) = &mut slot.sender {
                sender.handle_timeout(now);
            }
        }
        if self.next_burst.is_some_and(|at| at <= now) {
            self.start_burst(now);
        }
        self.ready = 0..self.slots.len();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        while let Some(index) = self.ready.clone().next() {
            let slot = &mut self.slots[index];
            let segment = slot
                .sender
                .as_mut()
                .and_then(|sender| sender.poll_transmit(now));
            if let Some(mut segment) = segment {
                segment.connection = Connection {
                    slot: index as u16,
                    generation: slot.generation,
                };
                return Some(Packet {
                    size: segment.size,
                    ecn: segment.ecn,
                    body: Body::TcpSegment(segment),
                });
            }
            self.ready.next();
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timers = self
            .slots
            .iter()
            .filter_map(|slot| slot.sender.as_ref()?.poll_timeout());
        timers.chain(self.next_burst).min()
    }
}

/// The receiving end of all connections: a client.
#[derive(Clone, Debug)]
pub struct WebReceiver {
    config: Config,
    /// The connection that each slot has or had last. It stays until the next one of the slot, and so
    /// answers whatever its sender repeats.
    slots: Vec<(u16, Receiver)>,
    ready: Range<usize>,
    received: Bytes,
}

impl WebReceiver {
    /// A client that has seen nothing. It need not know the sizes of files.
    pub fn new(config: &WebConfig) -> Result<Self, WebConfigError> {
        config.check()?;
        Ok(Self {
            config: Config {
                length: None,
                ..config.tcp.clone()
            },
            slots: Vec::new(),
            ready: 0..0,
            received: Bytes::ZERO,
        })
    }

    /// What has arrived, headers and packets that came twice included.
    pub fn received(&self) -> Bytes {
        self.received
    }
}

impl Agent for WebReceiver {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: Packet<Body>) {
        let Body::TcpSegment(mut segment) = packet.body else {
            return;
        };
        self.received += packet.size;
        let Connection { slot, generation } = segment.connection;
        let index = usize::from(slot);
        if slot >= MAX_CONNECTIONS {
            return;
        }
        while self.slots.len() <= index {
            let Ok(receiver) = Receiver::new(&self.config) else {
                return;
            };
            self.slots.push((0, receiver));
        }
        let (current, receiver) = &mut self.slots[index];
        match generation.wrapping_sub(*current) {
            0 => {}
            1..0x8000 => {
                let Ok(fresh) = Receiver::new(&self.config) else {
                    return;
                };
                (*current, *receiver) = (generation, fresh);
            }
            // Of a connection that is over.
            _ => return,
        }
        segment.ecn = packet.ecn;
        receiver.handle_segment(now, segment);
        self.ready = index..index + 1;
    }

    fn handle_timeout(&mut self, now: Instant) {
        for (_, receiver) in &mut self.slots {
            receiver.handle_timeout(now);
        }
        self.ready = 0..self.slots.len();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        while let Some(index) = self.ready.clone().next() {
            let (generation, receiver) = &mut self.slots[index];
            if let Some(mut ack) = receiver.poll_ack(now) {
                ack.connection = Connection {
                    slot: index as u16,
                    generation: *generation,
                };
                return Some(Packet {
                    size: self.config.header,
                    ecn: Ecn::NotEct,
                    body: Body::TcpAck(ack),
                });
            }
            self.ready.next();
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.slots
            .iter()
            .filter_map(|(_, receiver)| receiver.poll_timeout())
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_named() {
        let check = |change: fn(&mut WebConfig)| {
            let mut config = WebConfig::default();
            change(&mut config);
            WebSender::new(config, Random::new(1, 0)).err()
        };
        assert_eq!(check(|_| ()), None);
        assert_eq!(check(|c| c.burst = 0), Some(WebConfigError::Burst));
        assert_eq!(check(|c| c.burst = 2_000), Some(WebConfigError::Burst));
        assert_eq!(check(|c| c.gap = Duration::ZERO), Some(WebConfigError::Gap));
        assert_eq!(check(|c| c.file.swap(0, 1)), Some(WebConfigError::File));
        let tcp = Some(WebConfigError::Tcp(ConfigError::Length));
        assert_eq!(check(|c| c.file[0] = Bytes::ZERO), tcp);
    }

    /// A server with its first file of one packet on the way, and that packet.
    fn serving() -> (WebSender, Packet<Body>) {
        let config = WebConfig {
            file: [Bytes::new(1); 2],
            ..WebConfig::default()
        };
        let mut web = WebSender::new(config, Random::new(1, 0)).unwrap();
        web.handle_timeout(Instant::ZERO);
        let packet = web.poll_transmit(Instant::ZERO).unwrap();
        (web, packet)
    }

    #[test]
    fn an_acknowledgement_of_an_earlier_connection_is_not_for_the_present_one() {
        let (mut web, packet) = serving();
        let mut client = WebReceiver::new(&web.config).unwrap();
        client.handle_packet(Instant::ZERO, packet);
        let now = client.poll_timeout().unwrap();
        client.handle_timeout(now);
        let ack = client.poll_transmit(now).unwrap();
        web.handle_packet(now, ack.clone());
        assert_eq!(web.fetches().finished, 1);
        // The next file is on its way when the acknowledgement arrives again.
        let now = web.poll_timeout().unwrap();
        web.handle_timeout(now);
        assert!(web.poll_transmit(now).is_some());
        web.handle_packet(now, ack);
        assert_eq!((web.fetches().started, web.fetches().finished), (2, 1));
    }

    #[test]
    fn a_packet_of_an_earlier_connection_does_not_disturb_the_present_one() {
        let (web, packet) = serving();
        let mut client = WebReceiver::new(&web.config).unwrap();
        let mut arrive = |generation| {
            let mut packet = packet.clone();
            if let Body::TcpSegment(segment) = &mut packet.body {
                segment.connection.generation = generation;
            }
            client.handle_packet(Instant::ZERO, packet);
            client.slots[0].0
        };
        assert_eq!([5, 4, 5, 6].map(&mut arrive), [5, 5, 5, 6]);
        // Numbers go round.
        assert_eq!(
            [0x8000, 0xFFFF, 0, 0xFFFF].map(&mut arrive),
            [0x8000, 0xFFFF, 0, 0]
        );
    }

    #[test]
    fn connections_that_never_end_are_bounded() {
        let config = WebConfig {
            gap: Duration::from_millis(10),
            gap_from: GapFrom::Start,
            ..WebConfig::default()
        };
        let mut web = WebSender::new(config, Random::new(1, 0)).unwrap();
        // Nobody answers.
        while let Some(now) = web.poll_timeout()
            && now < Instant::from_secs(20)
        {
            web.handle_timeout(now);
            while web.poll_transmit(now).is_some() {}
        }
        let fetches = web.fetches();
        assert_eq!(fetches.started, u64::from(MAX_CONNECTIONS));
        assert!(
            fetches.refused > 500 && fetches.finished == 0,
            "{fetches:?}"
        );
    }
}
