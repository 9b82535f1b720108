//! Sender-based TFRC: the receiver reports arrivals, and the sender computes p and X_recv from them.
//!
//! ```text
//! packets ──► Arrivals ──► report ──► SentPacketTracker ──► p, X_recv ──► Sender
//! ```
//!
//! [`Arrivals`] is the whole receiver: a ring of arrivals and the times of reports. [`SentPacketTracker`] remembers what
//! was sent, checks reports against it and sorts the reported arrivals by time. It hands these arrivals to the same
//! [`crate::Receiver`] that runs at the far end where receivers know TFRC. Any report format serves that carries sequence
//! numbers and arrival times or, coarser, one bit a packet and X_recv ([`AckVector`]).

mod ack_vector;
mod arrival_batch;
mod arrivals;
mod metered_arrivals;
mod packet_status;
mod sent_record;
mod tracker;

pub use ack_vector::AckVector;
pub use arrivals::{Arrivals, ReportSpan};
pub use metered_arrivals::MeteredArrivals;
pub use packet_status::{Delivery, PacketStatus, ReportHeader, StatusRun};
pub use tracker::{RefusedArrivals, SentPacketTracker};

#[cfg(test)]
mod tests;
