//! A server for STUN and TURN on the public network of the tests.

use std::net::SocketAddr;

use tfrc::time::Instant;
use turn_server_proto::api::{TurnServerApi, TurnServerPollRet};
use turn_server_proto::server::TurnServer;
use turn_server_proto::stun::Instant as LibraryInstant;
use turn_server_proto::stun::agent::Transmit;
use turn_server_proto::stun::types::attribute::XorMappedAddress;
use turn_server_proto::stun::types::message::{
    BINDING, Message, MessageClass, MessageType, MessageWriteVec,
};
use turn_server_proto::stun::types::prelude::{MessageWrite, MessageWriteExt};
use turn_server_proto::types::TransportType;

pub(crate) const USER: &str = "user";
pub(crate) const PASSWORD: &str = "password";

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    server: TurnServer,
    next_port: u16,
    /// Bytes that peers sent to addresses of the relay.
    pub(crate) relayed: usize,
    /// Packets that clients sent through a channel.
    pub(crate) in_channels: usize,
}

/// A datagram that leaves: source, destination, payload.
pub(crate) type Departure = (SocketAddr, SocketAddr, Vec<u8>);

impl Server {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let mut server = TurnServer::new(TransportType::Udp, address, "test".into());
        server.add_user(USER.into(), PASSWORD.into());
        Self {
            address,
            server,
            next_port: 50_000,
            relayed: 0,
            in_channels: 0,
        }
    }

    /// Forgets all clients, as a server that was started anew.
    pub(crate) fn restart(&mut self) {
        let next_port = self.next_port;
        *self = Self::new(self.address);
        self.next_port = next_port;
    }

    pub(crate) fn handle(
        &mut self,
        now: Instant,
        source: SocketAddr,
        destination: SocketAddr,
        payload: &[u8],
    ) -> Vec<Departure> {
        self.in_channels += usize::from(matches!(payload[0], 64..=79));
        if destination != self.address {
            self.relayed += payload.len();
        } else if let Some(answer) = binding(source, payload) {
            return vec![(destination, source, answer)];
        }
        let at = library_time(now);
        let arrived = Transmit::new(payload, TransportType::Udp, source, destination);
        let answer = self.server.recv(arrived, at).map(|answer| {
            let answer = answer.build();
            (answer.from, answer.to, answer.data)
        });
        let mut departures = Vec::from_iter(answer);
        departures.extend(self.poll(now));
        departures
    }

    pub(crate) fn poll(&mut self, now: Instant) -> Vec<Departure> {
        let at = library_time(now);
        while let TurnServerPollRet::AllocateSocket {
            transport,
            listen_addr,
            client_addr,
            allocation_transport,
            family,
        } = self.server.poll(at)
        {
            self.next_port += 1;
            self.server.allocated_socket(
                transport,
                listen_addr,
                client_addr,
                allocation_transport,
                family,
                Ok(SocketAddr::new(self.address.ip(), self.next_port)),
                at,
            );
        }
        let mut departures = Vec::new();
        while let Some(transmit) = self.server.poll_transmit(at) {
            departures.push((transmit.from, transmit.to, transmit.data));
        }
        departures
    }
}

/// Answers a Binding request. The library would answer itself in place of the client.
fn binding(source: SocketAddr, payload: &[u8]) -> Option<Vec<u8>> {
    let request = Message::from_bytes(payload).ok()?;
    if request.get_type() != MessageType::from_class_method(MessageClass::Request, BINDING) {
        return None;
    }
    let mapped = XorMappedAddress::new(source, request.transaction_id());
    let mut answer = Message::builder_success(&request, MessageWriteVec::new());
    answer.add_attribute(&mapped).ok()?;
    Some(answer.finish())
}

fn library_time(now: Instant) -> LibraryInstant {
    LibraryInstant::from_nanos(now.as_nanos() as i64)
}
