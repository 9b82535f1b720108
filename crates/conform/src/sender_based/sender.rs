//! Judges how a sender responds to reports: the rate at which packets leave.

use tfrc::equation;
use tfrc::time::Instant;
use tfrc::units::{Bytes, LossEventRate};

use super::path::{PERIOD, ROUND_TRIP, SILENCE, SIZE};
use crate::check::{Evidence, Outcome, between, close, ms, ratio};
use crate::log::Log;

/// From then on the average has forgotten slow start.
const SETTLED_AT: Instant = Instant::from_secs(10);

fn settled_rate(log: &Log) -> Option<f64> {
    log.sending_rate(SETTLED_AT, Instant::MAX)
}

fn over_plain(e: &Evidence<'_>) -> Option<f64> {
    let [changed, plain] = [e.logs.first()?, e.logs.get(1)?].map(|log| settled_rate(log));
    // A sender that does not send is as bad on both.
    let plain = plain.filter(|plain| *plain > equation_rate() / 2.0);
    Some(changed? / plain?)
}

fn equation_rate() -> f64 {
    let p = LossEventRate::new(1.0 / PERIOD as f64);
    equation::rate(Bytes::new(SIZE.into()), ROUND_TRIP, p).bytes_per_sec()
}

pub(super) fn follows_the_equation(e: &Evidence<'_>) -> Outcome {
    close(settled_rate(e.log()), equation_rate(), e.pick(0.03, 0.1))
}

pub(super) fn as_plain(e: &Evidence<'_>) -> Outcome {
    close(over_plain(e), 1.0, e.pick(0.01, 0.1))
}

/// What comes late lengthens R a little.
pub(super) fn nearly_as_plain(e: &Evidence<'_>) -> Outcome {
    close(over_plain(e), 1.0, 0.12)
}

/// The timer runs 4R from the last report, which came half a round trip after it left.
pub(super) fn halves(e: &Evidence<'_>) -> Outcome {
    let log = e.log();
    let before = log.sending_rate(SILENCE - ms(1_000), SILENCE);
    let timer = SILENCE + ms(50) + ROUND_TRIP * 4;
    let after = log.sending_rate(timer + ms(50), timer + ROUND_TRIP * 4 - ms(50));
    between(ratio(after, before), 0.4, 0.62)
}
