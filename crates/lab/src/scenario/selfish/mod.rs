//! Receivers that lie: what each gains in each format, against a sender that believes what could be true of
//! some receiver and against one that checks it. The path loses and marks whatever the rate is, so that
//! what an honest receiver gets is the same in all runs.

mod bend;
mod liar;
mod lie;
mod slow_clock;

use std::net::SocketAddr;

use evenkeel_link::{LinkConfig, Loss};
use evenkeel_rtp::session::{Config, SendConfig};
use evenkeel_sim::{
    Access, Agent, Body, End, FeedbackMode, LOWER_LAYERS, Outcome, Packet, SessionEnd, Shape,
    Simulation,
};
use serde::Deserialize;
use tfrc::SenderConfig;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::gain_pct;
use crate::network::{Tfrc, reached, require_packet_from};
use crate::scenario::contract::Scenario;
use crate::units::{BitRate, Share, Size, Time};
use liar::Liar;
use lie::Lie;

/// The first of the dynamic ones (RFC 3551 §6).
const PAYLOAD_TYPE: u8 = 96;

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selfish {
    /// The most that the path carries.
    rate: BitRate,
    /// Round-trip time.
    rtt: Time,
    /// Of every packet, headers of all layers included.
    packet: Size,
    /// The share of packets that the path loses; half of them where it marks as well.
    loss: Share,
    /// Edition and t_RTO.
    #[serde(default)]
    tfrc: Tfrc,
    /// The receivers.
    lies: Vec<Lie>,
    /// When the measurement begins and ends.
    measured: [Time; 2],
}

/// One run.
#[derive(Clone, Copy, Debug)]
struct Cell {
    lie: Lie,
    feedback: FeedbackMode,
    /// Does the path mark?
    marks: bool,
    /// Does the sender check what it is told?
    checked: bool,
}

impl Cell {
    fn metric(self, what: &str) -> String {
        let Self {
            lie,
            feedback,
            marks,
            checked,
        } = self;
        let path = if marks && lie == Lie::Honest {
            "_marked"
        } else {
            ""
        };
        let sender = if checked { "checked" } else { "believed" };
        format!("{what}_{}{path}_{}_{sender}", lie.name(), feedback.name())
    }
}

impl Selfish {
    /// Honest receivers first.
    fn grid(&self) -> Vec<Cell> {
        let honest = [(Lie::Honest, false), (Lie::Honest, true)];
        let lies = self.lies.iter().map(|lie| (*lie, *lie == Lie::EraseMarks));
        let mut cells = Vec::new();
        for (lie, marks) in honest.into_iter().chain(lies) {
            for feedback in FeedbackMode::ALL {
                let reads_marks = Lie::EraseMarks.fits(feedback);
                if lie.fits(feedback) && (reads_marks || !marks) {
                    cells.extend([false, true].map(|checked| Cell {
                        lie,
                        feedback,
                        marks,
                        checked,
                    }));
                }
            }
        }
        cells
    }
}

