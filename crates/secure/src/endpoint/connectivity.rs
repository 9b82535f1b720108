//! Lets the servers, ICE and DTLS act, and takes over what they put out.

use std::net::SocketAddr;

use evenkeel_rtp::endpoint::Endpoint;
use is::stun::StunMessage;
use is::{IceAgentEvent, IceConnectionState};
use tfrc::time::Instant;

use super::arrival::RENEWAL_INTERVAL;
use super::media_path::IcePath;
use super::{MAX_CHECKS, MAX_OWN_CANDIDATES, MAX_WAITING, Secure, SecureEvent};
use crate::dtls::{DtlsAssociation, DtlsEvent};
use crate::srtp::{Protector, Unprotector};

impl<E: Endpoint> Secure<E> {
    pub(super) fn handle_connectivity(&mut self, now: Instant) {
        self.ask_servers(now);
        self.follow_network(now);
        self.check_paths(now);
        self.shake_hands(now);
        let ice = self.ice.poll_timeout().map(|at| self.own_time(at));
        let dtls = self.dtls.as_ref().filter(|_| self.path.any().is_some());
        let dtls = dtls.and_then(DtlsAssociation::poll_timeout);
        let servers = self.gathering.poll_timeout();
        let path = self.path.timeout();
        let renewal = self.new_address.map(|at| self.renewal_due(at));
        let timeouts = [ice, dtls, servers, path, renewal];
        self.timeout = timeouts.into_iter().flatten().min();
    }

    fn ask_servers(&mut self, now: Instant) {
        self.gathering.handle_timeout(now);
        let output = self.gathering.output();
        while let Some(candidate) = output.candidates.pop_front() {
            if let Some(added) = self.ice.add_local_candidate(candidate) {
                let event = SecureEvent::LocalCandidate(added.clone());
                self.events.push_back(event);
            }
        }
        let failed = output.failed.drain(..);
        self.events.extend(failed.map(SecureEvent::NoRelay));
        if !self.has_gathered && self.gathering.is_complete() {
            self.has_gathered = true;
            self.events.push_back(SecureEvent::Gathered);
        }
    }

    /// Begins the checks anew if the peer seems to be at a new address, or if the peer named too many of this end.
    fn follow_network(&mut self, now: Instant) {
        if let Some(at) = self.new_address {
            let is_heard = !self.path.is_silent(now);
            if is_heard && at + RENEWAL_INTERVAL <= now {
                self.new_address = None;
            } else if self.renewal_due(at) <= now {
                self.renew_checks(now);
            }
        }
        if self.ice.local_candidates().count() > MAX_OWN_CANDIDATES {
            self.renew_checks(now);
        }
        if self.path.expire(now) {
            self.lose_path();
        }
    }

    /// Returns when the checks begin anew because of a new address, unless the peer is heard on the path until then.
    fn renewal_due(&self, at: Instant) -> Instant {
        let renewable = self.renewed.map(|renewed| renewed + RENEWAL_INTERVAL);
        let silent = self.path.silent_from();
        at.max(silent).max(renewable.unwrap_or(at))
    }

    fn check_paths(&mut self, now: Instant) {
        self.ice.handle_timeout(self.system_time(now));
        while let Some(event) = self.ice.poll_event() {
            match event {
                IceAgentEvent::NominatedSend {
                    source,
                    destination,
                    ..
                } => {
                    self.gathering.bind_channel(now, source, destination);
                    if let Some(path) = self.ice_path(source, destination)
                        && self.path.propose(now, path)
                    {
                        self.take_path(now, path);
                    }
                }
                IceAgentEvent::IceConnectionStateChange(IceConnectionState::Disconnected) => {
                    if self.path.leave() {
                        self.lose_path();
                    } else {
                        self.ice.recreate_candidate_pairs();
                    }
                }
                _ => {}
            }
        }
        while let Some(transmit) = self.ice.poll_transmit() {
            let Some(path) = self.ice_path(transmit.source, transmit.destination) else {
                continue;
            };
            if let Ok(message) = StunMessage::parse(&transmit.contents)
                && message.is_binding_request()
            {
                if self.checks.len() == MAX_CHECKS {
                    self.checks.pop_front();
                }
                self.checks.push_back((message.trans_id(), path));
            }
            self.wait(path, transmit.contents.into());
        }
    }

    /// Returns the path between two addresses that ICE names.
    fn ice_path(&self, source: SocketAddr, destination: SocketAddr) -> Option<IcePath> {
        let relay = Some(source).filter(|source| self.gathering.is_relayed(*source));
        self.path_of(relay, destination)
    }

    /// Sends packets on a path from now on.
    pub(super) fn take_path(&mut self, now: Instant, path: IcePath) {
        self.gathering
            .bind_channel(now, path.source, path.destination);
        self.events
            .push_back(SecureEvent::PeerAddress(path.destination));
    }

    /// Begins the checks anew: a peer that was suspended answers when it is awake.
    fn lose_path(&mut self) {
        self.ice.recreate_candidate_pairs();
        self.events.push_back(SecureEvent::Disconnected);
    }

    fn shake_hands(&mut self, now: Instant) {
        if let Some(path) = self.path.any() {
            self.begin_handshake(now).handle_timeout(now);
            while let Some(datagram) = self.dtls.as_mut().and_then(DtlsAssociation::poll_transmit) {
                self.wait(path, datagram);
            }
        }
        while let Some(event) = self.dtls.as_mut().and_then(DtlsAssociation::poll_event) {
            self.events.push_back(match event {
                DtlsEvent::Keys(keys) => {
                    let protector = Protector::new(&keys.local)
                        .with_encrypted_extensions(self.encrypts_extensions);
                    self.srtp = Some((protector, Unprotector::new(&keys.remote)));
                    SecureEvent::Secured(keys.words)
                }
                DtlsEvent::Closed => SecureEvent::Closed,
                DtlsEvent::Failed(error) => SecureEvent::Failed(error),
            });
        }
    }

    fn wait(&mut self, path: IcePath, datagram: Vec<u8>) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((path, datagram));
        }
    }
}
