//! A discrete-event simulator that runs Evenkeel's own sessions beside TCP and other traffic.
//!
//! A network is a [`Topology`] of nodes and [links](evenkeel_link::Link); a flow is two
//! [agents](Agent) and a path each way; [`Simulation`] lets time pass.
//!
//! ```
//! use evenkeel_link::{LinkConfig, QueueLimit};
//! use evenkeel_sim::{Simulation, TfrcConfig, TfrcReceiver, TfrcSender, Topology, Traffic};
//! use tfrc::time::{Duration, Instant};
//! use tfrc::units::Rate;
//!
//! let mut net = Topology::new();
//! let (sender, receiver) = (net.add_node(), net.add_node());
//! let bottleneck = LinkConfig {
//!     rate: Rate::from_bits_per_sec(1e6),
//!     delay: Duration::from_millis(20),
//!     queue: QueueLimit::Packets(20),
//!     ..LinkConfig::default()
//! };
//! let [there, _back] = net.add_duplex(sender, receiver, bottleneck)?;
//!
//! let mut sim = Simulation::new(&net, 1);
//! let (forward, reverse) = (net.route(sender, receiver)?, net.route(receiver, sender)?);
//! sim.add_flow(
//!     &forward,
//!     &reverse,
//!     Traffic::from(TfrcSender::new(TfrcConfig::default())),
//!     Traffic::from(TfrcReceiver::new(Default::default())),
//! );
//! sim.run_until(Instant::from_secs(30));
//! let carried = sim.link(there).counters().delivered.bytes / Duration::from_secs(30);
//! assert!(carried > Rate::from_bits_per_sec(0.9e6));
//! # Ok::<(), evenkeel_sim::TopologyError>(())
//! ```
#![forbid(unsafe_code)]

mod agent;
mod body;
mod camera;
mod controlled_flow;
mod distribution;
mod event;
mod frame_log;
mod media_flow;
mod nada;
mod peer_end;
mod rap;
mod rate_controller;
mod session_flow;
mod shape;
mod simulation;
mod sink;
mod source;
pub mod tcp;
mod tcp_flow;
mod tear;
mod tfrc_flow;
mod topology;
mod traffic;
mod video;
mod viewer;
mod web;

pub use agent::{Agent, Packet};
pub use body::{ArrivalReport, Body, FramePacket, RapAck};
pub use camera::{Camera, Captured, Pictures, Shooting};
pub use controlled_flow::{ControlledReceiver, ControlledSender, controlled_flow};
pub use distribution::Law;
pub use evenkeel_rtp::session::FeedbackMode;
pub use frame_log::{FrameLog, LoggedFrame};
pub use media_flow::MediaEnd;
pub use nada::{Nada, NadaConfig};
pub use peer_end::PeerEnd;
pub use rap::{RapReceiver, RapSender};
pub use rate_controller::{FeedbackReport, PacketReport, RateController};
pub use session_flow::{Rtcp, SessionEnd};
pub use shape::{Access, Place, Shape};
pub use simulation::{End, FlowId, Observer, Outcome, Simulation, Travelling};
pub use sink::Sink;
pub use source::{LARGEST, Pattern, Source, SourceError};
pub use tcp_flow::{TcpReceiver, TcpSender};
pub use tear::{TearReceiver, TearSender};
pub use tfrc_flow::{LOWER_LAYERS, TfrcConfig, TfrcReceiver, TfrcSender};
pub use topology::{LinkId, NodeId, Path, Topology, TopologyError};
pub use traffic::Traffic;
pub use video::{
    DATAGRAM, FRAME_RATE, Frame, FrameKind, FrameTrace, FrameTraceError, FrameTraceFileError, GOP,
    Movie, Pace, TsStream, VideoSender, VideoTransport,
};
pub use viewer::Viewer;
pub use web::{
    Fetches, GapFrom, MAX_CONNECTIONS, WebConfig, WebConfigError, WebReceiver, WebSender,
};
