//! The way between a call and its peer: in the clear, or encrypted.

use std::collections::VecDeque;

use evenkeel_media::call::Call;
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use evenkeel_secure::endpoint::{Candidate, Secure, SecureConfig, SecureEvent};
use tfrc::time::Instant;

use super::call_endpoint::CallEndpoint;
use super::web_session::{Trickled, WebPeer, WebSession};

/// The most events that wait for the monitor.
const MAX_EVENTS: usize = 64;

/// The most addresses of this end that are kept; the latest replaces the first, as servers report a NAT's new ports.
const MAX_GATHERED: usize = 16;

/// Makes the call anew for each connection: its timers begin when the peer is there.
pub(crate) type MakeCall = Box<dyn FnMut(Instant) -> Call + Send>;

/// The endpoint of a call with what is between it and the network.
pub(crate) struct Connection {
    way: Way,
    /// The session of a browser, in a call that browsers join.
    session: Option<WebSession>,
    addresses: LocalAddresses,
    events: VecDeque<SecureEvent>,
}

/// The addresses of this end as they are now.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalAddresses {
    /// Those of its interfaces.
    pub(crate) hosts: Vec<Candidate>,
    /// Those that servers reported.
    pub(crate) gathered: Vec<Candidate>,
}

enum Way {
    Plain(Box<CallEndpoint>),
    Secure {
        secure: Box<Secure<CallEndpoint>>,
        make_call: MakeCall,
        /// True if the next peer is awaited where one did not prove who it is.
        awaits_next: bool,
        is_open: bool,
        ending: Ending,
    },
}

/// The end of an encrypted connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The connection goes on.
    None,
    /// The call says goodbye, and the connection after it.
    Asked,
    /// Everything is said.
    Said,
}

impl Connection {
    /// Creates a connection in the clear, which is open at once.
    pub(crate) fn plain(endpoint: CallEndpoint) -> Self {
        Self {
            way: Way::Plain(Box::new(endpoint)),
            session: None,
            addresses: LocalAddresses::default(),
            events: VecDeque::new(),
        }
    }

    /// Creates a connection that opens once the peer has proved who it is. `zero` is the time of the system at
    /// [`Instant::ZERO`], and `awaits_next` says that a peer who fails to do so gives way to the next one.
    pub(crate) fn secure(
        (now, zero): (Instant, std::time::Instant),
        config: SecureConfig,
        awaits_next: bool,
        endpoint: CallEndpoint,
        make_call: MakeCall,
    ) -> Self {
        let addresses = LocalAddresses {
            hosts: config.candidates.clone(),
            gathered: Vec::new(),
        };
        let secure = Secure::new(now, zero, config, endpoint);
        let mut connection = Self {
            way: Way::Secure {
                secure: Box::new(secure),
                make_call,
                awaits_next,
                is_open: false,
                ending: Ending::None,
            },
            session: None,
            addresses,
            events: VecDeque::new(),
        };
        connection.follow(now);
        connection
    }

    /// Returns the endpoint of the call.
    pub(crate) fn endpoint(&mut self) -> &mut CallEndpoint {
        match &mut self.way {
            Way::Plain(endpoint) => endpoint,
            Way::Secure { secure, .. } => secure.inner_mut(),
        }
    }

    /// Returns true if media reach the peer.
    pub(crate) fn is_open(&self) -> bool {
        match &self.way {
            Way::Plain(_) => true,
            Way::Secure { is_open, .. } => *is_open,
        }
    }

    /// Ends the call, and the encrypted connection after the call's last packet.
    pub(crate) fn close(&mut self, now: Instant) {
        self.endpoint().call.close(now);
        if let Way::Secure { ending, .. } = &mut self.way {
            *ending = Ending::Asked;
        }
    }

    /// Looks for the peer from other addresses of this end, whose network changed.
    pub(crate) fn change_addresses(&mut self, now: Instant, candidates: Vec<Candidate>) {
        self.addresses = LocalAddresses {
            hosts: candidates.clone(),
            gathered: Vec::new(),
        };
        if let Way::Secure { secure, .. } = &mut self.way {
            secure.change_addresses(now, candidates);
        }
        self.follow(now);
    }

    /// Adds addresses of the peer, which its reply has.
    pub(crate) fn add_peer_candidates(&mut self, now: Instant, candidates: Vec<Candidate>) {
        if let Way::Secure { secure, .. } = &mut self.way {
            for candidate in candidates {
                secure.add_peer_candidate(now, candidate);
            }
        }
        self.follow(now);
    }

    /// Returns the addresses of this end.
    pub(crate) fn local_addresses(&self) -> LocalAddresses {
        self.addresses.clone()
    }

    /// Begins the session of a browser. Returns false if another browser has one: it goes on.
    pub(crate) fn join(&mut self, now: Instant, peer: WebPeer) -> bool {
        let heard_at = self.endpoint().heard_at;
        if let Some(session) = &self.session {
            if !session.gives_way(now, heard_at) {
                return false;
            }
            self.end_session(now, SecureEvent::Closed);
        }
        let Way::Secure {
            secure,
            make_call,
            is_open,
            ..
        } = &mut self.way
        else {
            return false;
        };
        self.session = Some(WebSession::new(now, &peer));
        secure.renew_association(peer.fingerprint);
        secure.restart_ice(now, peer.restart);
        (*make_call, *is_open) = (peer.make_call, false);
        true
    }

