//! Scripts of the interface system that several runs share.

use std::time::Duration;

use tfrc::units::{LossEventRate, Rate};

use crate::interposer::{Fate, Passing, Script};
use crate::packet::{Packet, TfrcReport};

/// What a receiver that saw no limit would report: the most that fits the wire.
pub const UNLIMITED: Rate = Rate::from_bytes_per_sec(u32::MAX as f64);

/// A rate for [`steer`] that does not limit the sender.
pub const UNLIMITED_RATE: f64 = 2.0 * UNLIMITED.bytes_per_sec();

/// Replaces X_recv and p in a report.
pub fn set(report: &mut TfrcReport, receive_rate: Rate, p: f64) {
    report.receive_rate = receive_rate;
    report.p = LossEventRate::new(p);
}

/// The report in a datagram.
pub fn report_in<'a>(passing: &'a mut Passing<'_>) -> Option<&'a mut TfrcReport> {
    match &mut passing.packet {
        Packet::Report(report) => Some(report),
        Packet::Data(_) | Packet::Arrivals | Packet::Other => None,
    }
}

/// Keeps the sender where it is told: with p = 0 it sends at `rate`, once slow start has got there,
/// because twice X_recv bounds it; with p > 0 at what the equation says, or at `rate` if that is less.
/// Its samples of the round-trip time are all `rtt`.
pub fn steer(passing: &mut Passing<'_>, rtt: Duration, rate: f64, p: f64) -> Fate {
    if let Some(report) = report_in(passing) {
        set(report, Rate::from_bytes_per_sec(rate / 2.0), p);
    }
    Fate::Held(rtt)
}

/// [`steer`] for a whole run, without loss.
pub fn steady(rtt: Duration, rate: f64) -> Script {
    Box::new(move |mut passing| steer(&mut passing, rtt, rate, 0.0))
}

/// A sender that knows only the equation: no limit by X_recv, and p and R as told.
pub fn equation(rtt: Duration, p: f64) -> Script {
    Box::new(move |mut passing| steer(&mut passing, rtt, UNLIMITED_RATE, p))
}
