//! Tests of two secured endpoints over a path with an attacker, in virtual time.

mod endings;
mod moves;

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use tfrc::Ecn;

use super::*;
use crate::test_support::system_zero;

/// The path's delay one way.
const DELAY: Duration = Duration::from_millis(20);

/// Sends a numbered packet each 20 ms, alternately RTP and RTCP, and remembers what arrives.
#[derive(Default)]
struct Talker {
    next: Option<Instant>,
    sent: u16,
    heard: Vec<Vec<u8>>,
}

impl Endpoint for Talker {
    fn handle_datagram(&mut self, _: Instant, datagram: Datagram<'_>) {
        assert_eq!(datagram.source, PEER);
        self.heard.push(datagram.payload.to_vec());
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        if self.next.is_some_and(|next| next > now) {
            return None;
        }
        self.next = Some(now + Duration::from_millis(20));
        self.sent += 1;
        let [high, low] = self.sent.to_be_bytes();
        let kind = if self.sent.is_multiple_of(2) { 200 } else { 96 };
        buf[..16].copy_from_slice(&[0x80, kind, high, low, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4]);
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

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn host(address: SocketAddr) -> Candidate {
    Candidate::host(address, "udp").unwrap()
}

/// Two ends, and the addresses at which the path sees each.
struct World {
    ends: [Secure<Talker>; 2],
    configs: [SecureConfig; 2],
    zero: StdInstant,
    addresses: [SocketAddr; 2],
    /// The datagrams that left for an address where neither end is.
    strayed: Vec<(SocketAddr, Vec<u8>)>,
    travelling: VecDeque<(Instant, usize, SocketAddr, Vec<u8>)>,
    now: Instant,
    events: [Vec<SecureEvent>; 2],
}

impl World {
    /// `knows_wrong_peer` says which end expects another certificate than its peer has.
    fn new(knows_wrong_peer: Option<usize>) -> Self {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let identities = [(); 3].map(|()| Identity::generate(at).unwrap());
        let credentials = [(); 2].map(|()| IceCreds::new());
        let addresses = [address("198.51.100.1:5000"), address("203.0.113.1:6000")];
        let zero = system_zero();
        let config = |own: usize| {
            let expected = if knows_wrong_peer == Some(own) {
                2
            } else {
                1 - own
            };
            SecureConfig {
                candidates: vec![host(addresses[own])],
                servers: Vec::new(),
                credentials: credentials[own].clone(),
                peer_credentials: credentials[1 - own].clone(),
                // The second end waits to be found.
                peer_candidates: [vec![host(addresses[1])], vec![]][own].clone(),
                peer_fingerprint: identities[expected].fingerprint(),
                identity: identities[own].clone(),
                encrypts_extensions: true,
                role: [Role::Client, Role::Server][own],
                controls: own == 0,
            }
        };
        let configs = [config(0), config(1)];
        let end = |config: &SecureConfig| {
            Secure::new(Instant::ZERO, zero, config.clone(), Talker::default())
        };
        Self {
            ends: configs.each_ref().map(end),
            configs,
            zero,
            addresses,
            strayed: Vec::new(),
            travelling: VecDeque::new(),
            now: Instant::ZERO,
            events: [Vec::new(), Vec::new()],
        }
    }

    /// Starts the process of an end anew.
    fn restart(&mut self, own: usize) {
        let config = self.configs[own].clone();
        self.ends[own] = Secure::new(self.now, self.zero, config, Talker::default());
    }

    /// Runs for a time. `attack` sees each datagram on its way, and returns what arrives in its place.
    fn run(&mut self, time: Duration, mut attack: impl FnMut(&[u8]) -> Vec<Vec<u8>>) {
        let end = self.now + time;
        while self.now < end {
            for from in 0..2 {
                let mut buf = [0; 2_000];
                while let Some(transmit) = self.ends[from].poll_transmit(self.now, &mut buf) {
                    if transmit.destination != self.addresses[1 - from] {
                        let payload = buf[..transmit.len].to_vec();
                        self.strayed.push((transmit.destination, payload));
                        continue;
                    }
                    for copy in attack(&buf[..transmit.len]) {
                        let source = self.addresses[from];
                        self.travelling
                            .push_back((self.now + DELAY, 1 - from, source, copy));
                    }
                }
                while let Some(event) = self.ends[from].poll_event() {
                    self.events[from].push(event);
                }
            }
            let timeouts = self.ends.iter().filter_map(Endpoint::poll_timeout);
            let arrival = self.travelling.front().map(|(at, ..)| *at);
            let next = timeouts
                .map(|(at, _)| at)
                .chain(arrival)
                .min()
                .unwrap_or(end);
            self.now = self.now.max(next).min(end);
            while let Some((_, to, source, payload)) =
                self.travelling.pop_front_if(|(at, ..)| *at <= self.now)
            {
                let datagram = Datagram {
                    source,
                    arrival: self.now,
                    ecn: Ecn::Ect0,
                    payload: &payload,
                };
                self.ends[to].handle_datagram(self.now, datagram);
            }
            for end in &mut self.ends {
                end.handle_timeout(self.now);
            }
        }
    }

    fn heard(&self, end: usize) -> &[Vec<u8>] {
        &self.ends[end].inner().heard
    }
}

fn pass(datagram: &[u8]) -> Vec<Vec<u8>> {
    vec![datagram.to_vec()]
}

fn is_media(datagram: &[u8]) -> bool {
    matches!(datagram[0], 128..=191)
}

#[test]
fn two_ends_find_each_other_and_talk() {
    let mut world = World::new(None);
    let mut in_the_clear = 0;
    world.run(Duration::from_secs(2), |datagram| {
        in_the_clear += usize::from(datagram.windows(4).any(|bytes| bytes == [1, 2, 3, 4]));
        pass(datagram)
    });
    assert_eq!(in_the_clear, 0);
    let mut words = Vec::new();
    for end in 0..2 {
        let secured = world.events[end].iter();
        let secured = secured.filter(|event| matches!(event, SecureEvent::Secured(_)));
        words.extend(secured.cloned());
        let heard = world.heard(end);
        assert!(heard.len() > 70, "{}", heard.len());
        assert!(heard.iter().all(|packet| packet.ends_with(&[1, 2, 3, 4])));
        // The client has its keys half a round trip before the server.
        let refused = world.ends[end].refused();
        assert!(
            refused.not_authentic <= 3 && refused.unknown == 0,
            "{refused:?}"
        );
    }
    assert!(words.len() == 2 && words[0] == words[1], "{words:?}");
}

#[test]
fn wrong_fingerprint_lets_no_media_through() {
    for wrong in 0..2 {
        let mut world = World::new(Some(wrong));
        world.run(Duration::from_secs(40), pass);
        let failed = world.events[wrong].iter();
        let mut failed = failed
            .filter(|event| matches!(event, SecureEvent::Failed(DtlsError::WrongFingerprint(_))));
        assert_eq!(failed.by_ref().count(), 1, "{:?}", world.events[wrong]);
        assert!((0..2).all(|end| world.heard(end).is_empty()));
    }
}

/// An attacker on the path repeats, damages and invents packets: each that the peer sent arrives once, and no other does.
#[test]
fn attacker_on_the_path_adds_nothing() {
    let mut world = World::new(None);
    world.run(Duration::from_secs(1), pass);
    let before = world.heard(1).len();
    assert!(before > 0);
    let mut old = Vec::new();
    world.run(Duration::from_secs(4), |datagram| {
        if !is_media(datagram) {
            return pass(datagram);
        }
        old.push(datagram.to_vec());
        let mut damaged = datagram.to_vec();
        damaged[old.len() % datagram.len()] ^= 1 << (old.len() % 8);
        let mut invented = vec![0x80, 96];
        invented.extend(datagram.iter().rev());
        let replayed = old[old.len() / 2].clone();
        vec![
            damaged,
            invented,
            datagram.to_vec(),
            replayed,
            datagram.to_vec(),
        ]
    });
    for end in 0..2 {
        let heard = world.heard(end);
        let sent = world.ends[1 - end].inner().sent;
        assert!(heard.len() <= usize::from(sent) && heard.len() > before + 180);
        let mut numbers: Vec<_> = heard.iter().map(|packet| [packet[2], packet[3]]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), heard.len(), "a packet arrived twice");
        assert!(world.ends[end].refused().not_authentic > 3 * 180);
    }
}

/// Neither STUN nor DTLS nor media of a stranger changes anything, or is answered.
#[test]
fn stranger_is_neither_heard_nor_answered() {
    let mut world = World::new(None);
    let stranger = address("192.0.2.77:7777");
    let mut hello = vec![22, 254, 253];
    hello.resize(200, 0);
    let mut binding = vec![0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42];
    binding.resize(20, 7);
    for packet in [
        hello,
        binding,
        vec![0x80; 60],
        vec![0x80, 200, 0, 1, 0, 0, 0, 1],
        vec![],
        vec![255; 40],
    ] {
        for end in &mut world.ends {
            let datagram = Datagram {
                source: stranger,
                arrival: Instant::ZERO,
                ecn: Ecn::NotEct,
                payload: &packet,
            };
            end.handle_datagram(Instant::ZERO, datagram);
        }
    }
    world.run(Duration::from_secs(2), pass);
    assert!(world.strayed.is_empty());
    assert!((0..2).all(|end| world.heard(end).len() > 70));
}

#[test]
fn signalling_gives_no_more_than_fifty_addresses() {
    let mut world = World::new(None);
    let end = &mut world.ends[1];
    for n in 0..1_000 {
        let candidate = host(SocketAddr::new([198, 18, 0, 1].into(), 1_000 + n));
        end.add_peer_candidate(Instant::ZERO, candidate.clone());
        end.add_peer_candidate(Instant::ZERO, candidate);
    }
    assert_eq!(end.ice.remote_candidates().count(), 50);
}

/// The figure is in docs/THREATS.md.
#[test]
fn dead_addresses_get_few_checks_in_two_minutes() {
    let mut world = World::new(None);
    for host_number in 1..=8 {
        let dead = address(&format!("192.0.2.{host_number}:7777"));
        world.ends[0].add_peer_candidate(Instant::ZERO, host(dead));
    }
    let mut checks = HashMap::new();
    let mut now = Instant::ZERO;
    let mut buf = [0; 2_000];
    while now < Instant::from_secs(120) {
        while let Some(transmit) = world.ends[0].poll_transmit(now, &mut buf) {
            assert!(transmit.len <= 112, "{}", transmit.len);
            *checks.entry(transmit.destination).or_insert(0) += 1;
        }
        now += Duration::from_millis(10);
        world.ends[0].handle_timeout(now);
    }
    assert_eq!(checks.len(), 9);
    assert!(checks.values().all(|count| *count <= 58), "{checks:?}");
}

#[test]
fn handshake_waits_for_a_late_peer() {
    let mut world = World::new(None);
    world.run(Duration::from_secs(60), |_| Vec::new());
    world.run(Duration::from_secs(20), pass);
    for events in &world.events {
        let is_secured = |event: &SecureEvent| matches!(event, SecureEvent::Secured(_));
        assert!(events.iter().any(is_secured), "{events:?}");
    }
}
