//! The client: it asks for a test, has its half of the flows, and fetches what the server counted.

use std::net::SocketAddr;

use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use evenkeel_rtp::ntp::NtpTime;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};

use crate::control::{ClientMessage, ServerMessage, Tagged, is_control};
use crate::count::Count;
use crate::flow::{FlowState, Party};
use crate::flows::{End, FlowEvent, FlowName, Flows};
use crate::terms::{Refusal, Terms};

/// How long an answer is waited for before the question is asked again.
const RETRY: Duration = Duration::from_millis(500);
/// Questions without an answer after which the server is not there.
const TRIES: u32 = 10;
/// How long packets under way are waited for at the end, beside two round trips.
const DRAIN: Duration = Duration::from_millis(100);
/// The longest round trip that this wait takes into account.
const MAX_RTT: Duration = Duration::from_secs(2);

/// Whom to ask for what.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The server.
    pub server: SocketAddr,
    /// What to ask for.
    pub terms: Terms,
    /// Drawn anew for each client: the server knows its questions by it.
    pub nonce: u64,
    /// Seed of its sessions.
    pub seed: u64,
    /// The wall clock at [`Instant::ZERO`].
    pub wallclock: NtpTime,
    /// Keeps what the rate control does, for [`Client::poll_event`].
    pub traced: bool,
}

/// How far a client is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    /// It asks for the test.
    Asking,
    /// The flows run since then.
    Running(Instant),
    /// It asks for the server's results.
    Finishing,
    /// It has them.
    Done,
    /// There will be none.
    Failed(ClientError),
}

/// Why there was no test, or not to its end.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ClientError {
    /// Nobody answered.
    #[error("no answer from {0}: is `evenkeel perf server` running there, and its UDP port open?")]
    Silent(SocketAddr),
    /// The server refused.
    #[error("{0}")]
    Refused(Refusal),
    /// The server answered no more: the test ran, its results are lost.
    #[error("{0} did not tell its results: it may have ended")]
    Lost(SocketAddr),
}

/// One test, from the first question to the last answer.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    phase: Phase,
    began: Option<Instant>,
    flows: Flows,
    test: u16,
    /// What is asked, when it is asked again, and how often it was.
    question: Option<ClientMessage>,
    ask_at: Instant,
    tries: u32,
    /// When the flows end, and then when their packets have arrived.
    end: Instant,
    is_draining: bool,
    results: Vec<Count>,
}

impl Client {
    /// A client that asks at once.
    pub fn new(now: Instant, config: ClientConfig) -> Self {
        let mut flows = Flows::new(config.traced);
        flows.set_gather(config.terms.gather());
        Self {
            phase: Phase::Asking,
            began: None,
            flows,
            test: 0,
            question: Some(ClientMessage::Hello),
            ask_at: now,
            tries: 0,
            end: now,
            is_draining: false,
            results: Vec::new(),
            config,
        }
    }

    /// How far it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// When its test began, if it did: also of one that ended before anybody looked.
    pub fn began(&self) -> Option<Instant> {
        self.began
    }

    /// What was asked for.
    pub fn terms(&self) -> &Terms {
        &self.config.terms
    }

    /// Our side of every flow, in order; empty before the test begins.
    pub fn flows(&self) -> impl Iterator<Item = FlowState> {
        let names = (0..self.config.terms.flows).map(|flow| FlowName {
            test: self.test,
            flow,
        });
        names.filter_map(|name| self.flows.state(name))
    }

    /// What the server counted, flow by flow: complete when [`Phase::Done`].
    pub fn results(&self) -> &[Count] {
        &self.results
    }

    /// The oldest event that was not taken yet; at most 16,384 wait, and the oldest give way.
    pub fn poll_event(&mut self) -> Option<FlowEvent> {
        self.flows.poll_event()
    }

    /// Events that nobody took in time.
    pub fn events_lost(&self) -> u64 {
        self.flows.events_lost()
    }

    /// Ends the test now, with the results so far.
    pub fn close(&mut self, now: Instant) {
        match self.phase {
            Phase::Running(_) if !self.is_draining => self.end = self.end.min(now),
            Phase::Asking => self.phase = Phase::Failed(ClientError::Silent(self.config.server)),
            _ => {}
        }
    }

    fn ask(&mut self, now: Instant, question: ClientMessage) {
        self.question = Some(question);
        self.ask_at = now;
        self.tries = 0;
    }

