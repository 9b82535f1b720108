//! RTCP (RFC 3550 §6): each file has one kind of packet.

pub mod app;
pub mod bye;
pub mod ccfb;
mod compound;
pub mod feedback;
mod feedback_mode;
mod header;
pub mod keyframe;
mod packets;
pub mod receiver_report;
pub mod sack;
pub mod sdes;
pub mod sender_report;
pub mod tfrc_app;
pub mod twcc;

pub use app::App;
pub use bye::Bye;
pub use compound::Compound;
pub use feedback::{Feedback, TfrcFeedback, TransitBounds};
pub use feedback_mode::{FeedbackMode, UnknownFeedback};
pub use header::{
    APPLICATION, GOODBYE, PAYLOAD_FEEDBACK, RECEIVER_REPORT, RawPacket, SENDER_REPORT,
    SOURCE_DESCRIPTION, TRANSPORT_FEEDBACK,
};
pub use keyframe::KeyframeRequest;
pub use packets::{Packet, Packets};
pub use receiver_report::{ReceiverReport, ReportBlock, ReportBlocks};
pub use sdes::Sdes;
pub use sender_report::SenderReport;
pub use tfrc_app::TfrcApp;
