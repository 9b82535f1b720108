//! A path that loses nothing and reorders a little: what TFRC takes for losses, and the rate that it then
//! allows. (`hdtv` §5, figure 5.)
//!
//! As in the paper the stream keeps its rate, whatever TFRC allows.

use evenkeel_link::Random;
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::{LossEventRate, duration_from_secs};
use tfrc::{Arrival, Ecn, Receiver, ReceiverConfig, equation};

use super::{Impossible, Job, RunError, Scenario, require, require_round_trips};
use crate::findings::Sample;
use crate::metrics::mean;
use crate::units::{BitRate, Share, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatePackets {
    /// At which packets are sent.
    rate: BitRate,
    /// Of every packet.
    packet: Size,
    /// Round-trip time.
    rtt: Time,
    /// Of packets that fall behind. One cell each for TFRC as it is, and one for TFRC that waits.
    shares: Vec<Share>,
    /// One is overtaken by one packet to so many, each as likely.
    places: u64,
    /// The length of a run.
    length: Time,
    /// From here on p is averaged.
    measured_from: Time,
}

/// More than any path is known to do.
const MOST_PLACES: u64 = 1_000;
/// Packets of a run.
const MOST_PACKETS: f64 = 1e7;
/// Between two points of the figure.
const STEP: Duration = Duration::from_millis(500);
/// Packets between two looks at whether the run is still wanted.
const SLICE: u64 = 100_000;

impl Scenario for LatePackets {
    fn verify(&self) -> Result<(), Impossible> {
        require(!self.shares.is_empty(), "shares", "one or more")?;
        let places = (1..=MOST_PLACES).contains(&self.places);
        require(places, "places", "from 1 to 1000")?;
        require_round_trips("length", self.length, self.rtt)?;
        require(
            self.measured_from < self.length,
            "measured_from",
            "before the end",
        )?;
        let packets = self.length.secs() / self.gap();
        require(
            packets <= MOST_PACKETS,
            "length",
            "at most 10 million packets",
        )
    }

    fn cells(&self) -> usize {
        2 * self.shares.len()
    }

    fn is_random(&self) -> bool {
        true
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let share = self.shares[job.cell / 2];
        let waits = job.cell % 2 == 1;
        let mut receiver = Receiver::new(ReceiverConfig {
            reordering: waits,
            ..ReceiverConfig::default()
        });
        let mut path = Path::new(share.0, self.places, job.seed);
        let mut told = Vec::new();
        let mut next = Duration::ZERO;
        for slot in 0..(self.length.secs() / self.gap()) as u64 {
            if slot % SLICE == 0 {
                job.go_on()?;
            }
            let at = duration_from_secs(slot as f64 * self.gap());
            for seq in path.arrivals(slot) {
                receiver.handle_data(&Arrival {
                    seq,
                    at: Instant::ZERO + at,
                    timestamp: at.as_micros() as u32,
                    rtt: Some(self.rtt.0),
                    size: self.packet.0,
                    ecn: Ecn::NotEct,
                });
            }
            let _ = receiver.poll_report(Instant::ZERO + at);
            if at >= next {
                told.push((at.as_secs_f64(), receiver.loss_event_rate()));
                next += STEP;
            }
        }
        let name = if waits { "waits" } else { "standard" };
        let percent = (share.0 * 1e4).round() / 1e2;
        let key = format!("{name}_{percent}pct");
        let measured = || {
            let from = self.measured_from.secs();
            told.iter().filter(move |(t, _)| *t >= from)
        };
        let p: Vec<f64> = measured().map(|(_, p)| p.get()).collect();
        let rates: Vec<f64> = measured().map(|(_, p)| self.allowed(*p)).collect();
        let counters = receiver.counters();
        let mut sample = Sample::default();
        sample.metric(format!("p_mean_{key}"), mean(&p));
        sample.metric(format!("allowed_mbps_{key}"), mean(&rates));
        sample.metric(format!("loss_events_{key}"), counters.loss_events as f64);
        let series = format!("{name}, {percent} %");
        let points = told.iter().map(|(t, p)| (*t, p.get()));
        sample.curve("p", &series, points.filter(|(_, p)| *p > 0.0));
        let points = told.iter().map(|(t, p)| (*t, self.allowed(*p)));
        sample.curve("allowed", &series, points);
        Ok(sample)
    }
}

impl LatePackets {
    /// Seconds from packet to packet.
    fn gap(&self) -> f64 {
        (self.packet.0 / self.rate.0).as_secs_f64()
    }

    /// What the equation allows, in Mb/s, and no more than the stream has.
    fn allowed(&self, p: LossEventRate) -> f64 {
        let all = self.rate.0;
        let rate = if p.is_zero() {
            all
        } else {
            equation::rate(self.packet.0, self.rtt.0, p).min(all)
        };
        rate.bits_per_sec() / 1e6
    }
}

/// What comes out, slot by slot; a slot is the time of a packet.
struct Path {
    share: f64,
    places: u64,
    random: Random,
    /// Packets that fall behind, by the slot after which they come, modulo the length.
    late: Vec<Vec<u64>>,
}

impl Path {
    fn new(share: f64, places: u64, seed: u64) -> Self {
        Self {
            share,
            places,
            random: Random::new(seed, 1),
            late: vec![Vec::new(); places as usize + 1],
        }
    }

    /// The packet that is sent in this slot unless it falls behind, then those that fell behind so far.
    fn arrivals(&mut self, slot: u64) -> Vec<u64> {
        let length = self.late.len() as u64;
        let is_late = self.random.unit() < self.share;
        let mut come = Vec::new();
        if is_late {
            let behind = 1 + (self.random.unit() * self.places as f64) as u64;
            let then = (slot + behind.min(self.places)) % length;
            self.late[then as usize].push(slot);
        } else {
            come.push(slot);
        }
        come.append(&mut self.late[(slot % length) as usize]);
        come
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Findings;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_packet_comes_once_and_none_further_behind_than_it_may() {
        let mut path = Path::new(0.2, 4, 1);
        let came: Vec<(u64, u64)> = (0..1_000)
            .flat_map(|slot| path.arrivals(slot).into_iter().map(move |seq| (slot, seq)))
            .collect();
        let behind: Vec<u64> = came.iter().map(|(slot, seq)| slot - seq).collect();
        for places in 1..=4 {
            let as_many = behind.iter().filter(|by| **by == places).count();
            // A fifth of them, a quarter of these: four standard deviations of 50.
            assert!((22..=78).contains(&as_many), "{as_many} by {places}");
        }
        let mut seqs: Vec<u64> = came.iter().map(|(_, seq)| *seq).collect();
        seqs.sort_unstable();
        seqs.dedup();
        assert_eq!(seqs.len(), came.len());
        assert!(seqs.len() >= 996);
    }

    #[test]
    fn two_places_are_not_taken_for_a_loss_and_more_are_unless_it_waits() {
        let events = |places: u64, waits: usize| {
            let scenario: LatePackets = toml::from_str(&format!(
                "rate = '100Mb/s'\npacket = '1470B'\nrtt = '20ms'\nshares = ['1%']\nplaces = {places}
                 length = '10s'\nmeasured_from = '5s'"
            ))
            .unwrap();
            assert!(scenario.verify().is_ok());
            let stop = AtomicBool::new(false);
            let job = Job {
                cell: waits,
                seed: 1,
                stop: &stop,
            };
            let sample = scenario.run(job).unwrap();
            let name = ["standard", "waits"][waits];
            Findings::join(&[vec![sample]]).value(&format!("loss_events_{name}_1pct"))
        };
        assert_eq!(events(2, 0), 0.0);
        let standard = events(10, 0);
        assert!(standard > 100.0, "{standard}");
        let waiting = events(10, 1);
        assert!(waiting < standard / 10.0, "{waiting} of {standard}");
    }
}
