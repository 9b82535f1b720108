//! Packets as they arrive.

use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::Bytes;
use tfrc::{Arrival, Ecn};

pub(crate) const SIZE: Bytes = Bytes::new(1_200);
/// One packet in this many comes behind the four that follow it.
const REORDERED: u64 = 100;

/// A path, as its packets arrive.
#[derive(Clone, Copy)]
pub(crate) struct Traffic {
    /// From a packet's departure to the next.
    pub spacing: Duration,
    pub rtt: Duration,
    /// The last of so many is lost.
    pub lost: Option<u64>,
    pub reordered: bool,
}

/// 10 Mb/s and 60 ms: a report, which costs as much as six packets, comes once in 60.
pub(crate) const IN_ORDER: Traffic = Traffic {
    spacing: Duration::from_micros(960),
    rtt: Duration::from_millis(60),
    lost: None,
    reordered: false,
};

/// The path of the `light` paper's example (§V), 1 Mb/s and 100 ms: a report in twelve packets.
pub(crate) const LIGHT_PATH: Traffic = Traffic {
    spacing: Duration::from_millis(8),
    rtt: Duration::from_millis(100),
    lost: None,
    reordered: false,
};

impl Traffic {
    /// Packets in the order of their arrival.
    pub(crate) fn arrivals(self, count: u64) -> Vec<Arrival> {
        let mut order: Vec<u64> = (0..count)
            .filter(|seq| self.lost.is_none_or(|every| seq % every != every - 1))
            .collect();
        if self.reordered {
            for late in (0..order.len().saturating_sub(5)).step_by(REORDERED as usize) {
                order[late..late + 5].rotate_left(1);
            }
        }
        order
            .into_iter()
            .zip(0u32..)
            .map(|(seq, arrived)| Arrival {
                seq,
                at: Instant::from_secs(1) + self.spacing * arrived,
                timestamp: seq as u32,
                rtt: Some(self.rtt),
                size: SIZE,
                ecn: Ecn::Ect0,
            })
            .collect()
    }
}
