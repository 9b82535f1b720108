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
    /// The counts of both sides, for each direction.
    pub(super) ends: Vec<End>,
    pub(super) driver: DriverStats,
    /// Events that `--trace` had no time for.
    pub(super) events_lost: u64,
    /// Processor time of this process over the length of the test.
    pub(super) processor: f64,
    /// Warnings beside the figures: no packet arrived, or this host was too late for the rate.
    pub(super) warnings: Vec<String>,
    /// The reason why the test was not completed; then only the client's counts are there.
    pub(super) error: Option<ClientError>,
}

/// One direction at the end. The server's counts are missing if it sent none.
pub(super) struct End {
    pub(super) sent: Option<Rows>,
    pub(super) received: Option<Rows>,
    /// True if the client sent.
    pub(super) forward: bool,
}

/// A test that began, for either end.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    /// The addresses of this end and of its peer.
    pub(super) ends: [SocketAddr; 2],
    /// The name of the test at both ends.
    pub(super) nonce: u64,
    /// When it began, since the Unix epoch.
    pub(super) at: Duration,
    /// The time between two rows.
    pub(super) interval: Duration,
    pub(super) terms: Terms,
}
