//! TCP and TFRC flows through one bottleneck, for `tests/speed.sh` to compare with ns-2 and ns-3, and
//! for profilers.
//!
//! `cargo run --release -p evenkeel-sim --example dumbbell -- FLOWS MBPS SECONDS [tcp]`
//!
//! `FLOWS` of each kind, or of TCP alone; `tests/ns2/dumbbell.tcl` and `tests/ns3/dumbbell.cc` are the
//! same network. Prints what the flows of each kind received in bytes, and how many packets links
//! carried.

mod network;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let tcp_alone = arguments.pop_if(|last| last == "tcp").is_some();
    let numbers: Result<Vec<u64>, _> = arguments.iter().map(|it| it.parse()).collect();
    let Ok(&[flows @ 1..=100_000, megabits @ 1..=1_000_000, seconds]) = numbers.as_deref() else {
        eprintln!("usage: dumbbell FLOWS MBPS SECONDS [tcp], whole numbers, the first two above 0");
        return ExitCode::from(2);
    };
    let carried = network::run(flows, megabits, seconds, tcp_alone);
    let (tcp, tfrc) = (carried.tcp.get(), carried.tfrc.get());
    println!("{tcp} {tfrc} {}", carried.transmissions);
    ExitCode::SUCCESS
}
