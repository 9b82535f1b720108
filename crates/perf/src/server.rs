//! The server accepts clients, agrees on terms, and runs the flows of all its tests.

mod event;
mod share;

pub use event::{ServerEvent, ServerEventKind};

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use evenkeel_rtp::ntp::NtpTime;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};

use crate::control::{ClientMessage, RESULTS, ServerMessage, Tagged, is_control};
use crate::count::Count;
use crate::flow::Party;
use crate::flows::{End, FlowName, Flows};
use crate::terms::{Limits, Refusal, Terms};
use crate::token::Mint;
use event::ServerEvents;
use share::host;

/// A client that is silent for longer has gone. A sender that hears nothing still sends RTCP.
const SILENCE: Duration = Duration::from_secs(10);
/// How long after the agreed time the client may still ask for results.
const GRACE: Duration = Duration::from_secs(10);
/// How often silence is looked for.
const CHECK: Duration = Duration::from_secs(1);
/// Answers that wait to be sent: what comes in one round of the caller's loop, and the rest ask again.
const MAX_REPLIES: usize = 256;
/// How a server is.
#[derive(Clone, Copy, Debug)]
pub struct ServerConfig {
    /// What it agrees to.
    pub limits: Limits,
    /// It serves one test, whose client comes first, and no other beside or after it.
    pub one_off: bool,
    /// Makes its tokens: secret, and drawn anew for each server.
    pub key: [u64; 2],
    /// Seed of its sessions.
    pub seed: u64,
    /// The wall clock at [`Instant::ZERO`].
    pub wallclock: NtpTime,
}

/// One socket that serves any number of clients, within its limits.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    mint: Mint,
    flows: Flows,
    tests: BTreeMap<u16, Test>,
    last_test: u16,
    /// Tests that ended, oldest first: a token begins one.
    ended: VecDeque<EndedTest>,
    replies: VecDeque<(SocketAddr, Tagged<ServerMessage>)>,
    events: ServerEvents,
    /// When silent clients are looked for next; `None` without clients.
    check: Option<Instant>,
}

/// What is remembered of a test until its token is good for nothing.
#[derive(Debug)]
struct EndedTest {
    at: Instant,
    client: SocketAddr,
    nonce: u64,
    flows: u16,
}

#[derive(Debug)]
struct Test {
    client: SocketAddr,
    nonce: u64,
    terms: Terms,
    heard: Instant,
    /// It ends at this time even if the client does not say so.
    latest_end: Instant,
    /// What was counted, flow by flow, once the client has asked.
    results: Option<Vec<Count>>,
    /// There was room to tell of its beginning.
    is_reported: bool,
}

impl Server {
    /// A server without clients.
    pub fn new(config: ServerConfig) -> Self {
        Self {
            mint: Mint::new(config.key),
            config,
            flows: Flows::new(false),
            tests: BTreeMap::new(),
            last_test: 0,
            ended: VecDeque::new(),
            replies: VecDeque::new(),
            events: ServerEvents::default(),
            check: None,
        }
    }

