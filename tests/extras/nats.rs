//! Two secured ends behind two NATs of the kernel, one of them symmetric, and coturn between them. As root, with nftables.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use evenkeel_net::{Clock, Driver, Handle};
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use evenkeel_secure::dtls::Role;
use evenkeel_secure::endpoint::{
    Account, Candidate, IceCreds, IceServer, PEER, Secure, SecureConfig, SecureEvent,
};
use evenkeel_secure::identity::Identity;
use tfrc::Ecn;
use tfrc::time::Instant;

use crate::namespaces::{Cable, PUBLIC};
use crate::support::{Running, Scratch, evenkeel, number, pause, record, summary, version};

/// The time between packets of an end.
const INTERVAL: Duration = Duration::from_millis(2);

/// Sends numbered packets, and counts those that arrive.
#[derive(Default)]
struct Talker {
    next: Instant,
    sent: u16,
    heard: usize,
}

impl Endpoint for Talker {
    fn handle_datagram(&mut self, _: Instant, _: Datagram<'_>) {
        self.heard += 1;
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        if self.next > now {
            return None;
        }
        self.next = now + INTERVAL;
        self.sent = self.sent.wrapping_add(1);
        let packet = buf.get_mut(..1_200)?;
        packet.fill(0);
        packet[..2].copy_from_slice(&[0x80, 96]);
        packet[2..4].copy_from_slice(&self.sent.to_be_bytes());
        Some(Transmit {
            destination: PEER,
            len: 1_200,
            ecn: Ecn::NotEct,
        })
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        Some((self.next, Reason::Departure))
    }
}

type End = Handle<Secure<Talker>>;

