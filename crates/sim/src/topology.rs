//! Nodes, the links between them, and the paths that packets take.

use evenkeel_link::{LinkConfig, QueueLimit};
use std::collections::VecDeque;
use tfrc::time::Duration;
use tfrc::units::{Bytes, Rate};

/// A node of a [`Topology`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// A link of a [`Topology`]: one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) u32);

impl LinkId {
    /// Links count from zero in the order in which they were added.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Links from one node to another, each beginning where the one before it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(Vec<LinkId>);

impl Path {
    /// The links, in the order in which a packet meets them.
    pub fn links(&self) -> &[LinkId] {
        &self.0
    }
}

/// A network: nodes and one-way links. Two links make a duplex one, each with a queue of its own, so
/// that acknowledgements and feedback queue and are dropped as data is.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    links: Vec<Edge>,
    /// The links that leave each node.
    nodes: Vec<Vec<LinkId>>,
}

#[derive(Clone, Debug)]
struct Edge {
    from: NodeId,
    to: NodeId,
    config: LinkConfig,
}

/// What is wrong with a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// The link would never carry a packet.
    #[error("link {link}: rate is zero; give it one above")]
    ZeroRate {
        /// Which link, counted from zero in the order in which they are added.
        link: usize,
    },
    /// The link could not hold a packet while another is being sent.
    #[error("link {link}: queue holds nothing; let it hold a packet")]
    ZeroQueue {
        /// Which link.
        link: usize,
    },
    /// The queue's discipline has settings that make no sense.
    #[error("link {link}: {problem}")]
    Discipline {
        /// Which link.
        link: usize,
        /// Which setting, and what it must be.
        problem: &'static str,
    },
    /// The link begins or ends at a node of another network.
    #[error("link {link}: an end is no node of this network")]
    UnknownNode {
        /// Which link.
        link: usize,
    },
    /// No links lead from one node to the other.
    #[error("no links lead from node {} to node {}", .from.0, .to.0)]
    NoPath {
        /// Where it was to begin.
        from: NodeId,
        /// Where it was to end.
        to: NodeId,
    },
    /// The links do not make a path: there are none, one is of another network, or one does not begin
    /// where the one before it ends.
    #[error("path: link {position} of it does not continue it")]
    BrokenPath {
        /// The position in the list, counted from zero.
        position: usize,
    },
}

