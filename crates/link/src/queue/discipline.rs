//! A `QueueLimit` and a `Discipline` decide how much may wait in a queue, and which packets.

use super::{CoDelConfig, FqCoDelConfig, PieConfig, RedConfig};
use tfrc::time::Duration;
use tfrc::units::{Bytes, Rate};

/// How much may wait. The packet on the wire does not count: it has left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most this many bytes.
    Bytes(Bytes),
    /// At most this many packets, of any size.
    Packets(u64),
    /// At most what the link carries in this time at its current rate: the limit follows the rate.
    /// While the rate is zero, the last rate above zero counts, so that an outage fills the buffer
    /// instead of abolishing it.
    Time(Duration),
}

impl QueueLimit {
    /// What one packet of Ethernet takes: below it, a long packet could never wait in a queue that is limited in bytes.
    pub const LEAST_BYTES: Bytes = Bytes::new(1_500);

    /// True if so much may wait while the link runs at `rate`.
    pub(super) fn holds(self, packets: u64, bytes: Bytes, rate: Rate) -> bool {
        match self {
            Self::Bytes(limit) => bytes <= limit,
            Self::Packets(limit) => packets <= limit,
            Self::Time(limit) => bytes <= bytes_in(limit, rate),
        }
    }
}

/// Which packets wait and in which order they leave, within the [`QueueLimit`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Discipline {
    /// First in, first out; what does not fit is dropped on arrival.
    #[default]
    DropTail,
    /// Drops at random while the average length is too long, before the queue is full.
    Red(RedConfig),
    /// Drops at the head while the delay does not fall below a target.
    CoDel(CoDelConfig),
    /// A queue a flow, each with CoDel. When full, the longest is dropped from.
    FqCoDel(FqCoDelConfig),
    /// Drops at random, as likely as the delay and its growth make it.
    Pie(PieConfig),
}

impl Discipline {
    /// What is wrong with its settings, if something is: a link with such would run, but not as meant.
    pub fn problem(&self) -> Option<&'static str> {
        let conditions: &[(bool, &'static str)] = match self {
            Self::DropTail => &[],
            Self::Red(red) => &[
                (red.min >= 0.0, "RED: min must be at least 0"),
                (red.max > red.min, "RED: max must be above min"),
                (
                    red.max_p > 0.0 && red.max_p <= 1.0,
                    "RED: max_p must be above 0 and at most 1",
                ),
                (
                    red.weight > 0.0 && red.weight <= 1.0,
                    "RED: weight must be above 0 and at most 1",
                ),
                (
                    red.mean_packet > Bytes::ZERO,
                    "RED: mean_packet must be above 0",
                ),
            ],
            Self::CoDel(codel) => &[codel_interval(codel)],
            Self::FqCoDel(fq_codel) => &[
                codel_interval(&fq_codel.codel),
                (
                    fq_codel.queues > 0,
                    "FQ-CoDel: queues is 0: give at least 1",
                ),
                (
                    fq_codel.quantum > Bytes::ZERO,
                    "FQ-CoDel: quantum is 0: give the size of a packet, such as 1514B",
                ),
            ],
            Self::Pie(pie) => &[
                (pie.target > Duration::ZERO, "PIE: target must be above 0"),
                (
                    pie.update >= PieConfig::LEAST_UPDATE,
                    "PIE: update must be at least 1ms: give how often it looks at its queue, such as 15ms",
                ),
            ],
        };
        let broken = conditions.iter().find(|(holds, _)| !holds);
        broken.map(|(_, problem)| *problem)
    }
}

fn codel_interval(codel: &CoDelConfig) -> (bool, &'static str) {
    let holds = codel.interval > Duration::ZERO;
    (holds, "CoDel: interval must be above 0")
}

/// What `rate` carries in `time`: whole nanoseconds keep the product exact for any ordinary rate.
fn bytes_in(time: Duration, rate: Rate) -> Bytes {
    Bytes::new((rate.bytes_per_sec() * time.as_nanos() as f64 / 1e9) as u64)
}
