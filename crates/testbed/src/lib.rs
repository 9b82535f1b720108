//! Real kernels over emulated links.
//!
//! The emulator is the network's: [`evenkeel_net::Router`]. Here are its controls ([`link_table`], [`control`], [`schedule_file`])
//! and a network around it ([`dumbbell`]), made of hosts that leave nothing behind ([`host`]), on which the
//! experiments of the lab run a second time ([`bed`]).
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
pub mod bed;
pub mod control;
#[cfg(target_os = "linux")]
mod datagrams;
#[cfg(target_os = "linux")]
pub mod dumbbell;
#[cfg(target_os = "linux")]
pub mod host;
mod link_json;
pub mod link_table;
#[cfg(target_os = "linux")]
mod logs;
#[cfg(target_os = "linux")]
mod meter;
#[cfg(target_os = "linux")]
mod once;
#[cfg(target_os = "linux")]
pub mod packet_log;
#[cfg(target_os = "linux")]
mod parts;
#[cfg(target_os = "linux")]
mod played;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod results;
pub mod schedule_file;
#[cfg(target_os = "linux")]
mod trace;
