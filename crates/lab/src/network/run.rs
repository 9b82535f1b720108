//! One simulation of a bottleneck with flows: built, let run, and measured.

use evenkeel_link::{Change, DeliveryTrace, LinkConfig, Loss, Random};
use evenkeel_sim::{Access, LinkId, Observer, Outcome, Path, Shape, Simulation, Traffic};
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use super::bottleneck::{Bottleneck, link};
use super::flows::Member;
use super::record::{Measured, Record};
use super::udp::Udp;
use crate::error::{RunError, broken};
use crate::job::Job;
use crate::metrics::BIN;

/// One simulation: a dumbbell with flows, and what was seen of it.
pub(crate) struct Run {
    sim: Simulation<Traffic>,
    bottleneck: LinkId,
    /// The bottleneck alone, each way.
    crossing: [Path; 2],
    record: Record,
    /// When recording ends, and with it the run.
    end: Instant,
}

/// Between two looks at whether the run is still wanted.
const SLICE: Duration = Duration::from_secs(1);
/// Streams of flows that draw anything, above those that round trips and starts are drawn from.
pub(crate) const FLOW_STREAMS: u64 = 1 << 32;

impl Run {
    /// A bottleneck with these flows. What happens in `[from, to)` is recorded.
    pub(crate) fn new(
        bottleneck: &Bottleneck,
        members: &[Member],
        [from, to]: [Instant; 2],
        seed: u64,
    ) -> Result<Self, RunError> {
        // A quarter of the least round trip each way on the shared link, the rest before and after it.
        let least = members.iter().map(|member| member.rtt).min();
        let shared = least.unwrap_or(Duration::ZERO) / 4;
        let accesses = members.iter().map(|member| {
            let each = (member.rtt - 2 * shared) / 4;
            let plain = link(bottleneck.access_rate(), each);
            let late = LinkConfig {
                jitter: bottleneck.sending_jitter(member.stacks.packet.0),
                ..plain
            };
            Access {
                sender: [late, plain],
                receiver: [plain; 2],
            }
        });
        let links = bottleneck.links(shared);
        let shape = Shape::dumbbell(links, accesses).map_err(|error| broken(&error))?;
        let mut sim = Simulation::new(&shape.topology, seed);
        for (index, (place, member)) in shape.places.iter().zip(members).enumerate() {
            let random = Random::new(seed, FLOW_STREAMS + index as u64);
            let [sender, receiver] = member.ends(random)?;
            let (there, back) = if member.reverse {
                (&place.reverse, &place.forward)
            } else {
                (&place.forward, &place.reverse)
            };
            sim.add_flow(there, back, sender, receiver);
        }
        let [there, back] = shape.bottlenecks[0];
        for (place, member) in shape.places.iter().zip(members) {
            if let Some(timer) = member.timer() {
                let ticks = ticks(timer.0, bottleneck.access_rate())?;
                sim.set_trace(place.forward.links()[0], ticks);
            }
        }
        if let Some(trace) = &bottleneck.trace {
            sim.set_trace(there, trace.clone());
        }
        sim.lose_packets(there, bottleneck.impairments.script().iter().copied());
        let crossing = [there, back].map(|link| shape.topology.path(&[link]));
        let bottleneck = there;
        let [there, back] = crossing.map(|path| path.map_err(|error| broken(&error)));
        Ok(Self {
            sim,
            bottleneck,
            crossing: [there?, back?],
            record: Record::new(members.len(), [from, to]),
            end: to,
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

    /// Runs it until then and has its bottleneck lose other packets along the data.
    pub(crate) fn set_loss(
        &mut self,
        at: Instant,
        loss: Loss,
        job: Job<'_>,
    ) -> Result<(), RunError> {
        advance(&mut self.sim, at, job, &mut self.record)?;
        self.sim.set_loss(self.bottleneck, loss);
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

    /// Runs it to the end of what is recorded; its bottleneck is measured between two instants before.
    pub(crate) fn measure(
        mut self,
        [from, to]: [Instant; 2],
        job: Job<'_>,
    ) -> Result<Measured, RunError> {
        advance(&mut self.sim, from, job, &mut self.record)?;
        self.record.gaps.gaps.clear();
        self.record.loss_reports.measure([from, to]);
        let before = self.sim.link(self.bottleneck).counters();
        let mut queue = Vec::new();
        while self.sim.now() < to {
            let next = to.min(self.sim.now() + BIN);
            advance(&mut self.sim, next, job, &mut self.record)?;
            let waiting = self.sim.link(self.bottleneck).queue_bytes(next);
            queue.push((next.as_secs_f64(), waiting.get()));
        }
        let after = self.sim.link(self.bottleneck).counters();
        let gaps = std::mem::take(&mut self.record.gaps.gaps);
        advance(&mut self.sim, self.end, job, &mut self.record)?;
        Ok(Measured {
            sent: self.record.sent,
            received: self.record.received,
            loss_reports: self.record.loss_reports,
            gaps,
            arrived: after.received.packets - before.received.packets,
            dropped: after.dropped.packets - before.dropped.packets,
            lost: after.lost.packets - before.lost.packets,
            marked: Some(after.marked.packets - before.marked.packets),
            carried: after.delivered.bytes - before.delivered.bytes,
            queue,
        })
    }
}

/// At each tick, as much may leave as at this rate since the last.
fn ticks(timer: Duration, rate: Rate) -> Result<DeliveryTrace, RunError> {
    let packets = (rate * timer).as_f64() / DeliveryTrace::OPPORTUNITY.as_f64();
    let tick = format!("{}\n", timer.as_millis());
    let text = tick.repeat(packets.clamp(1.0, MAX_PER_TICK).ceil() as usize);
    DeliveryTrace::parse(&text).map_err(|error| broken(&error))
}

/// More packets than a socket takes at once.
const MAX_PER_TICK: f64 = 10_000.0;

/// Refuses a run that ended before its time.
pub(crate) fn reached(outcome: Outcome, to: Instant) -> Result<(), RunError> {
    let what = match outcome {
        Outcome::Reached => return Ok(()),
        Outcome::NothingLeft { at } => {
            format!("nothing is left that could happen at {at} s, before {to} s")
        }
        Outcome::TimeStandsStill { at, flow } => {
            format!("time stands still at {at} s: flow {}", flow.index())
        }
    };
    Err(RunError::Failed(what))
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
        reached(sim.run_observed(to.min(sim.now() + SLICE), observer), to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Throughput, utilisation};
    use crate::network::{Feedback, Protocol, Queue, Speaks, Stacks, Tcp, Tfrc};
    use crate::trial::job;
    use crate::units::{BitRate, Size};
    use evenkeel_sim::{Body, End, FlowId, Packet};
    use tfrc::units::Bytes;

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
        let members = speaks.map(|speaks| Member {
            reverse,
            ..member(speaks, tfrc)
        });
        let window = [secs(5), secs(15)];
        let run = Run::new(&bottleneck(jitter), &members, window, 1).unwrap();
        run.measure(window, job(0)).unwrap()
    }

    fn bottleneck(jitter: f64) -> Bottleneck {
        Bottleneck {
            jitter,
            ..Bottleneck::new(
                BitRate(Rate::from_bits_per_sec(2e6)),
                Queue::DropTail { packets: 20 },
            )
        }
    }

    fn member(speaks: Speaks, tfrc: Tfrc) -> Member {
        let stacks = Stacks {
            packet: Size(Bytes::new(1_000)),
            tcp_packet: Size(Bytes::new(1_000)),
            tcp: Tcp::default(),
            tfrc,
        };
        Member {
            speaks,
            stacks,
            reverse: false,
            rtt: Duration::from_millis(40),
            start: Instant::ZERO,
            stop: Instant::MAX,
        }
    }

    /// Of each flow, how many packets of its receiver were sent and have not arrived.
    #[derive(Default)]
    struct Missing([i32; 3]);

    impl Observer<Traffic> for Missing {
        fn sent(&mut self, _: Instant, flow: FlowId, end: End, _: &Packet<Body>) {
            self.0[flow.index()] += i32::from(end == End::Receiver);
        }

        fn arrived(&mut self, _: Instant, flow: FlowId, end: End, _: &Packet<Body>) {
            self.0[flow.index()] -= i32::from(end == End::Sender);
        }
    }

    #[test]
    fn a_full_queue_on_the_way_back_drops_acknowledgements_and_reports() {
        let along = [Protocol::Tcp, Protocol::Tfrc].map(|protocol| Member {
            stop: secs(10),
            ..member(long(protocol), Tfrc::default())
        });
        // Half as much again as the link carries.
        let udp = Udp::Constant {
            packet: Size(Bytes::new(1_000)),
            rate: BitRate(Rate::from_bits_per_sec(3e6)),
        };
        let against = Member {
            reverse: true,
            start: secs(4),
            stop: secs(8),
            ..member(long(Protocol::Udp(udp)), Tfrc::default())
        };
        let missing = |members: &[Member]| {
            let window = [Instant::ZERO; 2];
            let mut run = Run::new(&bottleneck(0.0), members, window, 1).unwrap();
            let mut missing = Missing::default();
            let end = run.sim.run_observed(secs(20), &mut missing);
            // Nothing is under way any more, so what is missing was dropped.
            assert!(matches!(end, Outcome::NothingLeft { .. }), "{end:?}");
            missing.0
        };
        let [acknowledgements, reports, _] = missing(&[along[0], along[1], against]);
        assert!(acknowledgements > 50, "{acknowledgements}");
        assert!(reports > 5, "{reports}");
        assert_eq!(missing(&along), [0; 3]);
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
