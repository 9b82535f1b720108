//! Live video that shares the network fairly: TFRC over RTP, end to end.
//!
//! The program parses arguments, composes the crates and prints. It computes nothing.
#![forbid(unsafe_code)]
// `println` panics if standard output is closed, but `outputs::say` does not.
#![deny(clippy::print_stdout)]
// A warning that `failure::warn` does not print is not on the page.
#![deny(clippy::print_stderr)]

mod address;
mod choices;
mod cli;
mod cmd;
#[allow(clippy::print_stderr, reason = "its runs have no page")]
mod conform;
mod control_socket;
mod description;
mod devices;
mod emulated_link;
mod failure;
mod http;
mod http_client;
mod inputs;
mod media_server;
mod meeting;
mod output_file;
mod outputs;
mod page;
mod possible_size;
mod queue;
mod recording;
mod redaction;
mod rendezvous;
mod run;
mod shell;
mod stop;
mod tcp;
mod trace;
mod turn_carrier;
mod units;
mod web;
mod wiring;

use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;
use evenkeel_codec::Codec;

use crate::cli::{Cli, CodecChoice, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    evenkeel_net::fail_writes_beyond_size_limit();
    let ended = match Cli::try_parse() {
        Ok(cli) => dispatch(cli.command),
        Err(asked)
            if asked.exit_code() == 0
                || asked.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
        {
            asked.exit();
        }
        Err(wrong) => {
            let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
            let text = redaction::without_secrets(&complaint(&wrong), words);
            Err(Failure::usage(text))
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure::say(&failure);
            ExitCode::from(failure.status())
        }
    }
}

/// Returns the error of an option and its probable spelling, without the usage that clap repeats.
fn complaint(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let wrong = paragraphs.next().unwrap_or_default();
    let tips = paragraphs.filter(|paragraph| paragraph.starts_with("tip: "));
    let parts: Vec<&str> = [wrong.trim_start_matches("error: ")]
        .into_iter()
        .chain(tips)
        .collect();
    parts.join("; ")
}

fn dispatch(command: Command) -> Result<(), Failure> {
    if let Some(picture) = command.picture()
        && picture.codec == Some(CodecChoice::List)
    {
        for codec in Codec::ALL {
            outputs::say(format_args!("{:<6} {}", codec.name(), codec.summary()))?;
        }
        return Ok(());
    }
    match command {
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Call(args) => cmd::call::run(&args),
        Command::Send(args) => cmd::send::run(&args),
        Command::Recv(args) => cmd::recv::run(&args),
        Command::Rendezvous(args) => cmd::rendezvous::run(&args),
        Command::Conform(args) => cmd::conform::run(&args),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Link(args) => cmd::link::run(&args),
        Command::Testbed(args) => cmd::testbed::run(&args),
        Command::Lab(args) => cmd::lab::run(&args),
        Command::Perf(args) => cmd::perf::run(&args.command),
        Command::Vod(args) => cmd::vod::run(&args),
    }
}