impl Topology {
    /// A network of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node.
    pub fn add_node(&mut self) -> NodeId {
        self.nodes.push(Vec::new());
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a link from one node to another.
    pub fn add_link(
        &mut self,
        from: NodeId,
        to: NodeId,
        config: LinkConfig,
    ) -> Result<LinkId, TopologyError> {
        let link = self.links.len();
        if config.rate == Rate::ZERO {
            return Err(TopologyError::ZeroRate { link });
        }
        if is_zero(config.queue) {
            return Err(TopologyError::ZeroQueue { link });
        }
        if let Some(problem) = config.discipline.problem() {
            return Err(TopologyError::Discipline { link, problem });
        }
        if to.0 as usize >= self.nodes.len() {
            return Err(TopologyError::UnknownNode { link });
        }
        let Some(leaving) = self.nodes.get_mut(from.0 as usize) else {
            return Err(TopologyError::UnknownNode { link });
        };
        let id = LinkId(link as u32);
        leaving.push(id);
        self.links.push(Edge { from, to, config });
        Ok(id)
    }

    /// Adds a link each way, equal but for what they carry.
    pub fn add_duplex(
        &mut self,
        a: NodeId,
        b: NodeId,
        config: LinkConfig,
    ) -> Result<[LinkId; 2], TopologyError> {
        Ok([self.add_link(a, b, config)?, self.add_link(b, a, config)?])
    }

    /// The path of the fewest links; of several, the one whose links were added first.
    pub fn route(&self, from: NodeId, to: NodeId) -> Result<Path, TopologyError> {
        let mut came_by: Vec<Option<LinkId>> = vec![None; self.nodes.len()];
        let mut reached = VecDeque::from([from]);
        while let Some(node) = reached.pop_front() {
            for &link in self.nodes.get(node.0 as usize).into_iter().flatten() {
                let next = self.links[link.index()].to;
                let first_visit = came_by[next.0 as usize].is_none();
                if next != from && first_visit {
                    came_by[next.0 as usize] = Some(link);
                    reached.push_back(next);
                }
            }
        }
        let mut links = Vec::new();
        let mut node = to;
        while let Some(&Some(link)) = came_by.get(node.0 as usize) {
            links.push(link);
            node = self.links[link.index()].from;
        }
        if links.is_empty() {
            return Err(TopologyError::NoPath { from, to });
        }
        links.reverse();
        Ok(Path(links))
    }

    /// The path over these links, in order.
    pub fn path(&self, links: &[LinkId]) -> Result<Path, TopologyError> {
        let mut end = None;
        for (position, link) in links.iter().enumerate() {
            let edge = self
                .links
                .get(link.index())
                .filter(|edge| end.is_none_or(|end| end == edge.from))
                .ok_or(TopologyError::BrokenPath { position })?;
            end = Some(edge.to);
        }
        match end {
            Some(_) => Ok(Path(links.to_vec())),
            None => Err(TopologyError::BrokenPath { position: 0 }),
        }
    }

    /// How many links there are.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// What the links are like, in the order in which they were added.
    pub(crate) fn configs(&self) -> impl Iterator<Item = &LinkConfig> {
        self.links.iter().map(|edge| &edge.config)
    }
}

fn is_zero(queue: QueueLimit) -> bool {
    match queue {
        QueueLimit::Bytes(limit) => limit == Bytes::ZERO,
        QueueLimit::Packets(limit) => limit == 0,
        QueueLimit::Time(limit) => limit == Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_link::{Discipline, RedConfig};

    fn link() -> LinkConfig {
        LinkConfig::default()
    }

    #[test]
    fn the_route_is_the_one_of_the_fewest_links() {
        let mut net = Topology::new();
        let nodes: Vec<NodeId> = (0..4).map(|_| net.add_node()).collect();
        for pair in nodes.windows(2) {
            net.add_duplex(pair[0], pair[1], link()).unwrap();
        }
        assert_eq!(net.route(nodes[0], nodes[3]).unwrap().links().len(), 3);
        let short = net.add_link(nodes[0], nodes[2], link()).unwrap();
        let route = net.route(nodes[0], nodes[3]).unwrap();
        assert_eq!(route.links(), [short, LinkId(4)]);
        assert_eq!(net.path(route.links()), Ok(route));
    }

    #[test]
    fn what_can_carry_nothing_is_refused() {
        let mut net = Topology::new();
        let (a, b) = (net.add_node(), net.add_node());
        let stalled = LinkConfig {
            rate: Rate::ZERO,
            ..link()
        };
        let refused = net.add_link(a, b, stalled);
        assert_eq!(refused, Err(TopologyError::ZeroRate { link: 0 }));
        for queue in [
            QueueLimit::Packets(0),
            QueueLimit::Bytes(Bytes::ZERO),
            QueueLimit::Time(Duration::ZERO),
        ] {
            let refused = net.add_link(a, b, LinkConfig { queue, ..link() });
            assert_eq!(refused, Err(TopologyError::ZeroQueue { link: 0 }));
        }
        let discipline = Discipline::Red(RedConfig::between(50.0, 10.0));
        let refused = net.add_link(
            a,
            b,
            LinkConfig {
                discipline,
                ..link()
            },
        );
        let message = refused.map_err(|error| error.to_string());
        assert_eq!(message, Err("link 0: RED: max must be above min".into()));
        let stranger = NodeId(7);
        let refused = net.add_link(a, stranger, link());
        assert_eq!(refused, Err(TopologyError::UnknownNode { link: 0 }));
        assert_eq!(net.link_count(), 0);
    }

    #[test]
    fn links_that_do_not_meet_are_no_path() {
        let mut net = Topology::new();
        let (a, b, c) = (net.add_node(), net.add_node(), net.add_node());
        let ab = net.add_link(a, b, link()).unwrap();
        let bc = net.add_link(b, c, link()).unwrap();
        let broken = |position| Err(TopologyError::BrokenPath { position });
        assert_eq!(net.path(&[]), broken(0));
        assert_eq!(net.path(&[bc, ab]), broken(1));
        assert_eq!(net.path(&[ab, LinkId(9)]), broken(1));
        assert!(net.path(&[ab, bc]).is_ok());
        let none = net.route(c, a);
        assert_eq!(none, Err(TopologyError::NoPath { from: c, to: a }));
    }
}
