//! Counting instructions, by a run of this program under callgrind.

use std::env;
use std::process::{Command, ExitCode};

/// Instructions that this program takes with `--run` and `what`, as far as these options of callgrind count them, and
/// what it wrote.
pub(crate) fn count(options: &[&str], what: &str) -> Result<(f64, String), String> {
    let program = env::current_exe().map_err(|error| format!("own path: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(options)
        .arg(program)
        .args(["--run", what])
        .output()
        .map_err(|error| format!("valgrind: {error}; install valgrind"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    let collected = log
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, count)| count.trim().parse::<f64>().ok());
    match collected {
        Some(count) if output.status.success() && count > 0.0 => {
            Ok((count, String::from_utf8_lossy(&output.stdout).into_owned()))
        }
        _ => Err(format!("{what}: valgrind counted nothing: {log}")),
    }
}

pub(crate) fn fail(message: &str) -> ExitCode {
    eprintln!("instructions: {message}");
    ExitCode::FAILURE
}
