//! Tests that reports of arrivals give the same p and X_recv as a receiver that computes both.

use super::*;
use crate::units::{LossEventRate, Rate};
use proptest::prelude::*;

/// The reports of a receiver that is polled after so many arrivals each.
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
        let report = self.receiver.report_or_predict(self.arrivals[count - 1].at);
        (report.loss_event_rate, report.receive_rate)
    }
}

/// Delivers the reports at these delays, and compares all results with the reference.
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
    let reported = deliveries.iter().map(|(_, made)| made.after).max().unwrap();
    assert_eq!(tracker.counters().received as usize, reported);
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

    /// Round trips that differ by no more leave all reported arrivals believed.
    #[test]
    fn checked_reports_agree_on_a_steady_path(
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

    /// Arrivals with more jitter than is believed are moved by the excess. None is refused, and no lie is
    /// suspected. The losses are the losses of the receiver, and losses that are more than a round trip apart by that
    /// margin make separate events.
    #[test]
    fn jitter_moves_arrivals_and_changes_no_count(
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

    /// A receiver that reports at intervals of its own sends several reports at once, a moment apart.
    #[test]
    fn checked_reports_that_leave_together_agree(
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

    /// Reports overtake each other by at most a quarter of a round trip; copies arrive much later. Each report
    /// repeats as many packets as may be overtaken, because nothing else shows that a report of a late packet is
    /// still to come.
    #[test]
    fn reordered_and_repeated_reports_agree_with_the_receiver(
        journeys in journeys(),
        every in prop::collection::vec(1usize..4, 1..10),
        overlap in 10u64..20,
        delays in prop::collection::vec((0u64..25, prop::option::of(0u64..900)), 300),
    ) {
        let arrivals = arrivals(&journeys);
        let made = reports(&arrivals, &every, overlap);
        let mut deliveries = Vec::new();
        for (made, (delay, repeat_delay)) in made.iter().zip(delays) {
            for delay in [Some(delay), repeat_delay].into_iter().flatten() {
                deliveries.push((Duration::from_millis(30 + delay), made));
            }
        }
        check(sender(journeys.len()).trusting(), &arrivals, &deliveries);
    }

    /// Every other report of a dozen packets, with as many repeated, is lost.
    #[test]
    fn repeated_reports_replace_lost_ones(
        journeys in journeys(),
        every in prop::collection::vec(1usize..12, 1..10),
    ) {
        let arrivals = arrivals(&journeys);
        let made = reports(&arrivals, &every, 40);
        let delay = Duration::from_millis(30);
        let deliveries: Vec<_> = made.iter().step_by(2).map(|made| (delay, made)).collect();
        check(sender(journeys.len()).trusting(), &arrivals, &deliveries);
    }
}

/// Reports that leave because they are full are no expiries of the feedback timer. A sender that took them for
/// expiries would measure X_recv over less than a round trip, and would end slow start at a higher rate than a
/// receiver.
#[test]
fn receive_rate_spans_one_rtt_despite_many_reports() {
    for every in [1, 2, 5, 10] {
        let arrivals: Vec<Arrival> = (0..120u64)
            .map(|index| Arrival {
                seq: FIRST + index,
                // The rate is ten times as high in the last quarter of each round trip.
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
        let mut reported = Vec::new();
        for made in reports(&arrivals, &[every], 0) {
            let now = made.header.made_at - ZERO + Duration::from_millis(5);
            reported.extend(tracker.handle_report(
                now,
                &made.header,
                made.statuses.iter().copied(),
            ));
        }
        // The span is ten packets in 100 ms, and up to as many again in the 20 ms at both ends.
        for feedback in &reported[reported.len() / 2..] {
            let rate = feedback.receive_rate.bytes_per_sec();
            assert!((0.9e5..=1.7e5).contains(&rate), "every {every}: {rate}");
        }
    }
}
