//! The state of a call's path model during a run.

use evenkeel_rate::Mode;
use evenkeel_sim::Traffic;
use tfrc::time::Instant;

/// The path model of one call at one instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelState {
    /// In seconds.
    pub(super) at: f64,
    /// The rate follows TFRC's X alone.
    pub(super) competes: bool,
    /// The queueing delay that the call aims at, in seconds.
    pub(super) target: f64,
}

impl ModelState {
    /// Reads the model of a call's sender; `None` for any other flow.
    pub(super) fn of(at: Instant, sender: &Traffic) -> Option<Self> {
        let Traffic::MediaEnd(end) = sender else {
            return None;
        };
        let model = end.call().sender()?.policy().model();
        Some(Self {
            at: at.as_secs_f64(),
            competes: model.mode() == Mode::Compete,
            target: model.target_delay().as_secs_f64(),
        })
    }
}
