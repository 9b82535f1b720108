//! The kinds of scenario that an experiment runs, one a file, and their common parts.
//!
//! A scenario is a grid of *cells* (the points of a sweep), each run once a seed. Runs share nothing,
//! so any number of them go at once and give the same bytes.

mod analysis;
mod cellular_model;
mod contract;
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

use std::sync::Arc;

use serde::Deserialize;

use crate::error::Impossible;

pub use contract::{ReadScenario, Scenario};
pub use rmcat::{CallEnds, CallSetup, Peers};

/// Declares [`Kind`] from one row for each scenario: its description and its type, whose name is the variant's.
macro_rules! kinds {
    ($($(#[$description:meta])* $module:ident::$scenario:ident,)*) => {
        /// A kind of scenario with its parameters: the table `[scenario.KIND]`.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Kind {
            $($(#[$description])* $scenario($module::$scenario),)*
        }

        impl Kind {
            /// The scenario behind the name.
            pub fn scenario(&self) -> &dyn Scenario {
                match self {
                    $(Self::$scenario(scenario) => scenario,)*
                }
            }

            /// The same scenario, to be completed from files.
            pub(crate) fn scenario_mut(&mut self) -> &mut dyn Scenario {
                match self {
                    $(Self::$scenario(scenario) => scenario,)*
                }
            }

            /// The same scenario without its name.
            pub(crate) fn into_scenario(self) -> Arc<dyn Scenario> {
                match self {
                    $(Self::$scenario(scenario) => Arc::new(scenario),)*
                }
            }
        }
    };
}

kinds! {
    /// One flow; the loss rate changes in steps.
    stepped_loss::SteppedLoss,
    /// One flow; loss ends.
    end_of_congestion::EndOfCongestion,
    /// One flow; every other packet is lost from an instant on.
    persistent_congestion::PersistentCongestion,
    /// A stream on a path that reorders and loses nothing.
    late_packets::LatePackets,
    /// One flow; its receiver loses its processor now and then.
    descheduling::Descheduling,
    /// Loss events against losses, by formula and by measurement.
    loss_event_fraction::LossEventFraction,
    /// Ways to average loss intervals, on the losses of many conditions.
    loss_predictors::LossPredictors,
    /// TCP and TFRC flows on one bottleneck, on all timescales.
    smoothness::Smoothness,
    /// One TCP and one TFRC flow among UDP sources that are on and off by turns.
    on_off::OnOff,
    /// TFRC and its relatives, each beside TCP.
    controllers::Controllers,
    /// TCP and TFRC flows on one bottleneck, over rates and numbers of flows.
    fair_share::FairShare,
    /// The same flows, reporting in one format after the other.
    formats::Formats,
    /// One flow, reporting more and less often, by RTCP's timer and by TFRC's.
    feedback_timing::FeedbackTiming,
    /// Loss events counted from SACK vectors, and by a receiver.
    sack_events::SackEvents,
    /// The flows of other experiments, with p computed in one place and in the other.
    feedback_compare::FeedbackCompare,
    /// What reports cost, in each format.
    feedback_cost::FeedbackCost,
    /// What a receiver holds and computes that computes p, and one that only reports.
    receiver_cost::ReceiverCost,
    /// Steps that it takes to find the p of a first loss interval.
    inversion::Inversion,
    /// Flows that come and go on a bottleneck, case by case.
    timeline::Timeline,
    /// Streams of video by TFRC and by UDP, beside each other and beside TCP.
    video_on_demand::VideoOnDemand,
    /// One call over one link, by one policy of the sending buffer or more.
    video_call::VideoCall,
    /// The same over every round-trip time and rate, as maps.
    video_call::CallMap,
    /// One call over a lossy link, its rate filled in one way or more.
    video_call::FilledCall,
    /// One flow and buffers of several sizes, without and with the spacing by √R.
    oscillation::Oscillation,
    /// Many flows of one protocol: what they make of the queue.
    queue_dynamics::QueueDynamics,
    /// Calls on a bottleneck, as RFC 8867 has them.
    rmcat::Rmcat,
    /// The call beside TCP, over paths, queues and orders of joining, and alone.
    rmcat::BesideTcp,
    /// The product's call and rate controllers of others in the same cells.
    rmcat::Peers,
    /// The seeded model of cellular links beside their recordings.
    cellular_model::CellularModel,
    /// Receivers that lie, in each format, to senders that check and to senders that do not.
    selfish::Selfish,
    /// How fast the rate can grow, by formula.
    analysis::IncreaseBound,
    /// What a growing queue does to the rate, by formula.
    analysis::QueueingDelay,
}

impl Kind {
    /// The recorded links that the scenario names and that are absent on this machine: models replace them.
    pub fn absent_recordings(&self) -> Vec<&str> {
        self.scenario().absent_recordings()
    }

    /// Refuses parameters that no run could have.
    pub fn verify(&self) -> Result<(), Impossible> {
        self.scenario().verify()
    }
}
