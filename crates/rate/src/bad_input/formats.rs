//! Tests of transit reports whose clock is false, and of changes of a report's format.

use tfrc::time::{Duration, Instant};

use super::{ClockFault, FORMATS, Faults, FaultyFlow, SECOND, X, ZERO, assert_recovery, honest};
use crate::model::ReportFormat;

#[test]
fn transit_bounds_fill_an_honest_receivers_link() {
    let mut flow = FaultyFlow::new(40, X, Faults::NONE);
    flow.format = ReportFormat::TransitBounds;
    flow.run_until(8);
    flow.assert_normal("honest");
}

#[test]
fn transit_bounds_recover_from_a_clock_step() {
    let steps: [(&str, ClockFault); 6] = [
        ("an hour ahead", |_, at| at + ZERO + 3_600 * SECOND),
        ("an hour behind", |_, at| at + ZERO - 3_600 * SECOND),
        ("a second ahead", |_, at| at + ZERO + SECOND),
        ("a second behind", |_, at| at + ZERO - SECOND),
        ("15 ms ahead", |_, at| at + ZERO + 15_000_000),
        ("15 ms behind", |_, at| at + ZERO - 15_000_000),
    ];
    assert_recovery(ReportFormat::TransitBounds, &steps);
}

#[test]
fn transit_bounds_recover_from_a_false_report() {
    for lie in [u64::MAX, 0, ZERO + 3_600 * SECOND, ZERO] {
        let mut flow = FaultyFlow::new(40, X, Faults::NONE);
        flow.format = ReportFormat::TransitBounds;
        flow.run_until(10);
        flow.run_frame();
        let (_, last) = flow.reports.back_mut().expect("a report under way");
        last[0].arrived_at = Instant::from_nanos(lie);
        flow.run_until(15);
        flow.assert_normal("a lie");
    }
}

#[test]
fn model_recovers_from_a_change_of_format() {
    for (first, then) in FORMATS.iter().flat_map(|a| FORMATS.map(|b| (*a, b))) {
        for clock in [honest, |_: &mut Faults, at| at] {
            let mut flow = FaultyFlow::new(40, X, Faults::NONE);
            flow.format = first;
            flow.clock = clock;
            flow.run_until(10);
            flow.format = then;
            flow.run_until(15);
            if then != ReportFormat::RoundTrip {
                flow.assert_normal("another format");
            }
            assert!(flow.model.queueing_delay() < Duration::from_millis(100));
        }
    }
}
