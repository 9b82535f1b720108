//! Watches a run: gathers events, figures and states, and reports them to the terminal, the page and the files.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use evenkeel_link::Event as Passed;
use evenkeel_media::call::CallEvent;
use evenkeel_media::report::CallReport;
use evenkeel_net::Clock;
use evenkeel_net::{Direction, LinkEvent, RelayHandle};
use evenkeel_rtp::session::EventKind as SessionEvent;
use evenkeel_secure::invitation::Reply;
use tfrc::time::{Duration, Instant};

use super::call_process::CallProcess;
use super::connection::Connection;
use super::live::Live;
use super::peer_watch::PeerLine;
use super::replies::Replies;
use super::snapshot::Snapshot;
use super::stall::StallLine;
use super::summary::RunSummary;
use super::warning::{self, AwaitedReceiver, HopelessDeadline};
use crate::choices::Choices;
use crate::cli::RunArgs;
use crate::failure::{self, Failure};
use crate::meeting::{self, Signalling};
use crate::outputs::{self, Outputs};
use crate::page::Page;
use crate::rendezvous::MailboxEvent;
use crate::stop::Stop;
use crate::tcp::{Measured, TcpFlows};
use crate::trace;

/// The interval at which the state is sampled, for the page and the means.
const TICK_INTERVAL: Duration = Duration::from_millis(100);
/// The number of ticks from one line on the terminal to the next.
const TICKS_PER_LINE: u32 = 10;

/// The emulated link, if there is one.
pub(crate) struct LinkView {
    pub(crate) relay: Arc<RelayHandle<TcpFlows>>,
    pub(crate) events: Receiver<LinkEvent>,
    /// The codec, policy and filler of the senders.
    pub(crate) choices: Arc<Choices>,
}

/// The parts of a run that a monitor watches beside the ends, and the places that it reports to.
pub(super) struct MonitorConfig {
    pub(super) clock: Clock,
    pub(super) stop: Stop,
    pub(super) page: Option<Arc<Page>>,
    pub(super) outputs: Outputs,
    pub(super) link: Option<LinkView>,
    pub(super) seed: u64,
    /// The configured deadline, within which frames are in time.
    pub(super) deadline: Duration,
    /// The receiver without which the run ends, if there is one.
    pub(super) receiver: Option<AwaitedReceiver>,
    /// The client of a rendezvous or of a media server, until the peer has come.
    pub(super) signalling: Option<Signalling>,
    /// The replies to this end's invitation, if it made one.
    pub(super) replies: Option<Replies>,
}

/// The place of an end among those of a run. The figures are those of one stream: from the first end to the last.
#[derive(Clone, Copy, Debug)]
struct Place {
    is_first: bool,
    is_last: bool,
}

impl Place {
    /// Returns true if an event of the end is one of that stream.
    fn counts(self, event: &CallEvent) -> bool {
        match event {
            CallEvent::Session(event) => {
                self.is_first || !matches!(event.kind, SessionEvent::RateControl(_))
            }
            CallEvent::Media(event) if event.kind.is_of_sender() => self.is_first,
            CallEvent::Media(_) => self.is_last,
        }
    }
}

