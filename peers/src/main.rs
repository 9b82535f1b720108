//! Runs the cells of `experiments/compare-peers.toml` with GCC, and keeps the results beside the experiment.
//!
//! `cargo run --release --manifest-path peers/Cargo.toml`
//!
//! GCC is that of str0m. Its keys are random, and no metric depends on them.
#![forbid(unsafe_code)]

mod connect;
mod gcc_end;

use std::error::Error;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{fs, thread};

use evenkeel_lab::error::RunError;
use evenkeel_lab::experiment::Experiment;
use evenkeel_lab::findings::Sample;
use evenkeel_lab::job::Job;
use evenkeel_lab::scenario::{Kind, Peers};

/// In names of metrics.
const PEER: &str = "gcc";
/// The version is that of `Cargo.lock`.
const LABEL: &str = "GCC (str0m 0.24.1)";
/// The first seed of the lab.
const FIRST_SEED: usize = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments");
    let experiment = Experiment::load(&experiments.join("compare-peers.toml"), &[])?;
    let Kind::Peers(peers) = &experiment.definition.scenario else {
        return Err("compare-peers.toml: not of kind peers".into());
    };
    let cases = run(peers, experiment.definition.seeds as usize)?;
    let file = experiments.join("compare-peers-gcc.json");
    fs::write(&file, peers.keep(PEER, LABEL, &cases))?;
    println!("{}", file.display());
    Ok(())
}

/// Runs every case with every seed, as many at once as there are cores.
fn run(peers: &Peers, seeds: usize) -> Result<Vec<Vec<Sample>>, RunError> {
    let total = peers.cases() * seeds;
    let (next, results) = (AtomicUsize::new(0), Mutex::new(vec![None; total]));
    let stop = AtomicBool::new(false);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= total {
                return;
            }
            let job = Job {
                cell: index / seeds,
                seed: (FIRST_SEED + index % seeds) as u64,
                stop: &stop,
            };
            let sample = peers.run_with(PEER, job, &gcc_end::ends);
            eprintln!("{} of {total} runs", index + 1);
            results.lock().expect("no worker panics")[index] = Some(sample);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let results = results.into_inner().expect("no worker panics");
    let samples: Result<Vec<Sample>, RunError> = results.into_iter().flatten().collect();
    Ok(samples?.chunks(seeds).map(<[Sample]>::to_vec).collect())
}
