//! The networks that experiments share: many pairs of hosts, few bottlenecks.

use crate::topology::{LinkId, NodeId, Path, Topology, TopologyError};
use evenkeel_link::LinkConfig;

/// A network with a place for each flow.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The network; more may be added to it.
    pub topology: Topology,
    /// The shared links: each way, along the flows' data and against it.
    pub bottlenecks: Vec<[LinkId; 2]>,
    /// A place a flow.
    pub places: Vec<Place>,
}

/// Where a flow runs: from the sender to the receiver and back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The way of the data.
    pub forward: Path,
    /// The way of acknowledgements and feedback.
    pub reverse: Path,
}

/// The links between a pair of hosts and the network, each as [along the data, against it].
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Between the sender and its router.
    pub sender: [LinkConfig; 2],
    /// Between the receiver's router and the receiver.
    pub receiver: [LinkConfig; 2],
}

impl Access {
    /// Four equal links.
    pub const fn even(config: LinkConfig) -> Self {
        Self {
            sender: [config; 2],
            receiver: [config; 2],
        }
    }
}

impl Shape {
    /// Two routers and the bottleneck between them, given each way; a pair of hosts an access.
    ///
    /// Unequal directions make an asymmetric path; loss in the receivers' access makes wireless ones.
    pub fn dumbbell(
        bottleneck: [LinkConfig; 2],
        accesses: impl IntoIterator<Item = Access>,
    ) -> Result<Self, TopologyError> {
        let mut shape = Self::chain(&[bottleneck])?;
        let [left, right] = [NodeId(0), NodeId(1)];
        for access in accesses {
            shape.add_pair(left, right, access)?;
        }
        Ok(shape)
    }

    /// Bottlenecks one after the other. The first place crosses all of them; then there is one for
    /// each, which crosses it alone.
    pub fn parking_lot(
        bottlenecks: &[[LinkConfig; 2]],
        access: Access,
    ) -> Result<Self, TopologyError> {
        let mut shape = Self::chain(bottlenecks)?;
        let routers = bottlenecks.len() as u32;
        shape.add_pair(NodeId(0), NodeId(routers), access)?;
        for router in 0..routers {
            shape.add_pair(NodeId(router), NodeId(router + 1), access)?;
        }
        Ok(shape)
    }

    /// The router before this bottleneck, counted from the left; after the last one there is another.
    pub const fn router(index: usize) -> NodeId {
        NodeId(index as u32)
    }

    /// Adds a pair of hosts, the sender at the router `from` and the receiver at the router `to`.
    pub fn add_pair(
        &mut self,
        from: NodeId,
        to: NodeId,
        access: Access,
    ) -> Result<(), TopologyError> {
        let crossed = self.bottlenecks.get(from.0 as usize..to.0 as usize);
        let crossed = crossed.ok_or(TopologyError::NoPath { from, to })?;
        let net = &mut self.topology;
        let [sender, receiver] = [net.add_node(), net.add_node()];
        let [out, back] = access.sender;
        let first = net.add_link(sender, from, out)?;
        let last_back = net.add_link(from, sender, back)?;
        let [out, back] = access.receiver;
        let last = net.add_link(to, receiver, out)?;
        let first_back = net.add_link(receiver, to, back)?;
        let middle = crossed.iter().map(|[forward, _]| *forward);
        let forward: Vec<LinkId> = [first].into_iter().chain(middle).chain([last]).collect();
        let middle = crossed.iter().rev().map(|[_, reverse]| *reverse);
        let reverse: Vec<LinkId> = [first_back]
            .into_iter()
            .chain(middle)
            .chain([last_back])
            .collect();
        self.places.push(Place {
            forward: net.path(&forward)?,
            reverse: net.path(&reverse)?,
        });
        Ok(())
    }

    /// Routers in a row, each joined to the next by a bottleneck, given each way; no hosts yet.
    pub fn chain(bottlenecks: &[[LinkConfig; 2]]) -> Result<Self, TopologyError> {
        let mut topology = Topology::new();
        let routers: Vec<NodeId> = (0..=bottlenecks.len())
            .map(|_| topology.add_node())
            .collect();
        let links = routers.windows(2).zip(bottlenecks);
        let bottlenecks = links.map(|(ends, [forward, reverse])| {
            Ok([
                topology.add_link(ends[0], ends[1], *forward)?,
                topology.add_link(ends[1], ends[0], *reverse)?,
            ])
        });
        Ok(Self {
            bottlenecks: bottlenecks.collect::<Result<_, TopologyError>>()?,
            topology,
            places: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::units::Rate;

    fn link(bits_per_sec: f64) -> LinkConfig {
        LinkConfig {
            rate: Rate::from_bits_per_sec(bits_per_sec),
            ..LinkConfig::default()
        }
    }

    #[test]
    fn every_pair_of_a_dumbbell_crosses_the_bottleneck_both_ways() {
        let access = Access::even(link(1e7));
        let shape = Shape::dumbbell([link(1e6), link(2e5)], [access; 3]).unwrap();
        let [forward, reverse] = shape.bottlenecks[0];
        assert_eq!(shape.places.len(), 3);
        for place in &shape.places {
            assert_eq!(place.forward.links().len(), 3);
            assert_eq!(place.forward.links()[1], forward);
            assert_eq!(place.reverse.links()[1], reverse);
        }
        let rates: Vec<f64> = shape
            .topology
            .configs()
            .take(2)
            .map(|config| config.rate.bits_per_sec())
            .collect();
        assert_eq!(rates, [1e6, 2e5]);
    }

    #[test]
    fn a_parking_lot_has_one_long_place_and_one_for_each_bottleneck() {
        let bottlenecks = [[link(1e6); 2]; 3];
        let shape = Shape::parking_lot(&bottlenecks, Access::even(link(1e7))).unwrap();
        let crossed = |place: usize, direction: usize| -> Vec<usize> {
            let place = &shape.places[place];
            let path = [&place.forward, &place.reverse][direction];
            let numbers = path.links().iter().filter_map(|link| {
                let of = |pair: &[LinkId; 2]| pair[direction] == *link;
                shape.bottlenecks.iter().position(of)
            });
            numbers.collect()
        };
        assert_eq!(crossed(0, 0), [0, 1, 2]);
        assert_eq!(crossed(0, 1), [2, 1, 0]);
        assert_eq!(crossed(2, 0), [1]);
        assert_eq!(shape.places.len(), 4);
    }
}
