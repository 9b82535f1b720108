//! `evenkeel perf`: generates traffic between two machines and measures its delivery.

mod client;
mod intervals;
mod json;
mod output;
mod report;
mod server;
mod spawn;
mod tally;
mod text;
mod trace;
mod warnings;

use crate::cli::PerfCommand;
use crate::failure::Failure;

/// Runs the subcommand.
pub(crate) fn run(command: &PerfCommand) -> Result<(), Failure> {
    match command {
        PerfCommand::Server(args) => server::run(args),
        PerfCommand::Client(args) => client::run(args),
    }
}
