//! Rules that several kinds of scenario check before anything runs.

use crate::error::{Impossible, require};
use crate::metrics::BIN;
use crate::network::Queue;
use crate::units::{Size, Time};

/// Refuses a part of the run that ends before it begins.
pub(crate) fn require_window(key: &'static str, [from, to]: [Time; 2]) -> Result<(), Impossible> {
    require(from < to, key, "[from, to], with from before to")
}

/// Refuses packets between two losses that are too few for a rate to settle, or so many that it grows for ever.
pub(crate) fn require_lost_one_in(
    periods: impl IntoIterator<Item = u64>,
) -> Result<(), Impossible> {
    let sound = periods
        .into_iter()
        .all(|period| (4..=100_000).contains(&period));
    require(sound, "lost_one_in", "from 4 to 100000")
}

/// Refuses timescales that recorded bins cannot be joined to.
pub(crate) fn require_bins<'a>(
    key: &'static str,
    times: impl IntoIterator<Item = &'a Time>,
) -> Result<(), Impossible> {
    let mut times = times.into_iter();
    let sound =
        times.all(|time| !time.0.is_zero() && time.0.as_nanos().is_multiple_of(BIN.as_nanos()));
    require(sound, key, "a multiple of 50ms")
}

/// Refuses no queue at all, and a queue in which no packet of this size could wait.
pub(crate) fn require_queues(queues: &[Queue], packet: Size) -> Result<(), Impossible> {
    require(!queues.is_empty(), "queues", "one or more")?;
    queues.iter().enumerate().try_for_each(|(index, queue)| {
        let sound = queue.verify(packet);
        sound.map_err(|wrong| wrong.inside("queues", index))
    })
}

/// Refuses delays at senders that would be a network of their own.
pub(crate) fn require_jitter(packet_times: f64) -> Result<(), Impossible> {
    let sound = (0.0..=100.0).contains(&packet_times);
    require(sound, "jitter", "from 0 to 100 packet times")
}

/// Numbers that a run records at most, each way: 64 MiB with both.
const MOST_NUMBERS: u128 = 4 << 20;

/// Refuses a run that would record more than memory should hold: a number a flow and bin.
pub(crate) fn require_recordable(
    key: &'static str,
    [from, to]: [Time; 2],
    flows: usize,
) -> Result<(), Impossible> {
    let bins = to.0.saturating_sub(from.0).as_nanos() / BIN.as_nanos();
    require(
        bins.saturating_mul(flows as u128) <= MOST_NUMBERS,
        key,
        "shorter, or the flows fewer: flows times 50ms intervals are at most 4194304",
    )
}

/// Refuses a run of one flow that would have more points than a figure can show: one a round trip.
pub(crate) fn require_round_trips(
    key: &'static str,
    length: Time,
    rtt: Time,
) -> Result<(), Impossible> {
    require(!rtt.0.is_zero(), "rtt", "above 0")?;
    let round_trips = length.0.as_nanos() / rtt.0.as_nanos();
    require(
        round_trips <= MOST_ROUND_TRIPS,
        key,
        "at most 100000 round trips from the beginning: shorter, or rtt longer",
    )
}

const MOST_ROUND_TRIPS: u128 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::time::Duration;

    fn secs(secs: u64) -> Time {
        Time(Duration::from_secs(secs))
    }

    #[test]
    fn what_a_run_records_is_bounded_by_flows_and_time_together() {
        let record = |to, flows| require_recordable("shown", [secs(10), secs(to)], flows);
        // 20 numbers a second and flow.
        assert_eq!(record(52, 4_993), Ok(()));
        assert_eq!(record(52, 4_994).map_err(|wrong| wrong.key), Err("shown"));
        assert!(record(86_400, 2).is_ok() && record(86_400, 3).is_err());
        assert!(record(0, usize::MAX).is_ok());
    }

    #[test]
    fn a_run_of_one_flow_is_bounded_in_round_trips() {
        let key = |rtt| {
            let refused = require_round_trips("until", secs(100), Time(Duration::from_micros(rtt)));
            refused.map_err(|wrong| wrong.key)
        };
        assert_eq!(key(1_000), Ok(()));
        assert_eq!(key(999), Err("until"));
        assert_eq!(key(0), Err("rtt"));
    }

    #[test]
    fn timescales_are_whole_bins() {
        let fits = |ms| require_bins("drawn", &[Time(Duration::from_millis(ms))]).is_ok();
        assert!(fits(50) && fits(150) && !fits(0) && !fits(75));
    }
}
