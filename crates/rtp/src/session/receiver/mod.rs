//! The media that arrives, and the reports about it.

mod accept;
pub(in crate::session) mod budget;
pub(in crate::session) mod inbound;
mod repair;
pub(in crate::session) mod reporter;
mod sender_clock;
mod transit_meter;
pub(in crate::session) mod witness;
