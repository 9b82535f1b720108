//! The subcommands, each in a file.

pub(crate) mod call;
#[allow(clippy::print_stderr, reason = "its runs have no page")]
pub(crate) mod conform;
pub(crate) mod demo;
pub(crate) mod doctor;
#[allow(clippy::print_stderr, reason = "its runs have no page")]
pub(crate) mod lab;
#[allow(clippy::print_stderr, reason = "its runs have no page")]
pub(crate) mod link;
#[allow(clippy::print_stderr, reason = "its runs have no page")]
pub(crate) mod perf;
pub(crate) mod recv;
pub(crate) mod rendezvous;
pub(crate) mod send;
pub(crate) mod testbed;
#[allow(clippy::print_stderr, reason = "its runs have no page")]
pub(crate) mod vod;
