//! The product's call and rate controllers of others in the same cells, with the same encoder and seeds.
//!
//! The cells are cases of [`Rmcat`] with one bottleneck, whose calls are driven by one controller after
//! the other. The call is measured as its peers are: by the frames that are complete at the receiver,
//! independent of playout. Controllers that are built apart, in the workspace `peers/`, run the same
//! cells there and leave their results in a file beside the experiment.

mod kept;
mod sample;
mod wire;

use std::cell::RefCell;
use std::path::Path;

use evenkeel_sim::{FrameLog, Nada, NadaConfig, Traffic, controlled_flow};
use serde::Deserialize;
use tfrc::time::Duration;

use self::kept::{KeptCell, KeptResults};
use self::wire::WireRecord;
use super::{CallEnds, CallSetup, Case, Rmcat, World};
use crate::comparison::PeerComparison;
use crate::error::{Impossible, RunError, impossible, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::scenario::contract::{ReadScenario, Scenario};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "PeersFile")]
pub struct Peers {
    rmcat: Rmcat,
    controllers: Vec<Controller>,
    /// What describes each case, in order: the key of a kept result.
    described: Vec<serde_json::Value>,
    by_delay: Vec<String>,
    kept: Vec<String>,
    results: Vec<KeptResults>,
}

/// As the parameters stand in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeersFile {
    /// The cells.
    rmcat: toml::Table,
    /// Which controllers run; all unless given.
    #[serde(default = "all_controllers")]
    controllers: Vec<Controller>,
    /// Cases of one call that are drawn over their one-way delay.
    #[serde(default)]
    by_delay: Vec<String>,
    /// Files beside the experiment, with the results of controllers that are built apart.
    #[serde(default)]
    kept: Vec<String>,
}

/// A controller that this program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Controller {
    /// The product's call.
    Ours,
    /// RFC 8698.
    Nada,
}

impl Controller {
    const ALL: [Self; 2] = [Self::Ours, Self::Nada];

    /// In names of metrics.
    const fn key(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Nada => "nada",
        }
    }

    /// For people.
    const fn label(self) -> &'static str {
        match self {
            Self::Ours => "Evenkeel",
            Self::Nada => "NADA (RFC 8698)",
        }
    }
}

fn all_controllers() -> Vec<Controller> {
    Controller::ALL.into()
}

/// The time for frames to arrive after the last capture; one that takes longer counts as never whole.
const DRAIN: Duration = Duration::from_secs(5);

impl TryFrom<PeersFile> for Peers {
    type Error = String;

    fn try_from(file: PeersFile) -> Result<Self, String> {
        let json = |table: &toml::Table| {
            serde_json::to_value(table).map_err(|error| format!("rmcat: {error}"))
        };
        let mut common = file.rmcat.clone();
        let cases = common.remove("case");
        let common = json(&common)?;
        let cases = cases.as_ref().and_then(toml::Value::as_array);
        let cases = cases
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_table);
        let described: Result<_, String> = cases
            .map(|case| Ok(serde_json::json!({ "common": common, "case": json(case)? })))
            .collect();
        let rmcat = file.rmcat.try_into();
        Ok(Self {
            controllers: file.controllers,
            rmcat: rmcat.map_err(|error| format!("rmcat: {}", error.message()))?,
            described: described?,
            by_delay: file.by_delay,
            kept: file.kept,
            results: Vec::new(),
        })
    }
}

impl Scenario for Peers {
    fn verify(&self) -> Result<(), Impossible> {
        self.rmcat.tfrc.verify_alone()?;
        require(!self.rmcat.case.is_empty(), "case", "one or more")?;
        require(!self.controllers.is_empty(), "controllers", "one or more")?;
        for (index, case) in self.rmcat.case.iter().enumerate() {
            verify(case).map_err(|wrong| wrong.inside("case", index))?;
        }
        let mut drawn = self.by_delay.iter();
        let known = drawn.all(|name| self.rmcat.case.iter().any(|case| case.name == *name));
        require(known, "by_delay", "names of cases")
    }

