//! The sending end of all connections: a server.

use super::config::{GapFrom, MAX_CONNECTIONS, WebConfig, WebConfigError};
use crate::agent::{Agent, Packet};
use crate::body::Body;
use crate::distribution::exponential;
use crate::tcp::{Config, Connection, Sender};
use evenkeel_link::Random;
use std::ops::Range;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, duration_from_secs};

/// Starts connections and serves a file to each.
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

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::WebReceiver;

    #[test]
    fn an_acknowledgement_of_an_earlier_connection_is_not_for_the_present_one() {
        let config = WebConfig {
            file: [Bytes::new(1); 2],
            ..WebConfig::default()
        };
        let mut client = WebReceiver::new(&config).unwrap();
        let mut web = WebSender::new(config, Random::new(1, 0)).unwrap();
        web.handle_timeout(Instant::ZERO);
        let packet = web.poll_transmit(Instant::ZERO).unwrap();
        client.handle_packet(Instant::ZERO, &packet);
        let now = client.poll_timeout().unwrap();
        client.handle_timeout(now);
        let ack = client.poll_transmit(now).unwrap();
        web.handle_packet(now, &ack);
        assert_eq!(web.fetches().finished, 1);
        // The next file is on its way when the acknowledgement arrives again.
        let now = web.poll_timeout().unwrap();
        web.handle_timeout(now);
        assert!(web.poll_transmit(now).is_some());
        web.handle_packet(now, &ack);
        assert_eq!((web.fetches().started, web.fetches().finished), (2, 1));
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
