//! The queue of a bottleneck, as experiments describe it.

use evenkeel_link::{
    CoDelConfig, Discipline, FqCoDelConfig, LinkConfig, PieConfig, QueueLimit, RedConfig, RedUnit,
};
use serde::Deserialize;
use tfrc::units::Bytes;

use crate::error::{Impossible, require};
use crate::units::Size;

/// The queue of a bottleneck.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// First in, first out; what does not fit is dropped.
    DropTail {
        /// Packets that it holds.
        packets: u32,
    },
    /// Random early detection (Floyd and Jacobson, 1993), in packets.
    Red {
        /// Packets that it holds at most.
        packets: u32,
        /// Below this average it drops none.
        min: u32,
        /// From this average on it drops all; if gentle, from twice this on.
        max: u32,
        /// The probability of dropping at `max`.
        max_p: f64,
        /// Lets the probability rise above `max` instead of jumping.
        gentle: bool,
        /// Marks instead of dropping, below `max`, what says that it may be marked.
        #[serde(default)]
        ecn: bool,
        /// Averages bytes in packets of this size, and drops a packet as often as it is large; averages
        /// packets unless given.
        #[serde(default)]
        mean_packet: Option<Size>,
    },
    /// The same as `DropTail`, counted in bytes.
    DropTailBytes {
        /// Bytes that it holds.
        size: Size,
    },
    /// Controlled delay, with the times of RFC 8289.
    Codel {
        /// Packets that it holds at most.
        packets: u32,
        /// Marks instead of dropping what says that it may be marked.
        #[serde(default)]
        ecn: bool,
    },
    /// A queue a flow, each with CoDel (RFC 8290).
    FqCodel {
        /// Packets that they hold at most, together.
        packets: u32,
        /// Marks instead of dropping what says that it may be marked.
        #[serde(default)]
        ecn: bool,
    },
    /// Proportional integral controller enhanced, with the times of RFC 8033.
    Pie {
        /// Packets that it holds at most.
        packets: u32,
        /// Marks instead of dropping what says that it may be marked.
        #[serde(default)]
        ecn: bool,
    },
}

impl Queue {
    /// In names of metrics.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::DropTail { .. } | Self::DropTailBytes { .. } => "droptail",
            Self::Red { .. } => "red",
            Self::Codel { .. } => "codel",
            Self::FqCodel { .. } => "fq_codel",
            Self::Pie { .. } => "pie",
        }
    }

    /// Does it mark packets?
    pub(crate) fn marks(self) -> bool {
        match self {
            Self::DropTail { .. } | Self::DropTailBytes { .. } => false,
            Self::Red { ecn, .. }
            | Self::Codel { ecn, .. }
            | Self::FqCodel { ecn, .. }
            | Self::Pie { ecn, .. } => ecn,
        }
    }

    /// Refuses one that no packet of this size could wait in, and settings that make no sense.
    pub(crate) fn verify(self, packet: Size) -> Result<(), Impossible> {
        match self {
            Self::DropTail { packets }
            | Self::Codel { packets, .. }
            | Self::FqCodel { packets, .. }
            | Self::Pie { packets, .. } => require(packets > 0, "packets", "at least 1"),
            Self::Red {
                packets,
                min,
                max,
                max_p,
                ..
            } => {
                require(packets > 0, "packets", "at least 1")?;
                require(min < max, "max", "above min")?;
                require(
                    max_p > 0.0 && max_p <= 1.0,
                    "max_p",
                    "above 0 and at most 1",
                )
            }
            Self::DropTailBytes { size } => require(size >= packet, "size", "at least a packet"),
        }
    }

    /// The same queue for a link that is so many times as fast.
    pub(crate) fn scaled(mut self, factor: f64) -> Self {
        let times = |packets: u32| ((f64::from(packets) * factor).round() as u32).max(2);
        match &mut self {
            Self::DropTail { packets }
            | Self::Codel { packets, .. }
            | Self::FqCodel { packets, .. }
            | Self::Pie { packets, .. } => *packets = times(*packets),
            Self::Red {
                packets, min, max, ..
            } => {
                *packets = times(*packets);
                *min = times(*min);
                // Three more packets than the minimum, as no smaller range can control anything.
                *max = times(*max).max(*min + 3);
            }
            Self::DropTailBytes { size } => {
                *size = Size(Bytes::new((size.0.as_f64() * factor).round() as u64));
            }
        }
        self
    }

    pub(crate) fn apply(self, config: &mut LinkConfig) {
        (config.queue, config.discipline) = match self {
            Self::DropTail { packets } => (in_packets(packets), Discipline::DropTail),
            Self::Red {
                packets,
                min,
                max,
                max_p,
                gentle,
                ecn,
                mean_packet,
            } => {
                let usual = RedConfig::between(min.into(), max.into());
                let red = RedConfig {
                    max_p,
                    gentle,
                    ecn,
                    unit: mean_packet.map_or(RedUnit::Packets, |_| RedUnit::Bytes),
                    mean_packet: mean_packet.map_or(usual.mean_packet, |size| size.0),
                    ..usual
                };
                (in_packets(packets), Discipline::Red(red))
            }
            Self::DropTailBytes { size } => (QueueLimit::Bytes(size.0), Discipline::DropTail),
            Self::Codel { packets, ecn } => (in_packets(packets), Discipline::CoDel(codel(ecn))),
            Self::FqCodel { packets, ecn } => {
                let fq_codel = FqCoDelConfig {
                    codel: codel(ecn),
                    ..FqCoDelConfig::default()
                };
                (in_packets(packets), Discipline::FqCoDel(fq_codel))
            }
            Self::Pie { packets, ecn } => {
                let pie = PieConfig {
                    ecn,
                    ..PieConfig::default()
                };
                (in_packets(packets), Discipline::Pie(pie))
            }
        };
    }
}