    /// The oldest event that was not taken yet. At most 1,024 wait; further ones are dropped, but for the end of a test
    /// whose beginning was told: whoever keeps something of a test until its end keeps nothing for ever.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop()
    }

    /// Messages that were refused or could not be read since the last that was told.
    pub fn left_out(&self) -> u64 {
        self.events.left_out()
    }

    /// The tests under way, oldest first, each with what all its flows have counted.
    pub fn tests(&self) -> impl Iterator<Item = (u16, &Terms, Count)> {
        self.tests
            .iter()
            .filter(|(_, test)| test.results.is_none())
            .map(|(&name, test)| {
                let counts = self.counts(name, test);
                (name, &test.terms, Count::sum(&counts))
            })
    }

    fn handle_control(&mut self, now: Instant, client: SocketAddr, bytes: &[u8]) {
        let Tagged { nonce, message } = match Tagged::<ClientMessage>::parse(bytes) {
            Ok(tagged) => tagged,
            Err(error) => {
                return self
                    .events
                    .complain(now, client, ServerEventKind::Malformed(error));
            }
        };
        let reply = match message {
            ClientMessage::Hello => {
                let token = self.mint.token(now, client, nonce);
                Some(ServerMessage::Token { token })
            }
            ClientMessage::Request { token, terms } => {
                Some(self.handle_request(now, client, nonce, token, terms))
            }
            ClientMessage::Finish { test, flow } => {
                self.handle_finish(now, client, nonce, test, flow)
            }
            ClientMessage::Goodbye { test } => {
                if self.is_of(test, client, nonce) {
                    self.forget(now, test, true);
                }
                None
            }
        };
        if let Some(message) = reply
            && self.replies.len() < MAX_REPLIES
        {
            self.replies.push_back((client, Tagged { nonce, message }));
        }
    }

    fn handle_request(
        &mut self,
        now: Instant,
        client: SocketAddr,
        nonce: u64,
        token: u64,
        terms: Terms,
    ) -> ServerMessage {
        if !self.mint.knows(now, client, nonce, token) {
            return ServerMessage::Refuse(Refusal::Token);
        }
        let known = |(_, test): &(&u16, &Test)| test.client == client && test.nonce == nonce;
        if let Some((&test, _)) = self.tests.iter().find(known) {
            return ServerMessage::Accept { test };
        }
        let has_begun = self.last_test != 0;
        let is_over = |test: &EndedTest| now >= test.at + Mint::LIFETIME;
        while self.ended.front().is_some_and(is_over) {
            self.ended.pop_front();
        }
        let has_ended = |test: &EndedTest| (test.client, test.nonce) == (client, nonce);
        let agreed = if self.config.one_off && has_begun {
            Err(Refusal::OneOff)
        } else if self.ended.iter().any(has_ended) {
            Err(Refusal::Token)
        } else if self.too_many_ended(host(client)) {
            Err(Refusal::TooOften)
        } else {
            self.check_flows(&terms, host(client))
        };
        if let Err(refusal) = agreed {
            self.events
                .complain(now, client, ServerEventKind::Refused(refusal));
            return ServerMessage::Refuse(refusal);
        }
        let Some(test) = self.free_name() else {
            return ServerMessage::Refuse(Refusal::Flows(0));
        };
        self.begin(now, test, client, nonce, terms);
        ServerMessage::Accept { test }
    }

    fn begin(&mut self, now: Instant, test: u16, client: SocketAddr, nonce: u64, terms: Terms) {
        self.last_test = test;
        let party = Party {
            peer: client,
            seed: self.config.seed,
            wallclock: self.config.wallclock,
        };
        self.flows.begin(now, (test, End::Server), &terms, party);
        let latest_end = now + terms.duration + GRACE;
        let began = ServerEventKind::Began {
            test,
            terms: terms.clone(),
            nonce,
        };
        let is_reported = self.events.emit(now, client, began);
        let test_state = Test {
            client,
            nonce,
            terms,
            heard: now,
            latest_end,
            results: None,
            is_reported,
        };
        self.tests.insert(test, test_state);
        self.check.get_or_insert(now + CHECK);
        self.set_gather();
    }

    fn handle_finish(
        &mut self,
        now: Instant,
        client: SocketAddr,
        nonce: u64,
        name: u16,
        flow: u16,
    ) -> Option<ServerMessage> {
        if !self.is_of(name, client, nonce) {
            return None;
        }
        let test = self.tests.get(&name)?;
        if test.results.is_none() {
            let results = self.counts(name, test);
            self.close_flows(name);
            let test = self.tests.get_mut(&name)?;
            test.results = Some(results);
            // Who asks again and again keeps no place.
            test.latest_end = test.latest_end.min(now + GRACE);
        }
        let test = self.tests.get_mut(&name)?;
        test.heard = now;
        let from = usize::from(flow);
        let rest = test.results.as_ref()?.get(from..).unwrap_or_default();
        Some(ServerMessage::Results {
            test: name,
            flow,
            counts: rest[..rest.len().min(RESULTS)].to_vec(),
        })
    }

    fn is_of(&self, test: u16, client: SocketAddr, nonce: u64) -> bool {
        let test = self.tests.get(&test);
        test.is_some_and(|test| test.client == client && test.nonce == nonce)
    }

    fn counts(&self, name: u16, test: &Test) -> Vec<Count> {
        (0..test.terms.flows)
            .filter_map(|flow| Some(self.flows.state(FlowName { test: name, flow })?.count))
            .collect()
    }

    fn close_flows(&mut self, name: u16) {
        if let Some(test) = self.tests.get(&name) {
            for flow in 0..test.terms.flows {
                self.flows.remove(FlowName { test: name, flow });
            }
        }
    }

    fn forget(&mut self, now: Instant, name: u16, agreed: bool) {
        let Some(test) = self.tests.get(&name) else {
            return;
        };
        let (client, is_reported) = (test.client, test.is_reported);
        let ended = EndedTest {
            at: now,
            client,
            nonce: test.nonce,
            flows: test.terms.flows,
        };
        let counts = match &test.results {
            Some(results) => results.clone(),
            None => self.counts(name, test),
        };
        self.close_flows(name);
        self.tests.remove(&name);
        self.ended.push_back(ended);
        self.set_gather();
        if is_reported {
            let kind = ServerEventKind::Ended {
                test: name,
                counts,
                agreed,
            };
            self.events.force(now, client, kind);
        }
    }

    /// The shortest of what the tests under way agreed to.
    fn set_gather(&mut self) {
        let gather = self.tests.values().map(|test| test.terms.gather()).min();
        self.flows.set_gather(gather.unwrap_or_default());
    }

    /// A name that no test has; the names go round, so that a late packet finds no other's flow.
    fn free_name(&self) -> Option<u16> {
        let after = (self.last_test.wrapping_add(1)..=u16::MAX).chain(1..=self.last_test);
        after
            .filter(|name| *name != 0)
            .find(|name| !self.tests.contains_key(name))
    }
}

impl Endpoint for Server {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        if is_control(datagram.payload) {
            self.handle_control(now, datagram.source, datagram.payload);
        } else if let Some(test) = self.flows.handle_datagram(now, datagram)
            && let Some(test) = self.tests.get_mut(&test)
        {
            test.heard = now;
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.flows.handle_timeout(now);
        if self.check.is_some_and(|check| check <= now) {
            let gone: Vec<u16> = self
                .tests
                .iter()
                .filter(|(_, test)| now >= test.heard + SILENCE || now >= test.latest_end)
                .map(|(&name, _)| name)
                .collect();
            for name in gone {
                self.forget(now, name, false);
            }
            self.check = (!self.tests.is_empty()).then(|| now + CHECK);
        }
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        if let Some((destination, message)) = self.replies.pop_front() {
            let len = message.emit(buf)?;
            return Some(Transmit {
                destination,
                len,
                ecn: Ecn::NotEct,
            });
        }
        self.flows.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        if !self.replies.is_empty() {
            return Some((Instant::ZERO, Reason::Feedback));
        }
        let check = self.check.map(|at| (at, Reason::GiveUp));
        let timers = [self.flows.poll_timeout(), check];
        timers.into_iter().flatten().min_by_key(|&(at, _)| at)
    }
}
