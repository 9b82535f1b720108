//! `evenkeel perf client`: runs one test with a server.

use std::hash::{BuildHasher as _, RandomState};

use evenkeel_net::{Clock, Handle, Tapped, processor_time};
use evenkeel_perf::{Client, ClientConfig, ClientError, Count, Direction, FlowEvent, Phase, Terms};
use evenkeel_rtp::session::Path;
use tfrc::time::{Duration, Instant};

use super::output::{Output, Started};
use super::report::{Begun, End, PerfReport};
use super::tally::{self, Half, Rows, Sample};
use super::trace::FlowTraceFile;
use super::{json, spawn, text, warnings};
use crate::cli::PerfClientArgs;
use crate::failure::{self, Failure};
use crate::stop::Stop;
use crate::wiring;

/// The interval at which the client's phase is checked.
const POLL: Duration = Duration::from_millis(50);

pub(super) fn run(args: &PerfClientArgs) -> Result<(), Failure> {
    let stop = Stop::on_interrupt()?;
    let mut output = Output::open(args.output.logfile.as_deref())?;
    let server = wiring::peer_at(&args.host, args.output.port)?;
    let terms = terms(args)?;
    let clock = Clock::start();
    let local = spawn::towards(server)
        .map_err(|error| Failure::usage(format!("no way to {server}: {error}")))?;
    let trace = args
        .trace
        .as_deref()
        .map(|path| FlowTraceFile::open(path, terms.flows));
    let trace = trace.transpose()?;
    let nonce = RandomState::new().hash_one(0);
    let config = ClientConfig {
        server,
        terms: terms.clone(),
        nonce,
        seed: wiring::network_seed(None),
        wallclock: clock.ntp_of_zero(),
        traced: trace.is_some(),
    };
    let client = Client::new(clock.now(), config);
    let begun = Started::default();
    let handle = spawn::spawn(clock, local, client, &args.output, begun.clone())?;
    let mut run = Run {
        clock,
        stop,
        handle,
        begun,
        terms: terms.clone(),
        interval: args.output.interval,
        quiet: args.json,
        trace,
        intervals: Vec::new(),
    };
    let start = match run.await_start()? {
        Ok(start) => start,
        Err(error) => {
            if args.json {
                output.say(format_args!("{:#}", json::no_test(server, error)))?;
            }
            return Err(failure(error));
        }
    };
    if !args.json {
        output.say(format_args!("Connected to {server}"))?;
    }
    let used = processor_time();
    run.print_intervals(start, &mut output)?;
    let (seconds, error) = run.await_end(start)?;
    let local = run.handle.local_address();
    let processor = processor_time().saturating_sub(used).as_secs_f64() / seconds;
    let driver = run.handle.stats().map_err(Failure::runtime)?;
    let (client, captured) = spawn::stop(run.handle)?;
    let traced = run.trace.map_or(Ok(()), FlowTraceFile::finish);
    let ends = ends(&client, seconds);
    let none_arrived = warnings::none_arrived(&ends, terms.length, driver.sent.failed);
    let held = client.flows().filter_map(|flow| flow.held);
    let too_late = terms
        .rate
        .and_then(|rate| warnings::too_late(rate, held, seconds));
    if let Some(line) = &too_late {
        failure::warn(line);
    }
    let report = PerfReport {
        server,
        begun: Begun {
            ends: [local, server],
            nonce,
            at: clock.unix_time(start),
            interval: args.output.interval,
            terms,
        },
        warnings: none_arrived.iter().cloned().chain(too_late).collect(),
        ends,
        intervals: run.intervals,
        events_lost: client.events_lost(),
        driver,
        processor,
        error,
    };
    if args.json {
        output.say(format_args!("{:#}", json::report(&report)))?;
    } else {
        print_ends(&report, &mut output)?;
    }
    if let Some(error) = error {
        return Err(failure(error));
    }
    if !none_arrived.is_empty() {
        return Err(Failure::runtime(none_arrived.join("; ")));
    }
    captured.and(traced)
}

fn print_ends(report: &PerfReport, output: &mut Output) -> Result<(), Failure> {
    if let Some(refused) = text::refused(&report.driver.sent) {
        output.say(refused)?;
    }
    output.say("- - - - - - - - - - - - - - - - - - - - - - - - -")?;
    for end in &report.ends {
        for (rows, who) in [(&end.sent, "sender"), (&end.received, "receiver")] {
            let Some(rows) = rows else { continue };
            output.say(text::heading(rows.sum.half))?;
            for line in text::lines(rows) {
                output.say(format_args!("{line}  {who}"))?;
            }
        }
    }
    Ok(())
}

fn terms(args: &PerfClientArgs) -> Result<Terms, Failure> {
    Ok(Terms {
        direction: match (args.reverse, args.bidir) {
            (true, _) => Direction::Reverse,
            (_, true) => Direction::Both,
            _ => Direction::Forward,
        },
        flows: args.parallel,
        rate: args.rate().map_err(Failure::usage)?,
        duration: args.time,
        length: args.length,
        segment_size: args.segment_size(),
        mode: args.mode(),
        feedback: args.feedback,
        ecn: args.ecn,
        burst: args.burst,
        min_nofeedback: args.nofeedback_floor,
        reports: args.reports(),
    })
}

struct Run {
    clock: Clock,
    stop: Stop,
    handle: Handle<Tapped<Client>>,
    /// The flag for the capture that the test has begun.
    begun: Started,
    terms: Terms,
    interval: Duration,
    quiet: bool,
    trace: Option<FlowTraceFile>,
    intervals: Vec<Vec<Rows>>,
}

