//! `evenkeel vod serve`: sends a title at its own pace, within TFRC.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;

use evenkeel_lab::whole_file::{FileKind, read_text};
use evenkeel_net::{Clock, Driver, SendCounters, greatest_payload};
use evenkeel_rtp::packet::sdp::{Description, Profile};
use evenkeel_rtp::session::Config;
use evenkeel_sim::FrameTrace;
use evenkeel_vod::{
    CLOCK_RATE, Content, PAYLOAD_TYPE, PlayerDeparture, Rendition, Server, ServerConfig,
    ServerFigures, TS_PER_DATAGRAM, Title, ts_per_datagram,
};
use serde_json::json;
use tfrc::time::Duration;
use tfrc::units::Rate;

use super::frames::Frames;
use super::{POLL_INTERVAL, Rounds};
use crate::cli::VodServeArgs;
use crate::description;
use crate::failure::{self, Failure};
use crate::outputs;
use crate::units::millis;
use crate::wiring;

pub(super) fn run(args: &VodServeArgs) -> Result<(), Failure> {
    let clock = Clock::start();
    let peer = wiring::peer(&args.to)?;
    let files = args.files.iter().map(|path| ("FILE", Some(path.as_path())));
    let mut read: Vec<_> = files.collect();
    read.push(("--trace", args.trace.as_deref()));
    outputs::spare(&read, [("--sdp", args.sdp.as_deref())])?;
    let content = content(args)?;
    let rates = content.rates().to_vec();
    if args.udp && rates.len() > 1 {
        return Err(Failure::usage(
            "--udp sends one rendition at its own pace; give one FILE",
        ));
    }
    if let Some(path) = &args.sdp {
        description::write(path, &describe(peer, args.udp))?;
    }
    let mut session = Config::new("vod", wiring::network_seed(None));
    session.peer = Some(peer);
    session.wallclock = clock.ntp_of_zero();
    let config = ServerConfig {
        session,
        is_uncontrolled: args.udp,
        ts_per_datagram: ts_towards(peer),
    };
    let socket = wiring::bind_towards(args.bind, peer)?;
    let server = Server::new(clock.now(), config, content);
    let handle = Driver::spawn(clock, socket, server).map_err(Failure::runtime)?;

    let mut rounds = Rounds::new(clock.now(), &args.run)?;
    let (mut is_warned, mut is_answered) = (false, args.udp);
    let failed = loop {
        clock.sleep_until(clock.now() + POLL_INTERVAL);
        let state = handle.call(|server: &mut Server, _| {
            let (figures, path) = (server.figures(), server.path());
            (
                figures,
                path,
                server.take_error(),
                server.mismatch().cloned(),
            )
        });
        let (figures, path, error, mismatch) = state.map_err(Failure::runtime)?;
        if error.is_some() {
            break error;
        }
        if let Some(mismatch) = mismatch.filter(|_| !is_warned) {
            failure::warn(mismatch);
            is_warned = true;
        }
        is_answered |= path.is_some_and(|path| path.rtt.is_some());
        let now = clock.now();
        let is_line_due = rounds.is_line_due(now);
        if is_line_due {
            // A router may have said meanwhile that the way takes less.
            let count = ts_towards(peer);
            let set = move |server: &mut Server, _| server.set_ts_per_datagram(count);
            handle.call(set).map_err(Failure::runtime)?;
        }
        if is_line_due && !args.run.json {
            let allowed = path.filter(|_| !args.udp).map(|path| path.allowed_rate);
            outputs::say(line(&figures, rates[figures.rendition], allowed))?;
        }
        if figures.is_done || figures.gone.is_some() || rounds.is_over(now) {
            break None;
        }
    };
    handle.call(Server::close).map_err(Failure::runtime)?;
    let stats = handle.stats().map_err(Failure::runtime)?;
    let late_max = stats.departures.max();
    let figures = handle.stop().map_err(Failure::runtime)?.figures();
    if let Some(error) = failed {
        return Err(Failure::runtime(error));
    }
    if let Some(refused) = refused(figures.datagrams, &stats.sent) {
        if stats.sent.failed >= figures.datagrams {
            return Err(Failure::runtime(format!(
                "nothing was sent to {peer}: {refused}"
            )));
        }
        failure::warn(refused);
    }
    if figures.gone == Some(PlayerDeparture::Silent) || !is_answered {
        let waited = match figures.gone {
            Some(PlayerDeparture::Silent) => " for 30 s",
            _ => "",
        };
        return Err(Failure::runtime(format!(
            "nothing came back from {peer}{waited}; is a player there? (one that sends no reports needs --udp)"
        )));
    }
    outputs::say(if args.run.json {
        summary(&figures, &rates, late_max).to_string()
    } else {
        format!(
            "sent {} datagrams; waited for TFRC {:.0} ms on average, {:.0} ms at most; {} changes of rendition",
            figures.datagrams,
            millis(mean_lag(&figures)),
            millis(figures.lag_max),
            figures.changes
        )
    })
}

