//! The cells of the grid, and the networks that they stand for.

use serde::Deserialize;
use tfrc::time::Duration;

use super::super::capacity::Capacity;
use super::super::flow::{Flow, Kind};
use super::super::{Case, Impairments, QueueSize, Queueing};
use super::BesideTcp;
use crate::network::TcpVariant;
use crate::units::{BitRate, Time};

/// When the call joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum JoinOrder {
    /// Before the TCP.
    Before,
    /// After the TCP.
    After,
    /// At the same time.
    With,
}

/// The flow beside TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellFlow {
    Call,
    /// TFRC with data without end.
    Tfrc,
}

/// A path that a flow shares with TCP.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedPath {
    pub(super) variant: TcpVariant,
    pub(super) count: usize,
    pub(super) round_trip: Time,
    pub(super) queue: Time,
    pub(super) order: JoinOrder,
}

/// A path that a call has for itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct LonePath {
    pub(super) rate: BitRate,
    pub(super) round_trip: Time,
    pub(super) queue: Time,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum GridCell {
    Shared(SharedPath, CellFlow),
    Lone(LonePath),
}

impl JoinOrder {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::With => "with",
        }
    }
}

impl CellFlow {
    pub(super) const ALL: [Self; 2] = [Self::Call, Self::Tfrc];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Tfrc => "tfrc",
        }
    }

    /// The metric of its rate divided by the rate of a TCP flow.
    pub(super) const fn over_tcp(self) -> &'static str {
        match self {
            Self::Call => "call_over_tcp",
            Self::Tfrc => "tfrc_over_tcp",
        }
    }

    const fn kind(self) -> Kind {
        match self {
            Self::Call => Kind::Call,
            Self::Tfrc => Kind::Tfrc,
        }
    }
}

impl SharedPath {
    /// The name of a metric of this path.
    pub(super) fn metric(self, quantity: &str) -> String {
        let [round_trip, queue] = [self.round_trip, self.queue].map(millis);
        format!(
            "{quantity}_{}_{}_{round_trip}ms_{queue}ms_{}",
            self.variant.name(),
            self.count,
            self.order.name()
        )
    }
}

impl LonePath {
    /// The end of the names of its metrics.
    pub(super) fn name(self) -> String {
        let kbps = self.rate.0.bits_per_sec() / 1e3;
        let [round_trip, queue] = [self.round_trip, self.queue].map(millis);
        format!("{kbps}kbps_{round_trip}ms_{queue}ms")
    }
}

pub(super) fn millis(time: Time) -> f64 {
    time.0.as_micros() as f64 / 1e3
}

impl BesideTcp {
    /// The paths beside TCP, in the order of their cells.
    pub(super) fn shared_paths(&self) -> Vec<SharedPath> {
        let mut paths = Vec::new();
        for &variant in &self.variants {
            for &count in &self.counts {
                for &queue in &self.queues {
                    for &round_trip in &self.round_trips {
                        paths.extend(self.orders.iter().map(|&order| SharedPath {
                            variant,
                            count,
                            round_trip,
                            queue,
                            order,
                        }));
                    }
                }
            }
        }
        paths
    }

    /// The paths of lone calls.
    pub(super) fn lone_paths(&self) -> Vec<LonePath> {
        let mut paths = Vec::new();
        for &rate in &self.lone.rates {
            for &queue in &self.lone.queues {
                paths.extend(self.round_trips.iter().map(|&round_trip| LonePath {
                    rate,
                    round_trip,
                    queue,
                }));
            }
        }
        paths
    }

    /// Every cell.
    pub(super) fn grid(&self) -> Vec<GridCell> {
        let shared = self.shared_paths().into_iter();
        let shared = shared.flat_map(|path| CellFlow::ALL.map(|flow| GridCell::Shared(path, flow)));
        let lone = self.lone_paths().into_iter().map(GridCell::Lone);
        shared.chain(lone).collect()
    }

    /// The network and the flows of a cell. The call, or the flow in its place, is the first.
    pub(super) fn case(&self, cell: GridCell) -> Case {
        match cell {
            GridCell::Shared(path, flow) => self.shared_case(path, flow),
            GridCell::Lone(path) => {
                let span = [Time(Duration::ZERO), self.lone.length];
                let flows = vec![one_flow("S1".to_owned(), Kind::Call, span, path.round_trip)];
                plain_case(path.queue, path.rate, flows)
            }
        }
    }

    fn shared_case(&self, path: SharedPath, flow: CellFlow) -> Case {
        let [first, joined] = [Duration::ZERO, self.alone.0].map(Time);
        let left = Time(joined.0 + self.together.0);
        let [start, tcp_start] = match path.order {
            JoinOrder::Before => [first, joined],
            JoinOrder::After => [joined, first],
            JoinOrder::With => [joined; 2],
        };
        let stop = match flow {
            CellFlow::Call => Time(left.0 + self.afterwards.0),
            CellFlow::Tfrc => left,
        };
        let call = one_flow("S1".to_owned(), flow.kind(), [start, stop], path.round_trip);
        let tcp = (1..=path.count).map(|number| {
            let name = format!("TCP{number}");
            one_flow(name, Kind::Tcp, [tcp_start, left], path.round_trip)
        });
        let flows: Vec<Flow> = [call].into_iter().chain(tcp).collect();
        let rate = BitRate(self.equal_share.0 * flows.len() as f64);
        plain_case(path.queue, rate, flows)
    }
}

fn one_flow(name: String, kind: Kind, span: [Time; 2], round_trip: Time) -> Flow {
    Flow::new(name, kind, span, Time(round_trip.0 / 2))
}

/// One drop-tail bottleneck of a constant rate.
fn plain_case(queue: Time, rate: BitRate, flow: Vec<Flow>) -> Case {
    Case {
        name: "cell".to_owned(),
        queue: QueueSize::Time(queue),
        discipline: Queueing::default(),
        ecn: false,
        jitter: None,
        path: Impairments::default(),
        backward_path: Impairments::default(),
        detour: Vec::new(),
        bottleneck: vec![Capacity::Steps(vec![(Time(Duration::ZERO), rate)])],
        backward: None,
        flow,
        measured: None,
    }
}
