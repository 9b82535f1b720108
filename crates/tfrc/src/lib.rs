//! TCP-Friendly Rate Control (RFC 5348) without I/O: the rate of a stream, and the time at which its next packet
//! may leave.
//!
//! ```text
//! data ──► Receiver ──► FeedbackPacket (p, X_recv) ──► Sender ──► X ──► departures
//! ```
//!
//! [`Sender`] and [`Receiver`] take events with their times and return decisions. They read no clock, open no
//! socket, draw no random number and allocate nothing, so a simulator, an emulator and a network drive the same
//! code. `docs/RFC5348.md` maps each section of the standard to its file and test, and lists every deviation.
//!
//! # One packet and one report
//!
//! ```
//! use core::time::Duration;
//! use tfrc::time::Instant;
//! use tfrc::units::Bytes;
//! use tfrc::{Arrival, Ecn, Feedback, Receiver, ReceiverConfig, Sender, SenderConfig};
//!
//! let start = Instant::ZERO;
//! let mut sender = Sender::new(start, SenderConfig::default());
//! let mut receiver = Receiver::new(ReceiverConfig::default());
//!
//! // The sender asks when it may send, sends, and says so.
//! assert!(sender.next_departure(start) <= start);
//! let size = Bytes::new(1_460);
//! sender.handle_sent(start, size);
//!
//! // The packet takes 30 ms. It carries its number, its time of departure and the sender's R.
//! let arrived = start + Duration::from_millis(30);
//! receiver.handle_data(&Arrival {
//!     seq: 0,
//!     at: arrived,
//!     timestamp: start.as_micros() as u32,
//!     rtt: sender.rtt(),
//!     size,
//!     ecn: Ecn::NotEct,
//! });
//!
//! // The first packet is reported at once; the report takes 30 ms back.
//! assert!(receiver.poll_timeout().is_some_and(|due| due <= arrived));
//! let report = receiver.poll_report(arrived).expect("the first packet is reported");
//! let back = arrived + Duration::from_millis(30);
//! sender.handle_feedback(back, &Feedback {
//!     sent_at: Instant::from_micros(u64::from(report.timestamp)),
//!     delay: report.delay,
//!     receive_rate: report.receive_rate,
//!     loss_event_rate: report.loss_event_rate,
//! });
//!
//! // The round trip is known, and four kilobytes may be sent in it.
//! assert_eq!(sender.rtt(), Some(Duration::from_millis(60)));
//! assert_eq!(sender.allowed_rate() * Duration::from_millis(60), Bytes::new(4_380));
//! ```
//!
//! # Sender and receiver in virtual time
//!
//! A path of 30 ms each way loses every hundredth packet. After 20 s the sender has the rate of the throughput equation:
//!
//! ```
//! use std::collections::VecDeque;
//! use tfrc::time::{Duration, Instant};
//! use tfrc::units::Bytes;
//! use tfrc::{Arrival, Ecn, Feedback, Receiver, ReceiverConfig, Sender, SenderConfig};
//!
//! let (size, one_way) = (Bytes::new(1_460), Duration::from_millis(30));
//! let mut now = Instant::ZERO;
//! let mut sender = Sender::new(now, SenderConfig::default());
//! let mut receiver = Receiver::new(ReceiverConfig::default());
//! let (mut data, mut reports) = (VecDeque::new(), VecDeque::new());
//!
//! for seq in 0.. {
//!     // Serve the path and both timers until the next packet may leave.
//!     loop {
//!         let departure = sender.next_departure(now).max(now);
//!         let due = receiver.poll_timeout().map_or(Instant::MAX, |due| due.max(now));
//!         let arrival = data.front().map_or(Instant::MAX, |packet: &Arrival| packet.at);
//!         let report = reports.front().map_or(Instant::MAX, |&(at, _)| at);
//!         let next = departure.min(due).min(arrival).min(report).min(sender.poll_timeout());
//!         now = next.max(now);
//!         if next == arrival {
//!             receiver.handle_data(&data.pop_front().expect("a packet arrives"));
//!         } else if next == report {
//!             let (_, feedback) = reports.pop_front().expect("a report arrives");
//!             sender.handle_feedback(now, &feedback);
//!         } else if next == due {
//!             let report = receiver.poll_report(now).expect("a report is due");
//!             reports.push_back((now + one_way, Feedback {
//!                 sent_at: Instant::from_micros(report.timestamp.into()),
//!                 delay: report.delay,
//!                 receive_rate: report.receive_rate,
//!                 loss_event_rate: report.loss_event_rate,
//!             }));
//!         } else if next == departure {
//!             break;
//!         } else {
//!             sender.handle_timeout(now);
//!         }
//!     }
//!     sender.handle_sent(now, size);
//!     if seq % 100 != 99 {
//!         data.push_back(Arrival {
//!             seq,
//!             at: now + one_way,
//!             timestamp: now.as_micros() as u32,
//!             rtt: sender.rtt(),
//!             size,
//!             ecn: Ecn::NotEct,
//!         });
//!     }
//!     if now >= Instant::from_secs(20) {
//!         break;
//!     }
//! }
//!
//! let rtt = sender.rtt().expect("reports arrived");
//! let equation = tfrc::equation::rate(size, rtt, sender.loss_event_rate());
//! assert_eq!(sender.bound(), tfrc::trace::Bound::Equation);
//! assert!((sender.allowed_rate() / equation - 1.0).abs() < 1e-3);
//! ```
//!
//! # Duties of the caller
//!
//! - **Time goes forward.** A backward step does not panic, but measurements are then wrong. `at` and the
//!   `now` of a report should be the kernel's receive times. Pass waiting reports to the sender before
//!   [`Sender::handle_timeout`]: a process that slept would otherwise take its own sleep for a dead
//!   receiver.
//! - **Sender:** call [`Sender::next_departure`] before each packet and [`Sender::handle_sent`] with its
//!   size after it. Call [`Sender::handle_timeout`] at [`Sender::poll_timeout`]. Both times change with
//!   every call that takes `&mut`: ask again.
//! - **Receiver:** call [`Receiver::handle_data`] for every packet, then [`Receiver::poll_report`], and
//!   the latter again at [`Receiver::poll_timeout`]. Sequence numbers go through [`seq::Extender`] first.
//! - **Authenticity** is the caller's duty: a report is believed within the bounds of [`trust`].
//!
//! # Bounds
//!
//! State has a constant size, and a constant bounds the work of a call, whatever packets are lost, claimed or
//! repeated. X lies between s/64 and 10¹² bytes a second, and p in \[0, 1\]. No value of a sequence number, a time,
//! a size or a rate causes a panic.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod config_error;
mod ecn;
pub mod equation;
pub mod loss;
pub mod pacer;
pub mod receiver;
pub mod sender;
pub mod sent_packets;
pub mod seq;
mod standard;
pub mod time;
pub mod trace;
pub mod trust;
pub mod units;

pub use config_error::TfrcConfigError;
pub use ecn::Ecn;
pub use receiver::{Arrival, FeedbackPacket, Receiver, ReceiverConfig};
pub use sender::{Feedback, RetransmissionTimeout, Sender, SenderConfig};
pub use standard::Standard;
