//! TCP at packet level, one way: a sender with endless or finite data and a receiver, both without I/O.
//!
//! Data and windows are counted in packets, not bytes: every packet but the last of a flow is full
//! and is never cut anew, so that both counts tell the same and the smaller numbers are faster. ns-2,
//! with which the papers were made, counts packets too. The window is a fraction of packets, of which
//! whole ones are sent.
//!
//! Left out, as nothing here depends on it: the handshake (a flow starts with its initial window),
//! timestamps (one packet a round trip is timed instead), and a reader that falls behind.
//!
//! Where the RFCs leave a choice or we depart from them:
//!
//! - What is lost beyond the recovery point waits for the next recovery, which RFC 6675's NextSeg would
//!   send again in this one and then once more in the next.
//! - After a timeout SACK keeps what it knows: a receiver here never gives up what it acknowledged.
//! - Tahoe, as NewReno, starts no recovery before all is acknowledged that had been sent at the last one
//!   (RFC 6582's `recover`), since what it sends again causes duplicates. Reno may recover again at once.
//! - CUBIC grows by the packets that an acknowledgement covers; the others by acknowledgements.
//! - A mark at a window of one packet changes nothing: RFC 3168 would have that packet wait for the timer.
//!
//! `traces/` has hand-worked cases, `properties.rs` what holds under any loss; `tests/tcp_throughput.rs`
//! holds it against the throughput equation, `tests/tcp_binomial.rs` AIMD and its relatives against TCP,
//! and `tests/tcp_ns2.rs` against ns-2.
//!
//! ```
//! use evenkeel_sim::tcp::{Config, Receiver, Sender};
//! use tfrc::time::{Duration, Instant};
//! use tfrc::units::Bytes;
//!
//! let config = Config { length: Some(Bytes::new(100_000)), ..Config::default() };
//! let (mut sender, mut receiver) = (Sender::new(&config)?, Receiver::new(&config)?);
//! let mut now = Instant::ZERO;
//! while !sender.is_done() {
//!     // A round trip of 50 ms without loss.
//!     while let Some(segment) = sender.poll_transmit(now) {
//!         receiver.handle_segment(now, segment);
//!     }
//!     now += Duration::from_millis(50);
//!     receiver.handle_timeout(now);
//!     while let Some(ack) = receiver.poll_ack(now) {
//!         sender.handle_ack(now, ack);
//!     }
//! }
//! assert_eq!(receiver.delivered(), Bytes::new(100_000));
//! # Ok::<(), evenkeel_sim::tcp::ConfigError>(())
//! ```

mod binomial;
mod config;
mod cubic;
#[cfg(test)]
mod properties;
mod receiver;
mod rto;
mod runs;
mod scoreboard;
mod segment;
mod sender;
#[cfg(test)]
mod traces;
mod window;

pub use binomial::{Binomial, Power};
pub use config::{Config, ConfigError, InitialWindow, Variant};
pub use receiver::Receiver;
pub(crate) use rto::Rto;
pub(crate) use scoreboard::DUP_THRESH;
pub use segment::{Ack, Connection, SACK_BLOCKS, Segment};
pub use sender::{Counters, Sender};
