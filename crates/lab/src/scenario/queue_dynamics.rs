//! Many long flows of one protocol: what they make of the queue. (`sigcomm` §4.2 and appendix B.)

use evenkeel_link::Random;
use serde::Deserialize;
use tfrc::time::Instant;
use tfrc::units::duration_from_secs;

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{cov, drop_rate, mean, spread, utilisation};
use crate::network::{
    Bottleneck, Feedback, Member, Protocol, Queue, Speaks, Stacks, Stage, Tcp, Tfrc,
};
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_jitter, require_recordable, require_window};
use crate::units::{BitRate, Share, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueDynamics {
    /// Of every data packet, on the wire.
    packet: Size,
    /// Two cells each: TCP and TFRC.
    case: Vec<Case>,
    /// Round-trip times with empty queues: each flow's is drawn evenly from between these.
    rtt: [Time; 2],
    /// Starts: spread evenly over this time.
    starts_over: Time,
    /// Short TCP connections beside them, of the bottleneck's rate.
    background: Share,
    /// The same against the data.
    reverse: Share,
    /// TCP flows, short and long.
    tcp: Tcp,
    /// TFRC flows.
    #[serde(default)]
    tfrc: Tfrc,
    /// How far senders are late, in packet times of the bottleneck.
    jitter: f64,
    /// What receivers of TFRC report; p and X_recv unless given.
    #[serde(default)]
    feedback: Feedback,
    /// From and to when it is measured.
    measured: [Time; 2],
}

/// A bottleneck and its long flows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Ends the names of its metrics, to tell it from another with the same flows and kind of queue.
    name: Option<String>,
    flows: usize,
    rate: BitRate,
    queue: Queue,
    /// When each flow starts, in place of evenly over the scenario's time.
    starts: Option<Vec<Time>>,
    /// Long TCP flows against the data, in place of the scenario's short ones.
    against: Option<Against>,
    /// The TFRC flows, in place of the scenario's.
    tfrc: Option<Tfrc>,
}

/// TCP flows against the data: what they queue holds up acknowledgements and reports.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Against {
    /// They start a second apart, the first at once.
    flows: usize,
    /// Their receivers' windows in packets.
    window: u32,
}

impl Against {
    fn starts(self) -> impl Iterator<Item = Instant> {
        (0..self.flows as u64).map(Instant::from_secs)
    }

    fn verify(self) -> Result<(), Impossible> {
        let flows = (1..=100).contains(&self.flows);
        require(flows, "against", "flows from 1 to 100")?;
        require(self.window > 0, "against", "a window of 1 packet or more")
    }
}

impl Case {
    fn verify(&self, packet: Size) -> Result<(), Impossible> {
        self.queue.verify(packet)?;
        self.against.map_or(Ok(()), Against::verify)?;
        self.tfrc.map_or(Ok(()), |tfrc| tfrc.verify())?;
        let flows = (1..=5_000).contains(&self.flows);
        require(flows, "flows", "from 1 to 5000")?;
        let each = |starts: &Vec<Time>| starts.len() == self.flows;
        let starts = self.starts.as_ref().is_none_or(each);
        require(starts, "starts", "as many as flows")
    }

    /// Refuses flows that would never send.
    fn verify_starts(&self, end: Time) -> Result<(), Impossible> {
        let mut starts = self.starts.iter().flatten();
        let sound = starts.all(|start| *start < end);
        require(sound, "starts", "each before the end of measured")?;
        let last = self.against.and_then(|against| against.starts().last());
        let sound = last.is_none_or(|last| last < Instant::ZERO + end.0);
        let wanted = "so few flows that all start before the end of measured: one a second";
        require(sound, "against", wanted)
    }

    /// What the metrics of one of its cells end in.
    fn suffix(&self, protocol: &str) -> String {
        let known = format!("{protocol}_{}_{}", self.queue.key(), self.flows);
        match &self.name {
            Some(name) => format!("{known}_{name}"),
            None => known,
        }
    }
}

const PROTOCOLS: [(Protocol, &str); 2] = [(Protocol::Tcp, "tcp"), (Protocol::Tfrc, "tfrc")];

impl Scenario for QueueDynamics {
    fn verify(&self) -> Result<(), Impossible> {
        self.stacks().verify()?;
        require(!self.case.is_empty(), "case", "one or more")?;
        for (index, case) in self.case.iter().enumerate() {
            let sound = case.verify(self.packet).and_then(|()| {
                let mut before = self.case[..index].iter();
                let named = before.all(|other| other.suffix("") != case.suffix(""));
                require(
                    named,
                    "name",
                    "another in each case with as many flows and this kind of queue",
                )
            });
            sound.map_err(|wrong| wrong.inside("case", index))?;
        }
        let rtt = self.rtt[0] <= self.rtt[1] && !self.rtt[0].0.is_zero();
        require(rtt, "rtt", "[least, most], above 0")?;
        require_jitter(self.jitter)?;
        require_window("measured", self.measured)?;
        for (index, case) in self.case.iter().enumerate() {
            // With the short flows of both ways.
            let against = case.against.map_or(1, |against| against.flows);
            let sound = require_recordable("measured", self.measured, case.flows + 1 + against)
                .and_then(|()| case.verify_starts(self.measured[1]));
            sound.map_err(|wrong| wrong.inside("case", index))?;
        }
        let starts = self.starts_over <= self.measured[1];
        require(starts, "starts_over", "not longer than the end of measured")
    }