    /// Ends this session of a browser. Returns false if there is none of this name.
    pub(crate) fn leave(&mut self, now: Instant, id: &str) -> bool {
        let is_there = self.session.as_ref().is_some_and(|it| it.has_id(id));
        if is_there {
            self.end_session(now, SecureEvent::Closed);
        }
        is_there
    }

    /// Adds addresses of a browser to its session.
    pub(crate) fn trickle(
        &mut self,
        now: Instant,
        id: &str,
        ufrag: Option<&str>,
        candidates: Vec<Candidate>,
    ) -> Trickled {
        let session = self.session.as_ref().filter(|it| it.has_id(id));
        let outcome = session.map_or(Trickled::NoSession, |it| it.trickled(ufrag));
        if outcome == Trickled::Added {
            self.add_peer_candidates(now, candidates);
        }
        outcome
    }

    /// Says goodbye to the browser, and lets the next one join. The event is why the session ends.
    fn end_session(&mut self, now: Instant, event: SecureEvent) {
        let Way::Secure {
            secure, is_open, ..
        } = &mut self.way
        else {
            return;
        };
        *is_open = false;
        self.session = None;
        secure.close(now);
        // Nobody has these credentials, so nobody is answered until the next one joins.
        secure.renew_association([0; 32].into());
        secure.restart_ice(now, WebSession::without_peer());
        // Others are of the session that is over.
        let is_lasting = |event: &SecureEvent| {
            use SecureEvent::{Gathered, LocalCandidate, NoRelay};
            matches!(event, Gathered | LocalCandidate(_) | NoRelay(_))
        };
        let rest = std::iter::from_fn(|| secure.poll_event()).filter(is_lasting);
        let rest: Vec<_> = rest.collect();
        rest.into_iter()
            .chain([event])
            .for_each(|event| self.push(event));
    }

    fn end_silent_session(&mut self, now: Instant) {
        if self.silence_ends().is_some_and(|at| at <= now) {
            self.end_session(now, SecureEvent::Closed);
        }
    }

    /// Returns when a browser that is not heard has left. A handshake that has begun ends by itself, and says why.
    fn silence_ends(&self) -> Option<Instant> {
        let session = self.session.as_ref()?;
        let Way::Secure { secure, .. } = &self.way else {
            return None;
        };
        if secure.is_in_handshake() {
            return None;
        }
        Some(session.ends_at(secure.inner().heard_at))
    }

    fn push(&mut self, event: SecureEvent) {
        if self.events.len() < MAX_EVENTS {
            self.events.push_back(event);
        }
    }

    /// Returns the events of the encrypted connection since the last call.
    pub(crate) fn take_events(&mut self) -> VecDeque<SecureEvent> {
        std::mem::take(&mut self.events)
    }

    /// Returns the packets that were refused because they were in the clear or not authentic.
    pub(crate) fn refused(&self) -> u64 {
        match &self.way {
            Way::Plain(_) => 0,
            Way::Secure { secure, .. } => {
                let refused = secure.refused();
                refused.not_authentic + refused.unknown
            }
        }
    }

    fn follow(&mut self, now: Instant) {
        let Way::Secure {
            secure,
            make_call,
            awaits_next,
            is_open,
            ..
        } = &mut self.way
        else {
            return;
        };
        let mut end = None;
        while let Some(event) = secure.poll_event() {
            match event {
                SecureEvent::Secured(_) => {
                    secure.inner_mut().call = make_call(now);
                    *is_open = true;
                }
                SecureEvent::Failed(_) if *awaits_next && !*is_open => secure.forget_peer(now),
                SecureEvent::Closed | SecureEvent::Failed(_) => {
                    *is_open = false;
                    if self.session.is_some() {
                        end = Some(event);
                        break;
                    }
                }
                SecureEvent::LocalCandidate(ref found)
                    if !self.addresses.gathered.contains(found) =>
                {
                    if self.addresses.gathered.len() == MAX_GATHERED {
                        self.addresses.gathered.remove(0);
                    }
                    self.addresses.gathered.push(found.clone());
                }
                _ => {}
            }
            if self.events.len() < MAX_EVENTS {
                self.events.push_back(event);
            }
        }
        if let Some(event) = end {
            self.end_session(now, event);
        }
    }
}

impl Endpoint for Connection {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        match &mut self.way {
            Way::Plain(endpoint) => endpoint.handle_datagram(now, datagram),
            Way::Secure { secure, .. } => secure.handle_datagram(now, datagram),
        }
        self.follow(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        match &mut self.way {
            Way::Plain(endpoint) => endpoint.handle_timeout(now),
            Way::Secure { secure, .. } => secure.handle_timeout(now),
        }
        self.follow(now);
        self.end_silent_session(now);
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        match &mut self.way {
            Way::Plain(endpoint) => endpoint.poll_transmit(now, buf),
            Way::Secure { secure, ending, .. } => {
                let transmit = secure.poll_transmit(now, buf);
                if transmit.is_some() || *ending != Ending::Asked {
                    return transmit;
                }
                *ending = Ending::Said;
                secure.close(now);
                secure.poll_transmit(now, buf)
            }
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        match &self.way {
            Way::Plain(endpoint) => endpoint.poll_timeout(),
            Way::Secure { secure, .. } => {
                let silence = self.silence_ends().map(|at| (at, Reason::GiveUp));
                let timeouts = secure.poll_timeout().into_iter().chain(silence);
                timeouts.min_by_key(|(at, _)| *at)
            }
        }
    }
}

#[cfg(test)]
mod tests;
