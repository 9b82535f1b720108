//! All kinds of ends in one type, so that the engine calls them without indirection.

use crate::agent::{Agent, Packet};
use crate::body::Body;
use crate::media_flow::MediaEnd;
use crate::peer_end::PeerEnd;
use crate::rap::{RapReceiver, RapSender};
use crate::session_flow::SessionEnd;
use crate::sink::Sink;
use crate::source::Source;
use crate::tcp_flow::{TcpReceiver, TcpSender};
use crate::tear::{TearReceiver, TearSender};
use crate::tfrc_flow::{TfrcReceiver, TfrcSender};
use crate::video::VideoSender;
use crate::web::{WebReceiver, WebSender};
use tfrc::time::Instant;

/// An end of a flow of any kind. Each lies by itself, so that small ones stay close together in a large
/// simulation whatever the largest needs.
#[derive(Debug)]
pub enum Traffic {
    /// TFRC, data out.
    TfrcSender(Box<TfrcSender>),
    /// TFRC, reports out.
    TfrcReceiver(Box<TfrcReceiver>),
    /// TCP, data out.
    TcpSender(Box<TcpSender>),
    /// TCP, acknowledgements out.
    TcpReceiver(Box<TcpReceiver>),
    /// Short TCP connections, data out.
    WebSender(Box<WebSender>),
    /// Short TCP connections, acknowledgements out.
    WebReceiver(Box<WebReceiver>),
    /// An end of an RTP session, with real bytes.
    SessionEnd(Box<SessionEnd>),
    /// An end of a call, with a camera or a display.
    MediaEnd(Box<MediaEnd>),
    /// RAP, data out.
    RapSender(Box<RapSender>),
    /// RAP, acknowledgements out.
    RapReceiver(Box<RapReceiver>),
    /// TEAR, data out.
    TearSender(Box<TearSender>),
    /// TEAR, reports out.
    TearReceiver(Box<TearReceiver>),
    /// Datagrams whatever the network does.
    Source(Box<Source>),
    /// A video, by TFRC or UDP.
    VideoSender(Box<VideoSender>),
    /// Counts what arrives.
    Sink(Box<Sink>),
    /// A rate controller of others.
    Peer(Box<dyn PeerEnd>),
}

impl Traffic {
    /// An end that runs a rate controller of others.
    pub fn peer(end: impl PeerEnd + 'static) -> Self {
        Self::Peer(Box::new(end))
    }
}

macro_rules! kinds {
    ($($kind:ident),*) => {
        $(impl From<$kind> for Traffic {
            fn from(agent: $kind) -> Self {
                Self::$kind(Box::new(agent))
            }
        })*
    };
}

kinds!(
    TfrcSender,
    TfrcReceiver,
    TcpSender,
    TcpReceiver,
    WebSender,
    WebReceiver,
    SessionEnd,
    MediaEnd,
    RapSender,
    RapReceiver,
    TearSender,
    TearReceiver,
    Source,
    VideoSender,
    Sink
);

macro_rules! each {
    ($self:ident, $agent:ident => $call:expr) => {
        match $self {
            Self::TfrcSender($agent) => $call,
            Self::TfrcReceiver($agent) => $call,
            Self::TcpSender($agent) => $call,
            Self::TcpReceiver($agent) => $call,
            Self::WebSender($agent) => $call,
            Self::WebReceiver($agent) => $call,
            Self::SessionEnd($agent) => $call,
            Self::MediaEnd($agent) => $call,
            Self::RapSender($agent) => $call,
            Self::RapReceiver($agent) => $call,
            Self::TearSender($agent) => $call,
            Self::TearReceiver($agent) => $call,
            Self::Source($agent) => $call,
            Self::VideoSender($agent) => $call,
            Self::Sink($agent) => $call,
            Self::Peer($agent) => $call,
        }
    };
}

impl Agent for Traffic {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        each!(self, agent => agent.handle_packet(now, packet));
    }

    fn handle_timeout(&mut self, now: Instant) {
        each!(self, agent => agent.handle_timeout(now));
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        each!(self, agent => agent.poll_transmit(now))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        each!(self, agent => agent.poll_timeout())
    }

    fn prefetch(&self) {
        each!(self, agent => agent.prefetch());
    }
}