    fn cells(&self) -> usize {
        self.case.len() * PROTOCOLS.len()
    }

    fn comparable_stage(&self, cell: usize, seed: u64) -> Option<Stage> {
        Some(self.stage(cell, seed))
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = &self.case[job.cell / PROTOCOLS.len()];
        let (_, name) = PROTOCOLS[job.cell % PROTOCOLS.len()];
        let measured = self.stage(job.cell, job.seed).run(job)?;

        let size = self.packet.0.as_f64();
        let lengths = measured.queue.iter();
        let lengths: Vec<(f64, f64)> = lengths.map(|(t, b)| (*t, *b as f64 / size)).collect();
        let values: Vec<f64> = lengths.iter().map(|(_, length)| *length).collect();
        let time = self.measured[1].0 - self.measured[0].0;
        let suffix = case.suffix(name);
        let mut sample = Sample::default();
        for (metric, value) in [
            (
                "utilisation",
                utilisation(measured.carried, case.rate.0, time),
            ),
            ("drop_rate", drop_rate(measured.dropped, measured.arrived)),
            ("queue_mean_pkts", mean(&values)),
            ("queue_amplitude", spread(&values)),
            ("queue_cov", cov(&values)),
        ] {
            sample.metric(format!("{metric}_{suffix}"), value);
        }
        // One run is drawn: a mean over seeds would hide the oscillation.
        if job.seed == 1 {
            sample.curve(format!("queue_{suffix}"), name.to_uppercase(), lengths);
        }
        Ok(sample)
    }

    /// What TFRC uses and drops more than TCP.
    fn derive(&self, findings: &mut Findings) {
        for case in &self.case {
            for metric in ["utilisation", "drop_rate"] {
                let of = |name| findings.value(&format!("{metric}_{}", case.suffix(name)));
                let more = of("tfrc") - of("tcp");
                let name = format!("{metric}_{}", case.suffix("tfrc_less_tcp"));
                findings.derive(name, more);
            }
        }
    }
}

impl QueueDynamics {
    fn stage(&self, cell: usize, seed: u64) -> Stage {
        let case = &self.case[cell / PROTOCOLS.len()];
        let (protocol, _) = PROTOCOLS[cell % PROTOCOLS.len()];
        let bottleneck = Bottleneck {
            jitter: self.jitter,
            ..Bottleneck::new(case.rate, case.queue)
        };
        let measured = self.measured.map(|time| Instant::ZERO + time.0);
        Stage::new(bottleneck, self.members(case, protocol, seed), measured)
    }

    fn stacks(&self) -> Stacks {
        Stacks {
            packet: self.packet,
            tcp_packet: self.packet,
            tcp: self.tcp,
            tfrc: self.tfrc,
        }
    }

    fn members(&self, case: &Case, protocol: Protocol, seed: u64) -> Vec<Member> {
        let [least, most] = self.rtt.map(Time::secs);
        let late = self.starts_over.secs() / case.flows as f64;
        let long = (0..case.flows).map(|index| {
            let mut random = Random::new(seed, 1 + index as u64);
            let rtt = least + (most - least) * random.unit();
            let start = match &case.starts {
                Some(starts) => starts[index].0,
                None => duration_from_secs(late * (index as f64 + random.unit())),
            };
            Member {
                speaks: Speaks::Long(protocol, self.feedback),
                stacks: Stacks {
                    tfrc: case.tfrc.unwrap_or(self.tfrc),
                    ..self.stacks()
                },
                reverse: false,
                rtt: duration_from_secs(rtt),
                start: Instant::ZERO + start,
                stop: Instant::MAX,
            }
        });
        let back = case.against.into_iter().flat_map(Against::starts);
        let back = back.map(|start| Member {
            speaks: Speaks::Long(Protocol::Tcp, self.feedback),
            stacks: Stacks {
                tcp: Tcp {
                    receive_window: case.against.map(|against| against.window),
                    ..self.tcp
                },
                ..self.stacks()
            },
            reverse: true,
            rtt: self.rtt[0].0,
            start,
            stop: Instant::MAX,
        });
        let reverse = case.against.map_or(self.reverse, |_| Share(0.0));
        let short = [(self.background, false), (reverse, true)];
        let short = short.into_iter().filter(|(share, _)| share.0 > 0.0);
        let short = short.map(|(share, reverse)| Member {
            speaks: Speaks::Web(case.rate.0 * share.0),
            stacks: self.stacks(),
            reverse,
            rtt: self.rtt[0].0,
            start: Instant::ZERO,
            stop: Instant::MAX,
        });
        long.chain(short).chain(back).collect()
    }
}