fn codel(ecn: bool) -> CoDelConfig {
    CoDelConfig {
        ecn,
        ..CoDelConfig::default()
    }
}

fn in_packets(packets: u32) -> QueueLimit {
    QueueLimit::Packets(packets.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_grow_with_the_rate() {
        let red = Queue::Red {
            packets: 250,
            min: 25,
            max: 125,
            max_p: 0.1,
            gentle: true,
            ecn: false,
            mean_packet: None,
        };
        let Queue::Red {
            packets, min, max, ..
        } = red.scaled(2.0)
        else {
            panic!("another discipline");
        };
        assert_eq!((packets, min, max), (500, 50, 250));
        let Queue::Red { min, max, .. } = red.scaled(0.01) else {
            panic!("another discipline");
        };
        assert_eq!((min, max), (2, 5));
    }

    #[test]
    fn a_queue_that_holds_nothing_or_never_drops_is_refused() {
        let packet = Size(Bytes::new(1_000));
        let wrong = |queue: &str| {
            let queue: Queue = toml::from_str(queue).unwrap();
            queue.verify(packet).map_err(|wrong| wrong.key)
        };
        assert_eq!(wrong("drop-tail = { packets = 0 }"), Err("packets"));
        assert_eq!(wrong("codel = { packets = 0 }"), Err("packets"));
        assert_eq!(wrong("pie = { packets = 1 }"), Ok(()));
        assert_eq!(wrong("fq-codel = { packets = 1 }"), Ok(()));
        assert_eq!(wrong("drop-tail-bytes = { size = '999B' }"), Err("size"));
        assert_eq!(wrong("drop-tail-bytes = { size = '1kB' }"), Ok(()));
        let red = |min: u32, max_p: f64| {
            let rest = "packets = 60, max = 15, gentle = true";
            wrong(&format!(
                "red = {{ {rest}, min = {min}, max_p = {max_p:?} }}"
            ))
        };
        assert_eq!(red(15, 0.1), Err("max"));
        assert_eq!(red(5, 0.0), Err("max_p"));
        assert_eq!(red(5, 1.0), Ok(()));
    }

    #[test]
    fn every_discipline_that_can_mark_does_if_told_to_and_red_counts_bytes_if_told_of_their_packets()
     {
        let discipline = |queue: &str| {
            let queue: Queue = toml::from_str(queue).unwrap();
            let mut config = LinkConfig::default();
            queue.apply(&mut config);
            (queue.marks(), config.discipline)
        };
        let red = "packets = 60, min = 5, max = 15, max_p = 0.1, gentle = true";
        let (marks, Discipline::Red(config)) = discipline(&format!(
            "red = {{ {red}, ecn = true, mean_packet = '500B' }}"
        )) else {
            panic!("another discipline");
        };
        assert!(marks && config.ecn);
        assert_eq!(
            (config.unit, config.mean_packet),
            (RedUnit::Bytes, Bytes::new(500))
        );
        let (marks, Discipline::Red(config)) = discipline(&format!("red = {{ {red} }}")) else {
            panic!("another discipline");
        };
        assert!(!marks && !config.ecn && config.unit == RedUnit::Packets);
        for marking in ["codel", "fq-codel", "pie"] {
            let (marks, config) = discipline(&format!("{marking} = {{ packets = 9, ecn = true }}"));
            let set = match config {
                Discipline::CoDel(codel) => codel.ecn,
                Discipline::FqCoDel(fq_codel) => fq_codel.codel.ecn,
                Discipline::Pie(pie) => pie.ecn,
                Discipline::DropTail | Discipline::Red(_) => panic!("another discipline"),
            };
            assert!(marks && set, "{marking}");
        }
    }
}
