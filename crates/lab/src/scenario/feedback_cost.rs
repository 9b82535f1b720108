//! The bytes of reports beside the bytes of data, in each format, by rate and round trip.
//!
//! One flow is alone on its bottleneck. The headers of all layers count.

use evenkeel_sim::{Body, End, FlowId, Observer, Packet, Traffic};
use serde::Deserialize;
use tfrc::time::Instant;

use crate::error::{Impossible, RunError, require};
use crate::findings::Sample;
use crate::job::Job;
use crate::network::{
    Bottleneck, Feedback, Member, Protocol, Queue, Run, Speaks, Stacks, Tcp, Tfrc,
};
use crate::scenario::contract::Scenario;
use crate::scenario::require::require_window;
use crate::units::{BitRate, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedbackCost {
    /// Of every data packet.
    packet: Size,
    /// Edition and t_RTO of the TFRC flows.
    #[serde(default)]
    tfrc: Tfrc,
    /// In which receivers report.
    formats: Vec<Feedback>,
    /// One cell for each format.
    case: Vec<Case>,
    /// From and to when bytes are counted.
    measured: [Time; 2],
}

/// A path, which holds a round trip of packets in its queue.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// In names of metrics.
    name: String,
    rate: BitRate,
    /// With an empty queue.
    rtt: Time,
}

impl Scenario for FeedbackCost {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require(!self.formats.is_empty(), "formats", "one or more")?;
        require(!self.case.is_empty(), "case", "one or more")?;
        for (index, case) in self.case.iter().enumerate() {
            let sound = require(!case.rtt.0.is_zero(), "rtt", "above 0");
            sound.map_err(|wrong| wrong.inside("case", index))?;
        }
        require_window("measured", self.measured)?;
        self.stacks().verify()
    }

    fn cells(&self) -> usize {
        self.case.len() * self.formats.len()
    }

    fn is_random(&self) -> bool {
        false
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = &self.case[job.cell / self.formats.len()];
        let format = self.formats[job.cell % self.formats.len()];
        let held = case.rtt.0.as_secs_f64() / (self.packet.0 / case.rate.0).as_secs_f64();
        let packets = held.ceil().max(LEAST_QUEUE) as u32;
        let bottleneck = Bottleneck::new(case.rate, Queue::DropTail { packets });
        let flow = Member {
            speaks: Speaks::Long(Protocol::Tfrc, format),
            stacks: self.stacks(),
            reverse: false,
            rtt: case.rtt.0,
            start: Instant::ZERO,
            stop: Instant::MAX,
        };
        let window = self.measured.map(|time| Instant::ZERO + time.0);
        let mut seen = FeedbackTally::new(window);
        let run = Run::new(&bottleneck, &[flow], window, job.seed)?;
        run.watch(window[1], job, &mut seen)?;
        let time = (window[1] - window[0]).as_secs_f64();
        let name = format!("{}_{}", format.name(), case.name);
        let mut sample = Sample::default();
        for (metric, value) in [
            (
                "overhead_pct",
                100.0 * seen.report_bytes as f64 / seen.sent as f64,
            ),
            ("kbps", seen.sent as f64 * 8.0 / 1e3 / time),
            (
                "report_bytes",
                seen.report_bytes as f64 / seen.reports as f64,
            ),
            ("interval_ms", 1e3 * time / seen.reports as f64),
        ] {
            sample.metric(format!("{metric}_{name}"), value);
        }
        let rtt = case.rtt.secs() * 1e3;
        let point = (
            case.rate.0.bits_per_sec() / 1e6,
            100.0 * seen.report_bytes as f64 / seen.sent as f64,
        );
        sample.curve(format!("overhead_{rtt}ms"), format.name(), [point]);
        Ok(sample)
    }
}

/// A shorter queue lets no burst pass.
const LEAST_QUEUE: f64 = 10.0;

impl FeedbackCost {
    fn stacks(&self) -> Stacks {
        Stacks {
            packet: self.packet,
            // None takes part.
            tcp_packet: self.packet,
            tcp: Tcp::default(),
            tfrc: Tfrc {
                session: true,
                ..self.tfrc
            },
        }
    }
}

/// What either end sent meanwhile.
struct FeedbackTally {
    window: [Instant; 2],
    /// Bytes of data.
    sent: u64,
    /// Bytes of reports, and how many they were.
    report_bytes: u64,
    reports: u64,
}

impl FeedbackTally {
    const fn new(window: [Instant; 2]) -> Self {
        Self {
            window,
            sent: 0,
            report_bytes: 0,
            reports: 0,
        }
    }
}

impl Observer<Traffic> for FeedbackTally {
    fn sent(&mut self, now: Instant, _flow: FlowId, end: End, packet: &Packet<Body>) {
        if !(self.window[0]..self.window[1]).contains(&now) {
            return;
        }
        match end {
            End::Sender => self.sent += packet.size.get(),
            End::Receiver => {
                self.report_bytes += packet.size.get();
                self.reports += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;

    #[test]
    fn a_report_of_p_is_56_bytes_a_round_trip() {
        let scenario: FeedbackCost = toml::from_str(
            r#"packet = "1000B"
               formats = ["tfrc"]
               case = [{ name = "a", rate = "1Mb/s", rtt = "100ms" }]
               measured = ["10s", "20s"]"#,
        )
        .unwrap();
        assert_eq!(scenario.verify(), Ok(()));
        let findings = trial::findings_of(&scenario, [0]);
        assert_eq!(findings.value("report_bytes_tfrc_a"), 56.0);
        let interval = findings.value("interval_ms_tfrc_a");
        assert!((100.0..220.0).contains(&interval), "{interval}");
    }
}
