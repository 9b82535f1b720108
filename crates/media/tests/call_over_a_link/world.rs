//! Two calls, a link each way between them, a camera and a display, in virtual time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_codec::picture::{CodedPicture, JpegImage, QuantTables, Sampling};
use evenkeel_codec::quality::percentile;
use evenkeel_link::{Link, LinkConfig, Loss, QueueLimit};
use evenkeel_media::call::{Call, CallEvent};
use evenkeel_media::event::EventKind;
use evenkeel_media::frame::{EncodedFrame, ReceivedFrame};
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::reassemble::Payload;
use evenkeel_rtp::endpoint::{Datagram, Endpoint};
use evenkeel_rtp::packet::rtp::media_time;
use evenkeel_rtp::session::{Config, FeedbackMode, ReceiveConfig, SendConfig};
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

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

/// A number that differs each time, from a seed (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[derive(Clone)]
struct Packet {
    bytes: Vec<u8>,
    ecn: Ecn,
}

impl evenkeel_link::Packet for Packet {}

/// Someone's camera, encoder and display.
struct Studio {
    call: Call,
    captured: u64,
    next_capture: Instant,
    /// Coded, with the instant at which coding ends.
    coding: Option<(Instant, EncodedFrame)>,
    captures: BTreeMap<u32, Instant>,
    /// Datagrams that came while it was stopped.
    backlog: Vec<(Instant, Packet)>,
    stopped: Option<(Instant, Instant)>,
    pause: Option<(Instant, Instant)>,
    clock: Clock,
    random: Random,
    pub(crate) seen: Seen,
}

/// What an end reads where it is so late: parts per million more.
#[derive(Clone, Copy)]
struct Clock(i64);

impl Clock {
    const MILLION: i128 = 1_000_000;

    fn read(self, now: Instant) -> Instant {
        let parts = Self::MILLION + i128::from(self.0);
        Instant::from_nanos((i128::from(now.as_nanos()) * parts / Self::MILLION) as u64)
    }

    /// When it reads that, or later.
    fn when(self, local: Instant) -> Instant {
        let parts = Self::MILLION + i128::from(self.0);
        let nanos = i128::from(local.as_nanos()) * Self::MILLION;
        Instant::from_nanos((nanos + parts - 1).div_euclid(parts) as u64)
    }
}

/// What one end saw.
#[derive(Default)]
pub(crate) struct Seen {
    /// Shown, captured (by the number in the picture), damaged.
    pub(crate) shown: Vec<(Instant, u32, bool)>,
    pub(crate) discarded: BTreeMap<&'static str, u64>,
    pub(crate) not_shown: BTreeMap<&'static str, u64>,
    pub(crate) late: u64,
    /// When the last packet of each frame came, and whether after its display time.
    pub(crate) completed: Vec<(Instant, bool)>,
    pub(crate) stretched: Vec<(Instant, Option<Duration>)>,
    /// Every 10 ms: X and the payload bytes sent so far.
    pub(crate) rates: Vec<(Instant, Rate, u64)>,
    pub(crate) skipped: u64,
    /// When the first packet of the frame that is being sent left.
    begun: Option<Instant>,
    /// Of each frame that was sent: its capture, and when its first and its last packet left.
    sent: Vec<[Instant; 3]>,
}

pub(crate) struct World {
    scenario: Scenario,
    now: Instant,
    ends: [Studio; 2],
    links: [Link<Packet>; 2],
    /// Packets held back so that later ones overtake them.
    held: [Vec<(Instant, Packet)>; 2],
    count: u64,
    next_sample: Instant,
    pub(crate) queue_ms: Vec<f64>,
}

const ENCODING: Duration = Duration::from_millis(8);

impl Studio {
    fn new(scenario: &Scenario, index: usize) -> Self {
        let address = |n: usize| SocketAddr::from(([10, 0, 0, n as u8 + 1], 5004));
        let mut config = Config::new("end", scenario.seed * 2 + index as u64);
        config.peer = Some(address(1 - index));
        if index == 0 || scenario.both {
            config.send = Some(SendConfig {
                feedback: scenario.feedback,
                ..SendConfig::new(26)
            });
        }
        if index == 1 || scenario.both {
            config.receive = Some(ReceiveConfig {
                feedback: scenario.feedback,
                transit_bounds: scenario.transit_bounds,
                ..ReceiveConfig::new(26)
            });
        }
        config.bandwidth = scenario.rate;
        let interval = Duration::from_secs(1) / scenario.fps as u32;
        let stopped = scenario.stop.and_then(|(end, from, until)| {
            ((end == End::Receiver) == (index == 1)).then_some((from, until))
        });
        Self {
            call: Call::new(
                Instant::ZERO,
                config,
                PolicyConfig {
                    deadline: scenario.deadline,
                    ..PolicyConfig::new(interval)
                },
                Payload::Jpeg,
            ),
            captured: 0,
            next_capture: Instant::ZERO + interval,
            coding: None,
            captures: BTreeMap::new(),
            backlog: Vec::new(),
            stopped,
            pause: scenario.pause,
            clock: Clock(if index == 1 { scenario.drift_ppm } else { 0 }),
            random: Random::new(scenario.seed + 17 * index as u64),
            seen: Seen::default(),
        }
    }

