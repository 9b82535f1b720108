//! The results of a test, from which its lines and its JSON are made.

use std::net::SocketAddr;

use evenkeel_net::DriverStats;
use evenkeel_perf::{ClientError, Terms};
use tfrc::time::Duration;

use super::tally::Rows;

/// A test that was run.
pub(super) struct PerfReport {
    pub(super) server: SocketAddr,
    pub(super) begun: Begun,
    pub(super) intervals: Vec<Vec<Rows>>,
    /// What was sent and what of it was received, a pair for each direction.
    pub(super) ends: Vec<End>,
    pub(super) driver: DriverStats,
    /// Events that `--trace` had no time for.
    pub(super) events_lost: u64,
    /// Processor time of this process over the length of the test.
    pub(super) processor: f64,
    /// What the figures alone do not say: that nothing arrived, or that this host was too late for the rate.
    pub(super) warnings: Vec<String>,
    /// Why the test was not completed; then there is what we counted alone.
    pub(super) error: Option<ClientError>,
}

/// One direction at the end. What the server counted is missing if it did not tell.
pub(super) struct End {
    pub(super) sent: Option<Rows>,
    pub(super) received: Option<Rows>,
    /// True if the client sent.
    pub(super) forward: bool,
}

/// A test that began, for either end.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    /// This end, and the other.
    pub(super) ends: [SocketAddr; 2],
    /// What names the test at both.
    pub(super) nonce: u64,
    /// When it began, since the Unix epoch.
    pub(super) at: Duration,
    /// Between two rows.
    pub(super) interval: Duration,
    pub(super) terms: Terms,
}
