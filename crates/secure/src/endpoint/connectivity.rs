//! Lets the servers, ICE and DTLS act, and takes over what they put out.

use evenkeel_rtp::endpoint::Endpoint;
use is::stun::StunMessage;
use is::{IceAgentEvent, IceConnectionState};
use tfrc::time::Instant;

use super::{IcePath, MAX_CHECKS, MAX_WAITING, Secure, SecureEvent};
use crate::dtls::{DtlsAssociation, DtlsEvent};
use crate::srtp::{Protector, Unprotector};

impl<E: Endpoint> Secure<E> {
    pub(super) fn handle_connectivity(&mut self, now: Instant) {
        self.ask_servers(now);
        self.check_paths(now);
        self.shake_hands(now);
        let ice = self.ice.poll_timeout().map(|at| self.own_time(at));
        let dtls = self.dtls.as_ref().filter(|_| self.path.is_some());
        let dtls = dtls.and_then(DtlsAssociation::poll_timeout);
        let servers = self.gathering.poll_timeout();
        self.timeout = [ice, dtls, servers].into_iter().flatten().min();
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
                    self.path = Some(IcePath {
                        source,
                        destination,
                    });
                    self.gathering.bind_channel(now, source, destination);
                    self.events.push_back(SecureEvent::PeerAddress(destination));
                }
                IceAgentEvent::IceConnectionStateChange(IceConnectionState::Disconnected) => {
                    // A peer that was suspended answers when it is awake: the checks begin again.
                    self.ice.recreate_candidate_pairs();
                    if self.path.take().is_some() {
                        self.events.push_back(SecureEvent::Disconnected);
                    }
                }
                _ => {}
            }
        }
        while let Some(transmit) = self.ice.poll_transmit() {
            let path = IcePath {
                source: transmit.source,
                destination: transmit.destination,
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

    fn shake_hands(&mut self, now: Instant) {
        if let Some(path) = self.path {
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
