//! `evenkeel conform`: numbered checks of two implementations through an interface system between them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use evenkeel_conform::check::packets_of;
use evenkeel_conform::interposer::Side;
use evenkeel_conform::{Check, Run, Setup, all};

use evenkeel_rtp::session::FeedbackMode;

use crate::address;
use crate::cli::ConformArgs;
use crate::conform::{self, Parties};
use crate::failure::Failure;
use crate::outputs;
use crate::stop::Stop;
use crate::wiring;

pub(crate) fn run(args: &ConformArgs) -> Result<(), Failure> {
    if let Some(role) = args.role {
        let run = args.run.as_deref().map(find_run).transpose()?;
        return conform::serve(role, args, run);
    }
    let checks = selected(args)?;
    if args.list {
        return list(&checks);
    }
    let sender = args.sender.as_deref().map(resolve).transpose()?;
    let receiver = args.receiver.as_deref().map(resolve).transpose()?;
    let parties = Parties {
        rfc: args.rfc(),
        sender,
        receiver,
        bind: args.bind.unwrap_or(match (sender, receiver) {
            (None, None) => LOOPBACK,
            (None, Some(receiver)) => wiring::any_port_towards(receiver),
            (Some(_), _) => RTP,
        }),
    };
    let stop = Stop::on_interrupt()?;
    let Some(judged) = conform::carry_out(&checks, &parties, &stop)? else {
        return Err(Failure::runtime("interrupted; nothing was judged"));
    };
    if args.json {
        outputs::say(conform::json(&judged))?;
    } else {
        for judged in &judged {
            outputs::say(conform::line(judged))?;
        }
    }
    let failed = judged.iter().filter(|judged| !judged.outcome.pass);
    let failed: Vec<_> = failed.map(|judged| judged.check.id).collect();
    let (passed, total) = (judged.len() - failed.len(), judged.len());
    let count = format!("{passed} of {total} checks pass");
    if failed.is_empty() {
        eprintln!("{count}");
        Ok(())
    } else {
        Err(Failure::runtime(format!(
            "{count}; failed: {}",
            failed.join(", ")
        )))
    }
}

/// Returns the checks that apply to the standard and to the tested end, and that match `--only`.
fn selected(args: &ConformArgs) -> Result<Vec<&'static Check>, Failure> {
    if args.feedback == FeedbackMode::App {
        return Err(Failure::usage(
            "--feedback app has no checks of its own; give --feedback tfrc, which carries the same fields",
        ));
    }
    let rfc = args.rfc();
    let checks: Vec<_> = all()
        .into_iter()
        .filter(|check| check.rfc.contains(&rfc))
        .filter(|check| {
            let mut runs = check.runs.iter();
            runs.all(|run| run.setup.feedback == args.feedback)
        })
        .filter(|check| match (&args.sender, &args.receiver) {
            (Some(_), None) => check.subject == Side::Sender,
            (None, Some(_)) => check.subject == Side::Receiver,
            (None, None) | (Some(_), Some(_)) => true,
        })
        .filter(|check| args.sender.is_none() || check.runs.iter().all(|run| fits(args, run)))
        .filter(|check| {
            args.only
                .as_deref()
                .is_none_or(|only| check.id.contains(only))
        })
        .collect();
    if checks.is_empty() {
        let only = args.only.as_deref().unwrap_or_default();
        return Err(Failure::usage(format!(
            "--only: no check has {only:?} in its number; `evenkeel conform --list` names them"
        )));
    }
    Ok(checks)
}

/// Returns true if a sender that we cannot configure may take part in a run.
fn fits(args: &ConformArgs, run: &Run) -> bool {
    let feedback = args.feedback;
    run.setup
        == Setup {
            feedback,
            ..packets_of(args.packet_size)
        }
}

fn list(checks: &[&Check]) -> Result<(), Failure> {
    for check in checks {
        let rfc: Vec<_> = check.rfc.iter().map(|rfc| rfc.number()).collect();
        outputs::say(format_args!(
            "{:<9} {} ({}; RFC {})",
            check.id,
            check.title,
            check.section,
            rfc.join(", ")
        ))?;
    }
    Ok(())
}

fn find_run(name: &str) -> Result<&'static Run, Failure> {
    let checks = all();
    let mut runs = checks.iter().flat_map(|check| check.runs);
    runs.find(|run| run.name == name)
        .copied()
        .ok_or_else(|| Failure::usage(format!("--run: there is no run {name:?}")))
}

fn resolve(name: &str) -> Result<SocketAddr, Failure> {
    if address::split(name).1.is_none() {
        return Err(Failure::usage(format!(
            "{name:?} is no address; give HOST:PORT, such as 192.0.2.7:5004"
        )));
    }
    wiring::peer(name)
}

const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// The address to which a foreign sender sends before the suite starts: RTP's registered port (RFC 3551 §8).
const RTP: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), wiring::DEFAULT_PORT);
