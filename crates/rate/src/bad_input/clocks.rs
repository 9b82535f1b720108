//! Tests of receiver clocks that step, drift, stand or jump, and of reports that are lost, doubled or late.

use proptest::prelude::*;
use tfrc::time::Instant;
use tfrc::units::Rate;

use super::{
    ClockFault, FORMATS, Faults, FaultyFlow, LOW_X, SECOND, X, ZERO, assert_bounded,
    assert_recovery, honest,
};
use crate::model::ReportFormat;

#[test]
fn model_recovers_from_a_clock_step() {
    let steps: [(&str, ClockFault); 10] = [
        ("a day ahead", |_, at| at + ZERO + 86_400 * SECOND),
        ("an hour ahead", |_, at| at + ZERO + 3_600 * SECOND),
        ("an hour behind", |_, at| at + ZERO - 3_600 * SECOND),
        ("a day behind", |_, at| at + ZERO - 86_400 * SECOND),
        ("a second ahead", |_, at| at + ZERO + SECOND),
        ("a second behind", |_, at| at + ZERO - SECOND),
        ("50 ms ahead", |_, at| at + ZERO + 50_000_000),
        ("50 ms behind", |_, at| at + ZERO - 50_000_000),
        ("15 ms ahead", |_, at| at + ZERO + 15_000_000),
        ("15 ms behind", |_, at| at + ZERO - 15_000_000),
    ];
    assert_recovery(ReportFormat::Deliveries, &steps);
}

#[test]
fn model_recovers_from_single_false_arrivals() {
    let lies: [(&str, u64); 9] = [
        ("the end of time", u64::MAX),
        ("zero", 0),
        ("an hour ahead", ZERO + 3_610 * SECOND),
        ("an hour behind", ZERO - 3_590 * SECOND),
        ("a second ahead", ZERO + 11 * SECOND),
        ("a second behind", ZERO + 9 * SECOND),
        ("50 ms ahead", ZERO + 10 * SECOND + 50_000_000),
        ("15 ms ahead", ZERO + 10 * SECOND + 15_000_000),
        ("15 ms behind", ZERO + 10 * SECOND - 15_000_000),
    ];
    for (what, lie) in lies {
        for index in [0, 1, 2] {
            let mut flow = FaultyFlow::new(40, X, Faults::NONE);
            flow.run_until(10);
            flow.run_frame();
            let (_, last) = flow.reports.back_mut().expect("a report under way");
            let late = last[0].arrived_at.as_nanos() - 10 * SECOND - ZERO;
            let index = index.min(last.len() - 1);
            let far = lie == 0 || lie == u64::MAX;
            let lie = if far { lie } else { lie + late };
            last[index].arrived_at = Instant::from_nanos(lie);
            flow.run_until(15);
            flow.assert_normal(what);
        }
    }
}

#[test]
fn model_withstands_clocks_that_drift() {
    let fast: ClockFault = |_, at| at + ZERO + at / 5_000;
    let slow: ClockFault = |_, at| at + ZERO - at / 5_000;
    for clock in [fast, slow] {
        let mut flow = FaultyFlow::new(40, X, Faults::NONE);
        flow.clock = clock;
        for minute in 1..=3 {
            flow.run_until(60 * minute);
            flow.assert_normal("drift");
        }
    }
}

#[test]
fn model_recovers_from_a_clock_that_stood() {
    let mut flow = FaultyFlow::new(40, X, Faults::NONE);
    flow.run_until(10);
    flow.bound = Rate::from_bytes_per_sec(LOW_X);
    flow.clock = |_, _| ZERO + 10 * SECOND;
    flow.run_until(40);
    (flow.clock, flow.bound) = (honest, Rate::from_bytes_per_sec(X));
    flow.run_until(45);
    flow.assert_normal("the clock stood");
}

#[test]
fn model_recovers_from_a_clock_that_jumps() {
    let mut flow = FaultyFlow::new(40, LOW_X, Faults::NONE);
    flow.clock = |faults, at| {
        if faults.happens(0.3) {
            at + ZERO * (1 + u64::from(faults.happens(0.5)))
        } else {
            at + ZERO / 2
        }
    };
    flow.run_until(30);
    (flow.clock, flow.bound) = (honest, Rate::from_bytes_per_sec(X));
    flow.run_until(35);
    flow.assert_normal("the clock jumped");
}

#[test]
fn model_withstands_lost_doubled_and_late_reports() {
    let faults = Faults {
        random: 7,
        lost: 0.3,
        doubled: 0.2,
        reordered: 0.1,
    };
    let mut flow = FaultyFlow::new(40, X, faults);
    flow.run_until(20);
    flow.faults = Faults::NONE;
    flow.run_until(25);
    flow.assert_normal("reports");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn memory_is_bounded_whatever_the_frame_interval(
        interval in prop_oneof![1..40u64, 40..10_000u64],
        bound in 1e3..2e6,
        random: u64,
        lost in 0.0..0.5,
        doubled in 0.0..0.5,
        reordered in 0.0..0.5,
        fault in 0..4usize,
        format in prop::sample::select(FORMATS.to_vec()),
    ) {
        let clocks: [ClockFault; 4] = [
            honest,
            |_, _| ZERO,
            |faults, at| if faults.happens(0.01) { u64::MAX } else { at + ZERO },
            |faults, at| at.wrapping_mul(faults.random | 1),
        ];
        let mut flow = FaultyFlow::new(interval, bound, Faults { random, lost, doubled, reordered });
        (flow.clock, flow.format) = (clocks[fault], format);
        for _ in 0..(20_000 / interval).clamp(20, 2_000) {
            flow.run_frame();
            assert_bounded(&flow.model);
        }
    }
}
