//! Two secured ends behind NATs of each kind, with STUN and TURN servers, in virtual time.

mod nat;
mod paths;
mod restarts;
mod server;
mod world;
