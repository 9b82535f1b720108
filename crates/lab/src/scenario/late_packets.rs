//! A path that loses nothing and reorders a little: what TFRC takes for losses, and the rate that it then
//! allows. (`hdtv` §5, figure 5.)
//!
//! As in the paper the stream keeps its rate, whatever TFRC allows.

use evenkeel_link::Random;
use serde::Deserialize;
use tfrc::time::Instant;
use tfrc::units::{LossEventRate, duration_from_secs};
use tfrc::{Arrival, Ecn, Receiver, ReceiverConfig, equation};

use crate::error::{Impossible, RunError, require};
use crate::findings::Sample;
use crate::job::Job;
use crate::metrics::mean;
use crate::network::require_packet;
use crate::scenario::contract::Scenario;
use crate::scenario::require::require_round_trips;
use crate::units::{BitRate, Share, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatePackets {
    /// At which packets are sent; a cell each for every share and way to take them.
    rates: Vec<BitRate>,
    /// Of every packet.
    packet: Size,
    /// Round-trip time.
    rtt: Time,
    /// Of packets that fall behind.
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
/// Packets above a hole that make it a loss (RFC 5348 §5.1).
const NDUPACK: u64 = 3;
/// Seconds between two points of the figure.
const STEP: f64 = 0.5;
/// Packets between two looks at whether the run is still wanted.
const SLICE: u64 = 100_000;

/// What becomes of a packet that comes when it is thought lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Nothing: lost is lost, as for the triple duplicate acknowledgement of `hdtv` figure 4.
    Final,
    /// It takes its loss back, as with us.
    Standard,
    /// The same, and the next ones are waited for.
    Waits,
}

const WAYS: [Way; 3] = [Way::Final, Way::Standard, Way::Waits];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Final => "final",
            Self::Standard => "standard",
            Self::Waits => "waits",
        }
    }
}

impl Scenario for LatePackets {
    fn verify(&self) -> Result<(), Impossible> {
        require_packet(self.packet)?;
        require(!self.rates.is_empty(), "rates", "one or more")?;
        require(!self.shares.is_empty(), "shares", "one or more")?;
        let places = (1..=MOST_PLACES).contains(&self.places);
        require(places, "places", "from 1 to 1000")?;
        require_round_trips("length", self.length, self.rtt)?;
        require(
            self.measured_from < self.length,
            "measured_from",
            "before the end",
        )?;
        let few = |rate: &BitRate| self.length.secs() / self.gap(*rate) <= MOST_PACKETS;
        let few = self.rates.iter().all(few);
        require(few, "length", "at most 10 million packets")
    }

    fn cells(&self) -> usize {
        WAYS.len() * self.shares.len() * self.rates.len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let way = WAYS[job.cell % WAYS.len()];
        let pair = job.cell / WAYS.len();
        let share = self.shares[pair % self.shares.len()];
        let rate = self.rates[pair / self.shares.len()];
        let gap = self.gap(rate);
        let mut receiver = Receiver::new(ReceiverConfig {
            reordering: way == Way::Waits,
            ..ReceiverConfig::default()
        });
        let mut path = Path::new(share.0, self.places, job.seed);
        let mut reported = Vec::new();
        for slot in 0..(self.length.secs() / gap) as u64 {
            if slot % SLICE == 0 {
                job.go_on()?;
            }
            let at = duration_from_secs(slot as f64 * gap);
            for seq in path.arrivals(slot) {
                if way == Way::Final && slot - seq >= NDUPACK {
                    continue;
                }
                receiver.handle_data(&Arrival {
                    seq,
                    at: Instant::ZERO + at,
                    timestamp: at.as_micros() as u32,
                    rtt: Some(self.rtt.0),
                    size: self.packet.0,
                    ecn: Ecn::NotEct,
                });
            }
            let report = receiver.poll_report(Instant::ZERO + at);
            reported.extend(report.map(|report| (at.as_secs_f64(), report.loss_event_rate)));
        }
        let name = way.name();
        let percent = (share.0 * 1e4).round() / 1e2;
        let mbps = rate.0.bits_per_sec() / 1e6;
        let key = format!("{name}_{percent}pct_{mbps}mbps");
        let measured = || {
            let from = self.measured_from.secs();
            reported.iter().filter(move |(t, _)| *t >= from)
        };
        let p: Vec<f64> = measured().map(|(_, p)| p.get()).collect();
        let rates: Vec<f64> = measured().map(|(_, p)| self.allowed(rate, *p)).collect();
        let counters = receiver.counters();
        let mut sample = Sample::default();
        sample.metric(format!("p_mean_{key}"), mean(&p));
        sample.metric(format!("allowed_mbps_{key}"), mean(&rates));
        sample.metric(format!("loss_events_{key}"), counters.loss_events as f64);
        let series = format!("{name}, {percent} %, {mbps} Mb/s");
        let mut next = 0.0;
        reported.retain(|(t, _)| {
            let draws = *t >= next;
            next = if draws { t + STEP } else { next };
            draws
        });
        let points = reported.iter().map(|(t, p)| (*t, p.get()));
        sample.curve("p", &series, points.filter(|(_, p)| *p > 0.0));
        let points = reported.iter().map(|(t, p)| (*t, self.allowed(rate, *p)));
        sample.curve("allowed", &series, points);
        Ok(sample)
    }
}

impl LatePackets {
    /// Seconds from packet to packet.
    fn gap(&self, rate: BitRate) -> f64 {
        (self.packet.0 / rate.0).as_secs_f64()
    }

    /// What the equation allows, in Mb/s, and no more than the stream has.
    fn allowed(&self, stream: BitRate, p: LossEventRate) -> f64 {
        let all = stream.0;
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
    use crate::trial;

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
        let reported = |metric: &str, places: u64, cell: usize| {
            let scenario: LatePackets = toml::from_str(&format!(
                "rates = ['100Mb/s']\npacket = '1470B'\nrtt = '20ms'\nshares = ['1%']\nplaces = {places}
                 length = '10s'\nmeasured_from = '5s'"
            ))
            .unwrap();
            assert!(scenario.verify().is_ok());
            let job = trial::job(cell);
            let sample = scenario.run(job).unwrap();
            let name = WAYS[cell].name();
            Findings::join(&[vec![sample]]).value(&format!("{metric}_{name}_1pct_100mbps"))
        };
        for cell in 0..3 {
            assert_eq!(reported("loss_events", 2, cell), 0.0);
        }
        let [standard, waits] = [1, 2].map(|cell| reported("loss_events", 10, cell));
        assert!(standard > 100.0, "{standard}");
        assert!(waits < standard / 10.0, "{waits} of {standard}");
        // Lost for good, an event a round trip of 170 packets; taken back, hardly any.
        let [lost, back] = [0, 1].map(|cell| reported("p_mean", 10, cell));
        assert!((0.003..0.007).contains(&lost), "{lost}");
        assert!(back < lost / 10.0, "{back} of {lost}");
    }
}
