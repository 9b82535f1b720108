//! One end of a call: its camera, encoder, display and clock, and what it saw.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_codec::picture::{CodedPicture, JpegImage, QuantTables, Sampling};
use evenkeel_media::call::{Call, CallEvent};
use evenkeel_media::event::EventKind;
use evenkeel_media::frame::{EncodedFrame, ReceivedFrame};
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::reassemble::Payload;
use evenkeel_rtp::packet::rtp::media_time;
use evenkeel_rtp::session::{Config, ReceiveConfig, SendConfig};
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::Rate;

use crate::world::{End, Scenario};

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
pub(crate) struct Packet {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ecn: Ecn,
}

impl evenkeel_link::Packet for Packet {}

/// Someone's camera, encoder and display.
pub(crate) struct Studio {
    pub(crate) call: Call,
    pub(crate) captured: u64,
    pub(crate) next_capture: Instant,
    /// Coded, with the instant at which coding ends.
    pub(crate) coding: Option<(Instant, EncodedFrame)>,
    pub(crate) captures: BTreeMap<u32, Instant>,
    /// Datagrams that came while it was stopped.
    pub(crate) backlog: Vec<(Instant, Packet)>,
    pub(crate) stopped: Option<(Instant, Instant)>,
    pause: Option<(Instant, Instant)>,
    pub(crate) clock: Clock,
    random: Random,
    pub(crate) seen: EndRecord,
}

/// What an end reads where it is so late: parts per million more.
#[derive(Clone, Copy)]
pub(crate) struct Clock(i64);

impl Clock {
    const MILLION: i128 = 1_000_000;

    pub(crate) fn read(self, now: Instant) -> Instant {
        let parts = Self::MILLION + i128::from(self.0);
        Instant::from_nanos((i128::from(now.as_nanos()) * parts / Self::MILLION) as u64)
    }

    /// When it reads that, or later.
    pub(crate) fn when(self, local: Instant) -> Instant {
        let parts = Self::MILLION + i128::from(self.0);
        let nanos = i128::from(local.as_nanos()) * Self::MILLION;
        Instant::from_nanos((nanos + parts - 1).div_euclid(parts) as u64)
    }
}

/// What one end saw.
#[derive(Default)]
pub(crate) struct EndRecord {
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
    pub(crate) begun: Option<Instant>,
    /// Of each frame that was sent: its capture, and when its first and its last packet left.
    pub(crate) sent: Vec<[Instant; 3]>,
}

const ENCODING: Duration = Duration::from_millis(8);

impl Studio {
    pub(crate) fn new(scenario: &Scenario, index: usize) -> Self {
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
            seen: EndRecord::default(),
        }
    }

    pub(crate) fn is_stopped(&self, now: Instant) -> bool {
        self.stopped
            .is_some_and(|(from, until)| now >= from && now < until)
    }

    /// Captures, encodes, and hands the coded frame over, as far as `now` asks for it.
    pub(crate) fn drive_camera(&mut self, now: Instant, interval: Duration) {
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

    pub(crate) fn drive_display(&mut self, now: Instant) {
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
