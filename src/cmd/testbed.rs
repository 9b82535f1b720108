//! `evenkeel testbed`: experiments over real kernels.

use evenkeel_lab::experiment::Experiment;
use evenkeel_lab::runner::Plan;
use evenkeel_net::Clock;
use evenkeel_testbed::bed::TestBed;
use evenkeel_testbed::host::{self, Host};

use crate::cli::{TestbedArgs, TestbedCommand, TestbedLaunchArgs, TestbedRunArgs};
use crate::cmd::lab;
use crate::failure::Failure;

/// Runs the subcommand.
pub(crate) fn run(args: &TestbedArgs) -> Result<(), Failure> {
    match &args.command {
        TestbedCommand::Run(run_args) => run_experiments(run_args),
        TestbedCommand::Launch(launch_args) => launch(launch_args),
    }
}

fn launch(args: &TestbedLaunchArgs) -> Result<(), Failure> {
    Err(Failure::runtime(host::launch(args.parent, &args.command)))
}

fn run_experiments(args: &TestbedRunArgs) -> Result<(), Failure> {
    let virtual_halves = if args.all {
        lab::all(&args.experiments)?
    } else {
        lab::named(&args.experiments, &args.ids, &args.set)?
    };
    let experiments = real_halves(args, &virtual_halves)?;
    // This line replaces a later failure of every run.
    Host::new("probe", false).map_err(Failure::usage)?;
    let clock = Clock::start();
    let program = std::env::current_exe().map_err(Failure::runtime)?;
    let bed = TestBed::new(program, args.out.join("testbed-logs"), clock);
    let bed = bed.map_err(Failure::usage)?;
    let plan = Plan {
        experiments,
        seeds: Some(args.seeds),
        out: args.out.clone(),
        commit: env!("EVENKEEL_COMMIT").to_owned(),
        command: lab::typed(),
        threads: args.threads,
        resume: args.all,
        bed: Some(&bed),
    };
    let results = lab::execute(&plan, args.json)?;
    let every = args.all.then_some(&virtual_halves[..]);
    lab::say_results(&args.out, &results, every, args.json)?;
    lab::verdict(&results)
}

/// Returns the real halves of these experiments; all named ones must have one.
fn real_halves(args: &TestbedRunArgs, of: &[Experiment]) -> Result<Vec<Experiment>, Failure> {
    let mut halves = Vec::new();
    for experiment in of {
        match experiment.real().map_err(Failure::usage)? {
            Some(half) => halves.push(half),
            None if args.all => {}
            None => {
                return Err(Failure::usage(format!(
                    "{}: its file has no [real], so no test bed runs it",
                    experiment.id
                )));
            }
        }
    }
    if halves.is_empty() {
        return Err(Failure::usage(
            "testbed run: name an experiment with a real half, or give --all",
        ));
    }
    Ok(halves)
}
