//! Tests that a sender draws the same conclusions from reports as a receiver from the packets.

mod against_receiver;
mod deliveries;
mod lies;
mod memory;
mod times;
mod unreported;

use super::*;
use crate::Ecn;
use crate::receiver::{Arrival, Receiver, ReceiverConfig};
use crate::sender::Feedback;
use crate::time::Instant;
use crate::units::Bytes;
use core::time::Duration;
use proptest::prelude::*;
use std::vec::Vec;

const RTT: Duration = Duration::from_millis(100);
const SPACING: Duration = Duration::from_millis(10);
const SIZE: Bytes = Bytes::new(1_000);
/// The receiver's clock is ahead of the sender's by this.
const ZERO: Duration = Duration::from_secs(7_000);
const FIRST: u64 = 65_500;

fn sent_at(seq: u64) -> Instant {
    Instant::from_secs(1) + SPACING * (seq - FIRST) as u32
}

/// The effect of the path on one packet.
#[derive(Clone, Debug)]
struct Journey {
    lost: bool,
    marked: bool,
    /// The transit beyond 40 ms.
    jitter: Duration,
}

fn journeys() -> impl Strategy<Value = Vec<Journey>> {
    let journey = (0u8..20, 0u8..40, 0u64..30_000).prop_map(|(lost, marked, jitter)| Journey {
        lost: lost == 0,
        marked: marked == 0,
        jitter: Duration::from_micros(jitter),
    });
    prop::collection::vec(journey, 20..300).prop_map(|mut journeys| {
        // Without the first packet the receiver could not know where to begin.
        (journeys[0].lost, journeys[0].jitter) = (false, Duration::ZERO);
        journeys
    })
}

/// Returns the packets as they arrive, in the order of time on the receiver's clock.
fn arrivals(journeys: &[Journey]) -> Vec<Arrival> {
    let mut arrivals: Vec<Arrival> = (FIRST..)
        .zip(journeys)
        .filter(|(_, journey)| !journey.lost)
        .map(|(seq, journey)| Arrival {
            seq,
            // No two packets arrive in the same nanosecond.
            at: sent_at(seq)
                + (ZERO + Duration::from_millis(40) + journey.jitter)
                + Duration::from_nanos(seq % 1_000),
            timestamp: 0,
            rtt: Some(RTT),
            size: SIZE,
            ecn: if journey.marked { Ecn::Ce } else { Ecn::Ect0 },
        })
        .collect();
    arrivals.sort_by_key(|arrival| arrival.at);
    arrivals
}

#[derive(Clone, Debug)]
struct Made {
    header: ReportHeader,
    statuses: Vec<PacketStatus>,
    /// The number of arrivals before the report.
    after: usize,
}

/// Returns reports after so many arrivals each, which cover all new packets and `overlap` earlier ones.
fn reports(arrivals: &[Arrival], every: &[usize], overlap: u64) -> Vec<Made> {
    let mut made = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    places.extend(
        (0..)
            .zip(arrivals)
            .map(|(place, arrival)| (arrival.seq, place)),
    );
    let (mut from, mut reported_until) = (0, FIRST);
    for step in every.iter().cycle() {
        let to = (from + step).min(arrivals.len());
        let new = &arrivals[from..to];
        let lowest = new.iter().map(|arrival| arrival.seq).min();
        let (Some(lowest), Some(last)) = (lowest, new.last()) else {
            break;
        };
        let end = new
            .iter()
            .map(|arrival| arrival.seq + 1)
            .fold(reported_until, u64::max);
        let first = (lowest.min(reported_until))
            .saturating_sub(overlap)
            .max(FIRST);
        let status = |seq| {
            let place = places.get(&seq).filter(|place| **place < to);
            place.map_or(PacketStatus::Missing, |place| PacketStatus::Arrived {
                at: Some(arrivals[*place].at),
                ecn: arrivals[*place].ecn,
            })
        };
        made.push(Made {
            header: ReportHeader {
                first: first as u16,
                made_at: last.at,
                resolution: Duration::from_nanos(1),
            },
            statuses: (first..end).map(status).collect(),
            after: to,
        });
        (from, reported_until) = (to, end);
    }
    made
}

type Sender = SentPacketTracker<512>;

/// Returns a sender that has sent all of these packets.
fn sender(packets: usize) -> Sender {
    let mut tracker = Sender::new(FIRST, ReceiverConfig::default());
    for seq in FIRST..FIRST + packets as u64 {
        tracker.handle_sent(sent_at(seq), SIZE, Some(RTT));
    }
    tracker
}

/// Returns a sender that left out every tenth number, after reports of a path without losses; the receiver may lie.
fn with_numbers_left_out(is_missing: impl Fn(u64) -> bool) -> Sender {
    let mut tracker = Sender::new(FIRST, ReceiverConfig::default());
    for seq in FIRST..FIRST + 200 {
        if seq % 10 == 0 {
            tracker.handle_left_out(sent_at(seq));
        } else {
            tracker.handle_sent(sent_at(seq), SIZE, Some(RTT));
        }
        if seq % 7 == 6 {
            let made_at = sent_at(seq) + ZERO;
            let header = ReportHeader {
                first: (seq - 6) as u16,
                made_at,
                resolution: Duration::ZERO,
            };
            let statuses = (seq - 6..=seq).map(|seq| {
                if is_missing(seq) {
                    PacketStatus::Missing
                } else {
                    PacketStatus::Arrived {
                        at: Some(made_at - SPACING * 2),
                        ecn: Ecn::NotEct,
                    }
                }
            });
            tracker.handle_report(sent_at(seq) + RTT, &header, statuses);
        }
    }
    tracker
}
