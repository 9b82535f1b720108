//! What an experiment runs: a kind of scenario a file, and what all kinds have in common.
//!
//! A scenario is a grid of *cells* (the points of a sweep), each run once a seed. Runs share nothing,
//! so any number of them go at once and give the same bytes.

mod analysis;
mod cellular_model;
mod controllers;
mod descheduling;
mod end_of_congestion;
mod fair_share;
mod feedback_compare;
mod feedback_cost;
mod feedback_timing;
mod formats;
mod inversion;
mod late_packets;
mod loss_event_fraction;
mod loss_predictors;
mod on_off;
mod oscillation;
mod persistent_congestion;
mod queue_dynamics;
mod receiver_cost;
mod require;
mod rmcat;
mod sack_events;
mod selfish;
mod smoothness;
mod stepped_loss;
mod timeline;
mod video_call;
mod video_on_demand;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;

use crate::comparison::PeerComparison;
use crate::findings::{Findings, Sample};
use crate::network::Stage;
use crate::real::Real;

pub use require::Impossible;
pub(crate) use require::{
    impossible, require, require_bins, require_jitter, require_lost_one_in, require_recordable,
    require_round_trips, require_window,
};
pub use rmcat::{CallEnds, CallSetup, Peers};

/// A kind of scenario with its parameters: the table `[scenario.KIND]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One flow; the loss rate changes in steps.
    SteppedLoss(stepped_loss::SteppedLoss),
    /// One flow; loss ends.
    EndOfCongestion(end_of_congestion::EndOfCongestion),
    /// One flow; every other packet is lost from an instant on.
    PersistentCongestion(persistent_congestion::PersistentCongestion),
    /// A stream on a path that reorders and loses nothing.
    LatePackets(late_packets::LatePackets),
    /// One flow; its receiver loses its processor now and then.
    Descheduling(descheduling::Descheduling),
    /// Loss events against losses, by formula and by measurement.
    LossEventFraction(loss_event_fraction::LossEventFraction),
    /// Ways to average loss intervals, on the losses of many conditions.
    LossPredictors(loss_predictors::LossPredictors),
    /// TCP and TFRC flows on one bottleneck, on all timescales.
    Smoothness(smoothness::Smoothness),
    /// One TCP and one TFRC flow among UDP sources that are on and off by turns.
    OnOff(on_off::OnOff),
    /// TFRC and its relatives, each beside TCP.
    Controllers(controllers::Controllers),
    /// TCP and TFRC flows on one bottleneck, over rates and numbers of flows.
    FairShare(fair_share::FairShare),
    /// The same flows, reporting in one format after the other.
    Formats(formats::Formats),
    /// One flow, reporting more and less often, by RTCP's timer and by TFRC's.
    FeedbackTiming(feedback_timing::FeedbackTiming),
    /// Loss events counted from SACK vectors, and by a receiver.
    SackEvents(sack_events::SackEvents),
    /// The flows of other experiments, with p computed in one place and in the other.
    FeedbackCompare(feedback_compare::FeedbackCompare),
    /// What reports cost, in each format.
    FeedbackCost(feedback_cost::FeedbackCost),
    /// What a receiver holds and computes that computes p, and one that only reports.
    ReceiverCost(receiver_cost::ReceiverCost),
    /// Steps that it takes to find the p of a first loss interval.
    Inversion(inversion::Inversion),
    /// Flows that come and go on a bottleneck, case by case.
    Timeline(timeline::Timeline),
    /// Streams of video by TFRC and by UDP, beside each other and beside TCP.
    VideoOnDemand(video_on_demand::VideoOnDemand),
    /// One call over one link, by one policy of the sending buffer or more.
    VideoCall(video_call::VideoCall),
    /// The same over every round-trip time and rate, as maps.
    CallMap(video_call::CallMap),
    /// One call over a lossy link, its rate filled in one way or more.
    FilledCall(video_call::FilledCall),
    /// One flow and buffers of several sizes, without and with the spacing by √R.
    Oscillation(oscillation::Oscillation),
    /// Many flows of one protocol: what they make of the queue.
    QueueDynamics(queue_dynamics::QueueDynamics),
    /// Calls on a bottleneck, as RFC 8867 has them.
    Rmcat(rmcat::Rmcat),
    /// The call beside TCP, over paths, queues and orders of joining, and alone.
    BesideTcp(rmcat::BesideTcp),
    /// The product's call and rate controllers of others in the same cells.
    Peers(rmcat::Peers),
    /// The seeded model of cellular links beside their recordings.
    CellularModel(cellular_model::CellularModel),
    /// Receivers that lie, in each format, to senders that check and to senders that do not.
    Selfish(selfish::Selfish),
    /// How fast the rate can grow, by formula.
    IncreaseBound(analysis::IncreaseBound),
    /// What a growing queue does to the rate, by formula.
    QueueingDelay(analysis::QueueingDelay),
}

/// One run: a cell with a seed.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Which cell, from 0.
    pub cell: usize,
    /// The seed of everything random in it.
    pub seed: u64,
    /// Set when nobody waits for the result any more.
    pub stop: &'a AtomicBool,
}

