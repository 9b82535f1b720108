//! A bottleneck that TCP and TFRC flows share, as the papers' simulations have it: what experiments
//! say of it, and what they measure of it.

mod flows;
mod protocol;
mod queue;
mod udp;

use evenkeel_link::{Change, Jitter, LinkConfig, Loss, Random};
use evenkeel_sim::{
    Access, Body, End, FlowId, LinkId, Observer, Outcome, Packet, Path, Shape, Simulation, Traffic,
};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, LossEventRate, Rate, duration_from_secs};

pub use flows::{Flows, Kernel, Tcp, TcpVariant};
pub(crate) use flows::{Member, Speaks, Stacks};
pub use protocol::{Feedback, Protocol, Tfrc};
pub use queue::Queue;
pub use udp::Udp;

use crate::metrics::Throughput;
use crate::scenario::{Job, RunError};
use crate::units::BitRate;

/// The shared link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bottleneck {
    pub(crate) rate: Rate,
    pub(crate) queue: Queue,
    /// What it loses besides, along the data.
    pub(crate) loss: Loss,
    /// Each sender's packets are late by a random time up to so many packet times of the bottleneck.
    /// Without it, who is dropped at a full queue is a matter of phase, not of rates (Floyd and
    /// Jacobson, 1992).
    pub(crate) jitter: f64,
}

impl Bottleneck {
    /// One that only its queue makes drop.
    pub(crate) fn new(rate: BitRate, queue: Queue) -> Self {
        Self {
            rate: rate.0,
            queue,
            loss: Loss::None,
            jitter: 0.0,
        }
    }
}

impl Bottleneck {
    fn jitter(&self, packet: Bytes) -> Jitter {
        let most = (packet / self.rate).as_secs_f64() * self.jitter;
        if most > 0.0 {
            Jitter::Uniform(duration_from_secs(most))
        } else {
            Jitter::None
        }
    }
}

/// One simulation: a dumbbell with flows, and what was seen of it.
pub(crate) struct Run {
    sim: Simulation<Traffic>,
    bottleneck: LinkId,
    /// The bottleneck alone, each way.
    crossing: [Path; 2],
    record: Record,
}

/// Between two instants: what each flow sent and what came of it.
struct Record {
    sent: Vec<Throughput>,
    received: Vec<Throughput>,
    first: First,
}

/// What the first flow does in detail.
#[derive(Default)]
pub(crate) struct First {
    /// Times in seconds and p, as its reports tell: one a bin.
    pub(crate) loss_event_rates: Vec<(f64, f64)>,
    /// Seconds from packet to packet, as they left within the time that is recorded.
    pub(crate) gaps: Vec<f64>,
    departed: Option<Instant>,
    reported: Option<Instant>,
}

/// More gaps are not kept.
const MAX_GAPS: usize = 1_000_000;

impl First {
    fn departs(&mut self, now: Instant) {
        let gap = self.departed.replace(now).map(|last| now - last);
        if self.gaps.len() < MAX_GAPS {
            self.gaps.extend(gap.map(|gap| gap.as_secs_f64()));
        }
    }

    fn is_told(&mut self, now: Instant, p: LossEventRate) {
        if self.reported.is_none_or(|last| now - last >= BIN) {
            self.reported = Some(now);
            self.loss_event_rates.push((now.as_secs_f64(), p.get()));
        }
    }
}

impl Observer<Traffic> for Record {
    fn sent(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        if end == End::Sender {
            add(&mut self.sent, flow, now, packet.size);
            if flow.index() == 0 {
                self.first.departs(now);
            }
        }
    }

    fn arrived(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        if end == End::Receiver {
            add(&mut self.received, flow, now, packet.size);
        } else if flow.index() == 0
            && let Body::TfrcReport(report) = &packet.body
        {
            self.first.is_told(now, report.p());
        }
    }
}

/// Background flows, which come after the others, are not recorded.
fn add(flows: &mut [Throughput], flow: FlowId, now: Instant, size: Bytes) {
    if let Some(throughput) = flows.get_mut(flow.index()) {
        throughput.add(now, size);
    }
}

/// What was measured.
pub(crate) struct Measured {
    /// What each flow sent, in the order of the flows.
    pub(crate) sent: Vec<Throughput>,
    /// What arrived of it.
    pub(crate) received: Vec<Throughput>,
    /// The first flow.
    pub(crate) first: First,
    /// Packets that came to the bottleneck.
    pub(crate) arrived: u64,
    /// Packets that its queue dropped.
    pub(crate) dropped: u64,
    /// Packets that it lost besides.
    pub(crate) lost: u64,
    /// Bytes that it carried.
    pub(crate) carried: Bytes,
    /// Times in seconds, and bytes that waited for it.
    pub(crate) queue: Vec<(f64, u64)>,
}

