//! A client and a server, a link each way between them, in virtual time.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_link::{Link, LinkConfig};
use evenkeel_perf::{
    Client, ClientConfig, Direction, Limits, Mode, Phase, ReportTiming, Server, ServerConfig,
    ServerEvent, Terms,
};
use evenkeel_rtp::endpoint::{Datagram, Endpoint};
use evenkeel_rtp::ntp::NtpTime;
use evenkeel_rtp::session::FeedbackMode;
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

/// IPv4 and UDP headers.
const HEADERS: usize = 28;

pub(crate) fn client_address() -> SocketAddr {
    "192.0.2.1:40000".parse().expect("an address")
}

pub(crate) fn server_address() -> SocketAddr {
    "192.0.2.2:5201".parse().expect("an address")
}

/// Megabits a second.
pub(crate) fn mbps(rate: f64) -> Rate {
    Rate::from_bits_per_sec(rate * 1e6)
}

pub(crate) fn terms() -> Terms {
    Terms {
        direction: Direction::Forward,
        flows: 1,
        rate: Some(Rate::from_bits_per_sec(1e6)),
        duration: Duration::from_secs(5),
        length: 1_400,
        segment_size: 1_400,
        mode: Mode::Rfc5348,
        feedback: FeedbackMode::Tfrc,
        ecn: false,
        burst: Duration::from_micros(250),
        min_nofeedback: Duration::from_millis(20),
        reports: ReportTiming::default(),
    }
}

/// Of a server that few may use, and slowly.
pub(crate) fn limits() -> Limits {
    Limits {
        flows: 8,
        rate: Some(Rate::from_bits_per_sec(2e6)),
        duration: Duration::from_secs(20),
    }
}

pub(crate) fn server_config(limits: Limits) -> ServerConfig {
    ServerConfig {
        limits,
        one_off: false,
        key: [1, 2],
        seed: 3,
        wallclock: NtpTime::default(),
    }
}

pub(crate) fn client_config(terms: Terms) -> ClientConfig {
    ClientConfig {
        server: server_address(),
        terms,
        nonce: 77,
        seed: 4,
        wallclock: NtpTime::default(),
        traced: true,
    }
}

#[derive(Clone)]
struct Packet(Vec<u8>, Ecn);

impl evenkeel_link::Packet for Packet {
    fn ecn(&self) -> Ecn {
        self.1
    }
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) client: Client,
    pub(crate) server: Server,
    /// To the server, to the client.
    links: [Link<Packet>; 2],
    /// Datagrams that came while their reader was stopped, with their arrivals.
    backlog: Vec<(Instant, Packet)>,
    /// True while the server has no processor.
    pub(crate) server_is_stopped: bool,
    pub(crate) events: Vec<ServerEvent>,
}

impl World {
    pub(crate) fn new(terms: Terms, limits: Limits, link: LinkConfig) -> Self {
        Self {
            now: Instant::ZERO,
            client: Client::new(Instant::ZERO, client_config(terms)),
            server: Server::new(server_config(limits)),
            links: [Link::new(link, 5), Link::new(link, 6)],
            backlog: Vec::new(),
            server_is_stopped: false,
            events: Vec::new(),
        }
    }

    /// A path of 50 ms there and back, and no limit.
    pub(crate) fn with(terms: Terms) -> Self {
        let link = LinkConfig {
            delay: Duration::from_millis(25),
            ..LinkConfig::default()
        };
        Self::new(terms, Limits::default(), link)
    }

    /// Runs until the client has its results, or has failed.
    pub(crate) fn run_to_end(&mut self) -> Phase {
        while !matches!(self.client.phase(), Phase::Done | Phase::Failed(_)) {
            self.run_for(Duration::from_millis(50));
            assert!(self.now < Instant::from_secs(600), "it never ends");
        }
        self.client.phase()
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            self.deliver();
            self.act();
            let server = self
                .server
                .poll_timeout()
                .filter(|_| !self.server_is_stopped);
            let timers = [self.client.poll_timeout(), server];
            let timers = timers.into_iter().flatten().map(|(at, _)| at);
            let links = self.links.iter().filter_map(Link::poll_timeout);
            let next = timers
                .chain(links)
                .min()
                .map_or(until, |at| at.max(self.now));
            if next >= until {
                self.now = until;
                return;
            }
            self.now = next;
        }
    }

    /// The client vanishes, and with it the path.
    pub(crate) fn run_server_alone(&mut self, time: Duration) -> u64 {
        let until = self.now + time;
        let (mut buf, mut sent) = ([0; 2_000], 0);
        while self.now < until {
            self.server.handle_timeout(self.now);
            while self.server.poll_transmit(self.now, &mut buf).is_some() {
                sent += 1;
            }
            let next = self.server.poll_timeout().map_or(until, |(at, _)| at);
            self.now = next.max(self.now + Duration::from_micros(1)).min(until);
        }
        self.events
            .extend(std::iter::from_fn(|| self.server.poll_event()));
        sent
    }

    fn deliver(&mut self) {
        while let Some(packet) = self.links[0].poll_output(self.now) {
            self.backlog.push((self.now, packet));
        }
        if !self.server_is_stopped {
            for (arrival, packet) in self.backlog.drain(..) {
                let datagram = datagram(client_address(), arrival, &packet);
                self.server.handle_datagram(self.now, datagram);
            }
        }
        while let Some(packet) = self.links[1].poll_output(self.now) {
            let datagram = datagram(server_address(), self.now, &packet);
            self.client.handle_datagram(self.now, datagram);
        }
    }

    fn act(&mut self) {
        self.client.handle_timeout(self.now);
        send(&mut self.client, self.now, &mut self.links[0]);
        if !self.server_is_stopped {
            self.server.handle_timeout(self.now);
            send(&mut self.server, self.now, &mut self.links[1]);
            self.events
                .extend(std::iter::from_fn(|| self.server.poll_event()));
        }
    }
}

fn datagram(source: SocketAddr, arrival: Instant, packet: &Packet) -> Datagram<'_> {
    Datagram {
        source,
        arrival,
        ecn: packet.1,
        payload: &packet.0,
    }
}

fn send(endpoint: &mut impl Endpoint, now: Instant, link: &mut Link<Packet>) {
    let mut buf = [0; 9_000];
    while let Some(transmit) = endpoint.poll_transmit(now, &mut buf) {
        let packet = Packet(buf[..transmit.len].to_vec(), transmit.ecn);
        link.handle_packet(now, packet, Bytes::from(transmit.len + HEADERS));
    }
}
