//! A video server's stream: its datagrams wait in a queue until TFRC lets them go, or leave at once.

use super::TsStream;
use crate::agent::{Agent, Packet};
use crate::tfrc_flow::{TfrcConfig, TfrcSender};
use crate::traffic::Body;
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// What a server's stream is sent by.
#[derive(Clone, Debug)]
pub enum VideoTransport {
    /// UDP at the stream's own pace; each packet has this size on the wire.
    Udp(Bytes),
    /// TFRC; each packet has the size on the wire that it says.
    Tfrc(TfrcConfig),
}

#[derive(Clone, Debug)]
enum Transport {
    Udp(Bytes),
    Tfrc(Box<TfrcSender>),
}

/// The sender of a stream until `stop`, from when on no more datagrams come; those that wait still leave.
///
/// The queue has no bound and needs no memory: what waits is what the stream has had ready and the sender
/// has not sent, so it is two places in the stream.
#[derive(Clone, Debug)]
pub struct VideoSender {
    /// At the datagram that leaves next.
    stream: TsStream,
    stop: Instant,
    transport: Transport,
}

impl VideoSender {
    /// A sender that begins with the stream.
    pub fn new(stream: TsStream, stop: Instant, transport: VideoTransport) -> Self {
        let transport = match transport {
            VideoTransport::Udp(size) => Transport::Udp(size),
            VideoTransport::Tfrc(config) => {
                let start = stream.ready();
                Transport::Tfrc(Box::new(TfrcSender::new(TfrcConfig { start, ..config })))
            }
        };
        Self {
            stream,
            stop,
            transport,
        }
    }

    /// How many datagrams it has sent.
    pub fn packets_sent(&self) -> u64 {
        self.stream.number()
    }

    /// The length of its queue: datagrams that are ready by `now` and have not been sent.
    pub fn queued(&self, now: Instant) -> u64 {
        let mut newest = self.stream.clone();
        while newest.ready() <= now && newest.ready() < self.stop {
            newest.advance();
        }
        newest.number() - self.stream.number()
    }

    /// When the next datagram is ready, if one comes.
    fn ready(&self) -> Option<Instant> {
        Some(self.stream.ready()).filter(|ready| *ready < self.stop)
    }
}

impl Agent for VideoSender {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: Packet<Body>) {
        if let Transport::Tfrc(sender) = &mut self.transport {
            sender.handle_packet(now, packet);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Transport::Tfrc(sender) = &mut self.transport {
            sender.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        let ready = self.ready().filter(|ready| *ready <= now)?;
        let packet = match &mut self.transport {
            Transport::Udp(size) => Packet {
                size: *size,
                ecn: Ecn::NotEct,
                body: Body::Datagram {
                    sequence: self.stream.number(),
                    sent: ready,
                },
            },
            Transport::Tfrc(sender) => sender.poll_data(now, ready)?,
        };
        self.stream.advance();
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match &self.transport {
            Transport::Udp(_) => self.ready(),
            Transport::Tfrc(sender) => sender.next_wake(self.ready()),
        }
    }
}