    fn handle_answer(&mut self, now: Instant, bytes: &[u8]) {
        let Ok(Tagged { nonce, message }) = Tagged::<ServerMessage>::parse(bytes) else {
            return;
        };
        if nonce != self.config.nonce {
            return;
        }
        match (self.phase, &self.question, message) {
            (Phase::Asking, Some(ClientMessage::Hello), ServerMessage::Token { token }) => {
                let terms = self.config.terms.clone();
                self.question = Some(ClientMessage::Request { token, terms });
                self.ask_at = now;
            }
            (Phase::Asking, _, ServerMessage::Accept { test }) => self.begin(now, test),
            (Phase::Asking, _, ServerMessage::Refuse(Refusal::Token)) => {
                // It counts on, or two who disagree on the time would ask each other for ever.
                self.question = Some(ClientMessage::Hello);
            }
            (Phase::Asking, _, ServerMessage::Refuse(refusal)) => {
                self.question = None;
                self.phase = Phase::Failed(ClientError::Refused(refusal));
            }
            (Phase::Finishing, _, ServerMessage::Results { flow, counts, .. })
                if usize::from(flow) == self.results.len() =>
            {
                let has_counts = !counts.is_empty();
                self.results.extend(counts);
                let next = match u16::try_from(self.results.len()) {
                    Ok(flow) if flow < self.config.terms.flows && has_counts => {
                        ClientMessage::Finish {
                            test: self.test,
                            flow,
                        }
                    }
                    _ => ClientMessage::Goodbye { test: self.test },
                };
                self.ask(now, next);
            }
            _ => {}
        }
    }

    fn begin(&mut self, now: Instant, test: u16) {
        self.question = None;
        self.test = test;
        self.phase = Phase::Running(now);
        self.began = Some(now);
        let terms = &self.config.terms;
        self.end = now + terms.duration;
        let party = Party {
            peer: self.config.server,
            seed: self.config.seed,
            wallclock: self.config.wallclock,
        };
        self.flows.begin(now, (test, End::Client), terms, party);
    }

    /// The flows have ended: what is under way may still arrive, then the server is asked for its results.
    fn handle_end(&mut self, now: Instant) {
        if self.is_draining {
            self.phase = Phase::Finishing;
            let test = self.test;
            return self.ask(now, ClientMessage::Finish { test, flow: 0 });
        }
        let rtts = self.flows().filter_map(|flow| flow.path?.rtt);
        self.end = now + DRAIN + 2 * rtts.max().unwrap_or(DRAIN).min(MAX_RTT);
        self.is_draining = true;
        for flow in 0..self.config.terms.flows {
            let test = self.test;
            if let Some(flow) = self.flows.get_mut(FlowName { test, flow }) {
                flow.stop_sending();
            }
        }
    }
}

impl Endpoint for Client {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        if !is_control(datagram.payload) {
            self.flows.handle_datagram(now, datagram);
        } else if datagram.source == self.config.server {
            self.handle_answer(now, datagram.payload);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.flows.handle_timeout(now);
        if matches!(self.phase, Phase::Running(_)) && now >= self.end {
            self.handle_end(now);
        }
        let is_goodbye = matches!(self.question, Some(ClientMessage::Goodbye { .. }));
        if self.question.is_some() && self.tries == TRIES && now >= self.ask_at && !is_goodbye {
            self.question = None;
            let server = self.config.server;
            self.phase = Phase::Failed(match self.phase {
                Phase::Finishing => ClientError::Lost(server),
                _ => ClientError::Silent(server),
            });
        }
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        if let Some(question) = &self.question
            && now >= self.ask_at
            && self.tries < TRIES
        {
            let nonce = self.config.nonce;
            let len = Tagged {
                nonce,
                message: question.clone(),
            }
            .emit(buf)?;
            self.tries += 1;
            self.ask_at = now + RETRY;
            if matches!(question, ClientMessage::Goodbye { .. }) {
                // Nobody answers it; where it is lost the server waits for a while.
                self.question = None;
                self.phase = Phase::Done;
            }
            let destination = self.config.server;
            return Some(Transmit {
                destination,
                len,
                ecn: Ecn::NotEct,
            });
        }
        self.flows.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let own = match self.phase {
            Phase::Running(_) => Some(self.end),
            _ => self.question.as_ref().map(|_| self.ask_at),
        };
        let own = own.map(|at| (at, Reason::GiveUp));
        let timers = [self.flows.poll_timeout(), own];
        timers.into_iter().flatten().min_by_key(|&(at, _)| at)
    }
}
