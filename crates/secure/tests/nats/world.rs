//! Two ends, each behind a NAT or on the public network, a server, and a signalling channel, in virtual time.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use evenkeel_secure::dtls::Role;
use evenkeel_secure::endpoint::{
    Account, Candidate, IceCreds, IceRestart, IceServer, PEER, Secure, SecureConfig, SecureEvent,
};
use evenkeel_secure::identity::Identity;
use tfrc::Ecn;
use tfrc::time::Instant;

use crate::attacker::Attacker;
use crate::nat::{Nat, NatKind};
use crate::server::{Server, USER};

/// The delay of the network one way.
const DELAY: Duration = Duration::from_millis(20);

/// The delay of a message that tells the peer of an address.
const SIGNALLING_DELAY: Duration = Duration::from_millis(80);

/// The time between packets of an end.
const INTERVAL: Duration = Duration::from_millis(50);

/// Sends a numbered packet each 50 ms, and remembers how many arrived, and when the last one did.
#[derive(Default)]
pub(crate) struct Talker {
    next: Option<Instant>,
    sent: u16,
    pub(crate) heard: usize,
    pub(crate) last_heard: Option<Instant>,
}

impl Endpoint for Talker {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        assert_eq!(datagram.source, PEER);
        self.heard += 1;
        self.last_heard = Some(now);
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        if self.next.is_some_and(|next| next > now) {
            return None;
        }
        self.next = Some(now + INTERVAL);
        self.sent = self.sent.wrapping_add(1);
        let [high, low] = self.sent.to_be_bytes();
        buf[..16].copy_from_slice(&[0x80, 96, high, low, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4]);
        Some(Transmit {
            destination: PEER,
            len: 16,
            ecn: Ecn::Ect0,
        })
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        Some((self.next.unwrap_or(Instant::ZERO), Reason::Departure))
    }
}

/// A host with an end, which may be behind a NAT.
pub(crate) struct Host {
    pub(crate) end: Secure<Talker>,
    pub(crate) address: SocketAddr,
    pub(crate) nat: Option<Nat>,
    pub(crate) events: Vec<SecureEvent>,
    /// The addresses of this end of which the peer hears.
    pub(crate) told: Vec<Candidate>,
    pub(crate) is_asleep: bool,
    /// Packets that left, but for those of ICE and DTLS.
    pub(crate) sent: usize,
}

pub(crate) struct World {
    pub(crate) hosts: [Host; 2],
    pub(crate) server: Server,
    pub(crate) now: Instant,
    pub(crate) identities: [Identity; 2],
    /// Departures on the public network: arrival, source, destination, payload.
    travelling: VecDeque<(Instant, SocketAddr, SocketAddr, Vec<u8>)>,
    /// True while nothing passes.
    pub(crate) is_cut: bool,
    /// An attacker who sees all that passes.
    pub(crate) attacker: Option<Attacker>,
    /// When which end hears of which address of its peer.
    signalled: VecDeque<(Instant, usize, Candidate)>,
}

/// Where an end is: behind a NAT of this kind, or on the public network.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) nat: Option<NatKind>,
    /// The password for the relay, of an end that has one.
    pub(crate) password: Option<&'static str>,
}

pub(crate) fn behind(nat: NatKind) -> Place {
    Place {
        nat: Some(nat),
        password: None,
    }
}

pub(crate) fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

pub(crate) fn host(address: SocketAddr) -> Candidate {
    Candidate::host(address, "udp").expect("an address of a host")
}

#[allow(
    clippy::disallowed_methods,
    reason = "the libraries count from a time of the system, whichever it is"
)]
fn system_zero() -> std::time::Instant {
    std::time::Instant::now()
}

pub(crate) fn identity() -> Identity {
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    Identity::generate(at).expect("random numbers")
}

impl World {
    pub(crate) fn new(places: [Place; 2]) -> Self {
        let identities = [(); 2].map(|()| identity());
        let credentials = [(); 2].map(|()| IceCreds::new());
        let zero = system_zero();
        let server = Server::new(address("192.0.2.10:3478"));
        // Both homes use one private network, as homes do.
        let private = address("192.168.1.2:5000");
        let public = [address("198.51.100.1:5000"), address("203.0.113.1:6000")];
        let host = |own: usize| {
            let place = places[own];
            let address = place.nat.map_or(public[own], |_| private);
            let account = place.password.map(|password| Account {
                user: USER.into(),
                password: password.into(),
            });
            let config = SecureConfig {
                candidates: vec![host(address)],
                servers: vec![IceServer {
                    address: server.address,
                    by_stream: None,
                    account,
                }],
                credentials: credentials[own].clone(),
                peer_credentials: credentials[1 - own].clone(),
                peer_candidates: Vec::new(),
                peer_fingerprint: identities[1 - own].fingerprint(),
                identity: identities[own].clone(),
                encrypts_extensions: true,
                role: [Role::Client, Role::Server][own],
                controls: own == 0,
            };
            Host {
                end: Secure::new(Instant::ZERO, zero, config, Talker::default()),
                address,
                nat: place.nat.map(|kind| Nat::new(kind, public[own].ip())),
                events: Vec::new(),
                told: vec![self::host(address)],
                is_asleep: false,
                sent: 0,
            }
        };
        let mut world = Self {
            hosts: [host(0), host(1)],
            server,
            now: Instant::ZERO,
            identities,
            travelling: VecDeque::new(),
            is_cut: false,
            attacker: None,
            signalled: VecDeque::new(),
        };
        for own in 0..2 {
            let candidate = world.hosts[own].told[0].clone();
            world.tell(own, &candidate);
        }
        world
    }

