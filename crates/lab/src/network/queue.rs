//! The queue of a bottleneck, as experiments describe it.

use evenkeel_link::{
    CoDelConfig, Discipline, FqCoDelConfig, LinkConfig, PieConfig, QueueLimit, RedConfig,
};
use serde::Deserialize;
use tfrc::units::Bytes;

use crate::scenario::{Impossible, require};
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
    },
    /// A queue a flow, each with CoDel (RFC 8290).
    FqCodel {
        /// Packets that they hold at most, together.
        packets: u32,
    },
    /// Proportional integral controller enhanced, with the times of RFC 8033.
    Pie {
        /// Packets that it holds at most.
        packets: u32,
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

    /// Refuses one that no packet of this size could wait in, and settings that make no sense.
    pub(crate) fn verify(self, packet: Size) -> Result<(), Impossible> {
        match self {
            Self::DropTail { packets }
            | Self::Codel { packets }
            | Self::FqCodel { packets }
            | Self::Pie { packets } => require(packets > 0, "packets", "at least 1"),
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
    pub(crate) fn scaled(self, factor: f64) -> Self {
        let times = |packets: u32| ((f64::from(packets) * factor).round() as u32).max(2);
        match self {
            Self::DropTail { packets } => Self::DropTail {
                packets: times(packets),
            },
            Self::Red {
                packets,
                min,
                max,
                max_p,
                gentle,
            } => Self::Red {
                packets: times(packets),
                min: times(min),
                // Three more packets than the minimum, as no smaller range can control anything.
                max: times(max).max(times(min) + 3),
                max_p,
                gentle,
            },
            Self::Codel { packets } => Self::Codel {
                packets: times(packets),
            },
            Self::FqCodel { packets } => Self::FqCodel {
                packets: times(packets),
            },
            Self::Pie { packets } => Self::Pie {
                packets: times(packets),
            },
            Self::DropTailBytes { size } => Self::DropTailBytes {
                size: Size(Bytes::new((size.0.as_f64() * factor).round() as u64)),
            },
        }
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
            } => {
                let red = RedConfig {
                    max_p,
                    gentle,
                    ..RedConfig::between(min.into(), max.into())
                };
                (in_packets(packets), Discipline::Red(red))
            }
            Self::DropTailBytes { size } => (QueueLimit::Bytes(size.0), Discipline::DropTail),
            Self::Codel { packets } => {
                let usual = CoDelConfig::default();
                (in_packets(packets), Discipline::CoDel(usual))
            }
            Self::FqCodel { packets } => {
                let usual = FqCoDelConfig::default();
                (in_packets(packets), Discipline::FqCoDel(usual))
            }
            Self::Pie { packets } => {
                let usual = PieConfig::default();
                (in_packets(packets), Discipline::Pie(usual))
            }
        };
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
}
