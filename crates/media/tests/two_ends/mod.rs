//! Two calls and a link each way, a millisecond at a time.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_codec::VideoEncoder;
use evenkeel_codec::picture::Picture;
use evenkeel_link::{Link, LinkConfig, Loss, Packet};
use evenkeel_media::call::Call;
use evenkeel_media::frame::{EncodedFrame, ReceivedFrame};
use evenkeel_rtp::endpoint::{Datagram, Endpoint};
use evenkeel_rtp::packet::rtp::media_time;
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

/// IPv4 and UDP headers.
const IP_UDP: usize = 28;

#[derive(Clone)]
struct Bytestring(Vec<u8>);

impl Packet for Bytestring {}

/// The first sends and the second receives.
pub(crate) struct TwoEnds {
    pub(crate) calls: [Call; 2],
    links: [Link<Bytestring>; 2],
}

pub(crate) fn address(end: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, end as u8 + 1], 5004))
}

impl TwoEnds {
    /// 20 ms each way. `loss` is the share of packets that is lost on the way to the receiver.
    pub(crate) fn new(calls: [Call; 2], rate: Rate, loss: f64, seed: u64) -> Self {
        let links = [loss, 0.0].map(|loss| {
            let config = LinkConfig {
                rate,
                delay: Duration::from_millis(20),
                loss: if loss > 0.0 {
                    Loss::Bernoulli(loss)
                } else {
                    Loss::None
                },
                ..LinkConfig::default()
            };
            Link::new(config, seed)
        });
        Self { calls, links }
    }

    /// Codes a picture as the sender's path asks, and hands the frame over. Gives the timestamp of the frame; `None` if the
    /// picture is left out.
    pub(crate) fn capture(
        &mut self,
        now: Instant,
        picture: &Picture,
        encoder: &mut dyn VideoEncoder,
    ) -> Option<u32> {
        let call = &mut self.calls[0];
        let target = call.frame_target(now)?;
        let coded = encoder.encode(picture, &target).expect("possible size");
        let Some(coded) = coded else {
            call.leave_out(now);
            return None;
        };
        let timestamp = media_time(now, 90_000);
        let frame = EncodedFrame {
            captured: now,
            timestamp,
            picture: coded.picture,
        };
        call.push_frame(now, frame).expect("well formed");
        Some(timestamp)
    }

    /// What is due at `now`. `show` is given each frame that is, and `passes` says of each packet of the sender's whether
    /// it enters the link.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        mut show: impl FnMut(&mut Call, ReceivedFrame),
        mut passes: impl FnMut(&[u8]) -> bool,
    ) {
        for index in [0, 1] {
            let call = &mut self.calls[index];
            while let Some(Bytestring(bytes)) = self.links[1 - index].poll_output(now) {
                let datagram = Datagram {
                    source: address(1 - index),
                    arrival: now,
                    ecn: Ecn::NotEct,
                    payload: &bytes,
                };
                call.handle_datagram(now, datagram);
            }
            call.handle_timeout(now);
            while let Some(frame) = call.poll_frame(now) {
                show(call, frame);
            }
            let mut buf = [0; 2_048];
            while let Some(transmit) = call.poll_transmit(now, &mut buf) {
                let bytes = &buf[..transmit.len];
                if index == 0 && !passes(bytes) {
                    continue;
                }
                let size = Bytes::from(transmit.len + IP_UDP);
                self.links[index].handle_packet(now, Bytestring(bytes.to_vec()), size);
            }
        }
    }
}
