//! The same call over paths of every round-trip time and rate, as maps: where it is one that people can
//! talk by.

use evenkeel_link::Loss;
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::{PolicyConfig, Rules};
use serde::Deserialize;
use tfrc::time::Duration;
use tfrc::units::Rate;

use super::world::{CallScene, Content, World, utilisation};
use super::{Named, require_fps, require_picture};
use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{self, mean};
use crate::network::Tfrc;
use crate::scenario::contract::Scenario;
use crate::units::{BitRate, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallMap {
    /// Columns and rows.
    picture: [usize; 2],
    /// Pictures a second.
    fps: u32,
    /// What is drawn and coded.
    #[serde(default)]
    content: Content,
    /// What the bottleneck's drop-tail queue holds.
    queue: Size,
    /// The call's edition and t_RTO.
    #[serde(default)]
    tfrc: Tfrc,
    /// By which rules frames are made and sent: `evenkeel`, `thesis`.
    policies: Vec<Named<Rules>>,
    /// When measuring begins, and when each run ends.
    measured: [Time; 2],
    /// The columns of the map.
    rtts: Vec<Time>,
    /// The rows of the map.
    rates: Vec<BitRate>,
    /// A path is suitable if at least this share of the frames, in per cent, is shown in time.
    suitable_pct: f64,
}

/// A place has few late frames if they are no more than this.
const FEW_LATE_PCT: f64 = 1.0;

/// A place on the map.
#[derive(Clone, Copy)]
struct Place {
    rtt: Time,
    rate: BitRate,
}

impl Place {
    fn rtt_ms(self) -> f64 {
        self.rtt.0.as_micros() as f64 / 1e3
    }

    fn kbps(self) -> f64 {
        self.rate.0.bits_per_sec() / 1e3
    }

    /// As it stands in names of metrics.
    fn name(self) -> String {
        format!("{}ms_{}kbps", self.rtt_ms(), self.kbps())
    }
}

impl Scenario for CallMap {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require_picture(self.picture)?;
        require_fps(self.fps)?;
        let looks = self.content != Content::Sizes;
        require(looks, "content", "pictures")?;
        require(!self.policies.is_empty(), "policies", "one or more")?;
        let [from, to] = self.measured;
        require(from < to, "measured", "[from, to]")?;
        require(!self.rtts.is_empty(), "rtts", "one or more")?;
        require(!self.rates.is_empty(), "rates", "one or more")?;
        let share = 0.0..=100.0;
        require(
            share.contains(&self.suitable_pct),
            "suitable_pct",
            "from 0 to 100",
        )
    }

    fn cells(&self) -> usize {
        self.rtts.len() * self.rates.len() * self.policies.len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let Named(rules) = self.policies[job.cell % self.policies.len()];
        let index = job.cell / self.policies.len();
        let place = Place {
            rtt: self.rtts[index % self.rtts.len()],
            rate: self.rates[index / self.rtts.len()],
        };
        let setup = CallScene {
            picture: self.picture,
            fps: self.fps,
            content: self.content.clone(),
            psnr: true,
            rules,
            filler: Filler::None,
            most: Rate::INFINITY,
            rtt: place.rtt,
            rate: place.rate,
            loss: Loss::None,
            queue: self.queue,
            measured: self.measured,
            tfrc: self.tfrc,
        };
        let mut world = World::new(&setup, job.seed)?;
        let looks = world.watch(job)?;
        let inside: Vec<_> = looks.iter().filter(|l| l.at >= setup.from()).collect();
        let seen = world.seen();
        let mut sample = Sample::default();
        for (metric, value) in [
            ("in_time_pct", seen.in_time_pct),
            ("late_pct", seen.late_pct),
            ("frames_discarded_pct", seen.discarded_pct),
            ("longest_gap_ms", seen.longest_gap_ms),
            ("utilisation_of_x", utilisation(&inside)),
            // Who shows nothing has no quality.
            (
                "psnr_mean_db",
                seen.receiver.psnr_mean_db.unwrap_or(f64::NAN),
            ),
        ] {
            let rules = rules.name();
            sample.metric(format!("{metric}_{rules}_{}", place.name()), value);
            let row = place.kbps().to_string();
            sample.curve(format!("{metric}_{rules}"), row, [(place.rtt_ms(), value)]);
        }
        Ok(sample)
    }

    fn derive(&self, findings: &mut Findings) {
        for Named(rules) in &self.policies {
            self.derive_of(rules.name(), findings);
        }
    }
}

impl CallMap {
    fn places(&self) -> impl Iterator<Item = Place> {
        let rates = self.rates.iter();
        rates.flat_map(|&rate| self.rtts.iter().map(move |&rtt| Place { rtt, rate }))
    }

    /// Could a frame that takes an interval to send be in time behind so much of a queue?
    fn fits(&self, place: Place, queue: Duration) -> bool {
        let frame = 1.0 / f64::from(self.fps);
        place.rtt.secs() / 2.0 + frame + queue.as_secs_f64() <= PolicyConfig::DEADLINE.as_secs_f64()
    }

    /// What the bottleneck's queue holds when it is full, with what playout adds to a frame.
    fn full_queue(&self, place: Place) -> Duration {
        self.queue.0 / place.rate.0 + PolicyConfig::PLAYOUT
    }

