//! Samples of the path, one for each report.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::pair::{End, Pair};
use crate::reports::{one_way, with};
use evenkeel_rtp::session::{FeedbackMode, PathSignal};
use tfrc::units::Rate;

#[test]
fn path_sample_comes_with_each_report() {
    for mode in FeedbackMode::ALL {
        let mut pair = one_way(mode);
        let mut media = 0u32;
        pair.drops = Box::new(move |sent| {
            media += u32::from(sent.is_media);
            sent.is_media && media.is_multiple_of(50)
        });
        pair.run(Duration::from_secs(10));
        let reports = pair.session(End::A).statistics().feedback_received;
        assert!(reports > 50, "{mode:?}: {reports}");
        assert_eq!(pair.samples.len() as u64, reports, "{mode:?}");
        assert!(pair.samples.iter().all(|sample| sample.from == End::A));
        for sample in &pair.samples {
            let is_per_packet = matches!(mode, FeedbackMode::Ccfb | FeedbackMode::Twcc);
            assert_eq!(!sample.deliveries.is_empty(), is_per_packet, "{mode:?}");
            match sample.signal {
                PathSignal::Deliveries => assert!(is_per_packet, "{mode:?}"),
                PathSignal::TransitReport { .. } => panic!("nobody asked for {sample:?}"),
                PathSignal::RoundTrip {
                    sent_at,
                    round_trip,
                    receive_rate,
                } => {
                    assert!(!is_per_packet, "{mode:?}");
                    assert!(sent_at < sample.at && receive_rate.is_finite());
                    // Twice the path's delay of 25 ms, and its queue.
                    let is_true = round_trip >= Duration::from_millis(50)
                        && round_trip <= sample.at - sent_at;
                    assert!(is_true, "{mode:?}: {round_trip:?}");
                }
            }
        }
    }
}

#[test]
fn path_samples_report_loss_events() {
    for mode in FeedbackMode::ALL {
        let mut pair = one_way(mode);
        let mut media = 0u32;
        pair.drops = Box::new(move |sent| {
            media += u32::from(sent.is_media);
            sent.is_media && [200, 600].contains(&media)
        });
        pair.run(Duration::from_secs(10));
        let reported = pair.samples.iter().filter(|sample| sample.loss_event);
        let reported = reported.count() as u64;
        let lost = pair.session(End::B).statistics().packets_lost;
        println!("{mode:?}: {reported} of {lost}");
        assert!(
            (2..=lost).contains(&reported),
            "{mode:?}: {reported} of {lost}"
        );
        assert!(!pair.samples[0].loss_event, "{mode:?}");
    }
}

/// Every hundredth packet is lost.
#[test]
fn tolerated_losses_leave_the_rate_alone() {
    for mode in [FeedbackMode::Ccfb, FeedbackMode::Twcc, FeedbackMode::Sack] {
        let [counted, tolerated] = [0.0, 0.03].map(|ratio| {
            let mut pair = one_way(mode);
            let dropped = Rc::new(Cell::new(0));
            let mut media = 0u32;
            let count = Rc::clone(&dropped);
            pair.drops = Box::new(move |sent| {
                media += u32::from(sent.is_media);
                let drops = sent.is_media && media > 400 && media.is_multiple_of(100);
                count.set(count.get() + u64::from(drops));
                drops
            });
            // The queue does not overflow.
            pair.rate = Rate::from_bits_per_sec(1e9);
            pair.run(Duration::from_secs(1));
            pair.session_mut(End::A).tolerate_losses(ratio);
            pair.run(Duration::from_secs(2));
            let lost: u64 = pair.samples.iter().map(|sample| sample.lost).sum();
            // The last round trip is not reported yet.
            let dropped = dropped.get();
            assert!(
                (dropped - 2..=dropped).contains(&lost),
                "{mode:?}: {lost} of {dropped}"
            );
            let path = pair.session(End::A).path().unwrap();
            path.loss_event_rate.get()
        });
        assert!((0.005..0.02).contains(&counted), "{mode:?}: {counted}");
        assert!(tolerated < counted / 10.0, "{mode:?}: {tolerated}");
    }
}

#[test]
fn path_samples_give_each_delivery_once() {
    for mode in [FeedbackMode::Ccfb, FeedbackMode::Twcc] {
        let mut pair = one_way(mode);
        pair.run(Duration::from_secs(5));
        let received = pair.session(End::B).statistics().packets_received;
        let mut numbers = std::collections::BTreeSet::new();
        let last = pair.session(End::A).last_number();
        for delivery in pair.samples.iter().flat_map(|sample| &sample.deliveries) {
            assert!(numbers.insert(delivery.number), "{mode:?}");
            assert!(delivery.number <= last, "{mode:?}");
        }
        // The last round trip is not reported yet.
        let missing = received - numbers.len() as u64;
        assert!(missing < received / 10, "{mode:?}: {missing} of {received}");
    }
}

#[test]
fn path_has_no_sample_before_feedback() {
    for mode in FeedbackMode::ALL {
        let mut pair = one_way(mode);
        pair.kill(End::B);
        pair.run(Duration::from_secs(5));
        assert!(pair.samples.is_empty(), "{mode:?}");
        assert!(pair.session_mut(End::A).poll_path().is_none(), "{mode:?}");
    }
}

/// Both clocks are one, so that a transit time is at least the delay of the path.
#[test]
fn requested_transit_bounds_are_those_of_the_path() {
    for is_asked_for in [false, true] {
        let mut receiver = with(FeedbackMode::Tfrc, End::B.receiver(2));
        let receive = receiver.receive.as_mut().expect("it receives");
        receive.transit_bounds = is_asked_for;
        let mut pair = Pair::new(with(FeedbackMode::Tfrc, End::A.sender(1)), receiver);
        pair.run(Duration::from_secs(10));
        assert!(pair.samples.len() > 50);
        assert_eq!(pair.session(End::A).statistics().ignored_total(), 0);
        for sample in &pair.samples {
            let PathSignal::TransitReport {
                round_trip,
                least,
                largest,
                ..
            } = sample.signal
            else {
                assert!(!is_asked_for, "{sample:?}");
                continue;
            };
            assert!(is_asked_for, "{sample:?}");
            let [least, largest] = [least, largest].map(|it| Duration::from_micros(it.into()));
            let path = Duration::from_millis(25);
            // Timestamps are of whole microseconds.
            let slack = Duration::from_micros(2);
            assert!(least + slack >= path && largest >= least, "{sample:?}");
            assert!(least + path <= round_trip + slack, "{sample:?}");
            // Its queue holds 50 ms.
            let most = path + Duration::from_millis(60);
            assert!(largest <= most, "{sample:?}");
        }
    }
}
