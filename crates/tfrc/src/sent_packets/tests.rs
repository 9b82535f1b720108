//! What a sender makes of reports against what a receiver makes of the same packets.

use super::*;
use crate::Ecn;
use crate::receiver::{Arrival, Receiver, ReceiverConfig};
use crate::sender::Feedback;
use crate::time::Instant;
use crate::units::{Bytes, LossEventRate, Rate};
use core::time::Duration;
use proptest::prelude::*;
use std::vec::Vec;

const RTT: Duration = Duration::from_millis(100);
const SPACING: Duration = Duration::from_millis(10);
const SIZE: Bytes = Bytes::new(1_000);
/// The receiver's clock shows this much more than the sender's.
const ZERO: Duration = Duration::from_secs(7_000);
const FIRST: u64 = 65_500;

fn sent_at(seq: u64) -> Instant {
    Instant::from_secs(1) + SPACING * (seq - FIRST) as u32
}

/// What the path does to a packet.
#[derive(Clone, Debug)]
struct Journey {
    lost: bool,
    marked: bool,
    /// Beyond 40 ms.
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

/// Packets as they arrive, in the order of time on the receiver's clock.
fn arrivals(journeys: &[Journey]) -> Vec<Arrival> {
    let mut arrivals: Vec<Arrival> = (FIRST..)
        .zip(journeys)
        .filter(|(_, journey)| !journey.lost)
        .map(|(seq, journey)| Arrival {
            seq,
            // No two at the same nanosecond.
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
    /// The arrivals that it follows.
    after: usize,
}

/// A report after so many arrivals each, which speaks of all that is new and of `overlap` packets more.
fn reports(arrivals: &[Arrival], every: &[usize], overlap: u64) -> Vec<Made> {
    let mut made = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    places.extend(
        (0..)
            .zip(arrivals)
            .map(|(place, arrival)| (arrival.seq, place)),
    );
    let (mut from, mut told_to) = (0, FIRST);
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
            .fold(told_to, u64::max);
        let first = (lowest.min(told_to)).saturating_sub(overlap).max(FIRST);
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
        (from, told_to) = (to, end);
    }
    made
}

/// What a receiver reports that is asked after so many arrivals each.
struct Reference<'a> {
    receiver: Receiver,
    arrivals: &'a [Arrival],
    taken: usize,
}

impl<'a> Reference<'a> {
    fn new(arrivals: &'a [Arrival]) -> Self {
        Self {
            receiver: Receiver::new(ReceiverConfig::default()),
            arrivals,
            taken: 0,
        }
    }

