//! The subcommands, each in a file.

pub(crate) mod call;
pub(crate) mod conform;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod lab;
pub(crate) mod link;
pub(crate) mod perf;
pub(crate) mod recv;
pub(crate) mod send;
pub(crate) mod testbed;
pub(crate) mod vod;
