//! Instructions that the path model takes for each report, frame and packet, counted by callgrind; fails over budget.
//!
//! `cargo bench -p evenkeel-rate --bench instructions`; needs valgrind. The count is the same on every run of one build.

#[path = "../../tfrc/benches/cases/budgets.rs"]
mod budgets;
#[path = "../../tfrc/benches/cases/callgrind.rs"]
mod callgrind;
mod flow;

use std::hint::black_box;
use std::process::ExitCode;

use budgets::{Case, counted};
use evenkeel_rate::{Mode, PathModel};
use flow::{
    LinkFlow, LinkScenario, ModelCall, ReceiverReports, allow_frame, report_deliveries,
    report_transit, send,
};

/// The target of the path model for a report or a frame, in instructions. A report on many packets exceeds the target, since
/// each packet adds to its cost.
const TARGET: f64 = 1_500.0;
/// Marks a case without a target.
const NO_TARGET: f64 = f64::INFINITY;
/// Frames before the first call that is counted: a minute, in which the model finds its rate and its base delay.
const WARM_UP: u64 = 1_500;

const CALL: LinkScenario = LinkScenario::alone(3.0, ReceiverReports::Deliveries);
const LOW_RATE_CALL: LinkScenario = LinkScenario::alone(0.3, ReceiverReports::Deliveries);
const HD_CALL: LinkScenario = LinkScenario::alone(25.0, ReceiverReports::Deliveries);
const COARSE_CALL: LinkScenario = LinkScenario::alone(3.0, ReceiverReports::TransitBounds);
const SHARED_CALL: LinkScenario = LinkScenario::beside_tcp(6.0);

/// The budgets are a tenth above the counts.
const CASES: [Case; 7] = [
    Case {
        name: "report_low_rate",
        what: "report of a frame, 0.3 Mb/s, 2 packets",
        target: TARGET,
        budget: 1_640.0,
        run: |steps| count_calls(&LOW_RATE_CALL, steps, |_, call| is_report(call)),
    },
    Case {
        name: "report",
        what: "the same, 3 Mb/s, 13 packets",
        target: TARGET,
        budget: 4_400.0,
        run: |steps| count_calls(&CALL, steps, |_, call| is_report(call)),
    },
    Case {
        name: "report_competing",
        what: "the same, beside TCP at X of 3 Mb/s",
        target: TARGET,
        budget: 4_470.0,
        run: |steps| {
            count_calls(&SHARED_CALL, steps, |model, call| {
                is_report(call) * u64::from(model.mode() == Mode::Compete)
            });
        },
    },
    Case {
        name: "transit_bounds",
        what: "TFRC's report with transit times, 3 Mb/s",
        target: TARGET,
        budget: 2_570.0,
        run: |steps| count_calls(&COARSE_CALL, steps, |_, call| is_report(call)),
    },
    Case {
        name: "packet_reported",
        what: "packet in a report of 100, 25 Mb/s",
        target: NO_TARGET,
        budget: 274.0,
        run: |steps| {
            count_calls(&HD_CALL, steps, |_, call| match call {
                ModelCall::Deliveries(deliveries) => deliveries.len() as u64,
                _ => 0,
            });
        },
    },
    Case {
        name: "frame",
        what: "size and pace of a frame",
        target: TARGET,
        budget: 181.0,
        run: |steps| {
            count_calls(&CALL, steps, |_, call| {
                u64::from(matches!(call, ModelCall::Frame(_)))
            });
        },
    },
    Case {
        name: "packet_sent",
        what: "packet sent",
        target: NO_TARGET,
        budget: 117.0,
        run: |steps| {
            count_calls(&CALL, steps, |_, call| {
                u64::from(matches!(call, ModelCall::Sent(_)))
            });
        },
    },
];

fn is_report(call: &ModelCall<'_>) -> u64 {
    u64::from(matches!(
        call,
        ModelCall::Deliveries(_) | ModelCall::TransitBounds(_)
    ))
}

/// Runs a flow until calls of this many steps have been counted. `steps_of` gives the steps of a call; a call without steps
/// is not counted.
fn count_calls(
    scenario: &LinkScenario,
    steps: u64,
    steps_of: impl Fn(&PathModel, &ModelCall<'_>) -> u64,
) {
    let mut flow = LinkFlow::new(scenario);
    for _ in 0..WARM_UP {
        flow.run_frame(&mut |model, now, call| call.make(model, now));
    }
    let mut left = steps;
    while left > 0 {
        flow.run_frame(&mut |model, now, call| {
            let taken = steps_of(model, &call).min(left);
            left -= taken;
            match call {
                _ if taken == 0 => call.make(model, now),
                ModelCall::Frame(bound) => {
                    black_box(counted(model, (now, bound), allow_frame));
                }
                ModelCall::Sent(packet) => counted(model, (now, packet), send),
                ModelCall::LossEvent => model.handle_loss_event(now),
                ModelCall::Deliveries(deliveries) => {
                    counted(model, (now, deliveries), report_deliveries);
                }
                ModelCall::TransitBounds(report) => {
                    counted(model, (now, report), report_transit);
                }
            }
        });
    }
}

fn main() -> ExitCode {
    budgets::hold(&CASES)
}
