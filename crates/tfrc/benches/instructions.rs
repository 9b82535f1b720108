//! Instructions that each packet, report and decision takes, counted by callgrind; fails over budget.
//!
//! `cargo bench -p tfrc --bench instructions`; needs valgrind. The count is the same on every run of one
//! build, whatever else the machine does, so a budget can be held without a margin for noise.

mod cases;

use std::env;
use std::hint::black_box;
use std::process::{Command, ExitCode};

use cases::{
    HDTV, IN_ORDER, LATENESS, LOSSY, SIZE, WARM_UP, decide, feed_back, receive, receiver, report,
    reports, send_until, sender,
};
use tfrc::time::Instant;

/// Steps of a case: enough that the first ones, which set up, weigh nothing.
const STEPS: u64 = 100_000;

/// What is held to a budget. `run` takes so many steps, each through [`counted`].
struct Case {
    name: &'static str,
    what: &'static str,
    /// What is aimed at.
    target: f64,
    /// What fails; above the target where that is not reached yet, so that the way to it is never back.
    budget: f64,
    run: fn(u64),
}

/// The budgets. The target of HDTV is 0.2 % of a core that does 3·10⁹ instructions a second, for 75,000
/// packets.
const CASES: [Case; 5] = [
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

fn feed_back_all(steps: u64) {
    let mut sender = sender();
    for (now, feedback) in reports(WARM_UP + steps).into_iter().skip(WARM_UP as usize) {
        send_until(&mut sender, now);
        black_box(counted(&mut sender, (now, &feedback), feed_back));
    }
}

/// The function that callgrind counts in, and the calls that it makes; nothing else is counted. What it is
/// given comes in registers, as in a call that is not a benchmark's.
#[inline(never)]
fn counted<A, B, T>(on: A, with: B, step: impl Fn(A, B) -> T) -> T {
    step(on, with)
}

fn main() -> ExitCode {
    let wanted: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [flag, name] = wanted.as_slice()
        && flag == "--run"
    {
        return match CASES.iter().find(|case| case.name == *name) {
            Some(case) => {
                (case.run)(STEPS);
                ExitCode::SUCCESS
            }
            None => fail(&format!("no case is named {name}")),
        };
    }
    println!(
        "{:<42} {:>8} {:>8} {:>8}",
        "instructions", "counted", "target", "budget"
    );
    let mut over = Vec::new();
    for case in CASES
        .iter()
        .filter(|case| wanted.is_empty() || wanted.iter().any(|name| case.name == name))
    {
        let count = match count(case) {
            Ok(count) => count,
            Err(message) => return fail(&message),
        };
        println!(
            "{:<42} {count:>8.1} {:>8} {:>8}",
            case.what, case.target, case.budget
        );
        if count > case.budget {
            over.push(case.name);
        }
    }
    if over.is_empty() {
        ExitCode::SUCCESS
    } else {
        fail(&format!("over budget: {}", over.join(", ")))
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("instructions: {message}");
    ExitCode::FAILURE
}

/// Instructions a step.
fn count(case: &Case) -> Result<f64, String> {
    let program = env::current_exe().map_err(|error| format!("own path: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(["--collect-atstart=no", "--toggle-collect=*counted*"])
        .arg(program)
        .args(["--run", case.name])
        .output()
        .map_err(|error| format!("valgrind: {error}; install valgrind"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    let collected = log
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, count)| count.trim().parse::<f64>().ok());
    match collected {
        Some(count) if output.status.success() && count > 0.0 => Ok(count / STEPS as f64),
        _ => Err(format!("{}: valgrind counted nothing: {log}", case.name)),
    }
}
