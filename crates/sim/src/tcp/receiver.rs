//! The receiving end: what arrives becomes acknowledgements.

use super::config::{Config, ConfigError};
use super::runs::Runs;
use super::segment::{Ack, SACK_BLOCKS, Segment};
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// A receiver whose application reads all data at once.
///
/// It always adds SACK blocks to its acknowledgements; a sender without SACK ignores them.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: Config,
    /// The lowest packet that has not arrived (RCV.NXT).
    next: u64,
    out_of_order: Runs,
    /// A packet of each of the blocks reported last, the latest first (RFC 2018 §4).
    reported: [Option<u64>; SACK_BLOCKS],
    /// An acknowledgement is to be sent at once.
    due: bool,
    /// An acknowledgement waits for a second packet, until then.
    delayed: Option<Instant>,
    /// A mark arrived that the sender has not confirmed (RFC 3168 §6.1.3).
    echo: bool,
    duplicates: u64,
}

impl Receiver {
    /// A receiver before its first packet.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            next: 0,
            out_of_order: Runs::default(),
            reported: [None; SACK_BLOCKS],
            due: false,
            delayed: None,
            echo: false,
            duplicates: 0,
        })
    }

    /// A segment arrived.
    pub fn handle_segment(&mut self, now: Instant, segment: Segment) {
        let number = segment.number;
        // What the sender may not have sent: it would take memory without bound.
        if number >= self.next + u64::from(self.config.receive_window)
            || number >= self.config.packets()
        {
            return;
        }
        if segment.cwr {
            self.echo = false;
        }
        if segment.ecn == Ecn::Ce {
            self.echo = true;
        }
        if number == self.next {
            let gap = self.out_of_order.len() > 0;
            self.next = self.out_of_order.next_gap(number + 1);
            self.out_of_order.remove_below(self.next, |_| ());
            // RFC 5681 §4.2: every second packet, and at once while there is a gap.
            match self.config.delayed_ack {
                Some(delay) if !gap && self.delayed.is_none() => self.delayed = Some(now + delay),
                _ => self.due = true,
            }
            return;
        }
        self.due = true;
        if number < self.next || self.out_of_order.containing(number).is_some() {
            self.duplicates += 1;
        }
        if number > self.next {
            self.out_of_order.insert(number..number + 1, |_| ());
            self.report(number);
        }
    }

    /// The instant that [`poll_timeout`](Self::poll_timeout) gave has come. Harmless if early.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.delayed.is_some_and(|at| at <= now) {
            self.due = true;
        }
    }

    /// The acknowledgement that leaves now.
    pub fn poll_ack(&mut self, _now: Instant) -> Option<Ack> {
        if !std::mem::take(&mut self.due) {
            return None;
        }
        self.delayed = None;
        let mut ack = Ack::new(self.next);
        ack.ece = self.echo;
        for packet in self.reported.into_iter().flatten() {
            if let Some(block) = self.out_of_order.containing(packet) {
                ack = ack.with_block(block);
            }
        }
        Some(ack)
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.delayed
    }

    /// Data handed to the application: all that arrived in order, each byte once.
    pub fn delivered(&self) -> Bytes {
        self.config.data(self.next)
    }

    /// True when a flow of finite length has arrived in full.
    pub fn is_complete(&self) -> bool {
        self.next == self.config.packets()
    }

    /// Packets that had arrived before.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Puts the block of `number` first, before the others that were reported last.
    fn report(&mut self, number: u64) {
        let Some(latest) = self.out_of_order.containing(number) else {
            return;
        };
        let others = |packet: &u64| {
            !latest.contains(packet) && self.out_of_order.containing(*packet).is_some()
        };
        let kept = self.reported.into_iter().flatten().filter(others);
        let mut reported = [None; SACK_BLOCKS];
        for (slot, packet) in reported.iter_mut().zip(std::iter::once(number).chain(kept)) {
            *slot = Some(packet);
        }
        self.reported = reported;
    }
}