    fn is_stopped(&self, now: Instant) -> bool {
        self.stopped
            .is_some_and(|(from, until)| now >= from && now < until)
    }

    /// Captures, encodes, and hands the coded frame over, as far as `now` asks for it.
    fn drive_camera(&mut self, now: Instant, interval: Duration) {
        if self.coding.as_ref().is_some_and(|(at, _)| *at <= now) {
            let (_, frame) = self.coding.take().expect("just seen");
            let local = self.clock.read(now);
            self.call.push_frame(local, frame).expect("well formed");
        }
        if self.next_capture <= now {
            while self.next_capture <= now {
                self.next_capture += interval;
            }
            let off = |(from, until)| now >= from && now < until;
            if self.pause.is_some_and(off) {
                return;
            }
            self.captured += 1;
            let number = self.captured as u32;
            self.captures.insert(number, now);
            let local = self.clock.read(now);
            match self.call.frame_target(local) {
                Some(target) => {
                    // The encoder stays below its target, and cannot go below 2.5 kB.
                    let share = 0.95 + 0.05 * self.random.unit();
                    let size = (target.size.as_f64() * share).clamp(2_500.0, 200_000.0);
                    let frame = EncodedFrame {
                        captured: local,
                        timestamp: media_time(local, 90_000),
                        picture: picture(number, size as usize, &mut self.random).into(),
                    };
                    self.coding = Some((now + ENCODING, frame));
                }
                None => self.seen.skipped += 1,
            }
        }
    }

    fn drive_display(&mut self, now: Instant) {
        while let Some(frame) = self.call.poll_frame(self.clock.read(now)) {
            let damaged = !frame.picture.is_whole();
            self.seen.shown.push((now, number(&frame), damaged));
        }
        while let Some(event) = self.call.poll_event() {
            let CallEvent::Media(event) = event else {
                continue;
            };
            match event.kind {
                EventKind::Discarded { reason, .. } => {
                    *self.seen.discarded.entry(reason.name()).or_default() += 1;
                }
                EventKind::Dropped { reason, .. } => {
                    *self.seen.not_shown.entry(reason.name()).or_default() += 1;
                }
                EventKind::Begun { .. } => self.seen.begun = Some(event.at),
                EventKind::Sent { age, .. } => {
                    let begun = self.seen.begun.expect("the first packet of a frame");
                    self.seen.sent.push([event.at - age, begun, event.at]);
                }
                EventKind::Completed { late, .. } => {
                    self.seen.late += u64::from(late);
                    self.seen.completed.push((now, late));
                }
                EventKind::Stretched { deadline } => {
                    self.seen.stretched.push((event.at, Some(deadline)));
                }
                EventKind::Relaxed => self.seen.stretched.push((event.at, None)),
                _ => {}
            }
        }
    }
}

/// A 640x480 picture of about `size` bytes that says in every interval which it is.
fn picture(number: u32, size: usize, random: &mut Random) -> JpegImage {
    const INTERVALS: usize = 300;
    let each = (size / INTERVALS).saturating_sub(2).max(5);
    let intervals = (0..INTERVALS)
        .map(|_| {
            let spread = each as f64 * (0.6 + 0.8 * random.unit());
            let mut data: Vec<u8> = (0..4).map(|i| (number >> (7 * i)) as u8 & 0x7f).collect();
            data.resize(4 + (spread as usize).saturating_sub(4), 0x55);
            Some(data)
        })
        .collect();
    JpegImage {
        width: 640,
        height: 480,
        sampling: Sampling::Yuv420,
        tables: QuantTables {
            luma: [(size / 1_000) as u8 + 1; 64],
            chroma: [7; 64],
        },
        restart_interval: 4,
        intervals,
    }
}

