//! Cases that are held to budgets of instructions.

use std::env;
use std::process::ExitCode;

use super::callgrind::{count, fail};

/// Steps of a case: enough that the first ones, which set up, weigh nothing.
pub(crate) const STEPS: u64 = 100_000;

/// What is held to a budget. `run` takes so many steps, each through [`counted`].
pub(crate) struct Case {
    pub name: &'static str,
    pub what: &'static str,
    /// What is aimed at.
    pub target: f64,
    /// What fails: near what was reached, above the target where that is not, so that the way is never back.
    pub budget: f64,
    pub run: fn(u64),
}

/// The function that callgrind counts in, and the calls that it makes; nothing else is counted. What it is
/// given comes in registers, as in a call that is not a benchmark's.
#[inline(never)]
pub(crate) fn counted<A, B, T>(on: A, with: B, step: impl Fn(A, B) -> T) -> T {
    step(on, with)
}

/// Counts all cases, or those that are named, and fails where one is over its budget.
pub(crate) fn hold(cases: &[Case]) -> ExitCode {
    let wanted: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [flag, name] = wanted.as_slice()
        && flag == "--run"
    {
        return match cases.iter().find(|case| case.name == *name) {
            Some(case) => {
                (case.run)(STEPS);
                ExitCode::SUCCESS
            }
            None => fail(&format!("no case is named {name}")),
        };
    }
    println!(
        "{:<46} {:>8} {:>8} {:>8}",
        "instructions", "counted", "target", "budget"
    );
    let mut over = Vec::new();
    for case in cases
        .iter()
        .filter(|case| wanted.is_empty() || wanted.iter().any(|name| case.name == name))
    {
        let options = ["--collect-atstart=no", "--toggle-collect=*counted*"];
        let count = match count(&options, case.name) {
            Ok((count, _)) => count / STEPS as f64,
            Err(message) => return fail(&message),
        };
        println!(
            "{:<46} {count:>8.1} {:>8} {:>8}",
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
