//! A simulation of a bottleneck before it runs, as a value: whoever compares changes a part of it.

use evenkeel_link::{Loss, Random};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Rate, duration_from_secs};

use super::bottleneck::Bottleneck;
use super::flows::{Member, Speaks};
use super::protocol::Protocol;
use super::queue::Queue;
use super::record::Measured;
use super::run::Run;
use super::stacks::Stacks;
use super::tcp::Tcp;
use super::tfrc_rules::{Feedback, Tfrc};
use super::udp::Udp;
use crate::error::RunError;
use crate::job::Job;
use crate::units::{BitRate, Size};

/// What is built, what becomes of it, and when it is looked at.
#[derive(Clone, Debug)]
pub struct Stage {
    pub(crate) bottleneck: Bottleneck,
    pub(crate) members: Vec<Member>,
    /// What crosses the bottleneck and nothing else, from when on, and what it draws from.
    pub(crate) background: Vec<(Udp, Instant, Random)>,
    /// Another rate of the bottleneck from an instant on, before what is measured.
    pub(crate) change: Option<(Instant, Rate)>,
    /// What the bottleneck loses along the data from an instant on, in their order. What is measured of the
    /// bottleneck itself, not of flows, begins with the last.
    pub(crate) losses: Vec<(Instant, Loss)>,
    /// From and to when rates are recorded; the run ends then.
    pub(crate) shown: [Instant; 2],
    /// From and to when the bottleneck is measured.
    pub(crate) measured: [Instant; 2],
}

impl Stage {
    /// Flows on a bottleneck, and when they are measured.
    pub(crate) fn new(
        bottleneck: Bottleneck,
        members: Vec<Member>,
        measured: [Instant; 2],
    ) -> Self {
        Self {
            bottleneck,
            members,
            background: Vec::new(),
            change: None,
            losses: Vec::new(),
            shown: measured,
            measured,
        }
    }

    /// One flow of TFRC on a link that nothing but these losses limits. It starts in the first second, so that
    /// each seed loses its packets at other times.
    pub(crate) fn alone(
        rtt: Duration,
        packet: Size,
        tfrc: Tfrc,
        losses: Vec<(Instant, Loss)>,
        measured: [Instant; 2],
        seed: u64,
    ) -> Self {
        let member = Member {
            speaks: Speaks::Long(Protocol::Tfrc, Feedback::Tfrc),
            stacks: Stacks {
                packet,
                tcp_packet: packet,
                tcp: Tcp::default(),
                tfrc,
            },
            reverse: false,
            rtt,
            start: Instant::ZERO + duration_from_secs(Random::new(seed, 1).unit()),
            stop: Instant::MAX,
        };
        let bottleneck = Bottleneck::new(BitRate(NO_LIMIT), Queue::DropTail { packets: 10_000 });
        Self {
            losses,
            ..Self::new(bottleneck, vec![member], measured)
        }
    }

    /// Runs it to its end.
    pub(crate) fn run(self, job: Job<'_>) -> Result<Measured, RunError> {
        let mut run = Run::new(&self.bottleneck, &self.members, self.shown, job.seed)?;
        for (source, start, random) in self.background {
            run.add_background(source, start, random)?;
        }
        if let Some((at, rate)) = self.change {
            run.change_rate(at, rate, job)?;
        }
        for (at, loss) in self.losses {
            run.set_loss(at, loss, job)?;
        }
        run.measure(self.measured, job)
    }
}

/// No flow that loses one packet in a thousand comes near it at the round trips of the papers.
const NO_LIMIT: Rate = Rate::from_bytes_per_sec(125e6);

#[cfg(test)]
mod tests {

    use super::*;
    use crate::trial;
    use tfrc::units::Bytes;

    #[test]
    fn what_is_lost_changes_at_its_time() {
        let secs = Instant::from_secs;
        let lost = |losses: &[(Instant, Loss)]| {
            let stage = Stage::alone(
                Duration::from_millis(50),
                Size(Bytes::new(1_000)),
                Tfrc::default(),
                losses.to_vec(),
                [secs(6), secs(9)],
                1,
            );
            let job = trial::job(0);
            let measured = stage.run(job).unwrap();
            (measured.lost, measured.arrived)
        };
        let always = (Instant::ZERO, Loss::Periodic(20));
        let (some, of) = lost(&[always]);
        assert!(some.abs_diff(of / 20) <= 1, "{some} of {of}");
        let (none, of) = lost(&[always, (secs(5), Loss::None)]);
        assert!(none == 0 && of > 100, "{none} of {of}");
    }
}