/// Returns how many TS packets fit into a datagram to this peer.
fn ts_towards(peer: SocketAddr) -> usize {
    greatest_payload(peer).map_or(TS_PER_DATAGRAM, ts_per_datagram)
}

/// Returns why datagrams did not leave, if some did not.
fn refused(datagrams: u64, sent: &SendCounters) -> Option<String> {
    let why = if datagrams == 0 {
        return Some("the run ended before the first packet".into());
    } else if sent.failed == 0 {
        return None;
    } else if sent.too_long > 0 {
        "they are longer than its network interface takes; give it an MTU of 1400"
    } else if sent.unreachable > 0 {
        "no way leads there; check the address, and that the network is up"
    } else {
        "check the address, and that no firewall here forbids it"
    };
    let failed = sent.failed.min(datagrams);
    Some(format!(
        "this system refused {failed} of {datagrams} packets: {why}"
    ))
}

fn content(args: &VodServeArgs) -> Result<Box<dyn Content>, Failure> {
    if let Some(path) = &args.trace {
        let text = read_text(path, FileKind::Trace)
            .map_err(|error| outputs::cannot("read", path, &error))?;
        let trace = FrameTrace::parse(&text)
            .map_err(|error| Failure::usage(format!("--trace {}: {error}", path.display())))?;
        return Ok(Box::new(Frames::new(trace)));
    }
    let open = |path: &Path| {
        let cannot = |error| outputs::cannot("read", path, &error);
        let name = path.display().to_string();
        if !path.metadata().map_err(cannot)?.is_file() {
            return Err(Failure::usage(format!(
                "{name}: it is read once for its rate before it is sent; name a file, not a pipe or a folder"
            )));
        }
        let file = File::open(path).map_err(cannot)?;
        let rendition =
            Rendition::open(file).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        if let Some(damage) = rendition.damage() {
            failure::warn(format!("{name}: {damage}"));
        }
        if args.files.len() > 1 && !rendition.has_entries() {
            failure::warn(format!(
                "{name}: no keyframe was found after its first, so that the rate cannot change to it; make all with \
                 ffmpeg's -g N -f mpegts (those of H.264, H.265 and MPEG-2 are found, others if they are marked)"
            ));
        }
        Ok((name, rendition))
    };
    let renditions: Result<Vec<_>, _> = args.files.iter().map(|path| open(path)).collect();
    Ok(Box::new(Title::new(renditions?).map_err(Failure::usage)?))
}

/// Returns a description for players of other makers.
fn describe(peer: SocketAddr, udp: bool) -> Description {
    let mut description = description::to_peer(peer, PAYLOAD_TYPE);
    description.encoding = "MP2T".into();
    description.clock_rate = CLOCK_RATE;
    if udp {
        description.profile = Profile::Avp;
    }
    description
}

fn line(figures: &ServerFigures, rate: Rate, allowed: Option<Rate>) -> String {
    let allowed = allowed.map_or_else(String::new, |allowed| {
        format!("  X {:6.2} Mb/s", allowed.bits_per_sec() / 1e6)
    });
    format!(
        "{:7.1} s  rendition {} of {:6.2} Mb/s{allowed}  waits {:5.0} ms",
        figures.position.as_secs_f64(),
        figures.rendition + 1,
        rate.bits_per_sec() / 1e6,
        millis(figures.lag)
    )
}

fn summary(figures: &ServerFigures, rates: &[Rate], late_max: Duration) -> serde_json::Value {
    let rates: Vec<f64> = rates.iter().map(|rate| rate.bits_per_sec()).collect();
    json!({
        "datagrams": figures.datagrams,
        "bytes": figures.bytes,
        "position_s": figures.position.as_secs_f64(),
        "is_done": figures.is_done,
        "wait_mean_ms": millis(mean_lag(figures)),
        "wait_max_ms": millis(figures.lag_max),
        // The lateness beyond that wait is the time from a packet's due departure to its system call.
        "late_max_us": millis(late_max) * 1e3,
        "rendition_changes": figures.changes,
        "rendition_rates_bps": rates,
    })
}

fn mean_lag(figures: &ServerFigures) -> tfrc::time::Duration {
    figures.lag_total.div_f64(figures.datagrams.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_packets_are_told_with_remedy() {
        let sent = |failed, too_long, unreachable| SendCounters {
            failed,
            too_long,
            unreachable,
            ..SendCounters::default()
        };
        assert_eq!(refused(9, &sent(0, 0, 0)), None);
        let reason = |datagrams, sent| refused(datagrams, &sent).expect("a reason");
        assert!(reason(0, sent(0, 0, 0)).contains("ended before"));
        let too_long = reason(9, sent(5, 5, 0));
        assert!(
            too_long.contains("5 of 9 packets: they are longer"),
            "{too_long}"
        );
        // A report was refused, too.
        let nowhere = reason(9, sent(10, 0, 10));
        assert!(nowhere.contains("9 of 9 packets: no way"), "{nowhere}");
    }
}
