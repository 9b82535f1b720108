//! Whole tests between a client and a server, over links, in virtual time.

mod handshake;
mod traffic;
mod world;
