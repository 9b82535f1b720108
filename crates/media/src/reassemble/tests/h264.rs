//! Tests of H.264 from the encoder through packets and reassembly to the decoder.

use evenkeel_codec::h264::{Decoder, Encoder};
use evenkeel_codec::picture::{AccessUnit, CodedPicture, Picture};
use evenkeel_codec::quality::luma_psnr;
use evenkeel_codec::test_support::{frame_target, is_keyframe, pictures};
use evenkeel_codec::{DecodeError, FrameTarget, VideoDecoder, VideoEncoder};
use tfrc::time::Instant;

use super::take;
use crate::event::NotShown;
use crate::packetize::Packetizer;
use crate::reassemble::{Payload, Pushed, Reassembler};
use crate::test_support::{Packet, packets};

const TARGET: u64 = 1_500;

fn scene(count: usize) -> Vec<Picture> {
    pictures((160, 120), 10, count)
}

fn target(size: u64) -> FrameTarget {
    frame_target(size, 10.0)
}

/// A stream of packets, and the receiver's side of it.
struct Stream {
    packetizer: Packetizer,
    reassembler: Reassembler,
    sequence: u64,
}

impl Stream {
    fn new() -> Self {
        Self {
            packetizer: Packetizer::new(400),
            reassembler: Reassembler::new(Payload::H264),
            sequence: 65_530,
        }
    }

    /// Gives frame `n` as it arrives without the lost packets.
    fn deliver(
        &mut self,
        n: u32,
        picture: CodedPicture,
        lost: &[usize],
    ) -> Result<CodedPicture, NotShown> {
        let packets = packets(&mut self.packetizer, picture, 9_000 * n, self.sequence);
        self.sequence += packets.len() as u64;
        let now = Instant::from_millis(u64::from(n));
        for (index, packet) in packets.iter().enumerate() {
            if !lost.contains(&index) {
                packet.push(&mut self.reassembler);
            }
        }
        let complete = self.reassembler.frames().next().unwrap().complete;
        assert_eq!(complete, lost.is_empty(), "frame {n}");
        let timestamp = self.reassembler.extend(9_000 * n);
        let frame = self.reassembler.take(timestamp, now).unwrap();
        frame.map(|frame| frame.picture)
    }
}

#[test]
fn a_stream_survives_its_packets() {
    let mut encoder = Encoder::default();
    let (mut stream, mut decoder) = (Stream::new(), Decoder::default());
    for (n, picture) in scene(20).iter().enumerate() {
        let coded = encoder.encode(picture, &target(TARGET)).unwrap().unwrap();
        let received = stream
            .deliver(n as u32, coded.picture.clone(), &[])
            .unwrap();
        assert_eq!(received, coded.picture);
        let decoded = decoder.decode(&received).unwrap();
        let psnr = luma_psnr(picture, &decoded.picture).unwrap();
        assert!(psnr > 28.0, "frame {n}: {psnr}");
    }
}

#[test]
fn a_hole_stops_the_picture_until_a_keyframe() {
    let mut encoder = Encoder::default();
    let (mut stream, mut decoder) = (Stream::new(), Decoder::default());
    for (n, picture) in scene(12).iter().enumerate() {
        let asked = FrameTarget {
            keyframe: n == 8,
            ..target(TARGET)
        };
        let coded = encoder.encode(picture, &asked).unwrap().unwrap();
        assert_eq!(is_keyframe(&coded.picture), n == 0 || n == 8, "frame {n}");
        let lost: &[usize] = if n == 4 { &[1] } else { &[] };
        let received = stream.deliver(n as u32, coded.picture, lost);
        if n == 4 {
            // Its one slice has a hole.
            assert_eq!(received, Err(NotShown::Empty));
            continue;
        }
        let decoded = decoder.decode(&received.unwrap());
        if (5..8).contains(&n) {
            assert!(matches!(decoded, Err(DecodeError::H264(_))), "frame {n}");
        } else {
            let psnr = luma_psnr(picture, &decoded.unwrap().picture).unwrap();
            assert!(psnr > 28.0, "frame {n}: {psnr}");
        }
    }
}

#[test]
fn unit_with_inconsistent_fragments_is_a_hole() {
    // The packets are fragments (FU-A) of slices of a keyframe, some of another type or reference, then a whole
    // unit.
    for (indicator, header) in [(0x7c, 0x01), (0x1c, 0x05)] {
        let payloads: [&[u8]; 4] = [
            &[0x7c, 0x85, 0x88, 1],
            &[indicator, header, 2],
            &[0x7c, 0x45, 3],
            &[0x65, 0x84, 5],
        ];
        let mut reassembler = Reassembler::new(Payload::H264);
        let packet = |sequence: usize, timestamp, marker| Packet {
            payload_type: 0,
            sequence: sequence as u64,
            timestamp,
            marker,
            payload: payloads[sequence % 4].to_vec(),
        };
        for sequence in 0..4 {
            packet(sequence, 90, sequence == 3).push(&mut reassembler);
        }
        let pushed = packet(7, 180, true).push(&mut reassembler);
        assert_eq!(pushed, Pushed::Complete { timestamp: 180 });
        let [damaged, next] = [(); 2].map(|()| take(&mut reassembler).unwrap().unwrap());
        let whole = Some(payloads[3].to_vec());
        let units = vec![None, whole.clone()];
        assert_eq!(damaged.picture, AccessUnit { units }.into());
        let units = vec![whole];
        assert_eq!(next.picture, AccessUnit { units }.into());
    }
}