/// Access links are this many times as fast as the bottleneck: they drop and delay nothing.
const ACCESS_SPEED: f64 = 10.0;
/// All timescales of the papers are multiples of this.
const BIN: Duration = Duration::from_millis(50);
/// Between two looks at whether the run is still wanted.
const SLICE: Duration = Duration::from_secs(1);
/// Above the streams that round trips and starts are drawn from.
const WEB_STREAMS: u64 = 1 << 32;

impl Run {
    /// A bottleneck with these flows. What happens in `[from, to)` is measured.
    pub(crate) fn new(
        bottleneck: &Bottleneck,
        stacks: &Stacks,
        members: &[Member],
        [from, to]: [Instant; 2],
        seed: u64,
    ) -> Result<Self, RunError> {
        // A quarter of the least round trip each way on the shared link, the rest before and after it.
        let least = members.iter().map(|member| member.rtt).min();
        let shared = least.unwrap_or(Duration::ZERO) / 4;
        let mut forward = link(bottleneck.rate, shared);
        forward.loss = bottleneck.loss;
        bottleneck.queue.apply(&mut forward);
        let accesses = members.iter().map(|member| {
            let each = (member.rtt - 2 * shared) / 4;
            let plain = link(bottleneck.rate * ACCESS_SPEED, each);
            let late = LinkConfig {
                jitter: bottleneck.jitter(stacks.packet.0),
                ..plain
            };
            Access {
                sender: [late, plain],
                receiver: [plain; 2],
            }
        });
        let shape = Shape::dumbbell([forward, link(bottleneck.rate, shared)], accesses)
            .map_err(|error| broken(&error))?;
        let mut sim = Simulation::new(&shape.topology, seed);
        for (index, (place, member)) in shape.places.iter().zip(members).enumerate() {
            let random = Random::new(seed, WEB_STREAMS + index as u64);
            let [sender, receiver] = member.ends(stacks, random)?;
            let (there, back) = if member.reverse {
                (&place.reverse, &place.forward)
            } else {
                (&place.forward, &place.reverse)
            };
            sim.add_flow(there, back, sender, receiver);
        }
        let empty = vec![Throughput::new(from, to, BIN); members.len()];
        let [bottleneck, back] = shape.bottlenecks[0];
        let crossing = [bottleneck, back].map(|link| shape.topology.path(&[link]));
        let [there, back] = crossing.map(|path| path.map_err(|error| broken(&error)));
        Ok(Self {
            sim,
            bottleneck,
            crossing: [there?, back?],
            record: Record {
                sent: empty.clone(),
                received: empty,
                first: First::default(),
            },
        })
    }

    /// Adds background traffic that crosses the bottleneck and nothing else, for ever from `start` on.
    /// What comes of it is not recorded: that would take more memory than the flows that matter.
    pub(crate) fn add_background(
        &mut self,
        udp: Udp,
        start: Instant,
        random: Random,
    ) -> Result<(), RunError> {
        let [source, sink] = udp.ends([start, Instant::MAX], random)?;
        let [there, back] = &self.crossing;
        self.sim.add_flow(there, back, source, sink);
        Ok(())
    }

    /// Runs it until then and gives its bottleneck another rate.
    pub(crate) fn change_rate(
        &mut self,
        at: Instant,
        rate: Rate,
        job: Job<'_>,
    ) -> Result<(), RunError> {
        advance(&mut self.sim, at, job, &mut self.record)?;
        let change = Change {
            at: at - Instant::ZERO,
            rate: Some(rate),
            delay: None,
            loss: None,
        };
        self.sim.change_link(self.bottleneck, &change);
        Ok(())
    }

    /// Runs it to its end, while `observer` looks on from its beginning.
    pub(crate) fn watch(
        mut self,
        to: Instant,
        job: Job<'_>,
        observer: &mut impl Observer<Traffic>,
    ) -> Result<(), RunError> {
        advance(&mut self.sim, to, job, observer)
    }

    /// Runs it to its end.
    pub(crate) fn measure(
        mut self,
        [from, to]: [Instant; 2],
        job: Job<'_>,
    ) -> Result<Measured, RunError> {
        advance(&mut self.sim, from, job, &mut self.record)?;
        self.record.first.gaps.clear();
        let before = self.sim.link(self.bottleneck).counters();
        let mut queue = Vec::new();
        while self.sim.now() < to {
            let next = to.min(self.sim.now() + BIN);
            advance(&mut self.sim, next, job, &mut self.record)?;
            let waiting = self.sim.link(self.bottleneck).queue_bytes();
            queue.push((next.as_secs_f64(), waiting.get()));
        }
        let after = self.sim.link(self.bottleneck).counters();
        Ok(Measured {
            sent: self.record.sent,
            received: self.record.received,
            first: self.record.first,
            arrived: after.received.packets - before.received.packets,
            dropped: after.dropped.packets - before.dropped.packets,
            lost: after.lost.packets - before.lost.packets,
            carried: after.delivered.bytes - before.delivered.bytes,
            queue,
        })
    }
}

pub(crate) fn broken(error: &dyn std::fmt::Display) -> RunError {
    RunError::Failed(error.to_string())
}

