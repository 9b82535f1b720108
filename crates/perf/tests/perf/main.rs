//! Whole tests between a client and a server, over links, in virtual time.

mod ended;
mod handshake;
mod questions;
mod stopped;
mod traffic;
mod world;
