//! A title from a server to a player, over a link, in virtual time.

mod playing;
mod world;