    fn derive_of(&self, rules: &str, findings: &mut Findings) {
        let value = |findings: &Findings, metric: &str, place: Place| {
            findings.value(&format!("{metric}_{rules}_{}", place.name()))
        };
        let most = |findings: &Findings, metric: &str, among: &dyn Fn(Place) -> bool| {
            let places = self.places().filter(|place| among(*place));
            let values = places.map(|place| value(findings, metric, place));
            metrics::most(values)
        };
        let gap = most(findings, "longest_gap_ms", &|_| true);
        let fits = |place| self.fits(place, Duration::ZERO);
        let late = most(findings, "late_pct", &fits);
        let fitting: Vec<Place> = self.places().filter(|place| fits(*place)).collect();
        // A frame that was never shown is not late, but was not on time either.
        let on_time = |place: &&Place| {
            value(findings, "late_pct", **place) <= FEW_LATE_PCT
                && value(findings, "in_time_pct", **place) >= 100.0 - FEW_LATE_PCT
        };
        let on_time = fitting.iter().filter(on_time).count();
        let fits_full = |place| self.fits(place, self.full_queue(place));
        let late_full = most(findings, "late_pct", &fits_full);
        let suitable =
            |findings: &Findings, place| value(findings, "in_time_pct", place) >= self.suitable_pct;
        let places: Vec<Place> = self.places().collect();
        let count = places.iter().filter(|p| suitable(findings, **p)).count();
        let used: Vec<f64> = places
            .iter()
            .map(|place| value(findings, "utilisation_of_x", *place))
            .collect();
        findings.derive(format!("longest_gap_ms_{rules}_worst"), gap);
        findings.derive(format!("late_pct_{rules}_worst_that_fits"), late);
        findings.derive(
            format!("few_late_{rules}_pct_of_those_that_fit"),
            100.0 * on_time as f64 / fitting.len() as f64,
        );
        findings.derive(
            format!("late_pct_{rules}_worst_that_fits_a_full_queue"),
            late_full,
        );
        findings.derive(
            format!("suitable_pct_{rules}"),
            100.0 * count as f64 / places.len() as f64,
        );
        findings.derive(format!("utilisation_of_x_{rules}_mean"), mean(&used));
        for rtt in &self.rtts {
            let column = places.iter().filter(|place| place.rtt == *rtt);
            let rates = column.filter(|p| suitable(findings, **p)).map(|p| p.kbps());
            let least = metrics::least(rates);
            let ms = rtt.0.as_micros() as f64 / 1e3;
            let name = format!("least_suitable_kbps_{rules}_{ms}ms");
            findings.derive(name, least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;

    fn map(more: &str) -> Result<CallMap, toml::de::Error> {
        toml::from_str(&format!(
            r#"picture = [64, 48]
               fps = 10
               queue = "2kB"
               policies = ["evenkeel", "thesis"]
               measured = ["3s", "6s"]
               suitable_pct = 95.0
               {more}"#
        ))
    }

    #[test]
    fn a_map_without_rows_or_columns_is_refused() {
        for (axes, key) in [
            (
                r#"rtts = []
                rates = ["1Mb/s"]"#,
                "rtts",
            ),
            (
                r#"rtts = ["20ms"]
                rates = []"#,
                "rates",
            ),
        ] {
            let refused = map(axes).unwrap().verify();
            assert_eq!(refused.map_err(|wrong| wrong.key), Err(key));
        }
    }

    #[test]
    fn where_frames_are_never_shown_they_are_not_on_time() {
        let map = map(r#"rtts = ["20ms"]
                         rates = ["300kb/s", "400kb/s"]"#)
        .unwrap();
        let mut sample = Sample::default();
        for rules in Rules::ALL.map(Rules::name) {
            for (place, in_time) in map.places().zip([99.5, 60.0]) {
                for (metric, value) in [
                    ("in_time_pct", in_time),
                    ("late_pct", 0.5),
                    ("longest_gap_ms", 100.0),
                    ("utilisation_of_x", 1.0),
                ] {
                    sample.metric(format!("{metric}_{rules}_{}", place.name()), value);
                }
            }
        }
        let mut findings = Findings::join(&[vec![sample]]);
        map.derive(&mut findings);
        assert_eq!(
            findings.value("few_late_evenkeel_pct_of_those_that_fit"),
            50.0
        );
    }

    #[test]
    fn a_short_path_is_suitable_and_a_long_one_is_not() {
        let map = map(r#"rtts = ["20ms", "400ms"]
                         rates = ["300kb/s"]"#)
        .unwrap();
        let findings = trial::findings(&map);
        let value = |name: &str| findings.value(name);
        assert_eq!(value("least_suitable_kbps_evenkeel_20ms"), 300.0);
        assert!(value("least_suitable_kbps_evenkeel_400ms").is_nan());
        assert_eq!(value("suitable_pct_evenkeel"), 50.0);
        // Late, but never silent; the thesis's rules send nothing there.
        assert!(
            value("longest_gap_ms_evenkeel_worst") < 500.0,
            "{findings:?}"
        );
        assert_eq!(value("longest_gap_ms_thesis_worst"), 3_000.0);
        assert_eq!(value("few_late_evenkeel_pct_of_those_that_fit"), 100.0);
        // What does not fit does not count.
        assert!(
            value("late_pct_evenkeel_worst_that_fits") < 5.0,
            "{findings:?}"
        );
        let rows: Vec<_> = findings.group("in_time_pct_evenkeel").collect();
        assert_eq!((rows.len(), rows[0].points.len()), (1, 2));
    }
}
