//! Looking ahead: what the next events need is looked at before the first of them happens.
//!
//! With thousands of flows nearly every event finds its link, its packet and its agent in far memory. Served
//! one after the other, each waits for all of that, as what an event needs is known only from what the one
//! before has changed, or so the processor must assume. Looked at for some dozen events at once it comes in
//! little more time than for one. Nothing changes by a look, so what is foreseen wrongly costs only time.

use super::stop::{Packed, Stop};
use super::{Simulation, Travelling};
use crate::agent::Agent;
use crate::topology::Topology;
use core::hint::black_box;
use tfrc::time::Instant;

/// Below so many links all of a network lies in a near cache: those of 500 flows take half a megabyte.
const MANY_LINKS: usize = 2_000;

/// Up to when nothing need be fetched: for ever, if not most of the network lies in far memory.
pub(super) fn begin(topology: &Topology) -> Instant {
    if topology.link_count() > MANY_LINKS {
        Instant::ZERO
    } else {
        Instant::MAX
    }
}

impl<A: Agent> Simulation<A> {
    /// Looks at what is needed by `wake`, which happens now, and by the events after it up to the time that
    /// this gives. What one step finds leads to what the next looks at.
    #[inline(never)]
    pub(super) fn fetch_ahead(&self, wake: Packed) -> Instant {
        let (mut wakes, until) = self.events.preview();
        wakes.push(wake);
        for &wake in &wakes {
            match wake.stop() {
                Stop::Link(index) => self.fetch_link(index),
                Stop::Agent(index) => self.fetch_station(index),
            }
        }
        let mut leaving = Vec::with_capacity(2 * wakes.len());
        // Where the paths of agents begin that may send.
        let mut paths = Vec::with_capacity(2 * wakes.len());
        for &wake in &wakes {
            match wake.stop() {
                Stop::Link(index) => {
                    self.fetch_packets(index);
                    leaving.extend(self.links[index as usize].leaving(until));
                }
                Stop::Agent(index) => paths.push(self.fetch_agent(index)),
            }
        }
        let next = |packet: &&Travelling<_>| self.stops[packet.next as usize];
        let stops: Vec<Packed> = leaving.iter().map(next).collect();
        for (stop, packet) in stops.iter().zip(leaving) {
            match stop.stop() {
                Stop::Link(index) => self.fetch_link(index),
                Stop::Agent(index) => {
                    self.fetch_station(index);
                    fetch_parcel(packet);
                }
            }
        }
        for stop in stops {
            match stop.stop() {
                Stop::Link(index) => self.fetch_packets(index),
                Stop::Agent(index) => paths.push(self.fetch_agent(index)),
            }
        }
        for path in paths {
            if let Stop::Link(index) = self.stops[path as usize].stop() {
                self.fetch_link(index);
            }
        }
        until
    }

    fn fetch_link(&self, index: u32) {
        black_box(self.link_wakes[index as usize]);
        self.links[index as usize].fetch();
    }

    fn fetch_packets(&self, link: u32) {
        self.links[link as usize].fetch_packets();
    }

    fn fetch_station(&self, index: u32) {
        black_box(self.agent_wakes[index as usize]);
        black_box(self.stations[index as usize].path);
    }

    /// Gives where the agent's path begins.
    fn fetch_agent(&self, index: u32) -> u32 {
        let station = &self.stations[index as usize];
        station.agent.fetch();
        station.path
    }
}

fn fetch_parcel<B>(travelling: &Travelling<B>) {
    black_box(travelling.parcel.packet.is_some());
}

#[cfg(test)]
mod tests {
    use super::super::{Parcel, Travelling};
    use crate::traffic::Body;
    use crate::{
        Access, End, FlowId, Outcome, Shape, Simulation, TcpReceiver, TcpSender, TfrcConfig,
        TfrcReceiver, TfrcSender, Traffic, tcp,
    };
    use evenkeel_link::{Link, LinkConfig};
    use tfrc::time::{Duration, Instant};
    use tfrc::units::Rate;

    /// What became of two flows in a network with so many links besides that nobody uses, and whether it was
    /// looked ahead in.
    fn ends(idle_links: usize) -> (bool, Vec<String>) {
        let link = LinkConfig {
            rate: Rate::from_bits_per_sec(2e6),
            delay: Duration::from_millis(9),
            ..LinkConfig::default()
        };
        let mut shape = Shape::dumbbell([link; 2], [Access::even(link); 2]).unwrap();
        let [a, b] = [(); 2].map(|()| shape.topology.add_node());
        for _ in 0..idle_links {
            shape.topology.add_link(a, b, link).unwrap();
        }
        let mut sim: Simulation<Traffic> = Simulation::new(&shape.topology, 1);
        let config = tcp::Config::default();
        let flows: [[Traffic; 2]; 2] = [
            [
                TcpSender::new(&config, Instant::ZERO, Instant::MAX)
                    .unwrap()
                    .into(),
                TcpReceiver::new(&config).unwrap().into(),
            ],
            [
                TfrcSender::new(TfrcConfig::default()).into(),
                TfrcReceiver::new(tfrc::ReceiverConfig::default()).into(),
            ],
        ];
        let ids: Vec<FlowId> = shape
            .places
            .iter()
            .zip(flows)
            .map(|(place, [sender, receiver])| {
                sim.add_flow(&place.forward, &place.reverse, sender, receiver)
            })
            .collect();
        assert_eq!(sim.run_until(Instant::from_secs(20)), Outcome::Reached);
        let ends = ids
            .into_iter()
            .flat_map(|id| [End::Sender, End::Receiver].map(|end| (id, end)));
        let states = ends.map(|(id, end)| format!("{:?}", sim.agent(id, end)));
        (
            sim.fetched > Instant::ZERO && sim.fetched < Instant::MAX,
            states.collect(),
        )
    }

    #[test]
    fn a_packet_under_way_is_a_cache_line_and_a_link_three() {
        assert_eq!(size_of::<Parcel<Body>>(), 64);
        assert_eq!(size_of::<Link<Travelling<Body>>>(), 3 * 64);
    }

    #[test]
    fn a_network_that_is_looked_ahead_in_does_what_it_would_do_without() {
        let (looked, without) = ends(0);
        assert!(!looked);
        let (looked, with) = ends(super::MANY_LINKS);
        assert!(looked);
        assert_eq!(with, without);
    }
}
