//! Prefetches the data of the events of the next window before the first of them happens.
//!
//! With thousands of flows nearly every event finds its link, its packet and its agent in far memory. Served
//! one after the other, each waits for all of that, as what an event needs is known only from what the one
//! before has changed, or so the processor must assume. Asked for on behalf of some dozen events at once it
//! comes in little more time than for one. Nothing changes by it, so what is foreseen wrongly costs only time.

use super::stop::{Packed, Stop};
use super::{Simulation, Travelling};
use crate::agent::Agent;
use crate::topology::Topology;
use evenkeel_prefetch::prefetch;
use tfrc::time::Instant;

/// Below so many links all of a network lies in a near cache: the links of 500 flows take half a megabyte.
const MANY_LINKS: usize = 2_000;

/// Up to when nothing need be prefetched: for ever, if not most of the network lies in far memory.
pub(super) fn begin(topology: &Topology) -> Instant {
    if topology.link_count() > MANY_LINKS {
        Instant::ZERO
    } else {
        Instant::MAX
    }
}

impl<A: Agent> Simulation<A> {
    /// Lets come near what is needed by `wake`, which happens now, and by the events after it up to the time
    /// that this gives. What one step has brought says what the next is to bring: by then it is there, as
    /// many others were asked for meanwhile.
    #[inline(never)]
    pub(super) fn prefetch_window(&self, wake: Packed) -> Instant {
        let (mut wakes, until) = self.events.preview();
        wakes.push(wake);
        // Where the paths of agents begin that may send.
        let mut paths = Vec::with_capacity(2 * wakes.len());
        self.prefetch_stops(&wakes);
        self.prefetch_behind(&wakes, &mut paths);
        let mut leaving = Vec::with_capacity(wakes.len());
        for link in links(&wakes) {
            let link = &self.links[link as usize];
            link.prefetch_waiting();
            leaving.extend(link.leaving(until));
        }
        let next = |packet: &&Travelling<_>| self.stops[packet.next as usize];
        let stops: Vec<Packed> = leaving.iter().map(next).collect();
        self.prefetch_stops(&stops);
        for (stop, packet) in stops.iter().zip(leaving) {
            if let Stop::Agent(_) = stop.stop() {
                prefetch(&*packet.parcel);
            }
        }
        self.prefetch_behind(&stops, &mut paths);
        let begins: Vec<Packed> = paths
            .iter()
            .map(|&path| self.stops[path as usize])
            .collect();
        self.prefetch_stops(&begins);
        until
    }

    fn prefetch_stops(&self, stops: &[Packed]) {
        for stop in stops {
            match stop.stop() {
                Stop::Link(index) => {
                    prefetch(&self.link_wakes[index as usize]);
                    prefetch(&self.links[index as usize]);
                }
                Stop::Agent(index) => {
                    prefetch(&self.agent_wakes[index as usize]);
                    prefetch(&self.stations[index as usize]);
                }
            }
        }
    }

    /// What is found through the stops themselves, and where the paths of agents begin.
    fn prefetch_behind(&self, stops: &[Packed], paths: &mut Vec<u32>) {
        for stop in stops {
            match stop.stop() {
                Stop::Link(index) => self.links[index as usize].prefetch_packets(),
                Stop::Agent(index) => {
                    let station = &self.stations[index as usize];
                    station.agent.prefetch();
                    paths.push(station.path);
                }
            }
        }
    }
}

fn links(stops: &[Packed]) -> impl Iterator<Item = u32> {
    stops.iter().filter_map(|stop| match stop.stop() {
        Stop::Link(index) => Some(index),
        Stop::Agent(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Parcel, Travelling};
    use crate::body::Body;
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
            sim.prefetched > Instant::ZERO && sim.prefetched < Instant::MAX,
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
