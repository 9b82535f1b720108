//! STUN: an end that looks for its peer, and hears anything from a server that it asked, from its peer and from a stranger.

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::{Duration, Instant as StdInstant, SystemTime};

use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use evenkeel_secure::dtls::Role;
use evenkeel_secure::endpoint::{Account, Candidate, IceCreds, IceServer, Secure, SecureConfig};
use evenkeel_secure::identity::{Fingerprint, Identity};
use tfrc::Ecn;
use tfrc::time::Instant;

use crate::records;

/// More steps would make an execution last.
const MAX_STEPS: usize = 200;

/// The addresses of the end, of its peer, of a server, and of a stranger.
const ADDRESSES: [&str; 4] = [
    "198.51.100.1:5000",
    "203.0.113.1:6000",
    "192.0.2.10:3478",
    "192.0.2.77:7777",
];
const PEER: usize = 1;
const SERVER: usize = 2;

/// Hears nothing: nobody in this target has keys.
struct Deaf;

impl Endpoint for Deaf {
    fn handle_datagram(&mut self, _: Instant, datagram: Datagram<'_>) {
        panic!("a packet without keys: {datagram:?}");
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, _: Instant, _: &mut [u8]) -> Option<Transmit> {
        None
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        None
    }
}

pub(crate) static IDENTITIES: LazyLock<[Identity; 2]> = LazyLock::new(|| {
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let new = || Identity::generate(at).expect("random numbers");
    [new(), new()]
});

#[expect(
    clippy::disallowed_methods,
    reason = "the libraries count from a time of the system, whichever it is"
)]
pub(crate) static ZERO: LazyLock<StdInstant> = LazyLock::new(StdInstant::now);

/// Plays the bytes as datagrams whose first byte is one of STUN.
pub fn check(data: &[u8]) {
    let addresses = ADDRESSES.map(|address| address.parse().expect("an address"));
    let mut now = Instant::ZERO;
    let mut end = end(addresses);
    let mut asked = Vec::new();
    drain(&mut end, now, addresses, &mut asked);
    for record in records(data).take(MAX_STEPS) {
        now += record.wait;
        let from = PEER + usize::from(record.what) % 3;
        let mut payload = record.bytes.to_vec();
        if let Some(first) = payload.first_mut() {
            *first %= 4;
        }
        // An answer counts only with the number of a request.
        if from == SERVER
            && let (Some(payload), Some(asked)) = (payload.get_mut(4..20), asked.get(4..20))
        {
            payload.copy_from_slice(asked);
        }
        let datagram = Datagram {
            source: addresses[from],
            arrival: now,
            ecn: Ecn::NotEct,
            payload: &payload,
        };
        end.handle_datagram(now, datagram);
        end.handle_timeout(now);
        drain(&mut end, now, addresses, &mut asked);
    }
}

fn end([own, peer, server, _]: [SocketAddr; 4]) -> Secure<Deaf> {
    let host = |address| Candidate::host(address, "udp").expect("an address of a host");
    let credentials = |text: &str| IceCreds {
        ufrag: text.into(),
        pass: text.repeat(6),
    };
    let account = Account {
        user: "user".into(),
        password: "password".into(),
    };
    let config = SecureConfig {
        candidates: vec![host(own)],
        servers: vec![IceServer {
            address: server,
            by_stream: None,
            account: Some(account),
        }],
        credentials: credentials("here"),
        peer_credentials: credentials("peer"),
        peer_candidates: vec![host(peer)],
        peer_fingerprint: Fingerprint::of(b"peer"),
        identity: IDENTITIES[0].clone(),
        encrypts_extensions: true,
        role: Role::Client,
        controls: true,
    };
    Secure::new(Instant::ZERO, *ZERO, config, Deaf)
}

/// Reads all that leaves, of which a stranger gets nothing, and checks that the timer does not spin.
fn drain(end: &mut Secure<Deaf>, now: Instant, addresses: [SocketAddr; 4], asked: &mut Vec<u8>) {
    let mut buf = [0; 2_000];
    for round in 0.. {
        while let Some(transmit) = end.poll_transmit(now, &mut buf) {
            assert!(addresses[PEER..=SERVER].contains(&transmit.destination));
            if transmit.destination == addresses[SERVER] {
                *asked = buf[..transmit.len].to_vec();
            }
        }
        while end.poll_event().is_some() {}
        if end.poll_timeout().is_none_or(|(at, _)| at > now) {
            break;
        }
        assert!(round < 100, "the timer spins");
        end.handle_timeout(now);
    }
}