impl Run {
    /// Waits until the test begins, and returns the time or the reason why it did not.
    fn await_start(&mut self) -> Result<Result<Instant, ClientError>, Failure> {
        loop {
            match self.look()? {
                (_, Some(start)) => {
                    self.begun.set();
                    return Ok(Ok(start));
                }
                (Phase::Failed(error), None) => return Ok(Err(error)),
                _ => self
                    .clock
                    .sleep_until(self.clock.now() + Duration::from_millis(1)),
            }
        }
    }

    /// Prints a group of lines each interval, until the agreed time is over.
    fn print_intervals(&mut self, start: Instant, output: &mut Output) -> Result<(), Failure> {
        let halves = halves(self.terms.direction);
        let end = start + self.terms.duration;
        let mut before = Sample::default();
        let mut next = if self.interval.is_zero() {
            end
        } else {
            start + self.interval
        };
        if !self.quiet && !self.interval.is_zero() {
            for &half in halves {
                output.say(text::heading(half))?;
            }
        }
        while matches!(self.phase()?, Phase::Running(_))
            && before.at < self.terms.duration.as_secs_f64()
        {
            let until = next.min(end);
            if self.clock.now() < until {
                self.clock.sleep_until(until.min(self.clock.now() + POLL));
                continue;
            }
            let after = self.sample(start)?;
            if !self.interval.is_zero() {
                let rows: Vec<Rows> = halves
                    .iter()
                    .map(|&half| tally::interval(half, &before, &after))
                    .collect();
                if !self.quiet {
                    for line in rows.iter().flat_map(text::lines) {
                        output.say(line)?;
                    }
                }
                self.intervals.push(rows);
                next += self.interval;
            }
            before = after;
        }
        Ok(())
    }

    /// Waits for all results, and returns how long the flows sent, with the reason if results are missing.
    fn await_end(&mut self, start: Instant) -> Result<(f64, Option<ClientError>), Failure> {
        let mut ended = None;
        loop {
            let ran = self
                .clock
                .now()
                .saturating_since(start)
                .min(self.terms.duration);
            match self.phase()? {
                Phase::Done => return Ok((ended.unwrap_or(ran).as_secs_f64(), None)),
                Phase::Failed(error) => {
                    return Ok((ended.unwrap_or(ran).as_secs_f64(), Some(error)));
                }
                Phase::Finishing => {
                    ended.get_or_insert(ran);
                }
                Phase::Asking | Phase::Running(_) => {}
            }
            self.clock.sleep_until(self.clock.now() + POLL);
        }
    }

    /// Returns the phase of the client.
    fn phase(&mut self) -> Result<Phase, Failure> {
        self.look().map(|(phase, _)| phase)
    }

    /// Returns the phase of the client, and when its test began, which a host that was suspended may have missed.
    /// Writes the trace, and ends the test after Ctrl-C.
    fn look(&mut self) -> Result<(Phase, Option<Instant>), Failure> {
        let stop = self.stop.is_asked();
        let called = self.handle.call(move |client, now| {
            let client = &mut client.endpoint;
            if stop {
                client.close(now);
            }
            let events: Vec<FlowEvent> = std::iter::from_fn(|| client.poll_event()).collect();
            (client.phase(), client.began(), events)
        });
        let (phase, began, events) = called.map_err(Failure::runtime)?;
        if let Some(trace) = &mut self.trace {
            // The test begins before the events that arrived together with this news.
            if let Some(start) = began {
                trace.begin(start)?;
            }
            events.iter().try_for_each(|event| trace.write(event))?;
        }
        Ok((phase, began))
    }

    fn sample(&self, start: Instant) -> Result<Sample, Failure> {
        self.handle
            .call(move |client, now| Sample {
                at: now.saturating_since(start).as_secs_f64(),
                flows: client.endpoint.flows().collect(),
            })
            .map_err(Failure::runtime)
    }
}

fn failure(error: ClientError) -> Failure {
    match error {
        ClientError::Silent(_) | ClientError::Refused(_) => Failure::usage(error),
        ClientError::Lost(_) => Failure::runtime(error),
    }
}

fn halves(direction: Direction) -> &'static [Half] {
    match direction {
        Direction::Forward => &[Half::Sent],
        Direction::Reverse => &[Half::Received],
        Direction::Both => &[Half::Sent, Half::Received],
    }
}

/// Joins the counts of both sides, or returns the client's alone if the server's are incomplete.
fn ends(client: &Client, seconds: f64) -> Vec<End> {
    let ours: Vec<(Count, Option<Path>)> = client
        .flows()
        .map(|state| (state.count, state.path))
        .collect();
    let theirs = client.results();
    let theirs = (theirs.len() == ours.len()).then(|| {
        let theirs = theirs.iter().map(|&count| (count, None));
        theirs.collect::<Vec<(Count, Option<Path>)>>()
    });
    let (ours, theirs) = (Some(ours.as_slice()), theirs.as_deref());
    let direction = client.terms().direction;
    let end = |sender: Option<&[(Count, _)]>, receiver: Option<&[(Count, _)]>, forward| {
        let received = receiver.map(|receiver| {
            let mut received = receiver.to_vec();
            for ((count, _), (sent, _)) in received.iter_mut().zip(sender.unwrap_or_default()) {
                // The counts of both sides are known here, so a loss at the very end shows as well.
                count.packets_lost = sent.packets_sent.saturating_sub(count.packets_received);
            }
            tally::total(Half::Received, seconds, &received)
        });
        End {
            sent: sender.map(|sent| tally::total(Half::Sent, seconds, sent)),
            received,
            forward,
        }
    };
    let forward = direction.client_sends().then(|| end(ours, theirs, true));
    let reverse = direction.server_sends().then(|| end(theirs, ours, false));
    forward.into_iter().chain(reverse).collect()
}
