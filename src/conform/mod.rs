//! The conformance suite over real sockets: processes, runs, their order, and the table.

mod child;
mod live;
mod plan;
mod table;

pub(crate) use child::serve;
pub(crate) use live::Parties;
pub(crate) use plan::carry_out;
pub(crate) use table::{json, line};
