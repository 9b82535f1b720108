//! The way between a call and its peer: in the clear, or encrypted.

use std::collections::VecDeque;

use evenkeel_media::call::Call;
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use evenkeel_secure::endpoint::{Candidate, Secure, SecureConfig, SecureEvent};
use tfrc::time::Instant;

use super::call_endpoint::CallEndpoint;

/// The most events that wait for the monitor. Each needs a packet of the authenticated peer.
const MAX_EVENTS: usize = 64;

/// Makes the call anew for each connection: its timers begin when the peer is there.
type MakeCall = Box<dyn FnMut(Instant) -> Call + Send>;

/// The endpoint of a call with what is between it and the network.
pub(crate) struct Connection {
    way: Way,
    events: VecDeque<SecureEvent>,
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
        let secure = Secure::new(now, zero, config, endpoint);
        Self {
            way: Way::Secure {
                secure: Box::new(secure),
                make_call,
                awaits_next,
                is_open: false,
                ending: Ending::None,
            },
            events: VecDeque::new(),
        }
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
        while let Some(event) = secure.poll_event() {
            match event {
                SecureEvent::Secured(_) => {
                    secure.inner_mut().call = make_call(now);
                    *is_open = true;
                }
                SecureEvent::Failed(_) if *awaits_next && !*is_open => secure.forget_peer(now),
                SecureEvent::Closed | SecureEvent::Failed(_) => *is_open = false,
                _ => {}
            }
            if self.events.len() < MAX_EVENTS {
                self.events.push_back(event);
            }
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
            Way::Secure { secure, .. } => secure.poll_timeout(),
        }
    }
}

#[cfg(test)]
mod tests;
