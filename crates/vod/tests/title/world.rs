//! A server and a player with a link each way between them, and titles that are made up.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_link::{Link, LinkConfig};
use evenkeel_rtp::endpoint::{Datagram as Arrived, Endpoint};
use evenkeel_rtp::session::Config;
use evenkeel_vod::{
    Content, Datagram, Player, PlayerConfig, Server, ServerConfig, TS_LEN, TS_PER_DATAGRAM,
    TitleError,
};
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

/// IPv4 and UDP headers.
const HEADERS: usize = 28;

fn server_address() -> SocketAddr {
    "192.0.2.1:5004".parse().expect("an address")
}

fn player_address() -> SocketAddr {
    "192.0.2.2:5004".parse().expect("an address")
}

/// Datagrams at even times, in renditions that change every two seconds at most.
pub(crate) struct Even {
    rates: Vec<Rate>,
    at: Duration,
    lasts: Duration,
    current: usize,
    number: u32,
}

impl Even {
    pub(crate) fn new(bits_per_sec: &[f64], lasts: Duration) -> Box<Self> {
        Box::new(Self {
            rates: bits_per_sec
                .iter()
                .map(|rate| Rate::from_bits_per_sec(*rate))
                .collect(),
            at: Duration::ZERO,
            lasts,
            current: 0,
            number: 0,
        })
    }
}

impl Content for Even {
    fn rates(&self) -> &[Rate] {
        &self.rates
    }

    fn next(&mut self, wanted: usize, count: usize) -> Result<Option<Datagram>, TitleError> {
        if self.at >= self.lasts {
            return Ok(None);
        }
        let due = self.at;
        self.at += Bytes::from(count * TS_LEN) / self.rates[self.current];
        // An entry every two seconds.
        if self.at.as_secs() / 2 > due.as_secs() / 2 {
            self.current = wanted;
        }
        let mut payload = [0x47].repeat(count * TS_LEN);
        payload[1..5].copy_from_slice(&self.number.to_be_bytes());
        self.number += 1;
        Ok(Some(Datagram { due, payload }))
    }

    fn current(&self) -> usize {
        self.current
    }
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) server: Server,
    pub(crate) player: Player,
    /// To the player, to the server.
    pub(crate) links: [Link<Vec<u8>>; 2],
    /// The numbers of the datagrams played, and when.
    pub(crate) played: Vec<(Instant, u32)>,
}

impl World {
    pub(crate) fn new(content: Box<dyn Content>, is_uncontrolled: bool, link: LinkConfig) -> Self {
        let player = PlayerConfig {
            session: Config::new("player", 2),
            buffer: Duration::from_secs(2),
        };
        let back = LinkConfig {
            delay: link.delay,
            ..LinkConfig::default()
        };
        Self {
            now: Instant::ZERO,
            server: server(Instant::ZERO, 1, content, is_uncontrolled),
            player: Player::new(Instant::ZERO, player),
            links: [Link::new(link, 5), Link::new(back, 6)],
            played: Vec::new(),
        }
    }

    /// The server dies without a word, and another begins at its address.
    pub(crate) fn replace_server(&mut self, seed: u64, content: Box<dyn Content>) {
        self.server = server(self.now, seed, content, false);
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            while let Some(packet) = self.links[0].poll_output(self.now) {
                self.player
                    .handle_datagram(self.now, arrived(server_address(), self.now, &packet));
            }
            while let Some(packet) = self.links[1].poll_output(self.now) {
                self.server
                    .handle_datagram(self.now, arrived(player_address(), self.now, &packet));
            }
            self.server.handle_timeout(self.now);
            send(&mut self.server, self.now, &mut self.links[0]);
            self.player.handle_timeout(self.now);
            send(&mut self.player, self.now, &mut self.links[1]);
            while let Some(packets) = self.player.poll_output(self.now) {
                assert_eq!(packets.len() % TS_LEN, 0);
                let number = packets[1..5].try_into().expect("four bytes");
                self.played.push((self.now, u32::from_be_bytes(number)));
            }
            let timers = [self.server.poll_timeout(), self.player.poll_timeout()];
            let timers = timers.into_iter().flatten().map(|(at, _)| at);
            let links = self.links.iter().filter_map(Link::poll_timeout);
            // The player is asked every ten milliseconds.
            let next = timers
                .chain(links)
                .min()
                .map_or(until, |at| at.max(self.now));
            let next = next.min(self.now + Duration::from_millis(10));
            if next >= until {
                self.now = until;
                return;
            }
            self.now = next;
        }
    }
}

fn server(now: Instant, seed: u64, content: Box<dyn Content>, is_uncontrolled: bool) -> Server {
    let mut session = Config::new("server", seed);
    session.peer = Some(player_address());
    let config = ServerConfig {
        session,
        is_uncontrolled,
        ts_per_datagram: TS_PER_DATAGRAM,
    };
    Server::new(now, config, content)
}

fn arrived(source: SocketAddr, now: Instant, payload: &[u8]) -> Arrived<'_> {
    Arrived {
        source,
        arrival: now,
        ecn: Ecn::NotEct,
        payload,
    }
}

fn send(endpoint: &mut impl Endpoint, now: Instant, link: &mut Link<Vec<u8>>) {
    let mut buf = [0; 2_000];
    while let Some(transmit) = endpoint.poll_transmit(now, &mut buf) {
        link.handle_packet(
            now,
            buf[..transmit.len].to_vec(),
            Bytes::from(transmit.len + HEADERS),
        );
    }
}
