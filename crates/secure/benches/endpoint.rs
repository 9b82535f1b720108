//! Time of a packet of 1,200 bytes from an endpoint through a socket to its peer, in the clear and secured, 16 a call.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, SystemTime};

use divan::Bencher;
use divan::counter::ItemsCount;
use evenkeel_net::{Clock, Outgoing, ReceiveBatch, Socket};
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use evenkeel_secure::dtls::Role;
use evenkeel_secure::endpoint::{Candidate, IceCreds, PEER, Secure, SecureConfig, SecureEvent};
use evenkeel_secure::identity::Identity;
use tfrc::Ecn;
use tfrc::time::Instant;

fn main() {
    divan::main();
}

const PACKET: usize = 1_200;

/// The datagrams of one call to the system.
const BATCH: usize = 16;

/// Sends packets of RTP as long as it may, and counts those that arrive.
struct Source {
    destination: SocketAddr,
    permitted: usize,
    sequence: u16,
    received: usize,
}

impl Endpoint for Source {
    fn handle_datagram(&mut self, _: Instant, _: Datagram<'_>) {
        self.received += 1;
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, _: Instant, buf: &mut [u8]) -> Option<Transmit> {
        self.permitted = self.permitted.checked_sub(1)?;
        self.sequence = self.sequence.wrapping_add(1);
        buf[..2].copy_from_slice(&[0x80, 96]);
        buf[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        buf[4..PACKET].fill(0);
        Some(Transmit {
            destination: self.destination,
            len: PACKET,
            ecn: Ecn::NotEct,
        })
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        None
    }
}

/// Two endpoints, each with its socket.
struct Pair<E> {
    ends: [E; 2],
    sockets: [Socket; 2],
    clock: Clock,
    batch: ReceiveBatch,
    buf: Vec<u8>,
}

impl<E: Endpoint> Pair<E> {
    fn new(ends: impl FnOnce(&Clock, [SocketAddr; 2]) -> [E; 2]) -> Self {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let sockets = [(); 2].map(|()| Socket::bind(any).expect("a port"));
        let clock = Clock::start();
        let addresses = [0, 1].map(|end: usize| sockets[end].local_address());
        Self {
            ends: ends(&clock, addresses),
            sockets,
            clock,
            batch: ReceiveBatch::new(),
            buf: vec![0; 65_536],
        }
    }

    /// Sends what an end has, datagrams of one size in one call.
    fn send(&mut self, from: usize) {
        let now = self.clock.now();
        self.ends[from].handle_timeout(now);
        let (mut len, mut first) = (0, None);
        while let Some(next) = self.ends[from].poll_transmit(now, &mut self.buf[len..]) {
            let same = first.is_none_or(|first: Transmit| first.len == next.len);
            assert!(same || len == 0, "the datagrams of a call have one size");
            first = Some(next);
            len += next.len;
            if next.len < PACKET {
                self.flush(from, &mut len, &mut first);
            }
        }
        self.flush(from, &mut len, &mut first);
    }

    fn flush(&self, from: usize, len: &mut usize, first: &mut Option<Transmit>) {
        if let Some(first) = first.take() {
            let outgoing = Outgoing {
                destination: first.destination,
                ecn: first.ecn,
                contents: &self.buf[..*len],
                segment: first.len,
            };
            self.sockets[from]
                .send(&outgoing)
                .expect("loopback takes it");
        }
        *len = 0;
    }

    fn receive(&mut self, at: usize) {
        if !matches!(
            self.sockets[at].receive(&self.clock, &mut self.batch),
            Ok(1..)
        ) {
            return;
        }
        for received in self.batch.datagrams() {
            let datagram = Datagram {
                source: received.source,
                arrival: received.arrival,
                ecn: received.ecn,
                payload: received.payload,
            };
            self.ends[at].handle_datagram(self.batch.read_at(), datagram);
        }
    }

    /// Carries a batch from the first end to the second. `source` finds the source within an end.
    fn carry(&mut self, source: fn(&mut E) -> &mut Source) {
        source(&mut self.ends[0]).permitted = BATCH;
        let wanted = source(&mut self.ends[1]).received + BATCH;
        self.send(0);
        while source(&mut self.ends[1]).received < wanted {
            self.receive(1);
        }
    }
}

fn source(destination: SocketAddr) -> Source {
    Source {
        destination,
        permitted: 0,
        sequence: 0,
        received: 0,
    }
}

#[divan::bench]
fn plain(bencher: Bencher<'_, '_>) {
    let mut pair = Pair::new(|_, [first, second]| [source(second), source(first)]);
    bencher
        .counter(ItemsCount::new(BATCH))
        .bench_local(|| pair.carry(|end| end));
}

#[divan::bench]
fn secured(bencher: Bencher<'_, '_>) {
    let mut pair = Pair::new(secured_ends);
    let mut is_secured = [false; 2];
    while is_secured != [true; 2] {
        for (end, is_secured) in is_secured.iter_mut().enumerate() {
            pair.send(end);
            pair.receive(1 - end);
            while let Some(event) = pair.ends[end].poll_event() {
                *is_secured |= matches!(event, SecureEvent::Secured(_));
            }
        }
    }
    bencher
        .counter(ItemsCount::new(BATCH))
        .bench_local(|| pair.carry(Secure::inner_mut));
}

fn secured_ends(clock: &Clock, addresses: [SocketAddr; 2]) -> [Secure<Source>; 2] {
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let identities = [(); 2].map(|()| Identity::generate(at).expect("random numbers"));
    let credentials = [(); 2].map(|()| IceCreds::new());
    let host = |address| Candidate::host(address, "udp").expect("an address of a host");
    [0, 1].map(|own: usize| {
        let config = SecureConfig {
            candidates: vec![host(addresses[own])],
            servers: Vec::new(),
            credentials: credentials[own].clone(),
            peer_credentials: credentials[1 - own].clone(),
            peer_candidates: vec![host(addresses[1 - own])],
            peer_fingerprint: identities[1 - own].fingerprint(),
            identity: identities[own].clone(),
            encrypts_extensions: true,
            role: [Role::Client, Role::Server][own],
            controls: own == 0,
        };
        Secure::new(clock.now(), clock.system_zero(), config, source(PEER))
    })
}