impl Job<'_> {
    /// An error once nobody waits any more: for a long run to ask now and then.
    pub fn go_on(&self) -> Result<(), RunError> {
        if self.stop.load(Ordering::Relaxed) {
            Err(RunError::Interrupted)
        } else {
            Ok(())
        }
    }
}

/// Why a run gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// It was told to stop.
    Interrupted,
    /// It could not end or make sense of itself; says how.
    Failed(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::Failed(how) => f.write_str(how),
        }
    }
}

impl std::error::Error for RunError {}

/// What every kind can do.
pub trait Scenario {
    /// Refuses parameters that no run could have.
    fn verify(&self) -> Result<(), Impossible>;

    /// How many cells there are.
    fn cells(&self) -> usize {
        1
    }

    /// Does the seed matter?
    fn is_random(&self) -> bool {
        false
    }

    /// Runs one cell with one seed.
    fn run(&self, job: Job<'_>) -> Result<Sample, RunError>;

    /// How a test bed runs it, if one can.
    fn real(&self) -> Option<&dyn Real> {
        None
    }

    /// What the report shows of its metrics side by side, if they are of peers.
    fn comparison(&self) -> Option<PeerComparison> {
        None
    }

    /// Adds what follows from all cells together.
    fn derive(&self, _findings: &mut Findings) {}
}

impl Kind {
    /// The scenario behind the name.
    pub fn scenario(&self) -> &(dyn Scenario + Sync) {
        match self {
            Self::SteppedLoss(scenario) => scenario,
            Self::Formats(scenario) => scenario,
            Self::FeedbackTiming(scenario) => scenario,
            Self::SackEvents(scenario) => scenario,
            Self::FeedbackCompare(scenario) => scenario,
            Self::FeedbackCost(scenario) => scenario,
            Self::ReceiverCost(scenario) => scenario,
            Self::Inversion(scenario) => scenario,
            Self::EndOfCongestion(scenario) => scenario,
            Self::PersistentCongestion(scenario) => scenario,
            Self::LatePackets(scenario) => scenario,
            Self::Descheduling(scenario) => scenario,
            Self::LossEventFraction(scenario) => scenario,
            Self::LossPredictors(scenario) => scenario,
            Self::Smoothness(scenario) => scenario,
            Self::OnOff(scenario) => scenario,
            Self::Controllers(scenario) => scenario,
            Self::FairShare(scenario) => scenario,
            Self::Timeline(scenario) => scenario,
            Self::VideoCall(scenario) => scenario,
            Self::CallMap(scenario) => scenario,
            Self::VideoOnDemand(scenario) => scenario,
            Self::FilledCall(scenario) => scenario,
            Self::Oscillation(scenario) => scenario,
            Self::QueueDynamics(scenario) => scenario,
            Self::Rmcat(scenario) => scenario,
            Self::BesideTcp(scenario) => scenario,
            Self::Peers(scenario) => scenario,
            Self::CellularModel(scenario) => scenario,
            Self::Selfish(scenario) => scenario,
            Self::IncreaseBound(scenario) => scenario,
            Self::QueueingDelay(scenario) => scenario,
        }
    }

    /// What a run of a cell simulates, where that is flows on one bottleneck that others compare as well.
    fn stage(&self, cell: usize, seed: u64) -> Option<Stage> {
        match self {
            Self::Smoothness(scenario) => Some(scenario.stage(cell, seed)),
            Self::OnOff(scenario) => Some(scenario.stage(cell, seed)),
            Self::FairShare(scenario) => Some(scenario.stage(cell, seed)),
            Self::Timeline(scenario) => Some(scenario.stage(cell, seed)),
            Self::Oscillation(scenario) => Some(scenario.stage(cell)),
            Self::QueueDynamics(scenario) => Some(scenario.stage(cell, seed)),
            Self::LossPredictors(scenario) => Some(scenario.stage(cell, seed)),
            Self::SteppedLoss(scenario) => Some(scenario.stage(seed)),
            Self::EndOfCongestion(scenario) => Some(scenario.stage(cell, seed)),
            Self::PersistentCongestion(scenario) => Some(scenario.stage(cell, seed)),
            _ => None,
        }
    }

    /// Reads the files that it names, from this folder on.
    pub(crate) fn load(&mut self, folder: &Path) -> Result<(), Impossible> {
        match self {
            Self::Timeline(timeline) => timeline.load(folder),
            Self::FeedbackCompare(compare) => compare.load(folder),
            Self::Rmcat(rmcat) => rmcat.load(folder),
            Self::Peers(peers) => peers.load(folder),
            _ => Ok(()),
        }
    }

    /// The recorded links that it names and that are absent on this machine: models stand in for them.
    pub fn absent_recordings(&self) -> Vec<&str> {
        match self {
            Self::Rmcat(rmcat) => rmcat.absent().collect(),
            Self::Peers(peers) => peers.absent().collect(),
            _ => Vec::new(),
        }
    }

    /// Refuses parameters that no run could have.
    pub fn verify(&self) -> Result<(), Impossible> {
        self.scenario().verify()
    }
}
