//! `evenkeel link`: the emulator by itself, between two interfaces or two sockets.

use std::path::Path;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use evenkeel_lab::whole_file::{FileKind, read_text};
use evenkeel_link::{DeliveryTrace, LinkConfig};
use evenkeel_net::{
    Clock, Direction, InterfaceState, Lateness, LinkChange, LinkSnapshot, LinkType, Relay,
    RelayConfig, RelayError, RelayHandle, Router, RouterConfig, RouterHandle, Watch,
};
use evenkeel_testbed::control::{self, Request};
use evenkeel_testbed::link_table::LinkFile;
use evenkeel_testbed::packet_log::PacketLog;
use evenkeel_testbed::schedule_file::ScheduleFile;
use serde_json::{Value, json};
use tfrc::time::Duration;

use crate::cli::{EmulationArgs, LinkArgs, LinkCommand, LinkRelayArgs, LinkRouterArgs};
use crate::control_socket::ControlSocket;
use crate::emulated_link::{self, LinkRate};
use crate::failure::{self, Failure};
use crate::outputs;
use crate::stop::Stop;
use crate::wiring;

/// Runs the subcommand.
pub(crate) fn run(args: &LinkArgs) -> Result<(), Failure> {
    match &args.command {
        LinkCommand::Router(router) => run_router(router),
        LinkCommand::Relay(relay) => run_relay(relay),
    }
}

/// A running emulator.
enum Emulator {
    /// The router, and the names of its interfaces.
    Router(RouterHandle, [String; 2]),
    Relay(RelayHandle),
}

impl Emulator {
    fn change(&self, changes: Vec<(Direction, LinkChange)>) -> Result<(), String> {
        match self {
            Self::Router(router, _) => router.change_all(changes).map_err(|e| e.to_string())?,
            Self::Relay(relay) => relay.change_all(changes).map_err(|e| e.to_string())?,
        }
        // The snapshot is taken after the changes, so that the answer to a message follows its effects.
        self.snapshot().map(|_| ())
    }

    fn snapshot(&self) -> Result<Value, String> {
        match self {
            Self::Router(router, _) => {
                let now = router.snapshot().map_err(|gone| gone.to_string())?;
                let mut value = described(&now.links, &now.departures);
                value["overrun"] = now.overrun.into();
                value["malformed"] = now.malformed.into();
                value["send_errors"] = now.send_errors.into();
                value["records_lost"] = now.records_lost.into();
                Ok(value)
            }
            Self::Relay(relay) => {
                let now = relay.snapshot().map_err(|gone| gone.to_string())?;
                let mut value = described(&[now.forward, now.reverse], &now.departures);
                value["strangers"] = now.strangers.into();
                value["send_errors"] = now.send_errors.into();
                value["records_lost"] = now.records_lost.into();
                Ok(value)
            }
        }
    }

