//! Many long flows of one protocol: what they make of the queue. (`sigcomm` §4.2 and appendix B.)

use evenkeel_link::Random;
use serde::Deserialize;
use tfrc::time::Instant;
use tfrc::units::duration_from_secs;

use super::{
    Impossible, Job, RunError, Scenario, require, require_jitter, require_recordable,
    require_window,
};
use crate::findings::{Findings, Sample};
use crate::metrics::{cov, drop_rate, mean, spread, utilisation};
use crate::network::{
    Bottleneck, Feedback, Member, Protocol, Queue, Speaks, Stacks, Stage, Tcp, Tfrc,
};
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
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    flows: usize,
    rate: BitRate,
    queue: Queue,
}

impl Case {
    fn verify(&self, packet: Size) -> Result<(), Impossible> {
        self.queue.verify(packet)?;
        let flows = (1..=5_000).contains(&self.flows);
        require(flows, "flows", "from 1 to 5000")
    }
}

const PROTOCOLS: [(Protocol, &str); 2] = [(Protocol::Tcp, "tcp"), (Protocol::Tfrc, "tfrc")];

impl Scenario for QueueDynamics {
    fn verify(&self) -> Result<(), Impossible> {
        require(!self.case.is_empty(), "case", "one or more")?;
        for (index, case) in self.case.iter().enumerate() {
            let sound = case.verify(self.packet);
            sound.map_err(|wrong| wrong.inside("case", index))?;
        }
        let rtt = self.rtt[0] <= self.rtt[1] && !self.rtt[0].0.is_zero();
        require(rtt, "rtt", "[least, most], above 0")?;
        self.stacks().verify()?;
        require_jitter(self.jitter)?;
        require_window("measured", self.measured)?;
        for (index, case) in self.case.iter().enumerate() {
            // With the short flows of both ways.
            let sound = require_recordable("measured", self.measured, case.flows + 2);
            sound.map_err(|wrong| wrong.inside("case", index))?;
        }
        Ok(())
    }

    fn cells(&self) -> usize {
        self.case.len() * PROTOCOLS.len()
    }

    fn is_random(&self) -> bool {
        true
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = self.case[job.cell / PROTOCOLS.len()];
        let (_, name) = PROTOCOLS[job.cell % PROTOCOLS.len()];
        let measured = self.stage(job.cell, job.seed).run(job)?;

        let size = self.packet.0.as_f64();
        let lengths = measured.queue.iter();
        let lengths: Vec<(f64, f64)> = lengths.map(|(t, b)| (*t, *b as f64 / size)).collect();
        let values: Vec<f64> = lengths.iter().map(|(_, length)| *length).collect();
        let time = self.measured[1].0 - self.measured[0].0;
        let suffix = format!("{name}_{}_{}", case.queue.key(), case.flows);
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
                let of = |name: &str| {
                    let (key, flows) = (case.queue.key(), case.flows);
                    findings.value(&format!("{metric}_{name}_{key}_{flows}"))
                };
                let more = of("tfrc") - of("tcp");
                let name = format!("{metric}_tfrc_less_tcp_{}_{}", case.queue.key(), case.flows);
                findings.derive(name, more);
            }
        }
    }
}

impl QueueDynamics {
    pub(super) fn stage(&self, cell: usize, seed: u64) -> Stage {
        let case = self.case[cell / PROTOCOLS.len()];
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

    fn members(&self, case: Case, protocol: Protocol, seed: u64) -> Vec<Member> {
        let [least, most] = self.rtt.map(Time::secs);
        let late = self.starts_over.secs() / case.flows as f64;
        let long = (0..case.flows).map(|index| {
            let mut random = Random::new(seed, 1 + index as u64);
            let rtt = least + (most - least) * random.unit();
            Member {
                speaks: Speaks::Long(protocol, self.feedback),
                stacks: self.stacks(),
                reverse: false,
                rtt: duration_from_secs(rtt),
                start: Instant::ZERO + duration_from_secs(late * (index as f64 + random.unit())),
                stop: Instant::MAX,
            }
        });
        let short = [(self.background, false), (self.reverse, true)];
        let short = short.into_iter().filter(|(share, _)| share.0 > 0.0);
        let short = short.map(|(share, reverse)| Member {
            speaks: Speaks::Web(case.rate.0 * share.0),
            stacks: self.stacks(),
            reverse,
            rtt: self.rtt[0].0,
            start: Instant::ZERO,
            stop: Instant::MAX,
        });
        long.chain(short).collect()
    }
}
