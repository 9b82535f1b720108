//! The command line: commands, options, their defaults and their help.

mod call;
mod conform;
mod connection;
mod demo;
mod doctor;
mod lab;
mod link;
mod media_server;
mod perf;
mod picture;
mod recv;
mod rendezvous;
mod run;
mod send;
mod testbed;
mod vod;

use clap::{Parser, Subcommand};

pub(crate) use call::CallArgs;
pub(crate) use conform::{ConformArgs, ConformRole};
pub(crate) use connection::ConnectionArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use lab::{LabArgs, LabCommand, LabListArgs, LabRunArgs};
pub(crate) use link::{EmulationArgs, LinkArgs, LinkCommand, LinkRelayArgs, LinkRouterArgs};
pub(crate) use media_server::MediaServerArgs;
pub(crate) use perf::{PerfArgs, PerfClientArgs, PerfCommand, PerfOutputArgs, PerfServerArgs};
pub(crate) use picture::{CodecChoice, PictureArgs};
pub(crate) use recv::RecvArgs;
pub(crate) use rendezvous::RendezvousArgs;
pub(crate) use run::RunArgs;
pub(crate) use send::SendArgs;
pub(crate) use testbed::{TestbedArgs, TestbedCommand, TestbedLaunchArgs, TestbedRunArgs};
pub(crate) use vod::{VodArgs, VodCommand, VodPlayArgs, VodRunArgs, VodServeArgs};

/// Live video that shares the network fairly: TFRC (RFC 5348) over RTP, end to end.
#[derive(Parser)]
#[command(version, about, max_term_width = 80, arg_required_else_help = true)]
#[command(
    after_help = "Example: evenkeel demo        then open http://127.0.0.1:8080 and move the sliders"
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One subcommand a file in `cmd/`. `Debug` is missing on purpose: it would print invitations, tokens and passwords.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a whole call on this machine, through a link that the page controls
    Demo(DemoArgs),
    /// Call another person: both ends send and receive
    Call(CallArgs),
    /// Send one way, to `evenkeel recv` or to any RTP receiver
    Send(SendArgs),
    /// Receive what `evenkeel send` sends
    Recv(RecvArgs),
    /// Help the two ends of a call find each other, where routers are between them
    Rendezvous(RendezvousArgs),
    /// Check a TFRC implementation by the thesis's 57 checks, and more
    Conform(ConformArgs),
    /// List what this machine offers: addresses, speed of codecs, timers, cameras
    Doctor(DoctorArgs),
    /// Emulate a link between two interfaces or two sockets: rate, delay, queue, loss
    Link(LinkArgs),
    /// Run experiments over real kernels and an emulated link; needs root
    Testbed(TestbedArgs),
    /// Run the experiments: every figure and table of the papers
    Lab(LabArgs),
    /// Generate and measure TFRC flows between two machines, as iperf3 does
    Perf(PerfArgs),
    /// Send or play a title on demand: MPEG-TS at its own pace, within TFRC
    Vod(VodArgs),
}

impl Command {
    /// Returns the options of the pictures, if the command sends any.
    pub(crate) fn picture(&self) -> Option<&PictureArgs> {
        match self {
            Self::Demo(args) => Some(&args.picture),
            Self::Call(args) => Some(&args.picture),
            Self::Send(args) => Some(&args.picture),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_media::filler::Filler;
    use evenkeel_media::policy::{PolicyConfig, Rules};
    use std::time::Duration;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_that_is_shown_has_an_example() {
        use clap::CommandFactory as _;
        fn look(command: &clap::Command, path: &str) {
            for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
                let path = format!("{path} {}", inner.get_name());
                let after = inner.get_after_help().map(ToString::to_string);
                let shown = after.is_some_and(|text| text.contains(&path));
                assert!(shown, "{path} --help shows no example of it");
                look(inner, &path);
            }
        }
        look(&Cli::command(), "evenkeel");
    }

    #[test]
    fn deadline_holds_for_whatever_sends_video() {
        for command in [
            &["demo"][..],
            &["call", "192.0.2.7"],
            &["send", "192.0.2.7"],
        ] {
            let deadline = |arguments: &[&str]| {
                let words = ["evenkeel"].iter().chain(command).chain(arguments);
                let cli = Cli::try_parse_from(words).expect("well formed");
                cli.command.picture().expect("it sends").deadline
            };
            assert_eq!(deadline(&[]), PolicyConfig::DEADLINE, "{command:?}");
            let given = deadline(&["--deadline", "300ms"]);
            assert_eq!(given, Duration::from_millis(300), "{command:?}");
        }
    }

    #[test]
    fn our_policy_and_no_filler_are_the_default() {
        let cli = Cli::try_parse_from(["evenkeel", "demo"]).expect("well formed");
        let Command::Demo(demo) = cli.command else {
            panic!("another command");
        };
        let picture = &demo.picture;
        assert_eq!(
            (picture.policy, picture.filler),
            (Rules::Evenkeel, Filler::None)
        );
    }
}
