//! Instructions that each packet, report and decision takes, counted by callgrind; fails over budget.
//!
//! `cargo bench -p tfrc --bench instructions`; needs valgrind. The count is the same on every run of one
//! build, whatever else the machine does, so a budget can be held without a margin for noise.

#[path = "cases/budgets.rs"]
mod budgets;
#[path = "cases/callgrind.rs"]
mod callgrind;
mod cases;
#[path = "cases/light.rs"]
mod light;
#[path = "cases/reports.rs"]
mod reported;

use std::hint::black_box;
use std::process::ExitCode;

use budgets::{Case, counted};
use cases::{
    HDTV, IN_ORDER, LATENESS, LIGHT_PATH, LOSSY, SIZE, Traffic, WARM_UP, decide, feed_back,
    receive, receiver, report, reports, send_until, sender,
};
use light::before_first_loss;
use reported::{
    Light, Metered, REPORT, Tracker, arrival_reports, ask, ask_metered, handle_report, ingest,
    meter, record,
};
use tfrc::ReceiverConfig;
use tfrc::time::Instant;

/// The budgets. The target of HDTV is 0.2 % of a core that does 3·10⁹ instructions a second, for 75,000
/// packets. On the path of the `light` paper the targets are the cycles that it counts for p alone: 194.5 a
/// packet, and at the first loss 16,862 at worst (§V).
const CASES: [Case; 13] = [
    Case {
        name: "receiver_in_order",
        what: "receiver, packet in order, no loss",
        target: 60.0,
        budget: 60.0,
        run: |steps| receive_all(&IN_ORDER.arrivals(steps)),
    },
    Case {
        name: "receiver_lossy",
        what: "receiver, every 10th lost, 1 % reordered",
        target: 200.0,
        budget: 285.0,
        run: |steps| receive_all(&LOSSY.arrivals(steps * 10 / 9)),
    },
    Case {
        name: "receiver_hdtv",
        what: "receiver, HDTV, 75,000 packets/s",
        target: 80.0,
        budget: 80.0,
        run: |steps| receive_all(&HDTV.arrivals(steps)),
    },
    Case {
        name: "sender_feedback",
        what: "sender, one feedback",
        target: 600.0,
        budget: 600.0,
        run: feed_back_all,
    },
    Case {
        name: "light_receiver",
        what: "receiver that only reports, packet in order",
        target: 25.0,
        budget: 25.0,
        run: |steps| report_all(&IN_ORDER.arrivals(steps)),
    },
    Case {
        name: "receiver_light_path",
        what: "receiver, as `light` has it: 1 Mb/s, 100 ms",
        target: 195.0,
        budget: 75.0,
        run: |steps| receive_all(&LIGHT_PATH.arrivals(steps)),
    },
    Case {
        name: "light_receiver_light_path",
        what: "receiver that only reports, the same",
        target: 25.0,
        budget: 29.0,
        run: |steps| report_all(&LIGHT_PATH.arrivals(steps)),
    },
    Case {
        name: "metered_receiver",
        what: "receiver that reports X_recv, packet in order",
        target: 25.0,
        budget: 36.0,
        run: |steps| meter_all(&IN_ORDER.arrivals(steps)),
    },
    Case {
        name: "metered_receiver_light_path",
        what: "receiver that reports X_recv, as `light` has it",
        target: 25.0,
        budget: 57.0,
        run: |steps| meter_all(&LIGHT_PATH.arrivals(steps)),
    },
    Case {
        name: "receiver_first_loss",
        what: "receiver, first loss",
        target: 16_862.0,
        budget: 1_300.0,
        run: |steps| {
            let (fresh, arrival) = before_first_loss();
            for _ in 0..steps {
                let mut receiver = fresh.clone();
                black_box(counted(&mut receiver, &arrival, receive));
                black_box(counted(&mut receiver, arrival.at, report));
            }
        },
    },
    Case {
        name: "reported_in_order",
        what: "sender, packet sent and reported twice",
        target: 150.0,
        budget: 120.0,
        run: |steps| handle_reports_all(IN_ORDER, steps),
    },
    Case {
        name: "reported_hdtv",
        what: "sender, the same, HDTV",
        target: 150.0,
        budget: 128.0,
        run: |steps| handle_reports_all(HDTV, steps),
    },
    Case {
        name: "pacer_decision",
        what: "pacer, one decision",
        target: 40.0,
        budget: 40.0,
        run: |steps| {
            let (mut sender, size) = (sender(), black_box(SIZE));
            for _ in 0..steps {
                let now = sender.next_departure(Instant::ZERO) + LATENESS;
                black_box(counted(&mut sender, (now, size), decide));
            }
        },
    },
];

fn receive_all(arrivals: &[tfrc::Arrival]) {
    let mut receiver = receiver();
    for arrival in arrivals {
        black_box(counted(&mut receiver, arrival, receive));
        black_box(counted(&mut receiver, arrival.at, report));
    }
}

fn report_all(arrivals: &[tfrc::Arrival]) {
    let mut light = Box::new(Light::new(REPORT));
    for arrival in arrivals {
        black_box(counted(&mut *light, arrival, record));
        black_box(counted(&mut *light, arrival.at, ask));
    }
}

fn meter_all(arrivals: &[tfrc::Arrival]) {
    let mut metered = Box::new(Metered::new(1_024));
    for arrival in arrivals {
        black_box(counted(&mut *metered, arrival, meter));
        black_box(counted(&mut *metered, arrival.at, ask_metered));
    }
}

fn feed_back_all(steps: u64) {
    let mut sender = sender();
    for (now, feedback) in reports(WARM_UP + steps).into_iter().skip(WARM_UP as usize) {
        send_until(&mut sender, now);
        black_box(counted(&mut sender, (now, &feedback), feed_back));
    }
}

/// All packets leave half a round trip before they arrive, as if none overtook another.
fn handle_reports_all(traffic: Traffic, steps: u64) {
    let mut departures = Box::new(Tracker::new(0, ReceiverConfig::default()));
    let (start, mut seq) = (Instant::from_secs(1) - traffic.rtt / 2, 0);
    for (now, header, statuses) in arrival_reports(traffic, steps) {
        while start + traffic.spacing * seq <= now {
            counted(&mut *departures, start + traffic.spacing * seq, ingest);
            seq += 1;
        }
        black_box(counted(
            &mut *departures,
            (now, &header, statuses.as_slice()),
            handle_report,
        ));
    }
}

fn main() -> ExitCode {
    budgets::hold(&CASES)
}
