//! Packets of media and states of the path for the tests of both sides.

use std::time::Duration;

use evenkeel_codec::picture::CodedPicture;
use evenkeel_rtp::session::{MediaPacket, Path, RateSource};
use tfrc::time::Instant;
use tfrc::units::{LossEventRate, Rate};

use crate::frame::EncodedFrame;
use crate::packetize::Packetizer;
use crate::reassemble::{Pushed, Reassembler};

/// A packet as the network carries it.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) payload_type: u8,
    pub(crate) sequence: u64,
    pub(crate) timestamp: u32,
    pub(crate) marker: bool,
    pub(crate) payload: Vec<u8>,
}

impl Packet {
    /// Passes the packet to a reassembler. The packet arrives in the millisecond of its number.
    pub(crate) fn push(&self, reassembler: &mut Reassembler) -> Pushed {
        reassembler
            .push(&self.media(Instant::from_millis(self.sequence)))
            .0
    }

    /// Returns the packet as the session returns it on arrival.
    pub(crate) fn media(&self, arrival: Instant) -> MediaPacket<'_> {
        MediaPacket {
            sequence: self.sequence,
            payload_type: self.payload_type,
            timestamp: self.timestamp,
            marker: self.marker,
            payload: &self.payload,
            arrival,
            send_time: None,
            rtt: None,
        }
    }
}

/// Gives a path of this X and this round trip, without losses.
pub(crate) const fn path(allowed_rate: Rate, rtt_ms: u64) -> Path {
    Path {
        allowed_rate,
        instantaneous_rate: allowed_rate,
        rtt: Some(Duration::from_millis(rtt_ms)),
        loss_event_rate: LossEventRate::ZERO,
        receive_rate: Rate::ZERO,
        rate_source: RateSource::Feedback,
    }
}

/// Cuts a picture into packets, whose numbers begin at `sequence`.
pub(crate) fn packets(
    packetizer: &mut Packetizer,
    picture: impl Into<CodedPicture>,
    timestamp: u32,
    sequence: u64,
) -> Vec<Packet> {
    let frame = EncodedFrame {
        captured: Instant::ZERO,
        timestamp,
        picture: picture.into(),
    };
    let frame = packetizer.packetize(frame).expect("well formed");
    (0..frame.packets())
        .map(|index| {
            let mut payload = Vec::new();
            frame.write(index, 0, &mut payload);
            assert_eq!(payload.len(), frame.payload_len(index));
            assert!(payload.len() <= packetizer.capacity());
            Packet {
                payload_type: 0,
                sequence: sequence + index as u64,
                timestamp,
                marker: index + 1 == frame.packets(),
                payload,
            }
        })
        .collect()
}