fn number(frame: &ReceivedFrame) -> u32 {
    let CodedPicture::Jpeg(image) = &frame.picture else {
        panic!("an image was sent");
    };
    let data = image
        .intervals
        .iter()
        .flatten()
        .next()
        .expect("never shown empty");
    (0..4).map(|i| u32::from(data[i]) << (7 * i)).sum()
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

    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome_of(0, Instant::from_secs(10))
    }

    /// From capture to display, in milliseconds, of what `sender` sent and was shown in between.
    pub(crate) fn delays(&self, sender: usize, [from, until]: [Instant; 2]) -> Vec<f64> {
        let (sent, got) = (&self.ends[sender], &self.ends[1 - sender]);
        let shown = got.seen.shown.iter();
        let inside = shown.filter(|(at, ..)| *at >= from && *at < until);
        let delays = inside.filter_map(|(at, number, _)| {
            let captured = sent.captures.get(number)?;
            Some(at.saturating_since(*captured).as_secs_f64() * 1e3)
        });
        delays.collect()
    }

    /// How many frames came late to the second end from then on.
    pub(crate) fn late_after(&self, known: Instant) -> usize {
        let completed = self.ends[1].seen.completed.iter();
        completed.filter(|(at, late)| *late && *at >= known).count()
    }

    /// How long the first frame that the second end got whole from then on waited for its display.
    pub(crate) fn first_held_after(&self, on: Instant) -> Duration {
        let seen = &self.ends[1].seen;
        let whole = seen.completed.iter().find(|(at, _)| *at >= on);
        let shown = seen.shown.iter().find(|(at, ..)| *at >= on);
        let (whole, shown) = (whole.expect("a frame"), shown.expect("a picture").0);
        shown.saturating_since(whole.0)
    }

    /// The direction that `sender` (0 or 1) sends in, from `warm` on.
    pub(crate) fn outcome_of(&self, sender: usize, warm: Instant) -> Outcome {
        let (sent, got) = (&self.ends[sender], &self.ends[1 - sender]);
        let shown: Vec<_> = got.seen.shown.iter().filter(|s| s.0 >= warm).collect();
        let delays = self.delays(sender, [warm, Instant::MAX]);
        let gaps = shown
            .windows(2)
            .map(|pair| pair[1].0.saturating_since(pair[0].0).as_secs_f64() * 1e3);
        let rates: Vec<_> = sent.seen.rates.iter().filter(|r| r.0 >= warm).collect();
        let (first, last) = (rates[0], rates[rates.len() - 1]);
        let bytes = last.2 - first.2;
        let span = last.0.saturating_since(first.0);
        let counters = self.links[sender].counters();
        let queues: Vec<f64> = self.queue_ms[self.queue_ms.len() / 6..].to_vec();
        Outcome {
            media_over_link: (Bytes::new(bytes) / span).bits_per_sec()
                / self.scenario.rate.bits_per_sec(),
            loss: (counters.dropped.packets + counters.lost.packets) as f64
                / counters.received.packets.max(1) as f64,
            shown: shown.len(),
            captured: sent.captured,
            damaged: shown.iter().filter(|s| s.2).count(),
            damaged_at: shown.iter().filter(|s| s.2).map(|s| s.0).collect(),
            delay_p50: percentile(&delays, 50.0).unwrap_or(f64::INFINITY),
            delay_p95: percentile(&delays, 95.0).unwrap_or(f64::INFINITY),
            delay_max: percentile(&delays, 100.0).unwrap_or(f64::INFINITY),
            longest_gap: gaps.fold(0.0, f64::max),
            queue_p50: percentile(&queues, 50.0).unwrap_or(0.0),
            queue_p95: percentile(&queues, 95.0).unwrap_or(0.0),
            discarded: sent.seen.discarded.clone(),
            not_shown: got.seen.not_shown.clone(),
            late: got.seen.late,
            stretched: sent.seen.stretched.clone(),
            shown_at: Shown(got.seen.shown.iter().map(|s| s.0).collect()),
        }
    }
}

#[derive(Debug)]
#[allow(dead_code, reason = "printed whole where a bound is missed")]
pub(crate) struct Outcome {
    pub(crate) media_over_link: f64,
    pub(crate) loss: f64,
    pub(crate) shown: usize,
    pub(crate) captured: u64,
    pub(crate) damaged: usize,
    pub(crate) damaged_at: Vec<Instant>,
    pub(crate) delay_p50: f64,
    pub(crate) delay_p95: f64,
    pub(crate) delay_max: f64,
    pub(crate) longest_gap: f64,
    pub(crate) queue_p50: f64,
    pub(crate) queue_p95: f64,
    pub(crate) discarded: BTreeMap<&'static str, u64>,
    pub(crate) not_shown: BTreeMap<&'static str, u64>,
    pub(crate) late: u64,
    pub(crate) stretched: Vec<(Instant, Option<Duration>)>,
    pub(crate) shown_at: Shown,
}

/// When each frame was shown; too many to print.
pub(crate) struct Shown(pub(crate) Vec<Instant>);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} frames", self.0.len())
    }
}
