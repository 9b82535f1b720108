//! The traffic generator: its messages, and a server that several addresses talk to.

use std::net::SocketAddr;
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use evenkeel_perf::control::{ClientMessage, MAX_LEN, ServerMessage, Tagged};
use evenkeel_perf::{Limits, Server, ServerConfig};
use evenkeel_rtp::endpoint::{Datagram, Endpoint};
use evenkeel_rtp::ntp::NtpTime;
use tfrc::Ecn;
use tfrc::time::Instant;

use crate::Span;

/// More packets would make an execution last: a fast flow has as many in a second.
const MOST_PACKETS: usize = 2_000;
const CLIENTS: usize = 3;

/// What someone does next.
#[derive(Arbitrary, Debug)]
struct Step<'a> {
    client: u8,
    wait: Span,
    act: Act<'a>,
}

#[derive(Arbitrary, Debug)]
enum Act<'a> {
    /// Any bytes.
    Say(&'a [u8]),
    /// A message that is well formed.
    Finish {
        test: u8,
        flow: u8,
    },
    Goodbye {
        test: u8,
    },
    /// A token is asked for, and returned in a request whose terms are these bytes.
    Agree(&'a [u8]),
}

/// An address, and what it has said and heard.
#[derive(Clone, Copy, Default)]
struct Client {
    bytes_said: usize,
    bytes_heard: usize,
    has_returned_a_token: bool,
    token: u64,
}

/// Reads the bytes as messages, then as what clients do.
pub fn check(data: &[u8]) {
    check_messages(data);
    let mut steps = Unstructured::new(data);
    let mut world = World::new();
    while let Ok(step) = Step::arbitrary(&mut steps)
        && !steps.is_empty()
        && world.packets < MOST_PACKETS
    {
        world.wait(step.wait.duration());
        world.act(usize::from(step.client) % CLIENTS, step.act);
    }
}

fn check_messages(data: &[u8]) {
    let mut buf = [0; MAX_LEN];
    if let Ok(message) = Tagged::<ClientMessage>::parse(data) {
        let len = message
            .emit(&mut buf)
            .expect("the buffer takes every message");
        assert_eq!(Tagged::<ClientMessage>::parse(&buf[..len]), Ok(message));
    }
    if let Ok(message) = Tagged::<ServerMessage>::parse(data) {
        let len = message
            .emit(&mut buf)
            .expect("the buffer takes every message");
        assert_eq!(Tagged::<ServerMessage>::parse(&buf[..len]), Ok(message));
    }
}

struct World {
    now: Instant,
    server: Server,
    clients: [Client; CLIENTS],
    packets: usize,
}

impl World {
    fn new() -> Self {
        let limits = Limits {
            flows: 8,
            ..Limits::default()
        };
        let server = Server::new(ServerConfig {
            limits,
            one_off: false,
            key: [1, 2],
            seed: 3,
            wallclock: NtpTime::default(),
        });
        Self {
            now: Instant::from_secs(1),
            server,
            clients: [Client::default(); CLIENTS],
            packets: 0,
        }
    }

    fn act(&mut self, client: usize, act: Act<'_>) {
        match act {
            Act::Say(bytes) => self.say(client, bytes),
            Act::Finish { test, flow } => {
                let (test, flow) = (test.into(), flow.into());
                self.tell(client, ClientMessage::Finish { test, flow });
            }
            Act::Goodbye { test } => {
                self.tell(client, ClientMessage::Goodbye { test: test.into() })
            }
            Act::Agree(bytes) => {
                self.tell(client, ClientMessage::Hello);
                let token = self.clients[client].token;
                let Ok(Tagged {
                    message: ClientMessage::Request { terms, .. },
                    ..
                }) = Tagged::<ClientMessage>::parse(bytes)
                else {
                    return;
                };
                self.clients[client].has_returned_a_token = true;
                self.tell(client, ClientMessage::Request { token, terms });
            }
        }
    }

    fn tell(&mut self, client: usize, message: ClientMessage) {
        let mut buf = [0; MAX_LEN];
        let len = Tagged { nonce: 1, message }.emit(&mut buf);
        let len = len.expect("the buffer takes every message");
        self.say(client, &buf[..len]);
    }

    fn say(&mut self, client: usize, bytes: &[u8]) {
        self.clients[client].bytes_said += bytes.len();
        let datagram = Datagram {
            source: address(client),
            arrival: self.now,
            ecn: Ecn::NotEct,
            payload: bytes,
        };
        self.server.handle_datagram(self.now, datagram);
        self.listen();
    }

    /// Lets time pass, with all that falls due.
    fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        let mut rounds = 0;
        while let Some((at, _)) = self.server.poll_timeout()
            && at <= until
            && self.packets < MOST_PACKETS
        {
            rounds += 1;
            assert!(rounds < 20 * MOST_PACKETS, "a timer spins");
            self.now = self.now.max(at);
            self.server.handle_timeout(self.now);
            self.listen();
        }
        self.now = self.now.max(until);
    }

    /// Checks that there is no amplification: a peer without a token gets at most the bytes that it sent.
    fn listen(&mut self) {
        let mut buf = vec![0; 9_216];
        while self.packets < MOST_PACKETS
            && let Some(transmit) = self.server.poll_transmit(self.now, &mut buf)
        {
            self.packets += 1;
            let known = (0..CLIENTS).find(|&client| address(client) == transmit.destination);
            let client = &mut self.clients[known.expect("an address that never spoke")];
            client.bytes_heard += transmit.len;
            assert!(client.has_returned_a_token || client.bytes_heard <= client.bytes_said);
            if let Ok(Tagged {
                message: ServerMessage::Token { token },
                ..
            }) = Tagged::<ServerMessage>::parse(&buf[..transmit.len])
            {
                client.token = token;
            }
        }
        while self.server.poll_event().is_some() {}
    }
}

fn address(client: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, client as u8], 4_000))
}