#[cfg(test)]
mod tests {
    use tfrc::time::Duration;

    use super::*;

    /// One bottleneck with two flows and what is given for it.
    fn scenario(case: &str) -> QueueDynamics {
        let text = format!(
            r#"packet = "1000B"
               rtt = ["40ms", "50ms"]
               starts_over = "20s"
               background = "20%"
               reverse = "2%"
               jitter = 1.0
               measured = ["0s", "30s"]
               tcp = {{ variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = false }}
               case = [{{ flows = 2, rate = "1.5Mb/s", queue = {{ drop-tail = {{ packets = 30 }} }}{case} }}]"#
        );
        toml::from_str(&text).unwrap()
    }

    fn key(case: &str) -> &'static str {
        scenario(case).verify().unwrap_err().key
    }

    #[test]
    fn flows_against_the_data_take_the_place_of_short_ones_and_start_a_second_apart() {
        let scenario = scenario(", against = { flows = 2, window = 8 }");
        let members = scenario.stage(0, 1).members;
        let against: Vec<&Member> = members.iter().filter(|member| member.reverse).collect();
        let starts: Vec<Instant> = against.iter().map(|member| member.start).collect();
        assert_eq!(starts, [Instant::ZERO, Instant::from_secs(1)]);
        for member in against {
            assert!(matches!(member.speaks, Speaks::Long(Protocol::Tcp, _)));
            assert_eq!(member.stacks.tcp.receive_window, Some(8));
        }
        let along = members.iter().filter(|member| !member.reverse);
        assert!(
            along
                .map(|m| m.stacks.tcp.receive_window)
                .all(|w| w.is_none())
        );
    }

    #[test]
    fn a_case_says_when_its_flows_start_and_how_its_tfrc_behaves() {
        let scenario = scenario(r#", starts = ["0s", "4100ms"], tfrc = { spacing = false }"#);
        let members = scenario.stage(1, 1).members;
        let long = members
            .iter()
            .filter(|m| matches!(m.speaks, Speaks::Long(..)));
        let long: Vec<(Instant, bool)> = long.map(|m| (m.start, m.stacks.tfrc.spacing)).collect();
        let later = Instant::ZERO + Duration::from_millis(4_100);
        assert_eq!(long, [(Instant::ZERO, false), (later, false)]);
    }

    #[test]
    fn the_name_of_a_case_ends_the_names_of_its_metrics() {
        assert_eq!(scenario("").case[0].suffix("tcp"), "tcp_droptail_2");
        let named = scenario(r#", name = "scripts""#);
        assert_eq!(named.case[0].suffix("tcp"), "tcp_droptail_2_scripts");
    }

    #[test]
    fn cases_whose_metrics_would_have_one_name_are_refused() {
        let twice = |names: [&str; 2]| {
            let mut scenario = scenario("");
            let cases = names.map(|name| Case {
                name: (!name.is_empty()).then(|| name.to_owned()),
                ..scenario.case[0].clone()
            });
            scenario.case = cases.to_vec();
            scenario.verify().map_err(|wrong| (wrong.key, wrong.inside))
        };
        assert_eq!(twice(["", "scripts"]), Ok(()));
        for same in [["", ""], ["scripts", "scripts"]] {
            assert_eq!(twice(same), Err(("name", Some(("case", 1)))));
        }
    }

    #[test]
    fn a_case_with_flows_that_cannot_be_is_refused() {
        assert_eq!(key(", against = { flows = 0, window = 8 }"), "against");
        assert_eq!(key(", against = { flows = 1, window = 0 }"), "against");
        assert_eq!(key(r#", starts = ["0s"]"#), "starts");
    }

    #[test]
    fn flows_that_would_start_only_when_the_run_has_ended_are_refused() {
        let verified = |case: &str| scenario(case).verify().map_err(|wrong| wrong.key);
        assert_eq!(verified(r#", starts = ["0s", "29999ms"]"#), Ok(()));
        assert_eq!(key(r#", starts = ["0s", "30s"]"#), "starts");
        assert_eq!(verified(", against = { flows = 30, window = 8 }"), Ok(()));
        assert_eq!(key(", against = { flows = 31, window = 8 }"), "against");
        let late = scenario("");
        let starts_over = Time(Duration::from_millis(30_001));
        let late = QueueDynamics {
            starts_over,
            ..late
        };
        assert_eq!(late.verify().unwrap_err().key, "starts_over");
    }
}
