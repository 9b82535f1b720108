//! The session over a path, in virtual time.

mod agreed;
mod any_steps;
mod app;
mod begin_again;
mod call;
mod ends;
mod foreign;
mod forged;
mod hostile;
mod keyframes;
mod moved_peers;
mod not_sent;
mod pair;
mod panics;
mod path_samples;
mod real_peers;
mod refused_reports;
mod repair;
mod reports;
mod unexpected_datagrams;