/// A running monitor.
pub(super) struct Monitor {
    config: MonitorConfig,
    /// The ends in this process, the one that sends first.
    ends: Vec<(&'static str, CallProcess)>,
    until: Option<Instant>,
    warmup: Duration,
    /// The end of the warm-up.
    measured_from: Instant,
    report: CallReport,
    tcp: Measured,
    live: Live,
    hopeless: HopelessDeadline,
    /// The reason to end, once nothing is sent any more.
    lost: Option<Failure>,
}

impl Monitor {
    /// Creates a monitor of these ends.
    pub(super) fn new(
        config: MonitorConfig,
        args: &RunArgs,
        ends: Vec<(&'static str, CallProcess)>,
    ) -> Self {
        let now = config.clock.now();
        let measured_from = now + args.warmup();
        Self {
            ends,
            until: args.seconds.map(|time| now + time),
            warmup: args.warmup(),
            measured_from,
            report: CallReport::new(measured_from, config.deadline),
            tcp: Measured::new(measured_from),
            live: Live::new(now),
            hopeless: HopelessDeadline::new(config.deadline),
            lost: None,
            config,
        }
    }

    /// Watches until the run is over, then ends everything in order and writes the summary.
    pub(super) fn run(mut self) -> Result<(), Failure> {
        let watched = self.gather_until_over();
        // Somebody who ends a run before its figures begin has not waited for a picture.
        let is_cut_short =
            self.config.stop.is_asked() && self.config.clock.now() < self.measured_from;
        if !is_cut_short {
            self.lost = self.lost.take().or_else(|| self.live.no_picture());
        }
        // After any error, too, the peer gets a BYE and files get their ends.
        let finished = self.finish();
        watched.and(finished)
    }

    fn gather_until_over(&mut self) -> Result<(), Failure> {
        let mut next = self.config.clock.now();
        let mut ticks = 0;
        while !self.is_over() {
            next = (next + TICK_INTERVAL).max(self.config.clock.now());
            self.config.clock.sleep_until(next);
            self.gather()?;
            ticks += 1;
            if ticks % TICKS_PER_LINE == 0 {
                outputs::tell(self.config.outputs.json_is_said(), self.live.line())?;
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let out_of_time = |until| self.config.clock.now() >= until;
        self.until.is_some_and(out_of_time)
            || self.lost.is_some()
            || self.config.stop.is_asked()
            || self.ends.iter().any(|(_, end)| end.has_ended())
    }

    /// Reads the events and figures since the last tick, and samples the state.
    fn gather(&mut self) -> Result<(), Failure> {
        self.gather_events();
        let now = self.config.clock.now();
        for (_, end) in &mut self.ends {
            for line in end.stalls.poll(now) {
                match line {
                    StallLine::Begins(text) => failure::warn(text),
                    StallLine::Ends(text) => failure::relieve(text),
                }
            }
        }
        self.watch_peers(now)?;
        let snapshot = Snapshot::take(
            &self.ends,
            self.config.link.as_ref().map(|link| &*link.relay),
        )?;
        let least = snapshot.sending.and_then(|sending| sending.least_deadline);
        if let Some(text) = self.hopeless.poll(now, least) {
            failure::warn(text);
        }
        self.report.handle_state(now, &snapshot.state);
        if let Some(totals) = snapshot.tcp {
            self.tcp.handle_totals(totals);
        }
        self.live.handle_snapshot(now, snapshot);
        if let Some(link) = &self.config.link {
            self.live.handle_choice(link.choices.get());
        }
        if let Some(page) = &self.config.page {
            page.publish(&self.live.sample());
        }
        Ok(())
    }

    /// Begins the figures anew, because the peer has come.
    fn begin(&mut self, now: Instant) {
        let half = |until: Instant| until.saturating_since(now) / 2;
        let warmup = self
            .until
            .map_or(self.warmup, |until| self.warmup.min(half(until)));
        self.measured_from = now + warmup;
        self.report = CallReport::new(self.measured_from, self.config.deadline);
    }

    /// Follows encrypted connections.
    fn watch_peers(&mut self, now: Instant) -> Result<(), Failure> {
        let replies = self.config.replies.iter();
        for reply in replies.flat_map(|replies| std::iter::from_fn(|| replies.poll())) {
            match reply {
                Ok(reply) => self.handle_reply(reply)?,
                Err(error) => failure::warn(error),
            }
        }
        let events = self.config.signalling.as_ref().map(Signalling::poll);
        for event in events.unwrap_or_default() {
            match event {
                MailboxEvent::Reply(reply) => self.handle_reply(reply)?,
                MailboxEvent::ReplyStored => {
                    failure::say("the rendezvous keeps this end's addresses for the other end");
                }
                MailboxEvent::Failed(why) => failure::warn(format_args!(
                    "rendezvous {why}; trying again; meanwhile the joining end's reply can be pasted into the inviting end's terminal"
                )),
            }
        }
        let mut lines = Vec::new();
        for (_, end) in &mut self.ends {
            let Some(peer) = &mut end.peer else {
                continue;
            };
            let list = |local| meeting::candidates(local).unwrap_or_default();
            let network = end.network.as_mut();
            if let Some(candidates) = network.and_then(|network| network.poll(now, list)) {
                peer.change_addresses(&candidates);
                end.connection
                    .post(|connection, now| connection.change_addresses(now, candidates))
                    .map_err(Failure::runtime)?;
            }
            let events = end
                .connection
                .call(|connection, _| connection.take_events());
            lines.extend(peer.poll(now, events.map_err(Failure::runtime)?));
            if peer.has_no_browser() {
                end.stalls.handle_peer_left();
            }
            self.live.handle_words(peer.words(), peer.is_connected());
        }
        lines
            .into_iter()
            .try_for_each(|line| self.handle_peer(now, line))
    }

    /// Handles a change of an encrypted connection.
    fn handle_peer(&mut self, now: Instant, line: PeerLine) -> Result<(), Failure> {
        match line {
            PeerLine::Note(text) => failure::say(text),
            PeerLine::Invitation(invitation) => {
                meeting::print(&invitation, self.config.outputs.json_is_said())?;
                self.live.handle_invitation(meeting::joining(&invitation));
            }
            PeerLine::Reply(reply) => {
                if let Some(signalling) = &self.config.signalling {
                    signalling.leave(reply);
                }
            }
            PeerLine::Encrypted(text) => {
                failure::say(text);
                self.begin(now);
            }
            PeerLine::Warning(text) => failure::warn(text),
            PeerLine::Left(text) => {
                failure::say(text);
                self.live.handle_peer_left();
            }
            PeerLine::Lost(why) => {
                failure::keep(why.to_string());
                self.lost = Some(why);
            }
        }
        Ok(())
    }

    /// Follows the addresses of a joiner.
    fn handle_reply(&self, Reply(candidates): Reply) -> Result<(), Failure> {
        let connection = &self.ends[0].1.connection;
        let add = |connection: &mut Connection, now| {
            connection.add_peer_candidates(now, candidates);
        };
        connection.post(add).map_err(Failure::runtime)
    }

    fn gather_events(&mut self) {
        let last = self.ends.len() - 1;
        for (index, (name, end)) in self.ends.iter_mut().enumerate() {
            let place = Place {
                is_first: index == 0,
                is_last: index == last,
            };
            // Shown frames come first, so that a BYE ends the gap after them.
            for shown in end.shown.try_iter().filter(|_| place.is_last) {
                self.live.handle_shown(&shown);
                self.report.handle_shown(&shown);
            }
            for event in end.events.try_iter() {
                if place.counts(&event) {
                    self.report.handle_event(&event);
                    self.live.handle_event(&event);
                }
                end.stalls.handle_event(&event);
                if let CallEvent::Session(event) = &event
                    && let Some(receiver) = &self.config.receiver
                    && let Some(why) = receiver.lost(&event.kind)
                {
                    failure::keep(why.clone());
                    self.lost = Some(Failure::runtime(why));
                } else if let Some(text) = warning::of(&event)
                    && !failure::warnings().iter().any(|kept| *kept == text)
                {
                    failure::warn(text);
                }
                self.config.outputs.trace(name, || trace::call(&event));
            }
            for coded in end.coded.try_iter().filter(|_| place.is_first) {
                self.report.handle_coded(coded.at, coded.size_error);
            }
        }
        if let Some(link) = &self.config.link {
            for LinkEvent { direction, event } in link.events.try_iter() {
                if let (Direction::Forward, Passed::Transmitted { waited, .. }) =
                    (direction, &event)
                {
                    self.live.handle_wait(*waited);
                }
                let part = trace::direction(direction);
                self.config.outputs.trace(part, || trace::link(&event));
            }
        }
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.config.stop.ask();
        self.gather_events();
        let mut ended = Ok(());
        let lost = self.lost.take();
        let summary = RunSummary {
            seed: self.config.seed,
            deadline: self.config.deadline,
            tcp: self.tcp.means(),
            warnings: &failure::warnings(),
        };
        let figures = self.report.summary();
        for line in summary.lines(&figures, &self.live) {
            ended = ended.and(outputs::tell(self.config.outputs.json_is_said(), line));
        }
        let summary = summary.as_json(&figures, &self.live);
        for (_, end) in self.ends {
            ended = ended.and(end.finish());
        }
        ended
            .and(self.config.outputs.finish(&summary))
            .and(lost.map_or(Ok(()), Err))
    }
}

#[cfg(test)]
mod tests;