    fn report_after(&mut self, count: usize) -> (LossEventRate, Rate) {
        for arrival in &self.arrivals[self.taken..count] {
            self.receiver.handle_data(arrival);
        }
        self.taken = count;
        let report = self
            .receiver
            .report_or_foretell(self.arrivals[count - 1].at);
        (report.loss_event_rate, report.receive_rate)
    }
}

type Sender = SentPacketTracker<512>;

/// A sender that has sent all of these.
fn sender(packets: usize) -> Sender {
    let mut tracker = Sender::new(FIRST, ReceiverConfig::default());
    for seq in FIRST..FIRST + packets as u64 {
        tracker.handle_sent(sent_at(seq), SIZE, Some(RTT));
    }
    tracker
}

/// Hands reports over at these times after they were made, and holds all that comes of it to the reference.
fn check(mut tracker: Sender, arrivals: &[Arrival], deliveries: &[(Duration, &Made)]) {
    let mut reference = Reference::new(arrivals);
    let mut order: Vec<(Instant, &Made)> = deliveries
        .iter()
        .map(|(delay, made)| (made.header.made_at - ZERO + *delay, *made))
        .collect();
    order.sort_by_key(|(now, _)| *now);
    for (now, made) in order {
        let statuses = made.statuses.iter().copied();
        if let Some(feedback) = tracker.handle_report(now, &made.header, statuses) {
            let taken = tracker.counters().received as usize;
            let (p, rate) = reference.report_after(taken);
            assert_eq!(feedback.loss_event_rate, p);
            assert_eq!(feedback.receive_rate, rate);
        }
    }
    let told = deliveries.iter().map(|(_, made)| made.after).max().unwrap();
    assert_eq!(tracker.counters().received as usize, told);
    assert_eq!(tracker.counters(), reference.receiver.counters());
    assert_eq!(tracker.refused(), RefusedArrivals::default());
    assert_eq!(tracker.never_reported(), 0);
}

proptest! {
    #[test]
    fn reports_in_order_give_what_the_receiver_computes(
        journeys in journeys(),
        every in prop::collection::vec(1usize..30, 1..10),
        overlap in 0u64..40,
    ) {
        let arrivals = arrivals(&journeys);
        let made = reports(&arrivals, &every, overlap);
        let delay = Duration::from_millis(30);
        let deliveries: Vec<_> = made.iter().map(|made| (delay, made)).collect();
        check(sender(journeys.len()).trusting(), &arrivals, &deliveries);
    }

    /// Where round trips differ by no more, all that a receiver says of its arrivals is believed.
    #[test]
    fn so_do_those_that_are_checked_on_a_path_that_delays_by_half_of_a_thirty_second_of_a_round_trip(
        journeys in journeys(),
        every in prop::collection::vec(1usize..30, 1..10),
        overlap in 0u64..40,
    ) {
        let mut journeys = journeys;
        journeys.iter_mut().for_each(|journey| journey.jitter /= 30);
        let arrivals = arrivals(&journeys);
        let made = reports(&arrivals, &every, overlap);
        let delay = Duration::from_millis(30);
        let deliveries: Vec<_> = made.iter().map(|made| (delay, made)).collect();
        check(sender(journeys.len()), &arrivals, &deliveries);
    }

    /// Arrivals that stray by more than is believed are moved, by what they stray. None of them is refused and nobody is
    /// accused; what was lost is what the receiver lost, and losses that are further apart, or nearer, than a round trip
    /// by that make as many events.
    #[test]
    fn a_path_of_much_jitter_moves_arrivals_and_changes_no_count(
        journeys in journeys(),
        every in prop::collection::vec(1usize..30, 1..10),
        events in prop::collection::vec((14usize..40, any::<bool>()), 1..12),
    ) {
        let mut journeys = journeys;
        journeys.iter_mut().for_each(|journey| (journey.lost, journey.marked) = (false, false));
        // Up to 30 ms of jitter at both ends of 50 and of 140 ms.
        let (mut place, mut expected) = (0, 0);
        for (apart, is_pair) in events {
            place += apart + 5;
            if place + 10 >= journeys.len() {
                break;
            }
            journeys[place].lost = true;
            journeys[place + 5].lost = is_pair;
            expected += 1;
        }
        let arrivals = arrivals(&journeys);
        let mut tracker = sender(journeys.len());
        let mut receiver = Receiver::new(ReceiverConfig::default());
        for arrival in &arrivals {
            receiver.handle_data(arrival);
        }
        for made in reports(&arrivals, &every, 0) {
            let now = made.header.made_at - ZERO + Duration::from_millis(30);
            tracker.handle_report(now, &made.header, made.statuses.iter().copied());
        }
        prop_assert_eq!(tracker.counters().loss_events, expected);
        prop_assert_eq!(tracker.counters(), receiver.counters());
        prop_assert_eq!(tracker.refused(), RefusedArrivals::default());
        prop_assert!(!tracker.has_caught_a_lie());
    }

    /// Receivers that report at intervals of their own send several at once, a moment apart.
    #[test]
    fn so_do_those_that_are_checked_and_waited_for_one_another(
        journeys in journeys(),
        every in prop::collection::vec(1usize..5, 1..10),
        together in 1usize..5,
    ) {
        let mut journeys = journeys;
        journeys.iter_mut().for_each(|journey| journey.jitter /= 30);
        let arrivals = arrivals(&journeys);
        let made = reports(&arrivals, &every, 0);
        let deliveries: Vec<_> = made.chunks(together).flat_map(|made| {
            let last = made.iter().map(|made| made.header.made_at).max().unwrap();
            let delay = move |made: &Made| last.saturating_since(made.header.made_at) + Duration::from_millis(30);
            (0u64..).zip(made).map(move |(place, made)| (delay(made) + Duration::from_micros(100 * place), made))
        }).collect();
        check(sender(journeys.len()), &arrivals, &deliveries);
    }

    /// Each overtakes others by a quarter of a round trip at most; copies come much later. Reports
    /// repeat what packets and reports overtake each other by: without that nothing shows that the one which tells of
    /// a late packet is still to come.
    #[test]
    fn so_do_reports_in_any_order_and_repeated(
        journeys in journeys(),
        every in prop::collection::vec(1usize..4, 1..10),
        overlap in 10u64..20,
        delays in prop::collection::vec((0u64..25, prop::option::of(0u64..900)), 300),
    ) {
        let arrivals = arrivals(&journeys);
        let made = reports(&arrivals, &every, overlap);
        let mut deliveries = Vec::new();
        for (made, (delay, again)) in made.iter().zip(delays) {
            for delay in [Some(delay), again].into_iter().flatten() {
                deliveries.push((Duration::from_millis(30 + delay), made));
            }
        }
        check(sender(journeys.len()).trusting(), &arrivals, &deliveries);
    }

    /// Of a dozen packets a report with as many repeated, every other report is lost.
    #[test]
    fn so_do_reports_of_which_some_are_lost_if_others_repeat_them(
        journeys in journeys(),
        every in prop::collection::vec(1usize..12, 1..10),
    ) {
        let arrivals = arrivals(&journeys);
        let made = reports(&arrivals, &every, 40);
        let delay = Duration::from_millis(30);
        let deliveries: Vec<_> = made.iter().step_by(2).map(|made| (delay, made)).collect();
        check(sender(journeys.len()).trusting(), &arrivals, &deliveries);
    }

    /// Numbers never sent, of the past and of the future, reports longer than all numbers there are: what
    /// was sent is counted once at most, and time stays within what has passed.
    #[test]
    fn nothing_that_a_report_claims_counts_twice(
        claims in prop::collection::vec(
            (any::<u16>(), any::<u64>(), prop::collection::vec((any::<bool>(), any::<u64>()), 1..200), 1usize..700), 1..20),
    ) {
        let mut tracker = sender(300);
        let end = sent_at(FIRST + 300);
        for (first, made_at, statuses, times) in claims {
            let header = ReportHeader { first, made_at: Instant::from_nanos(made_at), resolution: Duration::ZERO };
            let statuses = statuses.into_iter().map(|(arrived, at)| match (arrived, at % 3) {
                (false, _) => PacketStatus::Missing,
                (true, 0) => PacketStatus::Arrived { at: None, ecn: Ecn::Ce },
                (true, _) => PacketStatus::Arrived { at: Some(Instant::from_nanos(at)), ecn: Ecn::NotEct },
            });
            let statuses: Vec<PacketStatus> = statuses.collect();
            let long = statuses.iter().copied().cycle().take(statuses.len() * times);
            if let Some(feedback) = tracker.handle_report(end, &header, long) {
                prop_assert!(feedback.sent_at + feedback.delay <= end);
                prop_assert!(feedback.receive_rate.is_finite());
            }
            prop_assert!(tracker.counters().received + tracker.counters().lost <= 300);
        }
    }
}

#[test]
fn packets_that_no_report_spoke_of_are_neither_received_nor_lost() {
    let journeys: Vec<_> = (0..200)
        .map(|_| Journey {
            lost: false,
            marked: false,
            jitter: Duration::ZERO,
        })
        .collect();
    let arrivals = arrivals(&journeys);
    let made = reports(&arrivals, &[10], 0);
    let mut tracker = sender(200);
    for (index, made) in made.iter().enumerate() {
        let now = made.header.made_at - ZERO + Duration::from_millis(30);
        let statuses = made.statuses.iter().copied();
        if index % 4 != 1 {
            tracker.handle_report(now, &made.header, statuses);
        }
    }
    assert_eq!(tracker.never_reported(), 50);
    let counters = tracker.counters();
    assert_eq!((counters.received, counters.lost), (150, 5));
    assert_eq!(counters.loss_events, 5);
}

#[test]
fn packets_that_no_report_spoke_of_are_one_hole_whatever_number_among_them_was_left_out() {
    let mut tracker = Sender::new(FIRST, ReceiverConfig::default());
    for seq in FIRST..FIRST + 40 {
        if seq == FIRST + 15 {
            tracker.handle_left_out(sent_at(seq));
        } else {
            tracker.handle_sent(sent_at(seq), SIZE, Some(RTT));
        }
    }
    for first in [FIRST, FIRST + 20, FIRST + 30] {
        let made_at = sent_at(first + 15) + ZERO;
        let header = ReportHeader {
            first: first as u16,
            made_at,
            resolution: Duration::ZERO,
        };
        let statuses = (first..first + 10).map(|seq| PacketStatus::Arrived {
            at: Some(sent_at(seq) + ZERO + Duration::from_millis(40)),
            ecn: Ecn::NotEct,
        });
        tracker.handle_report(made_at - ZERO + RTT, &header, statuses);
    }
    let counters = tracker.counters();
    assert_eq!((counters.received, counters.lost), (30, 1));
    assert_eq!(tracker.never_reported(), 9);
}

/// A receiver that lies, or does not, about a path that loses nothing; every tenth number is left out.
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

#[test]
fn a_number_left_out_and_reported_as_missing_is_no_loss() {
    let tracker = with_numbers_left_out(|seq| seq % 10 == 0);
    let counters = tracker.counters();
    assert_eq!((counters.lost, tracker.never_reported()), (0, 0));
    assert!(counters.received > 150);
    assert!(!tracker.has_caught_a_lie());
}

#[test]
fn a_receiver_that_never_reports_a_loss_is_caught_by_the_second_number_left_out() {
    let tracker = with_numbers_left_out(|_| false);
    assert!(tracker.refused().never_sent >= 2);
    assert!(tracker.has_caught_a_lie());
}

#[test]
fn a_mark_of_our_own_is_no_loss_event_and_three_that_are_not_told_end_ecn() {
    for (told, lost) in [(Ecn::Ce, false), (Ecn::Ect0, true)] {
        let mut tracker = Sender::new(FIRST, ReceiverConfig::default());
        for seq in FIRST..FIRST + 30 {
            tracker.handle_sent(sent_at(seq), SIZE, Some(RTT));
            if seq % 10 == 5 {
                tracker.handle_test_mark();
            }
        }
        let header = ReportHeader {
            first: FIRST as u16,
            made_at: sent_at(FIRST + 30) + ZERO,
            resolution: Duration::ZERO,
        };
        let statuses = (FIRST..FIRST + 30).map(|seq| PacketStatus::Arrived {
            at: Some(sent_at(seq) + ZERO),
            ecn: if seq % 10 == 5 { told } else { Ecn::Ect0 },
        });
        tracker.handle_report(sent_at(FIRST + 30) + RTT, &header, statuses);
        assert_eq!(tracker.loses_marks(), lost);
        assert_eq!(tracker.counters().loss_events, 0);
    }
}

#[test]
fn one_report_alone_catches_nobody_nor_do_copies_of_it() {
    let mut tracker = sender(10);
    let header = ReportHeader {
        first: (FIRST + 9) as u16,
        made_at: Instant::from_secs(50),
        resolution: Duration::ZERO,
    };
    let arrived = PacketStatus::Arrived {
        at: None,
        ecn: Ecn::NotEct,
    };
    let mut report = |secs, count| {
        let told = core::iter::repeat_n(arrived, count);
        tracker.handle_report(Instant::from_secs(secs), &header, told);
        (tracker.refused().never_sent, tracker.has_caught_a_lie())
    };
    assert_eq!(report(2, 30), (29, false));
    assert_eq!(report(3, 30), (29, false));
    assert_eq!(report(3, 25), (29, false));
    assert_eq!(report(4, 31), (30, true));
}

#[test]
fn a_second_claim_long_after_the_first_is_a_first_one() {
    let mut tracker = sender(10);
    let mut claim = |secs, count| {
        let now = Instant::from_secs(secs);
        let header = ReportHeader {
            first: (FIRST + 9) as u16,
            made_at: now,
            resolution: Duration::ZERO,
        };
        let arrived = PacketStatus::Arrived {
            at: None,
            ecn: Ecn::NotEct,
        };
        tracker.handle_report(now, &header, core::iter::repeat_n(arrived, count));
        tracker.has_caught_a_lie()
    };
    assert!(!claim(2, 30));
    assert!(!claim(2 + 301, 31));
    assert!(claim(2 + 301 + 300, 32));
}

#[test]
fn reports_that_are_a_round_of_numbers_late_accuse_nobody_and_tell_nothing() {
    // A round is eleven minutes, and two thirds of a second.
    for spacing in [SPACING, Duration::from_micros(10)] {
        be_told_a_round_late(spacing);
    }
}

/// An honest receiver, three of whose reports come when 16 bits have come round.
fn be_told_a_round_late(spacing: Duration) {
    const PART: u64 = 50;
    // The last then speaks of some that are still to be sent.
    const LATE: core::ops::Range<u64> = FIRST + PART..FIRST + 4 * PART;
    let rtt = spacing * 10;
    let sent_at = |seq: u64| Instant::from_secs(1) + spacing * (seq - FIRST) as u32;
    let is_left_out = |seq: u64| seq.is_multiple_of(10);
    let report = |first: u64| {
        let came = move |seq| sent_at(seq) + rtt / 2 + ZERO;
        let header = ReportHeader {
            first: first as u16,
            made_at: came(first + PART),
            resolution: Duration::ZERO,
        };
        let statuses = (first..first + PART).map(move |seq| {
            if is_left_out(seq) {
                PacketStatus::Missing
            } else {
                PacketStatus::Arrived {
                    at: Some(came(seq)),
                    ecn: Ecn::NotEct,
                }
            }
        });
        (header, statuses)
    };
    let mut tracker = Sender::new(FIRST, ReceiverConfig::default());
    let end = FIRST + (1 << 16) + 3 * PART + PART / 2;
    for seq in FIRST..end {
        if is_left_out(seq) {
            tracker.handle_left_out(sent_at(seq));
        } else {
            tracker.handle_sent(sent_at(seq), SIZE, Some(rtt));
        }
        // All but the last ten have been on their way for a round trip.
        let told = (seq - FIRST).checked_sub(9);
        if let Some(told) = told.filter(|told| *told > 0 && told.is_multiple_of(PART)) {
            let first = FIRST + told - PART;
            if !LATE.contains(&first) {
                let (header, statuses) = report(first);
                tracker.handle_report(sent_at(seq), &header, statuses);
            }
        }
    }
    let before = tracker.counters();
    for first in LATE.step_by(PART as usize) {
        let (header, statuses) = report(first);
        tracker.handle_report(sent_at(end), &header, statuses);
    }
    assert!(!tracker.has_caught_a_lie());
    assert_eq!(tracker.refused().never_sent, 0);
    assert_eq!(tracker.refused().unknown, 3 * PART * 9 / 10);
    assert_eq!(tracker.counters(), before);
}

/// It came before that number was due, whatever packet it was.
#[test]
fn an_arrival_of_a_number_left_out_proves_nothing_if_it_is_too_early() {
    let mut tracker = sender(10);
    tracker.handle_left_out(sent_at(FIRST + 10));
    for (early, refused) in [(true, (1, 0)), (false, (1, 1))] {
        let now = sent_at(FIRST + 20);
        let waited = if early { SPACING * 10 } else { SPACING * 9 };
        let header = ReportHeader {
            first: (FIRST + 10) as u16,
            made_at: now,
            resolution: Duration::ZERO,
        };
        let status = PacketStatus::Arrived {
            at: Some(now - waited),
            ecn: Ecn::NotEct,
        };
        tracker.handle_report(now, &header, [status]);
        let told = tracker.refused();
        assert_eq!((told.too_early, told.never_sent), refused);
    }
}

/// Reports that pass over what was lost, once in five packets: each hole is a loss.
#[test]
fn what_a_receiver_passes_over_is_a_loss_event_where_it_is_one() {
    let honest = with_numbers_left_out(|seq| seq % 10 == 0);
    let mut tracker = sender(200);
    for seq in (FIRST..FIRST + 195).step_by(15) {
        let header = ReportHeader {
            first: seq as u16,
            made_at: sent_at(seq + 15) + ZERO,
            resolution: Duration::ZERO,
        };
        let arrived = PacketStatus::Arrived {
            at: Some(sent_at(seq + 14) + ZERO),
            ecn: Ecn::NotEct,
        };
        tracker.handle_report(sent_at(seq + 15) + RTT, &header, [arrived; 14]);
    }
    assert!(tracker.counters().loss_events > 5);
    assert_eq!(honest.counters().loss_events, 0);
}

/// Nothing shows how long a receiver waited: who says too long makes R too short.
#[test]
fn a_long_delay_makes_no_round_trip_shorter_than_the_one_before_it_nor_two_in_a_row() {
    let mut tracker = sender(10);
    // Each takes 100 ms from the departure of its last packet.
    let mut delay = |seq: u64, waited: u64| {
        let header = ReportHeader {
            first: seq as u16,
            made_at: sent_at(seq) + ZERO,
            resolution: Duration::ZERO,
        };
        let arrived = PacketStatus::Arrived {
            at: Some(header.made_at - Duration::from_millis(waited)),
            ecn: Ecn::NotEct,
        };
        let now = sent_at(seq) + RTT;
        let feedback = tracker.handle_report(now, &header, [arrived]).unwrap();
        feedback.delay.as_millis()
    };
    let told = [9, 3, 9, 9, 1, 5];
    let believed = (FIRST..).zip(told).map(|(seq, waited)| delay(seq, waited));
    assert!(believed.eq([0, 3, 3, 0, 1, 1]));
}

/// It says that the packets after a loss came with it, and the later ones little after they left: if that
/// were believed, two losses that are 1.9 round trips apart would be one event.
#[test]
fn arrival_times_merge_no_losses_that_were_sent_far_apart() {
    for (apart, events) in [(9, 1), (12, 2), (19, 2)] {
        let lost = [FIRST + 30, FIRST + 30 + apart];
        let mut tracker = sender(80);
        let mut feedback = None;
        for first in (FIRST..FIRST + 80).step_by(10) {
            let header = ReportHeader {
                first: first as u16,
                made_at: sent_at(first + 9) + ZERO + RTT,
                resolution: Duration::ZERO,
            };
            let claim = |seq: u64| {
                if lost.contains(&seq) {
                    return PacketStatus::Missing;
                }
                // On a time line on which reports come when they are made all came a round trip after they left.
                let came = sent_at(seq) + RTT;
                let event = sent_at(lost[0]) + RTT;
                let claimed = if came < event {
                    came
                } else {
                    event.max(came - RTT * 9 / 10)
                };
                PacketStatus::Arrived {
                    at: Some(claimed + ZERO),
                    ecn: Ecn::NotEct,
                }
            };
            let now = sent_at(first + 9) + RTT;
            let statuses = (first..first + 10).map(claim);
            feedback = tracker.handle_report(now, &header, statuses).or(feedback);
        }
        assert!(feedback.is_some());
        assert_eq!(
            tracker.counters().loss_events,
            events,
            "{apart} packets apart"
        );
    }
}

/// A report of these packets, made at that time on the sender's clock, the last of them `waited` before.
fn tell(
    tracker: &mut Sender,
    now: Instant,
    packets: core::ops::Range<u64>,
    made_at: Instant,
    waited: Duration,
) -> Option<Feedback> {
    let header = ReportHeader {
        first: packets.start as u16,
        made_at: made_at + ZERO,
        resolution: Duration::from_millis(2),
    };
    let last = packets.end - 1;
    let arrived = |seq| PacketStatus::Arrived {
        at: Some(header.made_at - waited - SPACING * (last - seq) as u32),
        ecn: Ecn::NotEct,
    };
    tracker.handle_report(now, &header, packets.map(arrived))
}

/// Else the others would have waited since it came.
#[test]
fn a_report_of_a_later_date_makes_no_round_trip_after_it_shorter() {
    let mut tracker = sender(20);
    let mut tell = |last: u64, ahead: u64| {
        let sent = sent_at(last);
        let made_at = sent + Duration::from_millis(ahead);
        tell(
            &mut tracker,
            sent + RTT,
            FIRST..last + 1,
            made_at,
            Duration::ZERO,
        )
    };
    assert!(tell(FIRST, 0).is_some());
    assert!(tell(FIRST, 900).is_none());
    // The first is believed down to the round trip before it, the second of nothing.
    for last in [FIRST + 10, FIRST + 11] {
        assert_eq!(tell(last, 0).unwrap().delay, Duration::ZERO);
    }
}

/// The report of the packet below it comes so much later.
#[test]
fn a_report_that_waits_for_one_it_overtook_waits_no_part_of_the_round_trip() {
    for (later, believed) in [(0, 0), (3, 3), (20, 20)] {
        let mut tracker = sender(3);
        let mut tell = |seq: u64, later: u64| {
            let now = sent_at(seq) + RTT + Duration::from_millis(later);
            tell(
                &mut tracker,
                now,
                seq..seq + 1,
                sent_at(seq),
                Duration::ZERO,
            )
        };
        assert!(tell(FIRST, 0).is_some());
        assert!(tell(FIRST + 2, 0).is_none());
        let feedback = tell(FIRST + 1, 10 + later).unwrap();
        assert_eq!(feedback.sent_at, sent_at(FIRST + 2));
        assert_eq!(feedback.delay, Duration::from_millis(believed));
    }
}

#[test]
fn no_round_trip_is_shorter_than_the_format_can_tell() {
    for (told, believed) in [(97, 97), (98, 98), (99, 98), (100, 98)] {
        let mut tracker = sender(1).trusting();
        let waited = Duration::from_millis(told);
        let now = sent_at(FIRST) + RTT;
        let feedback = tell(&mut tracker, now, FIRST..FIRST + 1, sent_at(FIRST), waited);
        assert_eq!(feedback.unwrap().delay, Duration::from_millis(believed));
    }
}

#[test]
fn an_arrival_before_the_packet_can_have_come_is_refused() {
    let mut tracker = sender(2);
    let header = ReportHeader {
        first: FIRST as u16,
        made_at: Instant::from_secs(50),
        resolution: Duration::ZERO,
    };
    let arrived = |ms| PacketStatus::Arrived {
        at: Some(Instant::from_secs(50) - Duration::from_millis(ms)),
        ecn: Ecn::NotEct,
    };
    // At 1.1 s a report says of packets that left at 1.00 and 1.01 s that they came 100 ms ago.
    let now = sent_at(FIRST) + RTT;
    assert_eq!(
        tracker.handle_report(now, &header, [arrived(100), arrived(100)]),
        None
    );
    assert_eq!(tracker.refused().too_early, 2);
    let feedback = tracker
        .handle_report(now, &header, [arrived(40), arrived(40)])
        .unwrap();
    assert_eq!(feedback.sent_at, sent_at(FIRST + 1));
}

#[test]
fn a_packet_never_sent_is_refused() {
    let mut tracker = sender(10);
    let header = ReportHeader {
        first: (FIRST + 9) as u16,
        made_at: Instant::from_secs(50),
        resolution: Duration::ZERO,
    };
    let arrived = PacketStatus::Arrived {
        at: None,
        ecn: Ecn::NotEct,
    };
    tracker.handle_report(Instant::from_secs(2), &header, [arrived; 3]);
    assert_eq!(tracker.refused().never_sent, 2);
}

/// What owns nothing has no state but its own size.
#[test]
fn the_state_is_sixteen_bytes_a_packet_at_the_receiver_and_thirty_two_at_the_sender() {
    let receiver = size_of::<Arrivals<1_024>>() - size_of::<Arrivals<512>>();
    assert_eq!(receiver, 512 * 16);
    let sender = size_of::<SentPacketTracker<1_024>>() - size_of::<SentPacketTracker<512>>();
    assert_eq!(sender, 512 * 32);
    assert!(!core::mem::needs_drop::<SentPacketTracker<512>>());
    assert!(size_of::<Arrivals<64>>() <= 1_280);
}

/// A foreign receiver may save reports up: the first of them waited longest.
#[test]
fn reports_that_come_together_give_the_round_trip_of_the_last() {
    let mut tracker = SentPacketTracker::<64>::new(0, ReceiverConfig::default());
    for seq in 0..20 {
        tracker.handle_sent(Instant::ZERO + SPACING * seq, SIZE, Some(RTT));
    }
    let came = Instant::ZERO + SPACING * 19 + Duration::from_millis(80);
    for first in [0u16, 10] {
        let arrived = |seq: u16| Instant::ZERO + ZERO + SPACING * u32::from(seq);
        let header = ReportHeader {
            first,
            made_at: arrived(first + 9),
            resolution: Duration::ZERO,
        };
        let statuses = (first..first + 10).map(|seq| PacketStatus::Arrived {
            at: Some(arrived(seq)),
            ecn: Ecn::NotEct,
        });
        tracker.ingest_report(came, &header, statuses);
    }
    let feedback = tracker.settle(came).unwrap();
    assert_eq!(feedback.sent_at, Instant::ZERO + SPACING * 19);
    assert_eq!(feedback.delay, Duration::ZERO);
    assert_eq!(tracker.counters().received, 20);
    assert_eq!(tracker.settle(came), None);
}

/// Reports that leave because they are full are no expiries of the feedback timer: a sender that took them for
/// such would measure X_recv over less than a round trip, and end its slow start at a higher rate than a receiver does.
#[test]
fn receive_rates_are_measured_over_a_round_trip_however_often_reports_come() {
    for every in [1, 2, 5, 10] {
        let arrivals: Vec<Arrival> = (0..120u64)
            .map(|index| Arrival {
                seq: FIRST + index,
                // Ten times as fast in the last quarter of each round trip.
                at: sent_at(FIRST + index / 10 * 10)
                    + ZERO
                    + RTT
                    + Duration::from_millis(75 + 2 * (index % 10)),
                timestamp: 0,
                rtt: Some(RTT),
                size: SIZE,
                ecn: Ecn::NotEct,
            })
            .collect();
        let mut tracker = sender(120);
        let mut told = Vec::new();
        for made in reports(&arrivals, &[every], 0) {
            let now = made.header.made_at - ZERO + Duration::from_millis(5);
            told.extend(tracker.handle_report(now, &made.header, made.statuses.iter().copied()));
        }
        // Ten packets in 100 ms, and up to as many again in the 20 ms at both ends.
        for feedback in &told[told.len() / 2..] {
            let rate = feedback.receive_rate.bytes_per_sec();
            assert!((0.9e5..=1.7e5).contains(&rate), "every {every}: {rate}");
        }
    }
}

/// Its place is that of a packet which we marked ourselves.
#[test]
fn a_packet_whose_turn_comes_as_its_place_is_taken_is_not_the_one_that_takes_it() {
    let mut tracker = SentPacketTracker::<8>::new(0, ReceiverConfig::default());
    let now = Instant::from_secs(1);
    // Another R each, or they were counted in one run.
    for micros in 0..8 {
        let rtt = RTT + Duration::from_micros(micros);
        tracker.handle_sent(now, SIZE, Some(rtt));
    }
    // The first is waited for.
    let report = |made_at, first, count| {
        let header = ReportHeader {
            first,
            made_at,
            resolution: Duration::ZERO,
        };
        let arrived = PacketStatus::Arrived {
            at: Some(made_at),
            ecn: Ecn::Ect0,
        };
        (header, std::vec![arrived; count])
    };
    let (header, statuses) = report(now + RTT / 2, 1, 7);
    tracker.handle_report(now + RTT, &header, statuses);
    assert_eq!(tracker.counters().received, 0);
    for _ in 0..5 {
        tracker.handle_sent(now + RTT, SIZE, Some(RTT));
        tracker.handle_test_mark();
    }
    let (header, statuses) = report(now + RTT + RTT / 2, 5, 3);
    tracker.handle_report(now + 2 * RTT, &header, statuses);
    assert_eq!(tracker.counters().received, 7);
    assert!(!tracker.loses_marks());
}

/// A datagram may end with a report that is refused. The packets that take their places are marked by ourselves.
#[test]
fn what_nobody_settled_is_counted_before_others_take_the_places_of_its_packets() {
    for others in 0..20u32 {
        let mut tracker = SentPacketTracker::<8>::new(0, ReceiverConfig::default());
        let now = Instant::from_secs(1);
        // Another R each, or they were counted in one run.
        for micros in 0..4 {
            let rtt = RTT + Duration::from_micros(micros);
            tracker.handle_sent(now, SIZE, Some(rtt));
        }
        let arrived = |at| PacketStatus::Arrived {
            at: Some(at),
            ecn: Ecn::Ect0,
        };
        let made = |first, made_at| ReportHeader {
            first,
            made_at,
            resolution: Duration::ZERO,
        };
        let header = made(0, now + RTT / 2);
        tracker.ingest_report(now + RTT, &header, [arrived(header.made_at); 4]);
        for number in 1..=others {
            tracker.handle_sent(now + RTT + SPACING * number, SIZE, Some(RTT));
            tracker.handle_test_mark();
        }
        // There is room for eight.
        let kept = (others <= 4).then_some(now);
        let settled = tracker.settle(now + RTT + SPACING * others);
        assert_eq!(settled.map(|feedback| feedback.sent_at), kept);
        let counters = tracker.counters();
        assert_eq!((counters.received, counters.lost), (4, 0), "{others}");
        assert!(!tracker.loses_marks(), "{others}");
        // It tells nothing new, and makes no round trip of theirs.
        let header = made(0, now + 2 * RTT);
        assert_eq!(
            tracker.handle_report(now + 3 * RTT, &header, [arrived(header.made_at); 1]),
            None
        );
    }
}

/// The deliveries that the last report made known.
fn delivered(tracker: &Sender) -> Vec<(u64, Instant)> {
    let deliveries = tracker.deliveries();
    deliveries.map(|it| (it.number, it.arrived_at)).collect()
}

proptest! {
    #[test]
    fn deliveries_are_each_packet_once_in_order(
        journeys in journeys(),
        every in prop::collection::vec(1usize..20, 1..6),
        order in prop::collection::vec((0u64..200_000, any::<bool>()), 300),
    ) {
        let arrivals = arrivals(&journeys);
        let made = reports(&arrivals, &every, 40);
        let mut tracker = sender(journeys.len());
        let mut came: Vec<(Instant, &Made)> = Vec::new();
        for (made, (later, again)) in made.iter().zip(&order) {
            let now = made.header.made_at - ZERO + Duration::from_millis(40);
            came.push((now + Duration::from_micros(*later), made));
            came.extend(again.then_some((now + Duration::from_millis(70), made)));
        }
        came.sort_by_key(|(now, _)| *now);
        let arrived = |number| arrivals.iter().find(|arrival| arrival.seq == number).map(|arrival| arrival.at);
        let mut numbers = std::collections::BTreeSet::new();
        for (now, made) in came {
            let before = tracker.counters().received;
            tracker.handle_report(now, &made.header, made.statuses.iter().copied());
            let delivered = delivered(&tracker);
            prop_assert_eq!(delivered.len() as u64, tracker.counters().received - before);
            prop_assert!(delivered.is_sorted_by_key(|(_, at)| *at));
            let zero = delivered.first().map(|(number, at)| (arrived(*number).expect("it arrived"), *at));
            for (number, at) in delivered {
                prop_assert!(numbers.insert(number), "{} twice", number);
                let (first_arrived, first_at) = zero.expect("there is a first");
                let true_at = arrived(number).expect("it arrived");
                prop_assert_eq!(true_at.saturating_since(first_arrived), at.saturating_since(first_at));
            }
        }
    }
}

#[test]
fn deliveries_leave_out_packets_never_sent() {
    let mut tracker = sender(4);
    tracker.handle_left_out(sent_at(FIRST + 4));
    tracker.handle_sent(sent_at(FIRST + 5), SIZE, Some(RTT));
    let now = sent_at(FIRST + 5) + RTT;
    let header = ReportHeader {
        first: (FIRST - 3) as u16,
        made_at: now,
        resolution: Duration::ZERO,
    };
    let arrived = PacketStatus::Arrived {
        at: Some(now - RTT / 2),
        ecn: Ecn::NotEct,
    };
    tracker.handle_report(now, &header, [arrived; 30]);
    let numbers: Vec<u64> = tracker.deliveries().map(|it| it.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 5].map(|number| FIRST + number));
    // Said again it is no news.
    tracker.handle_report(now + SPACING, &header, [arrived; 30]);
    assert_eq!(delivered(&tracker), []);
}

#[test]
fn deliveries_are_none_after_room_was_made() {
    let mut tracker = SentPacketTracker::<8>::new(0, ReceiverConfig::default());
    let now = Instant::from_secs(1);
    for _ in 0..4 {
        tracker.handle_sent(now, SIZE, Some(RTT));
    }
    let header = ReportHeader {
        first: 0,
        made_at: now + RTT / 2,
        resolution: Duration::ZERO,
    };
    let arrived = PacketStatus::Arrived {
        at: Some(header.made_at),
        ecn: Ecn::Ect0,
    };
    tracker.ingest_report(now + RTT, &header, [arrived; 4]);
    for number in 1..=20 {
        tracker.handle_sent(now + RTT + SPACING * number, SIZE, Some(RTT));
    }
    assert_eq!(tracker.counters().received, 4);
    assert_eq!(tracker.deliveries().count(), 0);
    assert_eq!(tracker.settle(now + RTT * 3), None);
    assert_eq!(tracker.deliveries().count(), 0);
}
