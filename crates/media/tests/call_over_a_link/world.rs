//! Two calls, a link each way between them, a camera and a display, in virtual time.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_link::{Link, LinkConfig, Loss, QueueLimit};
use evenkeel_media::policy::PolicyConfig;
use evenkeel_rtp::endpoint::{Datagram, Endpoint};
use evenkeel_rtp::session::FeedbackMode;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

use crate::outcome::Outcome;
use crate::studio::{Packet, Studio};

/// IPv4 and UDP headers.
const IP_UDP: usize = 28;

/// What a path is like.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) rate: Rate,
    pub(crate) rtt: Duration,
    pub(crate) queue: Duration,
    pub(crate) loss: f64,
    pub(crate) fps: u64,
    /// The configured deadline of both ends.
    pub(crate) deadline: Duration,
    pub(crate) seconds: u64,
    /// Media flows back, too.
    pub(crate) both: bool,
    /// Every so many packets one is overtaken by the next few.
    pub(crate) reordering: Option<u64>,
    /// The end that is stopped from and until.
    pub(crate) stop: Option<(End, Instant, Instant)>,
    /// The cameras are off from and until.
    pub(crate) pause: Option<(Instant, Instant)>,
    /// What the second end's clock gains, in parts per million.
    pub(crate) drift_ppm: i64,
    pub(crate) feedback: FeedbackMode,
    /// TFRC's reports tell transit times.
    pub(crate) transit_bounds: bool,
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Sender,
    Receiver,
}

impl Scenario {
    pub(crate) fn new(rtt_ms: u64, kbps: u64, fps: u64) -> Self {
        Self {
            rate: Rate::from_bits_per_sec(kbps as f64 * 1e3),
            rtt: Duration::from_millis(rtt_ms),
            queue: Duration::from_millis(50),
            loss: 0.0,
            fps,
            deadline: PolicyConfig::DEADLINE,
            seconds: 60,
            both: false,
            reordering: None,
            stop: None,
            pause: None,
            drift_ppm: 0,
            feedback: FeedbackMode::Ccfb,
            transit_bounds: false,
            seed: 1,
        }
    }

    pub(crate) fn run(self) -> Outcome {
        let mut world = World::new(self);
        world.run();
        world.outcome()
    }
}

pub(crate) struct World {
    pub(crate) scenario: Scenario,
    now: Instant,
    pub(crate) ends: [Studio; 2],
    pub(crate) links: [Link<Packet>; 2],
    /// Packets held back so that later ones overtake them.
    held: [Vec<(Instant, Packet)>; 2],
    count: u64,
    next_sample: Instant,
    pub(crate) queue_ms: Vec<f64>,
}

impl World {
    pub(crate) fn new(scenario: Scenario) -> Self {
        let link = |seed, loss| {
            let config = LinkConfig {
                rate: scenario.rate,
                delay: scenario.rtt / 2,
                queue: QueueLimit::Time(scenario.queue),
                loss: if loss > 0.0 {
                    Loss::Bernoulli(loss)
                } else {
                    Loss::None
                },
                ..LinkConfig::default()
            };
            Link::new(config, seed)
        };
        Self {
            scenario,
            now: Instant::ZERO,
            ends: [0, 1].map(|index| Studio::new(&scenario, index)),
            links: [
                link(scenario.seed, scenario.loss),
                link(scenario.seed + 1, scenario.loss),
            ],
            held: [Vec::new(), Vec::new()],
            count: 0,
            next_sample: Instant::ZERO,
            queue_ms: Vec::new(),
        }
    }

    /// Changes the rate of the link that the first end sends over.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.links[0].set_rate(self.now, rate);
    }

    /// Packets that link has received and lost so far, and its queue now.
    pub(crate) fn link_state(&self) -> (u64, u64, Duration) {
        let counters = self.links[0].counters();
        let lost = counters.dropped.packets + counters.lost.packets;
        let queue = self.links[0].queue_delay(self.now);
        (counters.received.packets, lost, queue)
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// X at the first end.
    pub(crate) fn allowed_rate(&self) -> Rate {
        let path = self.ends[0].call.session().path();
        path.map_or(Rate::ZERO, |path| path.allowed_rate)
    }

    pub(crate) fn run(&mut self) {
        self.run_until(Instant::from_secs(self.scenario.seconds));
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        while self.now < end {
            self.step();
            let next = self.next_event().min(end);
            assert!(next >= self.now);
            // A wake-up in the past that changes nothing would never end.
            self.now = next.max(self.now + Duration::from_micros(20));
        }
    }

    fn step(&mut self) {
        let now = self.now;
        let interval = Duration::from_secs(1) / self.scenario.fps as u32;
        self.sample();
        for index in [0, 1] {
            self.deliver(index);
            let end = &mut self.ends[index];
            if end.is_stopped(now) {
                continue;
            }
            let local = end.clock.read(now);
            for (arrival, packet) in std::mem::take(&mut end.backlog) {
                let datagram = Datagram {
                    source: SocketAddr::from(([10, 0, 0, 2 - index as u8], 5004)),
                    arrival: end.clock.read(arrival),
                    ecn: packet.ecn,
                    payload: &packet.bytes,
                };
                end.call.handle_datagram(local, datagram);
            }
            end.call.handle_timeout(local);
            if index == 0 || self.scenario.both {
                end.drive_camera(now, interval);
            }
            end.drive_display(now);
            let mut buf = [0; 2048];
            while let Some(transmit) = end.call.poll_transmit(local, &mut buf) {
                let packet = Packet {
                    bytes: buf[..transmit.len].to_vec(),
                    ecn: transmit.ecn,
                };
                let size = Bytes::from(transmit.len + IP_UDP);
                self.links[index].handle_packet(now, packet, size);
            }
        }
    }

    /// Brings what came through the link to `index`.
    fn deliver(&mut self, index: usize) {
        let from = 1 - index;
        while let Some(packet) = self.links[from].poll_output(self.now) {
            self.count += 1;
            let overtaken = |every: u64| self.count.is_multiple_of(every);
            if self.scenario.reordering.is_some_and(overtaken) {
                let until = self.now + Duration::from_millis(5);
                self.held[index].push((until, packet));
            } else {
                self.ends[index].backlog.push((self.now, packet));
            }
        }
        let now = self.now;
        let due = self.held[index].extract_if(.., |(until, _)| *until <= now);
        self.ends[index].backlog.extend(due);
    }

    fn sample(&mut self) {
        if self.now < self.next_sample {
            return;
        }
        self.next_sample = self.now + Duration::from_millis(10);
        self.queue_ms
            .push(self.links[0].queue_delay(self.now).as_secs_f64() * 1e3);
        for end in &mut self.ends {
            if let Some(path) = end.call.session().path() {
                let sent = end.call.session().statistics().bytes_sent;
                end.seen.rates.push((self.now, path.allowed_rate, sent));
            }
        }
    }

    fn next_event(&self) -> Instant {
        let mut next = self.next_sample;
        for (index, end) in self.ends.iter().enumerate() {
            if let Some(at) = self.links[index].poll_timeout() {
                next = next.min(at);
            }
            for (until, _) in &self.held[index] {
                next = next.min(*until);
            }
            if let Some((_, until)) = end.stopped
                && end.is_stopped(self.now)
            {
                next = next.min(until);
                continue;
            }
            if let Some((at, _)) = end.call.poll_timeout() {
                next = next.min(end.clock.when(at));
            }
            if index == 0 || self.scenario.both {
                next = next.min(end.next_capture);
                if let Some((at, _)) = &end.coding {
                    next = next.min(*at);
                }
            }
        }
        next.max(self.now)
    }
}
