//! What is said to a server without a client's state, and what it answers.

use std::net::SocketAddr;

use evenkeel_perf::control::{CLIENT_LEN, ClientMessage, ServerMessage, Tagged};
use evenkeel_perf::{Server, Terms};
use evenkeel_rtp::endpoint::{Datagram, Endpoint};
use tfrc::Ecn;
use tfrc::time::Instant;

/// Who asks, and the number that it drew.
pub(crate) type Asker = (SocketAddr, u64);

/// An address that is not the client's.
pub(crate) fn another() -> SocketAddr {
    "192.0.2.3:40000".parse().expect("an address")
}

/// Hands a datagram over.
pub(crate) fn hand(server: &mut Server, now: Instant, source: SocketAddr, payload: &[u8]) {
    let datagram = Datagram {
        source,
        arrival: now,
        ecn: Ecn::NotEct,
        payload,
    };
    server.handle_datagram(now, datagram);
}

/// What the server answers to a message, at once. What it has for others is lost.
pub(crate) fn answer(
    server: &mut Server,
    now: Instant,
    (source, nonce): Asker,
    message: ClientMessage,
) -> Option<ServerMessage> {
    let mut bytes = [0; CLIENT_LEN];
    Tagged { nonce, message }.emit(&mut bytes)?;
    hand(server, now, source, &bytes);
    let mut buf = [0; 9_000];
    let mut answer = None;
    while let Some(transmit) = server.poll_transmit(now, &mut buf) {
        if transmit.destination == source {
            let reply = Tagged::<ServerMessage>::parse(&buf[..transmit.len]);
            answer = answer.or(reply.ok().map(|reply| reply.message));
        }
    }
    answer
}

/// What it answers to who asks for a token, and with it for a test on these terms.
pub(crate) fn request(
    server: &mut Server,
    now: Instant,
    who: Asker,
    terms: &Terms,
) -> ServerMessage {
    let Some(ServerMessage::Token { token }) = answer(server, now, who, ClientMessage::Hello)
    else {
        panic!("no token");
    };
    let terms = terms.clone();
    answer(server, now, who, ClientMessage::Request { token, terms }).expect("an answer")
}