    /// Moves an end to another network, and restarts ICE at both ends once each knows the other's credentials.
    pub(crate) fn restart_ice(&mut self, own: usize, place: SocketAddr, nat: Option<Nat>) {
        self.hosts[own].address = place;
        self.hosts[own].nat = nat;
        let credentials = [(); 2].map(|()| IceCreds::new());
        for end in 0..2 {
            let host = &mut self.hosts[end];
            host.told = vec![self::host(host.address)];
            let restart = IceRestart {
                candidates: host.told.clone(),
                credentials: credentials[end].clone(),
                peer_credentials: credentials[1 - end].clone(),
                peer_candidates: Vec::new(),
            };
            host.end.restart_ice(self.now, restart);
            let candidate = host.told[0].clone();
            self.tell(end, &candidate);
        }
    }

    /// Lets the peer of an end hear of an address.
    fn tell(&mut self, own: usize, candidate: &Candidate) {
        let written = Candidate::from_sdp_string(&candidate.to_sdp_string());
        let written = written.expect("what one end writes, its peer reads");
        let at = self.now + SIGNALLING_DELAY;
        self.signalled.push_back((at, 1 - own, written));
    }

    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            for own in 0..2 {
                self.drain(own);
            }
            let departures = self.server.poll(self.now);
            self.send(departures);
            let awake = self.hosts.iter().filter(|host| !host.is_asleep);
            let timeouts = awake.filter_map(|host| host.end.poll_timeout());
            let timeouts = timeouts.map(|(at, _)| at);
            let arrival = self.travelling.front().map(|(at, ..)| *at);
            let signal = self.signalled.front().map(|(at, ..)| *at);
            let next = timeouts.chain(arrival).chain(signal).min();
            self.now = self.now.max(next.unwrap_or(end)).min(end);
            let now = self.now;
            while let Some((_, to, candidate)) = pop_due(&mut self.signalled, |(at, ..)| *at <= now)
            {
                self.hosts[to].end.add_peer_candidate(now, candidate);
            }
            while let Some((_, source, destination, payload)) =
                pop_due(&mut self.travelling, |(at, ..)| *at <= now)
            {
                self.arrive(source, destination, &payload);
            }
            for host in self.hosts.iter_mut().filter(|host| !host.is_asleep) {
                host.end.handle_timeout(now);
            }
        }
    }

    fn drain(&mut self, own: usize) {
        let host = &mut self.hosts[own];
        if host.is_asleep {
            return;
        }
        let mut buf = [0; 2_000];
        let mut departures = Vec::new();
        while let Some(transmit) = host.end.poll_transmit(self.now, &mut buf) {
            let payload = buf[..transmit.len].to_vec();
            host.sent += usize::from(payload[0] >= 128);
            departures.push((host.address, transmit.destination, payload));
        }
        for (source, destination, _) in &mut departures {
            if let Some(nat) = &mut host.nat {
                *source = nat.outbound(*source, *destination);
            }
        }
        let mut found = Vec::new();
        while let Some(event) = host.end.poll_event() {
            if let SecureEvent::LocalCandidate(candidate) = &event {
                found.push(candidate.clone());
            }
            host.events.push(event);
        }
        host.told.extend(found.iter().cloned());
        self.send(departures);
        for candidate in found {
            self.tell(own, &candidate);
        }
    }

    fn send(&mut self, departures: Vec<(SocketAddr, SocketAddr, Vec<u8>)>) {
        if self.is_cut {
            return;
        }
        for (source, destination, payload) in departures {
            let at = self.now + DELAY;
            if let Some(attacker) = &mut self.attacker {
                for forged in attacker.forge(&payload) {
                    self.travelling.push_back((at, source, destination, forged));
                }
            }
            self.travelling
                .push_back((at, source, destination, payload));
        }
    }

    fn arrive(&mut self, source: SocketAddr, destination: SocketAddr, payload: &[u8]) {
        if destination.ip() == self.server.address.ip() {
            let departures = self.server.handle(self.now, source, destination, payload);
            self.send(departures);
            return;
        }
        for host in self.hosts.iter_mut().filter(|host| !host.is_asleep) {
            let reached = match &host.nat {
                Some(nat) => nat.inbound(destination, source),
                None => Some(destination),
            };
            // A private address is reached from outside through the NAT alone.
            if reached == Some(host.address) {
                let datagram = Datagram {
                    source,
                    arrival: self.now,
                    ecn: Ecn::Ect0,
                    payload,
                };
                host.end.handle_datagram(self.now, datagram);
            }
        }
    }

    pub(crate) fn heard(&self, own: usize) -> usize {
        self.hosts[own].end.inner().heard
    }

    /// Returns how long an end has heard nothing.
    pub(crate) fn silence(&self, own: usize) -> Duration {
        let last = self.hosts[own].end.inner().last_heard;
        self.now.saturating_since(last.unwrap_or(Instant::ZERO))
    }

    /// Returns true if both ends hear each other now.
    pub(crate) fn is_talking(&self) -> bool {
        (0..2).all(|own| self.heard(own) > 0 && self.silence(own) < 3 * INTERVAL)
    }
}

/// Removes the first element if it is due.
fn pop_due<T>(queue: &mut VecDeque<T>, is_due: impl Fn(&T) -> bool) -> Option<T> {
    is_due(queue.front()?).then(|| queue.pop_front())?
}
