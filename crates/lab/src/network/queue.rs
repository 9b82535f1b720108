//! The queue of a bottleneck, as experiments describe it.

use evenkeel_link::{Discipline, LinkConfig, QueueLimit, RedConfig};
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
}

impl Queue {
    /// In names of metrics.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::DropTail { .. } | Self::DropTailBytes { .. } => "droptail",
            Self::Red { .. } => "red",
        }
    }

    pub(crate) fn verify(self) -> Result<(), Impossible> {
        match self {
            Self::DropTail { packets } => require(packets > 0, "packets", "at least 1"),
            Self::Red {
                packets,
                min,
                max,
                max_p,
                ..
            } => {
                require(packets > 0, "packets", "at least 1")?;
                require(min < max, "max", "above min")?;
                require((0.0..=1.0).contains(&max_p), "max_p", "from 0 to 1")
            }
            // Anything that a `Size` can be; less than a packet drops whatever has to wait.
            Self::DropTailBytes { .. } => Ok(()),
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
            Self::DropTailBytes { size } => Self::DropTailBytes {
                size: Size(Bytes::new((size.0.as_f64() * factor).round() as u64)),
            },
        }
    }

    pub(super) fn apply(self, config: &mut LinkConfig) {
        match self {
            Self::DropTail { packets } => config.queue = QueueLimit::Packets(packets.into()),
            Self::Red {
                packets,
                min,
                max,
                max_p,
                gentle,
            } => {
                config.queue = QueueLimit::Packets(packets.into());
                config.discipline = Discipline::Red(RedConfig {
                    max_p,
                    gentle,
                    ..RedConfig::between(min.into(), max.into())
                });
            }
            Self::DropTailBytes { size } => config.queue = QueueLimit::Bytes(size.0),
        }
    }
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
}
