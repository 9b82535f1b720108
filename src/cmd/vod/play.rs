//! `evenkeel vod play`: receives a title and counts the faults that a viewer would see.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use evenkeel_net::{Clock, Driver};
use evenkeel_rtp::session::Config;
use evenkeel_vod::{Player, PlayerConfig, PlayerFigures, PlayerState};
use serde_json::json;

use super::{POLL_INTERVAL, Rounds};
use crate::cli::VodPlayArgs;
use crate::failure::Failure;
use crate::outputs;
use crate::units::millis;
use crate::wiring;

pub(super) fn run(args: &VodPlayArgs) -> Result<(), Failure> {
    let to_stdout = args.out.as_deref() == Some(Path::new("-"));
    if to_stdout && args.run.json {
        return Err(Failure::usage(
            "--json and --out - both want standard output; give --out a FILE",
        ));
    }
    let clock = Clock::start();
    let mut session = Config::new("vod", wiring::network_seed(None));
    session.wallclock = clock.ntp_of_zero();
    let config = PlayerConfig {
        session,
        buffer: args.buffer,
    };
    let socket = wiring::bind(args.bind, "BIND")?;
    // The file is emptied only here, because a player that does not start must not destroy its content.
    let mut out = open(args.out.as_deref())?;
    let local = socket.local_address();
    let player = Player::new(clock.now(), config);
    let handle = Driver::spawn(clock, socket, player).map_err(Failure::runtime)?;

    let mut rounds = Rounds::new(clock.now(), &args.run)?;
    let failed = loop {
        clock.sleep_until(clock.now() + POLL_INTERVAL);
        let state = handle.call(|player: &mut Player, now| {
            let played: Vec<_> = std::iter::from_fn(|| player.poll_output(now)).collect();
            (player.figures(), played)
        });
        let (figures, played) = state.map_err(Failure::runtime)?;
        let written = played.iter().try_for_each(|packets| out.write_all(packets));
        match written.and_then(|()| out.flush()) {
            Ok(()) => {}
            // The viewer was closed.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break None,
            Err(error) => break Some(error),
        }
        let now = clock.now();
        if rounds.is_line_due(now) && !args.run.json {
            // The title may use standard output.
            eprintln!("{}", line(&figures));
        }
        if figures.state == PlayerState::Ended || rounds.is_over(now) {
            break None;
        }
    };
    // Without a BYE the server waits for half a minute.
    handle.call(Player::close).map_err(Failure::runtime)?;
    let figures = handle.stop().map_err(Failure::runtime)?.figures();
    if let (Some(error), Some(path)) = (failed, &args.out) {
        let path = path.display();
        return Err(Failure::runtime(format!(
            "cannot write --out {path}: {error}"
        )));
    }
    if args.run.json {
        outputs::say(summary(&figures))?;
    } else if figures.received > 0 {
        eprintln!(
            "received {} datagrams, lost {:.2} %; {} stalls, {:.1} s in all",
            figures.received,
            100.0 * figures.loss_ratio(),
            figures.stalls,
            figures.stalled.as_secs_f64()
        );
    }
    if figures.received == 0 {
        return Err(Failure::runtime(format!(
            "nothing was received on {local}: check that evenkeel vod serve runs, its --to, and that no firewall is between"
        )));
    }
    Ok(())
}

fn open(path: Option<&Path>) -> Result<Box<dyn Write>, Failure> {
    match path {
        None => Ok(Box::new(io::sink())),
        Some(path) if path == Path::new("-") => Ok(Box::new(io::stdout())),
        Some(path) => File::create(path)
            .map(|file| Box::new(io::BufWriter::new(file)) as Box<dyn Write>)
            .map_err(|error| outputs::cannot("write", path, &error)),
    }
}

fn line(figures: &PlayerFigures) -> String {
    let state = match figures.state {
        PlayerState::Waiting => "waiting",
        PlayerState::Buffering => "buffering",
        PlayerState::Playing => "playing",
        PlayerState::Stalled => "stalled",
        PlayerState::Ended => "ended",
    };
    let delay = figures.delay_mean.map_or_else(String::new, |delay| {
        format!("  delay {:4.0} ms", millis(delay))
    });
    format!(
        "{state:<9}  buffer {:4.1} s  stalls {:3}  lost {:5.2} %{delay}",
        figures.buffered.as_secs_f64(),
        figures.stalls,
        100.0 * figures.loss_ratio()
    )
}

fn summary(figures: &PlayerFigures) -> serde_json::Value {
    json!({
        "datagrams": figures.received,
        "bytes": figures.bytes,
        "lost": figures.lost,
        "iplr": figures.loss_ratio(),
        "iptd_mean_ms": figures.delay_mean.map(millis),
        "iptd_max_ms": figures.delay_max.map(millis),
        "unplayed": figures.unplayed,
        "malformed": figures.malformed,
        "startup_ms": figures.startup.map(millis),
        "stalls": figures.stalls,
        "stalled_s": figures.stalled.as_secs_f64(),
    })
}
