//! Ten thousand honest receivers on as many bad paths: how many are called liars. None must be.
//!
//! `cargo run --release -p tfrc --example honest_receivers [RUNS]`

#[path = "../tests/honest/run.rs"]
mod run;

use std::process::ExitCode;

fn main() -> ExitCode {
    let runs = std::env::args().nth(1);
    let Ok(runs) = runs.map_or(Ok(10_000), |runs| runs.parse::<u64>()) else {
        eprintln!("RUNS must be a number of runs, such as 10000");
        return ExitCode::from(2);
    };
    let [
        mut accused,
        mut came,
        mut counted,
        mut marked,
        mut rates,
        mut capped,
    ] = [0; 6];
    for seed in 0..runs {
        let verdict = run::run(seed);
        if verdict.caught || verdict.loses_marks || verdict.never_sent > 0 {
            println!("seed {seed} is accused");
            accused += 1;
        }
        came += verdict.came;
        counted += verdict.counted;
        marked += verdict.marked;
        rates += verdict.rates;
        capped += verdict.capped;
    }
    println!(
        "{runs} runs, {came} packets came, {counted} counted, {marked} of them marked, {capped} of {rates} receive rates cut, \
         {accused} receivers accused"
    );
    ExitCode::from(u8::from(accused > 0))
}