/// Starts an end on each side, each with the credentials and the fingerprint of its peer, but no address.
fn start(cable: &Cable) -> [End; 2] {
    let identities = [(); 2].map(|()| Identity::generate(now()).expect("random numbers"));
    let credentials = [(); 2].map(|()| IceCreds::new());
    let clock = Clock::start();
    let addresses = [Ipv4Addr::new(10, 0, 1, 2), Ipv4Addr::new(10, 0, 2, 2)];
    [0, 1].map(|own: usize| {
        let socket = cable.bind(["left", "right"][own], addresses[own]);
        let candidate = Candidate::host(socket.local_address(), "udp");
        let account = Account {
            user: "user".into(),
            password: "password".into(),
        };
        let config = SecureConfig {
            candidates: vec![candidate.expect("an address of a host")],
            servers: vec![IceServer {
                address: SocketAddr::from((PUBLIC, 3_478)),
                by_stream: None,
                // The end on the right has a STUN server alone.
                account: (own == 0).then_some(account),
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
        let end = Secure::new(clock.now(), clock.system_zero(), config, Talker::default());
        Driver::spawn(clock, socket, end).expect("a thread")
    })
}

#[expect(clippy::disallowed_methods, reason = "certificates begin today")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Starts coturn in the middle.
fn relay(cable: &Cable, scratch: &Scratch) -> Running {
    let mut coturn = Command::new("turnserver");
    coturn.args([
        "-n",
        "--no-cli",
        "--no-tls",
        "--no-dtls",
        "--log-file",
        "stdout",
    ]);
    let public = Ipv4Addr::from(PUBLIC).to_string();
    coturn.args(["--listening-ip", &public, "--relay-ip", &public]);
    coturn.args([
        "--lt-cred-mech",
        "--realm",
        "test",
        "--user",
        "user:password",
    ]);
    coturn.arg("--userdb").arg(scratch.file("users"));
    coturn.arg("--pidfile").arg(scratch.file("pid"));
    let mut coturn = cable.on("middle", &coturn);
    Running::start(coturn.stdout(Stdio::null()).stderr(Stdio::null()))
}

/// The address at which each end sees its peer.
type Peers = [Option<SocketAddr>; 2];

/// Carries what each end finds out to its peer, until both have heard so many packets and see each other as wanted.
fn talk_until(ends: &[End; 2], packets: usize, is_wanted: impl Fn(Peers) -> bool) {
    let mut peers = [None; 2];
    for _ in 0..600 {
        let mut heard = [0; 2];
        for own in 0..2 {
            let mut events = Vec::new();
            (heard[own], events) = ends[own]
                .call(move |end, _| {
                    events.extend(std::iter::from_fn(|| end.poll_event()));
                    (end.inner().heard, events)
                })
                .expect("an end that runs");
            for event in events {
                match event {
                    SecureEvent::LocalCandidate(candidate) => tell(&ends[1 - own], &candidate),
                    SecureEvent::PeerAddress(address) => peers[own] = Some(address),
                    _ => {}
                }
            }
        }
        if heard.iter().all(|heard| *heard >= packets) && is_wanted(peers) {
            return;
        }
        pause(Duration::from_millis(100));
    }
    panic!("the ends do not hear each other as they should: {peers:?}");
}

/// Tells an end of an address of its peer, in SDP's words.
fn tell(end: &End, candidate: &Candidate) {
    let written = candidate.to_sdp_string();
    let candidate = Candidate::from_sdp_string(&written).expect("a candidate");
    end.post(move |end, now| end.add_peer_candidate(now, candidate))
        .expect("an end that runs");
}

/// A NAT that gives each peer another port, and one that lets in only who was sent to: no packet passes but by the relay.
#[test]
fn coturn_relays_between_two_nats() {
    let scratch = Scratch::new("nats");
    let cable = Cable::with_nats(["masquerade fully-random", "masquerade"]);
    let _relay = relay(&cable, &scratch);
    let ends = start(&cable);
    // The end on the left has the relay's address, at which the end on the right sees it.
    talk_until(&ends, 1_000, |[_, of_right]| {
        of_right.is_some_and(|address| address.ip() == Ipv4Addr::from(PUBLIC))
    });
    let name = format!("coturn {}", version("turnserver", "--version"));
    let figures = "1,000 packets each way between two NATs, one of them symmetric";
    record([&name, "server", "relays both", "any", "any", figures]);
}

/// Two NATs that keep a host's port for all peers: coturn tells the ports, and packets go directly.
#[test]
fn stun_opens_two_nats_of_the_kernel() {
    let scratch = Scratch::new("nats-direct");
    let cable = Cable::with_nats(["masquerade", "masquerade"]);
    let _relay = relay(&cable, &scratch);
    let ends = start(&cable);
    // The relay may be the first way that is found, and then is left.
    let nats = [2, 1].map(|side| Ipv4Addr::new(203, 0, 112 + side, 2));
    talk_until(&ends, 1_000, |peers| {
        peers.map(|peer| peer.map(|peer| peer.ip())) == nats.map(|nat| Some(nat.into()))
    });
}

/// Starts the program on a host, its standard output in a file.
fn start_on(cable: &Cable, side: &str, words: &str, output: &Path) -> Running {
    let words: Vec<&str> = words.split(' ').collect();
    let mut command = cable.on(side, &evenkeel(&words));
    let output = fs::File::create(output).expect("a file");
    Running::start(command.stdout(output))
}

/// Waits for a word with this beginning in a file.
fn wait_for_word(path: &Path, beginning: &str) -> String {
    for _ in 0..200 {
        let text = fs::read_to_string(path).expect("a file");
        if let Some(word) = text.split_whitespace().find(|word| word.starts_with(beginning))
            // The line is there with its end.
            && text.ends_with('\n')
        {
            return word.to_owned();
        }
        pause(Duration::from_millis(50));
    }
    panic!("no {beginning} in {}", path.display());
}

/// Starts a rendezvous in the middle, and returns its URL.
fn rendezvous(cable: &Cable, scratch: &Scratch) -> (Running, String) {
    let host = format!("{}:8088", Ipv4Addr::from(PUBLIC));
    let listens = scratch.file("rendezvous");
    let serve = format!("rendezvous --bind {host}");
    let rendezvous = start_on(cable, "middle", &serve, &listens);
    wait_for_word(&listens, &host);
    (rendezvous, format!("http://{host}"))
}

/// Lets the host on the left invite the one on the right by a rendezvous. Each asks its ICE server, and is to show pictures.
/// `meanwhile` happens during the call. Returns how many pictures each showed.
fn call_by_rendezvous(
    cable: &Cable,
    scratch: &Scratch,
    servers: [&str; 2],
    meanwhile: impl FnOnce(),
) -> [f64; 2] {
    let (_rendezvous, url) = rendezvous(cable, scratch);
    let options = |server: &str, seconds: u32, json: &Path| {
        let json = json.display();
        format!(
            "--ice-server {server} --size 160x120 --headless --warmup 0 --seconds {seconds} --json {json}"
        )
    };
    let [invited_to, joined_to] = ["left.json", "right.json"].map(|name| scratch.file(name));
    let invites = scratch.file("left");
    let inviting = format!(
        "call --rendezvous {url} {}",
        options(servers[0], 20, &invited_to)
    );
    let mut inviter = start_on(cable, "left", &inviting, &invites);
    let invitation = wait_for_word(&invites, "evenkeel:");
    let joining = format!("call {invitation} {}", options(servers[1], 12, &joined_to));
    let mut joiner = start_on(cable, "right", &joining, &scratch.file("right"));
    meanwhile();
    assert_eq!(joiner.wait(60).code(), Some(0), "the joiner");
    assert_eq!(inviter.wait(60).code(), Some(0), "the inviter");
    let shown = [invited_to, joined_to].map(|end| number(&summary(&end), "frames_shown"));
    assert!(shown.iter().all(|shown| *shown > 50.0), "{shown:?}");
    shown
}

/// One pasted line is enough behind two NATs, each of which lets in only who was sent to: the rendezvous has the rest.
#[test]
fn rendezvous_lets_two_nats_meet_by_one_line() {
    let scratch = Scratch::new("nats-rendezvous");
    let cable = Cable::with_nats(["masquerade", "masquerade"]);
    let _relay = relay(&cable, &scratch);
    let stun = format!("stun:{}", Ipv4Addr::from(PUBLIC));
    call_by_rendezvous(&cable, &scratch, [&stun, &stun], || {});
}

/// An end that moves has another port at its NAT, which the peer's NAT lets in once the peer knows it by the rendezvous.
#[test]
fn rendezvous_finds_moved_end_behind_two_nats() {
    let scratch = Scratch::new("nats-moved");
    let cable = Cable::with_nats(["masquerade", "masquerade"]);
    let _relay = relay(&cable, &scratch);
    let stun = format!("stun:{}", Ipv4Addr::from(PUBLIC));
    let shown = call_by_rendezvous(&cable, &scratch, [&stun, &stun], || {
        pause(Duration::from_secs(4));
        cable.ip("right", "addr add 10.0.2.3/24 dev right");
        cable.ip("right", "addr del 10.0.2.2/24 dev right");
        cable.ip("right", "addr replace 10.0.2.3/24 dev right");
        cable.ip("right", "route replace default via 10.0.2.1");
    });
    // Twelve seconds of 25 pictures each, less the search for the other end.
    assert!(shown.iter().all(|shown| *shown > 150.0), "{shown:?}");
}

/// A network that lets no UDP out reaches the relay by TCP.
#[test]
fn coturn_relays_by_tcp_where_udp_is_blocked() {
    let scratch = Scratch::new("nats-tcp");
    let cable = Cable::with_nats(["masquerade", "masquerade"]);
    let _relay = relay(&cable, &scratch);
    for rule in [
        "nft add chain ip nat no-udp { type filter hook forward priority 0 ; }",
        "nft add rule ip nat no-udp meta l4proto udp drop",
    ] {
        cable.run("left nat", rule);
    }
    cable.ip("left", "link set lo up");
    // The invitation names the relay only if coturn listens already.
    pause(Duration::from_secs(1));
    // A server has a way to any address, as coturn ends a connection for one that it cannot send to.
    cable.ip("middle", "route add default via 203.0.113.2");
    let public = Ipv4Addr::from(PUBLIC);
    let servers = [
        &format!("turn:user:password@{public}?transport=tcp"),
        &format!("stun:{public}"),
    ];
    call_by_rendezvous(&cable, &scratch, servers.map(String::as_str), || {});
}
