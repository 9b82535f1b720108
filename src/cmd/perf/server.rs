//! `evenkeel perf server`: serves tests of clients, within limits.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;

use evenkeel_net::{Clock, processor_time};
use evenkeel_perf::{Count, Limits, Server, ServerConfig, ServerEvent, ServerEventKind};
use serde_json::Value;
use tfrc::time::{Duration, Instant};

use super::intervals::{Intervals, line};
use super::output::{Output, Started};
use super::report::Begun;
use super::tally::Rows;
use super::{json, spawn};
use crate::cli::PerfServerArgs;
use crate::failure::Failure;
use crate::stop::Stop;
use crate::wiring;

/// The interval at which events are read.
const POLL: Duration = Duration::from_millis(100);

pub(super) fn run(args: &PerfServerArgs) -> Result<(), Failure> {
    let stop = Stop::on_interrupt()?;
    let output = Output::open(args.output.logfile.as_deref())?;
    let clock = Clock::start();
    let mut address = args.bind;
    address.set_port(args.output.port);
    // The key is the system's entropy, because the tokens are worth no more than their key.
    let drawn = RandomState::new();
    let server = Server::new(ServerConfig {
        limits: Limits {
            flows: args.max_flows,
            rate: args.max_rate,
            duration: args.max_time,
        },
        one_off: args.one_off,
        key: [drawn.hash_one(0), drawn.hash_one(1)],
        seed: wiring::network_seed(None),
        wallclock: clock.ntp_of_zero(),
    });
    let begun = Started::default();
    let handle = spawn::spawn(clock, address, server, &args.output, begun.clone())?;
    // The server listens, so its capture begins here, perhaps long before any test.
    begun.set();
    let local = handle.local_address();
    let mut log = Log {
        output,
        json: args.json,
        interval: args.output.interval,
        clock,
        local,
        tests: BTreeMap::new(),
    };
    log.say(format_args!("evenkeel perf server listening on {local}"))?;
    let mut served = false;
    let mut intervals = Intervals::new(args.output.interval);
    while !stop.is_asked() && (!served || !args.one_off) {
        clock.sleep_until(clock.now() + POLL);
        let is_due = intervals.is_due(clock.now());
        let (now, events, tests): (_, Vec<ServerEvent>, Option<Vec<_>>) = handle
            .call(move |server, now| {
                let server = &mut server.endpoint;
                let tests = is_due.then(|| {
                    let tests = server.tests();
                    let tests = tests.map(|(test, terms, count)| (test, terms.direction, count));
                    tests.collect()
                });
                let events = std::iter::from_fn(|| server.poll_event()).collect();
                (now, events, tests)
            })
            .map_err(Failure::runtime)?;
        for event in &events {
            if let ServerEventKind::Began { test, .. } = event.kind {
                intervals.begin(test, event.at);
            }
        }
        // The rows of a test that has just begun follow its beginning.
        let (began, others): (Vec<_>, Vec<_>) = events
            .into_iter()
            .partition(|event| matches!(event.kind, ServerEventKind::Began { .. }));
        log.log_events(began)?;
        for (test, rows) in tests.iter().flat_map(|tests| intervals.rows(now, tests)) {
            log.rows(test, &rows)?;
        }
        served |= others
            .iter()
            .any(|event| matches!(event.kind, ServerEventKind::Ended { .. }));
        log.log_events(others)?;
    }
    let (server, captured) = spawn::stop(handle)?;
    match server.left_out() {
        0 => {}
        count => log.say(left_out(count))?,
    }
    captured
}

/// The output about tests: lines, or one object each.
struct Log {
    output: Output,
    json: bool,
    interval: Duration,
    clock: Clock,
    local: SocketAddr,
    /// The running tests.
    tests: BTreeMap<u16, Test>,
}

struct Test {
    begun: Begun,
    at: Instant,
    used: Duration,
    intervals: Vec<Value>,
}

impl Log {
    /// Prints a line for a person.
    fn say(&mut self, line: impl Display) -> Result<(), Failure> {
        if self.json {
            eprintln!("{line}");
            return Ok(());
        }
        self.output.say(line)
    }

    fn rows(&mut self, test: u16, rows: &[Rows]) -> Result<(), Failure> {
        if !self.json {
            let mut lines = rows.iter().map(|rows| line(test, rows));
            return lines.try_for_each(|line| self.output.say(line));
        }
        if let Some(test) = self.tests.get_mut(&test) {
            test.intervals.push(json::interval(rows));
        }
        Ok(())
    }

    fn log_events(&mut self, events: Vec<ServerEvent>) -> Result<(), Failure> {
        for event in events {
            self.say(describe(&event))?;
            let (at, client) = (event.at, event.client);
            match event.kind {
                ServerEventKind::Began { test, terms, nonce } => {
                    let begun = Begun {
                        ends: [self.local, client],
                        nonce,
                        at: self.clock.unix_time(at),
                        interval: self.interval,
                        terms,
                    };
                    let used = processor_time();
                    let intervals = Vec::new();
                    let state = Test {
                        begun,
                        at,
                        used,
                        intervals,
                    };
                    self.tests.insert(test, state);
                }
                ServerEventKind::Ended {
                    test,
                    counts,
                    agreed,
                } => {
                    if let Some(test) = self.tests.remove(&test) {
                        self.ended(test, counts, agreed)?;
                    }
                }
                ServerEventKind::Refused(_)
                | ServerEventKind::Malformed(_)
                | ServerEventKind::LeftOut(_) => {}
            }
        }
        Ok(())
    }

    fn ended(&mut self, test: Test, counts: Vec<Count>, agreed: bool) -> Result<(), Failure> {
        let ran = self.clock.now().saturating_since(test.at);
        let processor =
            processor_time().saturating_sub(test.used).as_secs_f64() / ran.as_secs_f64();
        if !self.json {
            let percent = processor * 100.0;
            return self.output.say(format_args!(
                "          processor: {percent:.1} % of a core"
            ));
        }
        let served = json::Served {
            seconds: ran.min(test.begun.terms.duration).as_secs_f64(),
            begun: &test.begun,
            intervals: test.intervals,
            counts,
            processor,
            agreed,
        };
        self.output.say(format_args!("{:#}", json::served(&served)))
    }
}

fn left_out(count: u64) -> String {
    format!("{count} more messages were refused or could not be read")
}

fn describe(event: &ServerEvent) -> String {
    let ServerEvent { at, client, kind } = event;
    let what = match kind {
        ServerEventKind::LeftOut(count) => {
            return format!("          {}", left_out(*count));
        }
        ServerEventKind::Began { test, terms, .. } => format!(
            "test {test}: {} flows, {:?}, {:?}, {} s",
            terms.flows,
            terms.direction,
            terms.mode,
            terms.duration.as_secs_f64()
        ),
        ServerEventKind::Refused(refusal) => format!("refused: {refusal}"),
        ServerEventKind::Malformed(error) => format!("a message that cannot be read: {error}"),
        ServerEventKind::Ended {
            test,
            counts,
            agreed,
        } => {
            let how = match agreed {
                true => "done",
                false => "the client has gone",
            };
            let count = Count::sum(counts);
            format!(
                "test {test}: {how}; sent {} packets, received {}, lost {}",
                count.packets_sent, count.packets_received, count.packets_lost
            )
        }
    };
    format!(
        "{:9.3} {client} {what}",
        at.saturating_since(Instant::ZERO).as_secs_f64()
    )
}
