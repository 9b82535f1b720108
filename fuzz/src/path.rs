//! The two files that describe a path: a schedule of changes, a trace of delivery opportunities.

use evenkeel_link::{DeliveryTrace, Schedule};

/// Reads the bytes as both; what reads well is in order and has finite figures.
pub fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    if let Ok(schedule) = Schedule::parse(text) {
        assert!(schedule.changes().is_sorted_by_key(|change| change.at));
        for change in schedule.changes() {
            assert!(change.rate.is_none_or(|rate| rate.is_finite()));
            assert!(change.loss.is_none_or(|loss| (0.0..=1.0).contains(&loss)));
        }
        assert_eq!(schedule.delays_only().delays_only(), schedule.delays_only());
    }
    if let Ok(trace) = DeliveryTrace::parse(text) {
        assert!(!trace.period().is_zero() && trace.mean_rate().is_finite());
    }
}
