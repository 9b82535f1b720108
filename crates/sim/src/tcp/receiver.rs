//! The receiving end answers segments with acknowledgements.

use super::config::{Config, ConfigError};
use super::runs::Runs;
use super::segment::{Ack, SACK_BLOCKS, Segment};
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// A receiver whose application reads all data at once.
///
/// It always adds SACK blocks to its acknowledgements; a sender without SACK ignores them.
// In this order what a segment in sequence touches lies in two cache lines besides the configuration's.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    config: Config,
    /// The lowest packet that has not arrived (RCV.NXT).
    next: u64,
    /// An acknowledgement waits for a second packet, until then.
    delayed: Option<Instant>,
    /// An acknowledgement is to be sent at once.
    due: bool,
    /// A mark arrived that the sender has not confirmed (RFC 3168 §6.1.3).
    echo: bool,
    out_of_order: Runs,
    duplicates: u64,
    /// A packet of each of the blocks reported last, the latest first (RFC 2018 §4).
    reported: [Option<u64>; SACK_BLOCKS],
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
            self.next += 1;
            if gap {
                self.next = self.out_of_order.next_gap(self.next);
                self.out_of_order.remove_below(self.next, |_| ());
            }
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
    #[inline]
    pub fn poll_ack(&mut self, _now: Instant) -> Option<Ack> {
        if !std::mem::take(&mut self.due) {
            return None;
        }
        self.delayed = None;
        let mut ack = Ack::new(self.next);
        ack.ece = self.echo;
        if self.out_of_order.len() > 0 {
            for packet in self.reported.into_iter().flatten() {
                if let Some(block) = self.out_of_order.containing(packet) {
                    ack = ack.with_block(block);
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;
    use tfrc::time::Duration;

    const NOW: Instant = Instant::from_secs(1);

    fn receiver() -> Receiver {
        Receiver::new(&Config::default()).unwrap()
    }

    fn segment(number: u64) -> Segment {
        Segment {
            number,
            size: Bytes::new(1_040),
            ecn: Ecn::Ect0,
            cwr: false,
            connection: Default::default(),
        }
    }

    /// What the arrival of a packet makes the receiver send: the next packet and the blocks.
    fn arrival(receiver: &mut Receiver, number: u64) -> Option<(u64, Vec<Range<u64>>)> {
        receiver.handle_segment(NOW, segment(number));
        let ack = receiver.poll_ack(NOW)?;
        assert_eq!(receiver.poll_ack(NOW), None);
        Some((ack.next, ack.sacked().collect()))
    }

    #[test]
    fn every_second_packet_is_acknowledged() {
        let mut receiver = receiver();
        let acks = (0..4).map(|number| arrival(&mut receiver, number).map(|(next, _)| next));
        assert!(acks.eq([None, Some(2), None, Some(4)]));
    }

    #[test]
    fn a_single_packet_is_acknowledged_when_the_delay_is_over() {
        let mut receiver = receiver();
        arrival(&mut receiver, 0);
        let due = NOW + Duration::from_millis(100);
        assert_eq!(receiver.poll_timeout(), Some(due));
        receiver.handle_timeout(NOW);
        assert_eq!(receiver.poll_ack(NOW), None);
        receiver.handle_timeout(due);
        assert_eq!(receiver.poll_ack(due), Some(Ack::new(1)));
        assert_eq!(receiver.poll_timeout(), None);
    }

    #[test]
    fn every_packet_is_acknowledged_at_once_without_a_delay() {
        let config = Config {
            delayed_ack: None,
            ..Config::default()
        };
        let mut receiver = Receiver::new(&config).unwrap();
        assert_eq!(arrival(&mut receiver, 0), Some((1, vec![])));
        assert_eq!(receiver.poll_timeout(), None);
    }

    #[test]
    fn a_gap_is_told_at_once_and_so_is_its_end() {
        let mut receiver = receiver();
        arrival(&mut receiver, 0);
        assert_eq!(arrival(&mut receiver, 2).unwrap().0, 1);
        assert_eq!(arrival(&mut receiver, 4).unwrap().0, 1);
        // It fills the first gap, while the second stays.
        assert_eq!(arrival(&mut receiver, 1).unwrap().0, 3);
        assert_eq!(arrival(&mut receiver, 3), Some((5, vec![])));
        // And then it waits for a second packet again.
        assert_eq!(arrival(&mut receiver, 5), None);
    }

    #[test]
    fn the_block_of_the_latest_packet_comes_first_and_three_are_told() {
        let mut receiver = receiver();
        let mut blocks = |number| arrival(&mut receiver, number).unwrap().1;
        assert!(blocks(2).into_iter().eq(std::iter::once(2..3)));
        assert_eq!(blocks(4), [4..5, 2..3]);
        assert_eq!(blocks(6), [6..7, 4..5, 2..3]);
        assert_eq!(blocks(8), [8..9, 6..7, 4..5]);
        // It joins two blocks.
        assert_eq!(blocks(5), [4..7, 8..9]);
        assert_eq!(blocks(2), [2..3, 4..7, 8..9]);
        assert_eq!(receiver.duplicates(), 1);
    }

    #[test]
    fn what_is_delivered_is_all_that_came_in_order() {
        let config = Config {
            length: Some(Bytes::new(2_500)),
            ..Config::default()
        };
        let mut receiver = Receiver::new(&config).unwrap();
        for (number, delivered) in [(0, 1_000), (2, 1_000), (0, 1_000), (1, 2_500), (3, 2_500)] {
            receiver.handle_segment(NOW, segment(number));
            assert_eq!(receiver.delivered(), Bytes::new(delivered));
        }
        assert!(receiver.is_complete());
    }

    #[test]
    fn what_is_beyond_the_window_is_dropped() {
        let config = Config {
            receive_window: 4,
            ..Config::default()
        };
        let mut receiver = Receiver::new(&config).unwrap();
        assert_eq!(arrival(&mut receiver, 4), None);
        assert_eq!(arrival(&mut receiver, u64::MAX), None);
        assert_eq!(arrival(&mut receiver, 3).unwrap().1.len(), 1);
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_confirms_it() {
        let config = Config {
            delayed_ack: None,
            ..Config::default()
        };
        let mut receiver = Receiver::new(&config).unwrap();
        let mut echo = |number, ecn, cwr| {
            receiver.handle_segment(
                NOW,
                Segment {
                    ecn,
                    cwr,
                    ..segment(number)
                },
            );
            receiver.poll_ack(NOW).unwrap().ece
        };
        assert!(!echo(0, Ecn::Ect0, false));
        assert!(echo(1, Ecn::Ce, false));
        assert!(echo(2, Ecn::Ect0, false));
        assert!(!echo(3, Ecn::Ect0, true));
        // Confirmed and marked anew.
        assert!(echo(4, Ecn::Ce, true));
    }
}