    fn load(&mut self, folder: &Path, _read: ReadScenario<'_>) -> Result<(), Impossible> {
        self.rmcat.load_recordings(folder)?;
        for file in &self.kept {
            let path = folder.join(file);
            let results = KeptResults::read(&path).map_err(|error| {
                let path = path.display();
                impossible("kept", format!("results of peers/: {path}: {error}"))
            })?;
            self.results.extend(results);
        }
        Ok(())
    }

    fn absent_recordings(&self) -> Vec<&str> {
        self.rmcat.absent_recordings()
    }

    fn cells(&self) -> usize {
        self.rmcat.case.len() * self.controllers.len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let controller = self.controllers[job.cell % self.controllers.len()];
        let case = job.cell / self.controllers.len();
        let ecn = self.rmcat.case[case].ecn;
        let call = |setup: CallSetup| match controller {
            Controller::Nada => nada_ends(setup),
            Controller::Ours => setup.product_ends(&self.rmcat.tfrc, ecn),
        };
        self.run_with(controller.key(), Job { cell: case, ..job }, &call)
    }

    fn comparison(&self) -> Option<PeerComparison> {
        let own = self.labels();
        let own = own.map(|(key, label)| (key.to_owned(), label.to_owned()));
        let kept = self.results.iter();
        let kept = kept.map(|results| (results.peer.clone(), results.label.clone()));
        let peers = own.chain(kept).collect();
        Some(sample::comparison(&self.rmcat.case, peers))
    }

    fn derive(&self, findings: &mut Findings) {
        for results in &self.results {
            let cells: Vec<&KeptCell> = results.of(&self.described).collect();
            findings.derive(format!("kept_cases_{}", results.peer), cells.len() as f64);
            for (name, estimate) in cells.iter().flat_map(|cell| &cell.metrics) {
                findings.derive(name.clone(), *estimate);
            }
        }
        let kept = self.results.iter();
        let kept = kept.map(|results| (results.peer.as_str(), results.label.as_str()));
        for (peer, label) in self.labels().chain(kept) {
            for case in self.drawn_by_delay() {
                sample::draw_by_delay(findings, case, peer, label);
            }
        }
    }
}

impl Peers {
    /// How many cases there are.
    pub fn cases(&self) -> usize {
        self.rmcat.case.len()
    }

    /// Runs the case `job.cell` with calls whose ends `call` makes. Names of metrics end in `peer`.
    pub fn run_with(
        &self,
        peer: &str,
        job: Job<'_>,
        call: &CallEnds<'_>,
    ) -> Result<Sample, RunError> {
        let case = self.rmcat.case[job.cell].drawn(job.seed)?;
        let logs = RefCell::new(Vec::new());
        let logged = |setup: CallSetup| {
            let rate = setup.pictures.format().frame_rate;
            logs.borrow_mut().push(FrameLog::new(setup.shooting, rate));
            call(setup)
        };
        let mut world = World::new(&case, &self.rmcat, job.seed, &logged)?;
        world.length += DRAIN;
        let record = WireRecord::new(&case, world.length, logs.take());
        let seen = world.run(job, record)?;
        Ok(sample::of(&case, peer, &seen))
    }

    /// The file of results of a controller that is built apart, of the samples of every case.
    pub fn keep(&self, peer: &str, label: &str, cases: &[Vec<Sample>]) -> String {
        KeptResults::new(peer, label, &self.described, cases).text()
    }

    /// Keys and labels of the controllers.
    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let controllers = self.controllers.iter();
        controllers.map(|controller| (controller.key(), controller.label()))
    }

    fn drawn_by_delay(&self) -> impl Iterator<Item = &Case> {
        let named = |name: &String| self.rmcat.case.iter().find(|case| case.name == *name);
        self.by_delay.iter().filter_map(named)
    }
}