/// Lets time pass, as long as the run is wanted.
pub(crate) fn advance(
    sim: &mut Simulation<Traffic>,
    to: Instant,
    job: Job<'_>,
    observer: &mut impl Observer<Traffic>,
) -> Result<(), RunError> {
    while sim.now() < to {
        job.go_on()?;
        let what = match sim.run_observed(to.min(sim.now() + SLICE), observer) {
            Outcome::Reached => continue,
            Outcome::NothingLeft { at } => {
                format!("nothing is left that could happen at {at} s, before {to} s")
            }
            Outcome::TimeStandsStill { at, flow } => {
                format!("time stands still at {at} s: flow {}", flow.index())
            }
        };
        return Err(RunError::Failed(what));
    }
    Ok(())
}

/// A link whose queue holds whatever comes.
pub(crate) fn link(rate: Rate, delay: Duration) -> LinkConfig {
    LinkConfig {
        rate,
        delay,
        ..LinkConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::utilisation;
    use crate::units::Size;
    use std::sync::atomic::AtomicBool;

    fn secs(secs: u64) -> Instant {
        Instant::from_secs(secs)
    }

    fn long(protocol: Protocol) -> Speaks {
        Speaks::Long(protocol, Feedback::default())
    }

    fn measure(speaks: [Speaks; 2], reverse: bool, jitter: f64) -> Measured {
        measure_with(speaks, reverse, jitter, Tfrc::default())
    }

    fn measure_with(speaks: [Speaks; 2], reverse: bool, jitter: f64, tfrc: Tfrc) -> Measured {
        let bottleneck = Bottleneck {
            rate: Rate::from_bits_per_sec(2e6),
            queue: Queue::DropTail { packets: 20 },
            loss: Loss::None,
            jitter,
        };
        let members = speaks.map(|speaks| Member {
            speaks,
            reverse,
            rtt: Duration::from_millis(40),
            start: Instant::ZERO,
            stop: Instant::MAX,
        });
        let window = [secs(5), secs(15)];
        let stacks = Stacks {
            packet: Size(Bytes::new(1_000)),
            tcp: Tcp::default(),
            tfrc,
        };
        let run = Run::new(&bottleneck, &stacks, &members, window, 1).unwrap();
        let stop = AtomicBool::new(false);
        let job = Job {
            cell: 0,
            seed: 1,
            stop: &stop,
        };
        run.measure(window, job).unwrap()
    }

    #[test]
    fn two_flows_fill_the_bottleneck_and_no_more() {
        let measured = measure([Protocol::Tcp, Protocol::Tfrc].map(long), false, 1.0);
        let rate = Rate::from_bits_per_sec(2e6);
        let used = utilisation(measured.carried, rate, Duration::from_secs(10));
        assert!((0.9..=1.001).contains(&used), "{used}");
        let received: Bytes = measured.received.iter().map(Throughput::total).sum();
        // What is on its way when measuring begins and ends.
        let apart = received.as_f64() / measured.carried.as_f64();
        assert!((apart - 1.0).abs() < 0.02, "{apart}");
        assert!(measured.queue.iter().all(|(_, bytes)| *bytes <= 20_000));
        assert_eq!(measured.queue.len(), 200);
    }

    #[test]
    fn whole_sessions_give_what_their_senders_and_receivers_do_without_the_bytes() {
        let tfrc = |session| Tfrc {
            session,
            ..Tfrc::default()
        };
        let run = |session| {
            let speaks = [Protocol::Tfrc, Protocol::Tcp].map(long);
            let measured = measure_with(speaks, false, 0.0, tfrc(session));
            let rates = |flows: &[Throughput]| -> Vec<Vec<f64>> {
                flows.iter().map(|flow| flow.rates(BIN)).collect()
            };
            let counts = (measured.arrived, measured.dropped, measured.carried);
            (rates(&measured.sent), rates(&measured.received), counts)
        };
        let (with, without) = (run(true), run(false));
        assert!(with.2.1 > 0, "nothing dropped, so nothing shown");
        assert_eq!(with, without);
    }

    #[test]
    fn data_against_the_others_leaves_acknowledgements_on_the_bottleneck() {
        let measured = measure([long(Protocol::Tcp); 2], true, 0.0);
        let packets = measured
            .received
            .iter()
            .map(|flow| flow.total().get())
            .sum::<u64>()
            / 1_000;
        assert!(packets > 2_000, "{packets}");
        // One acknowledgement of 40 bytes a packet.
        assert!(
            measured.carried.get() < 50 * packets,
            "{}",
            measured.carried
        );
    }

    #[test]
    fn short_connections_bring_the_load_that_is_asked_for() {
        let half = Speaks::Web(Rate::from_bits_per_sec(0.5e6));
        let measured = measure([half, half], false, 0.0);
        let load = measured.carried.as_f64() * 8.0 / 10.0 / 1e6;
        // Some 120 connections of 10.5 packets; three standard deviations are a sixth.
        assert!((0.8..1.2).contains(&load), "{load} Mb/s");
    }
}
