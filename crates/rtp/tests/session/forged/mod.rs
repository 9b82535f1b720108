//! Forged and damaged datagrams: what they cost a call, and how soon the call recovers.

mod amplification;
mod control;
mod liar;
mod media;
mod rate;
mod start;
mod ten;

use std::time::Duration;

use evenkeel_rtp::packet::ext::{Element, RttSendTs, TransportSequence};
use evenkeel_rtp::packet::rtp::{RtpHeader, RtpPacket};
use evenkeel_rtp::session::{Config, FeedbackMode};
use tfrc::time::Instant;

use crate::pair::{End, Pair, secs};
use crate::reports::with;

/// A call recovers from a forged datagram within this time.
const PATIENCE: Duration = Duration::from_secs(2);
/// The share of its media that a call must receive to count as recovered.
const RECOVERED_SHARE: f64 = 0.5;

/// Numbers that look random and are the same in each run (Knuth's linear congruence).
pub(super) struct Draw(pub(super) u64);

impl Draw {
    pub(super) fn next(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    /// Returns a number below `end`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.next() % end
    }

    /// Returns one of `values`.
    pub(super) fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u32) as usize]
    }
}

/// A one-way call of A to B that has run for three seconds.
fn running(mode: FeedbackMode) -> Pair {
    let mut pair = one_way(mode, End::B.receiver(2));
    pair.run(secs(3));
    pair
}

fn one_way(mode: FeedbackMode, receiver: Config) -> Pair {
    let mut sender = with(mode, End::A.sender(1));
    if let Some(send) = &mut sender.send {
        send.leave_out_sequence_numbers = true;
    }
    let mut pair = Pair::new(sender, with(mode, receiver));
    pair.payload = pair.session(End::A).payload_capacity();
    pair
}

/// Lets time pass, and returns the number of media packets that B received in it.
fn received(pair: &mut Pair, time: Duration) -> f64 {
    let count = |pair: &Pair| pair.session(End::B).statistics().packets_received;
    let before = count(pair);
    pair.run(time);
    (count(pair) - before) as f64
}

/// The last media packet of A, from which an attacker copies what it does not forge.
fn last_media(pair: &Pair) -> Vec<u8> {
    let last = pair.log.iter().rfind(|sent| sent.is_media);
    last.expect("A sends media").bytes.clone()
}

/// The fields of a media packet that a receiver reads.
#[derive(Clone, Copy, Debug)]
struct Fields {
    header: RtpHeader,
    timing: RttSendTs,
    transport: u16,
}

impl Fields {
    /// The fields of the packet that would follow the last one of A now.
    fn next(pair: &Pair) -> Self {
        let bytes = last_media(pair);
        let rtp = RtpPacket::parse(&bytes).expect("RTP of ours");
        let elements: Vec<_> = rtp.elements().flatten().collect();
        let timing = RttSendTs::parse(elements[0].data).expect("timing of ours");
        let transport = elements.get(1).map_or(0, |element| {
            u16::from_be_bytes([element.data[0], element.data[1]])
        });
        let header = rtp.header();
        Self {
            header: RtpHeader {
                sequence: header.sequence.wrapping_add(1),
                ..header
            },
            timing: RttSendTs {
                send_time: pair.now.as_micros() as u32,
                ..timing
            },
            transport: transport.wrapping_add(1),
        }
    }

    fn to_bytes(self, payload: usize) -> Vec<u8> {
        let (timing, transport) = (self.timing.to_bytes(), self.transport.to_be_bytes());
        let elements = [
            Element {
                id: RttSendTs::DEFAULT_ID,
                data: &timing,
            },
            Element {
                id: TransportSequence::DEFAULT_ID,
                data: &transport,
            },
        ];
        let mut bytes = vec![0xab; 64 + payload];
        let len = self.header.emit(&elements, &mut bytes).expect("it fits");
        bytes.truncate(len + payload);
        bytes
    }
}

/// The latest departure of media at A that has certainly arrived at B.
fn last_arrived(pair: &Pair) -> Instant {
    let arrived = |at: Instant| at + Duration::from_millis(110) < pair.now;
    let mut sent = pair.log.iter().rev();
    sent.find(|sent| sent.is_media && arrived(sent.at))
        .expect("media arrived")
        .at
}
