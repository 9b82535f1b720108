//! Instructions that a link transmission takes, counted by callgrind; fails over budget.
//!
//! `cargo bench -p evenkeel-sim --bench instructions`; needs valgrind. The count is the same on every run of one
//! build, whatever else the machine does, which the times of `tests/speed.sh` are not.

#[path = "../../tfrc/benches/cases/callgrind.rs"]
mod callgrind;
#[path = "../examples/dumbbell/network.rs"]
mod network;

use std::env;
use std::process::ExitCode;

use callgrind::fail;

/// What is counted: flows of TCP and as many of TFRC, on so many Mb/s.
const FLOWS: u64 = 16;
const MEGABITS: u64 = 15;
/// From when to when: before it the flows start.
const SECONDS: [u64; 2] = [5, 15];
/// What fails: a tenth more than the 660 that were counted, so that the way is never back unseen.
const BUDGET: f64 = 726.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [flag, seconds] = arguments.as_slice()
        && flag == "--run"
    {
        let Ok(seconds) = seconds.parse() else {
            return fail(&format!("{seconds} is no number of seconds"));
        };
        let carried = network::run(FLOWS, MEGABITS, seconds, false);
        assert!(carried.tcp.min(carried.tfrc) > tfrc::units::Bytes::ZERO);
        println!("{}", carried.transmissions);
        return ExitCode::SUCCESS;
    }
    let [short, long] = SECONDS.map(count);
    let counted = short.and_then(|short| long.map(|long| (long.0 - short.0, long.1 - short.1)));
    let (instructions, transmissions) = match counted {
        Ok(counted) => counted,
        Err(message) => return fail(&message),
    };
    let each = instructions / transmissions;
    println!("instructions a link transmission: {each:.1}, budget {BUDGET}");
    if each > BUDGET {
        return fail("over budget");
    }
    ExitCode::SUCCESS
}

/// Instructions and transmissions of a run of so many seconds.
fn count(seconds: u64) -> Result<(f64, f64), String> {
    let (instructions, output) = callgrind::count(&[], &seconds.to_string())?;
    let transmissions = output.trim().parse();
    let transmissions = transmissions.map_err(|error| format!("transmissions: {error}"))?;
    Ok((instructions, transmissions))
}
