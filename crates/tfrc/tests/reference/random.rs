//! Random numbers, and random arrivals at a receiver.

use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tfrc::time::Instant;
use tfrc::units::Bytes;
use tfrc::{Arrival, Ecn};

pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// In [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// In [low, high).
    pub(crate) fn below(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }

    /// In [low, high), every factor of two as likely as the next.
    pub(crate) fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(0, of.len() as u64) as usize]
    }
}

/// What the times of a trace are multiples of: where they are random to the nanosecond nothing falls on a
/// boundary, such as a loss exactly R after the last.
pub(crate) struct Grid {
    nanos: u64,
}

impl Grid {
    /// In half of the traces a quarter of this time, and in the others a nanosecond.
    pub(crate) fn draw(random: &mut Random, secs: f64) -> Self {
        let coarse = (secs * 1e9) as u64 / 4;
        let nanos = random.pick(&[1, coarse]).max(1);
        Self { nanos }
    }

    /// The nearest multiple, and not zero.
    pub(crate) fn snap(&self, secs: f64) -> Duration {
        let multiples = (secs * 1e9 / self.nanos as f64).round() as u64;
        Duration::from_nanos(multiples.max(1) * self.nanos)
    }
}

/// A run of missing packets is at most this long: a longer one may begin more events than the detector
/// keeps of one gap, which is the only thing that it forgets within so few packets.
const LONGEST_GAP: usize = 10;

/// Packets as they arrive: lost, marked, reordered, repeated, of any size and spacing, with an R that
/// changes, and with silences. Times never go back.
pub(crate) fn arrivals(random: &mut Random) -> Vec<Arrival> {
    let packets = random.below(10, 90);
    let mut rtt = random.log(1e-4, 20.0);
    let mut spacing = rtt * random.log(0.01, 3.0);
    let loss: f64 = random.pick(&[0.0, 0.02, 0.1, 0.4]);
    let stays_lossy: f64 = random.pick(&[0.0, 0.5]);
    let mark = random.pick(&[0.0, 0.0, 0.02, 0.2]);
    let reorder = random.pick(&[0.0, 0.05, 0.4]);
    let places = random.below(2, 12) as f64;
    let repeat = random.pick(&[0.0, 0.05]);
    let rtt_changes = random.pick(&[0.0, 0.1]);
    let silence = random.pick(&[0.0, 0.02]);
    let told_from = random.pick(&[0, 0, 0, 3]);
    let first_seq = random.pick(&[0, 1, 65_530, 1 << 40]);
    let grid = Grid::draw(random, spacing);
    let mut now = random.log(1e-6, 100.0);
    let (mut gap, mut arrivals) = (0, Vec::new());
    for i in 0..packets {
        now += spacing * random.pick(&[0.0, 1.0, 1.0, 1.0, 1.5]);
        if random.chance(rtt_changes) {
            rtt = (rtt * random.log(0.2, 5.0)).clamp(1e-4, 20.0);
            spacing *= random.log(0.5, 2.0);
        }
        if random.chance(silence) {
            now += rtt * random.log(0.5, 20.0);
        }
        let lossy = if gap > 0 {
            f64::max(loss, stays_lossy)
        } else {
            loss
        };
        if gap < LONGEST_GAP && random.chance(lossy) {
            gap += 1;
            continue;
        }
        gap = 0;
        let late = if random.chance(reorder) {
            spacing * places * random.unit()
        } else {
            0.0
        };
        let arrival = Arrival {
            seq: first_seq + i,
            at: Instant::ZERO + grid.snap(now + late),
            timestamp: random.next() as u32,
            rtt: (i >= told_from && !random.chance(0.02)).then(|| grid.snap(rtt)),
            size: Bytes::new(random.pick(&[1_460, 1_460, 1_460, 40, 9_000])),
            ecn: if random.chance(mark) {
                Ecn::Ce
            } else {
                Ecn::Ect0
            },
        };
        arrivals.push(arrival);
        if random.chance(repeat) {
            let copy_delay = spacing * places * random.unit();
            arrivals.push(Arrival {
                at: arrival.at + grid.snap(copy_delay),
                ..arrival
            });
        }
    }
    arrivals.sort_by_key(|arrival| arrival.at);
    arrivals
}