impl Scenario for Selfish {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require(!self.rtt.0.is_zero(), "rtt", "above 0")?;
        require(self.rate.0 > Rate::ZERO, "rate", "above 0")?;
        require_packet_from(Bytes::new(200), self.packet)?;
        let [begin, end] = self.measured;
        require(begin < end, "measured", "a beginning and a later end")
    }

    fn cells(&self) -> usize {
        self.grid().len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let cell = self.grid()[job.cell];
        let loss = if cell.marks {
            self.loss.0 / 2.0
        } else {
            self.loss.0
        };
        let there = LinkConfig {
            rate: self.rate.0,
            delay: self.rtt.0 / 2,
            loss: Loss::Bernoulli(loss),
            ..LinkConfig::default()
        };
        let back = LinkConfig {
            loss: Loss::None,
            ..there
        };
        let shape = Shape::dumbbell([there, back], [Access::even(LinkConfig::default())])
            .map_err(|error| RunError::Failed(error.to_string()))?;
        let mut sim = Simulation::new(&shape.topology, job.seed);
        let place = &shape.places[0];
        let peer = SocketAddr::from(([192, 0, 2, 2], 5004));
        let sender = SessionEnd::new(self.sender(cell, peer, job.seed), peer, Instant::ZERO);
        let marks = if cell.marks { loss } else { 0.0 };
        let receiver = Liar::new(
            cell.lie,
            cell.feedback,
            self.tfrc.edition,
            self.rtt.0,
            marks,
            job.seed,
        );
        let flow = sim.add_flow(
            &place.forward,
            &place.reverse,
            Party::Sender(Box::new(sender)),
            Party::Receiver(Box::new(receiver)),
        );
        let mut sent = [0; 2];
        for (sent, until) in sent.iter_mut().zip(self.measured) {
            let until = Instant::ZERO + until.0;
            let outcome = sim.run_until(until);
            // A sender that a liar silences ends.
            let silenced =
                cell.lie != Lie::Honest && matches!(outcome, Outcome::NothingLeft { .. });
            if !silenced {
                reached(outcome, until)?;
            }
            job.go_on()?;
            if let Party::Sender(end) = sim.agent(flow, End::Sender) {
                *sent = end.session().statistics().bytes_sent;
            }
        }
        let [begin, end] = self.measured.map(Time::secs);
        let mut sample = Sample::default();
        let rate = (sent[1] - sent[0]) as f64 * 8.0 / (end - begin);
        sample.metric(cell.metric("rate_bps"), rate);
        Ok(sample)
    }

    fn derive(&self, findings: &mut Findings) {
        let mut worst = [f64::NEG_INFINITY; 2];
        for cell in self
            .grid()
            .into_iter()
            .filter(|cell| cell.lie != Lie::Honest)
        {
            let honest = Cell {
                lie: Lie::Honest,
                ..cell
            };
            let [rate, of_honest] =
                [cell, honest].map(|cell| findings.value(&cell.metric("rate_bps")));
            let gain = gain_pct(rate, of_honest);
            findings.derive(cell.metric("gain_pct"), gain);
            let number = self.lies.iter().position(|lie| *lie == cell.lie);
            let place = number.unwrap_or_default() + 1;
            let sender = if cell.checked { "checked" } else { "believed" };
            let curve = format!("{}, {sender}", cell.feedback.name());
            findings.draw("gain", &curve, place as f64, gain);
            if cell.checked {
                let place = usize::from(cell.feedback == FeedbackMode::Tfrc);
                worst[place] = worst[place].max(gain);
            }
        }
        let [sender_based, receiver_based] = worst;
        findings.derive("gain_pct", sender_based);
        findings.derive("gain_pct_receiver_based", receiver_based);
    }
}

impl Selfish {
    fn sender(&self, cell: Cell, peer: SocketAddr, seed: u64) -> Config {
        let send = SendConfig {
            packet_size: self.packet.0 - LOWER_LAYERS,
            feedback: cell.feedback,
            verify: cell.checked,
            leave_out_sequence_numbers: true,
            tfrc: self.tfrc.follow(SenderConfig::default()),
            ..SendConfig::new(PAYLOAD_TYPE)
        };
        Config {
            peer: Some(peer),
            send: Some(send),
            ecn: cell.marks,
            ..Config::new("sender@sim", seed)
        }
    }
}

/// The ends of the flow.
#[derive(Debug)]
enum Party {
    Sender(Box<SessionEnd>),
    Receiver(Box<Liar>),
}

impl Agent for Party {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        match self {
            Self::Sender(end) => end.handle_packet(now, packet),
            Self::Receiver(end) => end.handle_packet(now, packet),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Sender(end) => end.handle_timeout(now),
            Self::Receiver(end) => end.handle_timeout(now),
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        match self {
            Self::Sender(end) => end.poll_transmit(now),
            Self::Receiver(end) => end.poll_transmit(now),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Sender(end) => end.poll_timeout(),
            Self::Receiver(end) => end.poll_timeout(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;

    /// Over a path that loses everything every sender ends, as it hears of nobody.
    #[test]
    fn an_honest_flow_that_ends_early_fails_the_run_and_one_that_a_liar_silences_does_not() {
        let scenario: Selfish = toml::from_str(
            r#"rate = "1Mb/s"
               rtt = "100ms"
               packet = "1000B"
               loss = "100%"
               lies = ["hide-losses"]
               measured = ["1s", "200s"]"#,
        )
        .unwrap();
        let honest = |cell: &Cell| cell.lie == Lie::Honest;
        let cells = scenario.grid();
        assert!(cells.iter().any(honest) && !cells.iter().all(honest));
        for (cell, what) in cells.iter().enumerate() {
            match scenario.run(trial::job(cell)) {
                Ok(_) => assert!(!honest(what), "{what:?}"),
                Err(RunError::Failed(how)) => {
                    assert!(honest(what) && how.contains("nothing is left"), "{how}");
                }
                Err(RunError::Interrupted) => panic!("nobody interrupts"),
            }
        }
    }
}
