//! Asks a server for the address at which the server sees this end, and keeps that address alive (RFC 8489).

use std::net::SocketAddr;
use std::time::Duration;

use is::Candidate;
use tfrc::time::Instant;
use turn_client_proto::stun::agent::{StunAgent, StunAgentPollRet};
use turn_client_proto::stun::types::TransportType;
use turn_client_proto::stun::types::attribute::XorMappedAddress;
use turn_client_proto::stun::types::message::{BINDING, Message, MessageWriteVec};
use turn_client_proto::stun::types::prelude::MessageWrite;

use super::{Output, RETRANSMISSION, Retransmission, library_time, own_time};

/// The time between requests: half of 30 s, after which the most hasty NATs forget (RFC 8445 §5.1.1.4, Tr in §11).
pub(super) const KEEPALIVE: Duration = Duration::from_secs(15);

/// The most addresses that a server is believed. A forger on the path could otherwise fill the memory with candidates.
const MAX_MAPPINGS: u8 = 32;

/// The requests to one server, each repeated until it is answered or given up (RFC 8489 §6.2.1).
pub(super) struct Binding {
    agent: StunAgent,
    pub(super) server: SocketAddr,
    /// The address as the server last saw it.
    mapped: Option<SocketAddr>,
    mappings: u8,
    /// True once a request was given up.
    has_failed: bool,
    /// When the next request is due; `None` while one is not answered.
    next: Option<Instant>,
    timeout: Instant,
}

impl Binding {
    pub(super) fn new(now: Instant, base: SocketAddr, server: SocketAddr) -> Self {
        let Retransmission {
            first,
            requests,
            last,
        } = RETRANSMISSION;
        let agent = StunAgent::builder(TransportType::Udp, base)
            .remote_addr(server)
            .request_retransmits(first, Duration::MAX, requests, last);
        Self {
            agent: agent.build(),
            server,
            mapped: None,
            mappings: 0,
            has_failed: false,
            next: Some(now),
            timeout: now,
        }
    }

    pub(super) fn timeout(&self) -> Instant {
        self.timeout
    }

    /// Returns the address of the socket from which the server is asked.
    pub(super) fn base(&self) -> SocketAddr {
        self.agent.local_addr()
    }

    /// Returns what the server said of this end's address.
    pub(super) fn candidate(&self) -> Option<Candidate> {
        Candidate::server_reflexive(self.mapped?, self.base(), "udp").ok()
    }

    /// Returns true if the server has answered, or was given up once.
    pub(super) fn is_complete(&self) -> bool {
        self.mapped.is_some() || self.has_failed
    }

    /// Handles a message of the server. Returns true if the message answers a request of this binding.
    pub(super) fn handle_message(
        &mut self,
        now: Instant,
        message: &Message<'_>,
        output: &mut Output,
    ) -> bool {
        if !message.is_response()
            || !self
                .agent
                .handle_stun_message_with_time(message, self.server, library_time(now))
        {
            return false;
        }
        self.next = Some(now + KEEPALIVE);
        self.timeout = now + KEEPALIVE;
        let mapped = message.attribute::<XorMappedAddress>().ok();
        let mapped = mapped.map(|mapped| mapped.addr(message.transaction_id()));
        if mapped.is_some() && mapped != self.mapped && self.mappings < MAX_MAPPINGS {
            self.mappings += 1;
            self.mapped = mapped;
            output.candidates.extend(self.candidate());
        }
        true
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, output: &mut Output) {
        let at = library_time(now);
        if self.next.is_some_and(|next| next <= now) {
            let request = Message::builder_request(BINDING, MessageWriteVec::new()).finish();
            if let Ok(first) = self.agent.send_request(request, self.server, at) {
                self.next = None;
                output.send(self.server, first.data.as_ref());
            }
        }
        while let Some(again) = self.agent.poll_transmit(at) {
            output.send(self.server, again.data);
        }
        self.timeout = loop {
            match self.agent.poll(at) {
                StunAgentPollRet::WaitUntil(until) => {
                    break self.next.unwrap_or_else(|| own_time(until));
                }
                _ => {
                    self.has_failed = true;
                    self.next = Some(now + KEEPALIVE);
                }
            }
        };
    }
}