fn verify(case: &Case) -> Result<(), Impossible> {
    case.verify()?;
    require(case.bottleneck.len() == 1, "bottleneck", "a single one")?;
    let calls = case.flow.iter().any(|flow| flow.kind.is_call());
    require(calls, "flow", "a call or more")?;
    let mut calls = case.flow.iter().filter(|flow| flow.kind.is_call());
    let forward = calls.all(|flow| !flow.backward);
    require(forward, "backward", "left out of calls")
}

fn nada_ends(setup: CallSetup) -> [Traffic; 2] {
    let config = NadaConfig {
        min: Nada::MIN_RATE,
        max: setup.shooting.most,
        frame_rate: setup.pictures.format().frame_rate,
    };
    let controller = Nada::new(setup.shooting.start, config);
    controlled_flow(setup.pictures, setup.shooting, Box::new(controller))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;
    use crate::units::Time;

    fn peers(flows: &str) -> Result<Peers, toml::de::Error> {
        toml::from_str(&format!(
            r#"[rmcat]
               tcp = {{ variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = true }}
               jitter = "0s"
               [[rmcat.case]]
               name = "a"
               queue = "300ms"
               bottleneck = [[["0s", "1Mb/s"]]]
               flow = [{flows}]"#
        ))
    }

    const CALL: &str =
        r#"{ name = "S1", kind = "call-sizes", stop = "30s", delay = "20ms", max_rate = "2Mb/s" }"#;

    #[test]
    fn both_controllers_are_measured_alike() {
        let peers = peers(CALL).unwrap();
        let findings = trial::findings_of(&peers, [0, 1]);
        for peer in Controller::ALL.map(Controller::key) {
            let value = |metric: &str| findings.value(&format!("{metric}_{peer}"));
            let used = value("use_pct_1_a");
            assert!((80.0..100.5).contains(&used), "{peer}: {used} %");
            assert!(value("in_time_pct_1_a") > 99.0, "{findings:?}");
            // 3 ms of coding, 20 ms of propagation and a packet of 1,228 bytes at the least.
            let delay = value("delay_p50_ms_1_a");
            assert!((32.0..150.0).contains(&delay), "{peer}: {delay} ms");
            assert_eq!(value("lost_pct_a"), 0.0, "{peer}");
        }
    }

    #[test]
    fn detour_is_a_period_of_longer_frame_delays() {
        let mut peers = peers(CALL).unwrap();
        let seconds = |at| Time(Duration::from_secs(at));
        let added = Time(Duration::from_millis(40));
        peers.rmcat.case[0].detour = vec![(seconds(10), added), (seconds(20), seconds(0))];
        peers.controllers = vec![Controller::Ours];
        assert_eq!((peers.verify(), peers.cells()), (Ok(()), 1));
        let findings = trial::findings_of(&peers, [0]);
        let delay = |period| findings.value(&format!("delay_p50_ms_{period}_a_ours"));
        let [before, during, after] = [1, 2, 3].map(delay);
        assert!((25.0..50.0).contains(&(during - before)), "{findings:?}");
        assert!((after - before).abs() < 15.0, "{findings:?}");
    }

    #[test]
    fn cases_without_one_shared_link_are_refused() {
        let refused = |flows: &str| peers(flows).unwrap().verify().map_err(|error| error.key);
        assert_eq!(refused(CALL), Ok(()));
        let backward = CALL.replace("stop", "backward = true, stop");
        assert_eq!(refused(&backward), Err("backward"));
        let tcp = r#"{ name = "T", kind = "tcp", stop = "9s", delay = "20ms" }"#;
        assert_eq!(refused(tcp), Err("flow"));
        let unknown = peers(&CALL.replace("max_rate", "most")).unwrap_err();
        assert!(unknown.message().contains("most"), "{unknown}");
    }
}