    /// Reports an interface whose state changed; returns an error if it can carry no further frame.
    fn report_interfaces(&self, reported: &mut [InterfaceState; 2]) -> Result<(), Failure> {
        let Self::Router(router, names) = self else {
            return Ok(());
        };
        for ((name, reported), now) in names.iter().zip(reported).zip(router.interfaces()) {
            if std::mem::replace(reported, now) == now {
                continue;
            }
            match now {
                InterfaceState::Up => eprintln!("evenkeel link: {name}: up again"),
                InterfaceState::Down => eprintln!(
                    "evenkeel link: {name}: down: what comes out there is lost until it is up again"
                ),
                InterfaceState::Gone => {
                    return Err(Failure::runtime(format!(
                        "link router: {name}: the interface was deleted or moved away: create it and start the router again"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Applies a control message, and returns the answer.
    fn answer(&self, line: &str) -> String {
        let done = Request::read(line).and_then(|request| match request {
            Request::Snapshot => Ok(self.snapshot()?.to_string()),
            Request::Change(changes) => self.change(changes).map(|()| control::done()),
        });
        done.unwrap_or_else(|why| control::refused(&why))
    }
}

fn described(links: &[LinkSnapshot; 2], departures: &Lateness) -> Value {
    let micros = |q| departures.quantile(q).as_secs_f64() * 1e6;
    json!({
        "forward": control::link(&links[0]),
        "reverse": control::link(&links[1]),
        "late_us": { "p50": micros(0.5), "p99": micros(0.99), "max": micros(1.0) },
    })
}

fn run_router(args: &LinkRouterArgs) -> Result<(), Failure> {
    if args.a == args.b {
        let name = &args.a;
        return Err(Failure::usage(format!(
            "{name} {name}: one interface cannot be both ends, as its frames would loop; name two different ones"
        )));
    }
    let trace = trace(&args.emulation)?;
    let config = RouterConfig {
        interfaces: [args.a.clone(), args.b.clone()],
        links: links(&args.emulation, trace.as_ref())?,
        seed: args.emulation.seed,
    };
    logged(
        &args.emulation,
        trace,
        LinkType::Ethernet,
        |clock, watch| {
            let router = Router::spawn(clock, &config, watch).map_err(Failure::usage)?;
            Ok(Emulator::Router(router, config.interfaces.clone()))
        },
    )
}

/// Runs an emulator, and writes the log and the capture if they are wanted. A capture has packets of this type.
fn logged(
    args: &EmulationArgs,
    trace: Option<DeliveryTrace>,
    link_type: LinkType,
    start: impl FnOnce(Clock, Option<Watch>) -> Result<Emulator, Failure>,
) -> Result<(), Failure> {
    let (lines, capture) = (args.log.as_deref(), args.pcap.as_deref());
    let mut writer = None;
    let emulated = emulate(args, trace, |clock| {
        let (watch, receiver) = if lines.is_some() || capture.is_some() {
            let (records, receiver) = mpsc::sync_channel(RECORDS);
            let captures = capture.is_some();
            (Some(Watch { records, captures }), Some(receiver))
        } else {
            (None, None)
        };
        let emulator = start(clock, watch)?;
        // The files are opened only with the first record, so that a mistyped interface destroys no earlier file.
        if let Some(receiver) = receiver {
            let log = PacketLog::create(lines, (capture, link_type)).map_err(Failure::usage)?;
            let thread = thread::Builder::new().name("packet-log".into());
            let written = thread.spawn(move || {
                log.write_all(clock, &receiver).inspect_err(|error| {
                    failure::warn(format_args!(
                        "packet log: {error}; it ends here, and the link goes on"
                    ));
                })
            });
            writer = Some(written.map_err(Failure::runtime)?);
        }
        Ok(emulator)
    });
    // The emulator has ended and closed its records, so the rest of them is written.
    match writer.map(JoinHandle::join) {
        None | Some(Ok(Ok(()))) => emulated,
        Some(Ok(Err(error))) => Err(Failure::runtime(format!("packet log: {error}"))),
        Some(Err(_)) => Err(Failure::runtime("packet log: its thread has ended")),
    }
}

/// The most records that wait to be written: 100 ms at 1 Gb/s.
const RECORDS: usize = 1 << 15;

fn run_relay(args: &LinkRelayArgs) -> Result<(), Failure> {
    let trace = trace(&args.emulation)?;
    let [forward, reverse] = links(&args.emulation, trace.as_ref())?;
    let config = RelayConfig {
        bind_a: args.listen,
        bind_b: args
            .from
            .unwrap_or_else(|| wiring::any_port_towards(args.to)),
        sender: None,
        receiver: args.to,
        forward,
        reverse,
        seed: args.emulation.seed,
    };
    logged(&args.emulation, trace, LinkType::RawIp, |clock, watch| {
        let relay = match watch {
            Some(watch) => Relay::spawn_watched(clock, config, watch),
            // Nothing reads the events of this relay.
            None => Relay::spawn(clock, config).map(|(relay, _)| relay),
        };
        Ok(Emulator::Relay(relay.map_err(|error| match error {
            RelayError::Bind(error) if error.address() == args.listen => {
                wiring::refused(&error, "LISTEN")
            }
            RelayError::Bind(error) => wiring::refused(&error, "--from"),
            RelayError::Start(_) => Failure::usage(error),
        })?))
    })
}

/// Returns the trace that the links follow, if `--rate` names one.
fn trace(args: &EmulationArgs) -> Result<Option<DeliveryTrace>, Failure> {
    match &args.rate {
        Some(LinkRate::Trace(file)) => {
            let given = format_args!("--rate trace:{}", file.display());
            emulated_link::read(given, file).map(Some)
        }
        _ => Ok(None),
    }
}

/// Returns the links from A to B, and from B to A.
fn links(args: &EmulationArgs, trace: Option<&DeliveryTrace>) -> Result<[LinkConfig; 2], Failure> {
    if let Some(file) = &args.config {
        return LinkFile::read(&text(file)?)
            .map_err(|wrong| Failure::usage(format!("{}: {wrong}", file.display())));
    }
    let rate = match args.rate {
        Some(LinkRate::Constant(rate)) => rate,
        _ => trace.map_or(LinkConfig::default().rate, DeliveryTrace::mean_rate),
    };
    let with = |loss| emulated_link::config(rate, args.delay, args.queue, loss);
    Ok([args.loss, 0.0].map(with))
}

/// Runs an emulator until its time is up or Ctrl-C stops it, and prints the counts of packets.
fn emulate(
    args: &EmulationArgs,
    trace: Option<DeliveryTrace>,
    start: impl FnOnce(Clock) -> Result<Emulator, Failure>,
) -> Result<(), Failure> {
    let ScheduleFile { schedule, messages } = match &args.schedule {
        None => ScheduleFile::default(),
        Some(file) => ScheduleFile::read(&text(file)?)
            .map_err(|wrong| Failure::usage(format!("{}: {wrong}", file.display())))?,
    };
    let stop = Stop::on_interrupt()?;
    let clock = Clock::start();
    let mut controls = match &args.control {
        None => None,
        Some(path) => Some(ControlSocket::listen(path)?),
    };
    let emulator = start(clock)?;
    let started = clock.now();
    if let Some(trace) = trace {
        let changes = emulated_link::follow_trace(&trace, &Direction::BOTH);
        emulator.change(changes).map_err(Failure::runtime)?;
    }
    if !schedule.changes().is_empty() {
        let changes = emulated_link::follow_schedule(schedule, false);
        emulator.change(changes).map_err(Failure::runtime)?;
    }
    // The line tells a test that started the program that it may begin to send.
    eprintln!("evenkeel link: ready");
    let mut interfaces = [InterfaceState::Up; 2];
    let mut messages = messages.into_iter().peekable();
    let end = args.seconds.map(|time| started + time);
    let mut ended = Ok(());
    while !stop.is_asked() && end.is_none_or(|end| clock.now() < end) {
        ended = emulator.report_interfaces(&mut interfaces);
        if ended.is_err() {
            break;
        }
        while let Some(due) = messages.next_if(|message| started + message.at <= clock.now()) {
            emulator.change(due.changes).map_err(Failure::runtime)?;
        }
        if let Some(socket) = &mut controls {
            socket.serve(|line| emulator.answer(line));
        }
        let message = messages.peek().map(|message| started + message.at);
        let next = [Some(clock.now() + POLL_INTERVAL), end, message];
        clock.sleep_until(next.into_iter().flatten().min().unwrap_or(started));
    }
    let summary = emulator.snapshot().map_err(Failure::runtime)?;
    if args.json {
        outputs::say(&summary)?;
    } else {
        for direction in ["forward", "reverse"] {
            let link = &summary[direction];
            outputs::say(format_args!(
                "{direction}: {} packets in, {} out, {} dropped by the queue, {} lost",
                link["received"], link["delivered"], link["dropped"], link["lost"]
            ))?;
        }
        outputs::say(format_args!(
            "late by {} µs at p99; {} refused on their way out",
            summary["late_us"]["p99"], summary["send_errors"]
        ))?;
    }
    ended
}

/// The interval of checks for control messages, failed interfaces and Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

fn text(file: &Path) -> Result<String, Failure> {
    read_text(file, FileKind::Settings)
        .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))
}
