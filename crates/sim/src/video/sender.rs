//! A video server's stream: its datagrams wait in a queue until TFRC lets them go, or leave at once.

use super::TsStream;
use crate::agent::{Agent, Packet};
use crate::body::Body;
use crate::tfrc_flow::{TfrcConfig, TfrcSender};
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

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
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

#[cfg(test)]
mod tests {
    use super::super::tests::trace;
    use super::super::{DATAGRAM, Pace};
    use super::*;
    use crate::{
        End, FlowId, LOWER_LAYERS, Observer, Shape, Simulation, Sink, TfrcReceiver, Traffic,
    };
    use evenkeel_link::{LinkConfig, QueueLimit};
    use tfrc::time::Duration;
    use tfrc::units::Rate;

    const STOP: Instant = Instant::from_secs(20);

    /// Frames of two full datagrams: 50 datagrams a second, 537.6 kb/s with headers.
    fn stream() -> TsStream {
        let sizes = [2 * 7 * 184 - 14; 2];
        TsStream::new(trace(&sizes).unwrap(), 0, Instant::ZERO, Pace::Even)
    }

    fn tfrc() -> TfrcConfig {
        TfrcConfig {
            packet_size: DATAGRAM + LOWER_LAYERS,
            ..TfrcConfig::default()
        }
    }

    /// When data left and arrived, and when it was ready.
    #[derive(Default)]
    struct Times {
        sent: Vec<Instant>,
        delays: Vec<Duration>,
    }

    impl Observer<Traffic> for Times {
        fn sent(&mut self, now: Instant, _: FlowId, end: End, _: &Packet<Body>) {
            if end == End::Sender {
                self.sent.push(now);
            }
        }

        fn arrived(&mut self, now: Instant, _: FlowId, end: End, packet: &Packet<Body>) {
            match packet.body {
                Body::Datagram { sent, .. } if end == End::Receiver => self.delays.push(now - sent),
                Body::TfrcData { ready, .. } => self.delays.push(now - ready),
                _ => {}
            }
        }
    }

    /// Twenty seconds over a link of this rate, 20 ms long; how many datagrams wait at the end.
    fn run(sender: Traffic, receiver: Traffic, rate: Rate) -> (Times, u64) {
        let link = LinkConfig {
            rate,
            delay: Duration::from_millis(20),
            queue: QueueLimit::Packets(20),
            ..LinkConfig::default()
        };
        let access = crate::Access::even(LinkConfig::default());
        let shape = Shape::dumbbell([link; 2], [access]).unwrap();
        let mut sim = Simulation::new(&shape.topology, 1);
        let place = &shape.places[0];
        let flow = sim.add_flow(&place.forward, &place.reverse, sender, receiver);
        let mut times = Times::default();
        sim.run_observed(STOP, &mut times);
        let queued = match sim.agent(flow, End::Sender) {
            Traffic::VideoSender(sender) => {
                assert_eq!(sender.packets_sent(), times.sent.len() as u64);
                sender.queued(STOP)
            }
            _ => 0,
        };
        (times, queued)
    }

    fn video(transport: VideoTransport) -> Traffic {
        VideoSender::new(stream(), STOP, transport).into()
    }

    fn receiver() -> Traffic {
        TfrcReceiver::new(Default::default()).into()
    }

    #[test]
    fn udp_sends_what_is_ready_at_once() {
        let rate = Rate::from_bits_per_sec(2e6);
        let sender = video(VideoTransport::Udp(Bytes::new(1_344)));
        let (times, queued) = run(sender, Sink::default().into(), rate);
        assert_eq!(queued, 0);
        // A datagram each 20 ms from 20 ms on, of which the last would be ready at the end.
        assert_eq!(times.sent.len(), 999);
        // 20 ms and the time on the wire, 1344 bytes at 2 Mb/s.
        let delay = Duration::from_micros(25_376);
        assert!(times.delays.iter().all(|d| *d == delay));
    }

    #[test]
    fn tfrc_with_room_to_spare_delays_a_stream_only_at_its_start() {
        let rate = Rate::from_bits_per_sec(2e6);
        let (times, queued) = run(video(VideoTransport::Tfrc(tfrc())), receiver(), rate);
        assert_eq!(queued, 0);
        assert_eq!(times.sent.len(), 999);
        let late = times
            .delays
            .iter()
            .rposition(|d| *d > Duration::from_millis(30));
        assert!(late.is_none_or(|late| late < 50), "{late:?}");
    }

    #[test]
    fn what_tfrc_may_not_send_waits_in_a_visible_queue() {
        let rate = Rate::from_bits_per_sec(4e5);
        let (times, queued) = run(video(VideoTransport::Tfrc(tfrc())), receiver(), rate);
        let sent = times.sent.len() as u64;
        // All that was ready was sent or waits; a fourth of it does not fit.
        assert_eq!(sent + queued, 999);
        assert!((200..350).contains(&queued), "{queued}");
        // The oldest bytes wait longest: their wait is the delay of the queue.
        let last = times.delays.last().unwrap().as_secs_f64();
        assert!((last - queued as f64 * 0.02).abs() < 1.0, "{last} s");
    }

    #[test]
    fn a_stream_whose_queue_never_empties_is_a_flow_that_always_has_data() {
        let rate = Rate::from_bits_per_sec(3e5);
        let start = Instant::from_millis(20);
        let greedy = TfrcSender::new(TfrcConfig { start, ..tfrc() });
        let (greedy, _) = run(greedy.into(), receiver(), rate);
        // Ten datagrams are ready where the other needs one.
        let sizes = [200 * 184 - 14; 2];
        let stream = TsStream::new(trace(&sizes).unwrap(), 0, start, Pace::Burst);
        let sender = VideoSender::new(stream, STOP, VideoTransport::Tfrc(tfrc()));
        let (video, queued) = run(sender.into(), receiver(), rate);
        assert!(queued > 1_000, "{queued}");
        assert_eq!(video.sent, greedy.sent);
    }
}
