//! Payloads of DV, put together as a stream and concealed; and the bytes as a file of raw DV.

use arbitrary::{Arbitrary, Unstructured};
use evenkeel_codec::Codec;
use evenkeel_codec::dif::{BLOCK, BlockId, System};
use evenkeel_codec::picture::CodedPicture;
use evenkeel_codec::source::DvFile;
use evenkeel_media::reassemble::DvPayload;
use evenkeel_media::reassemble::{Payload, Reassembler};
use tfrc::time::Instant;

use crate::{media_packet, read_pictures};

#[derive(Arbitrary, Debug)]
struct Packet {
    sequence: u8,
    timestamp: u8,
    marker: bool,
    /// The first place, and how many blocks from there on.
    blocks: (u16, u16),
    /// Written over the bytes of the payload, so many into it.
    damage: Vec<(u16, u8)>,
    take: bool,
}

/// Reads the bytes as a payload and as a file, then as a stream of packets.
pub fn check(data: &[u8]) {
    for system in System::ALL {
        check_places(data, system);
    }
    check_file(data);
    let mut stream = Unstructured::new(data);
    let system = System::ALL[data.len() % System::ALL.len()];
    let audio = data.len() % 4 < 2;
    let mut reassembler = Reassembler::new(Payload::Dv { system, audio });
    let mut decoder = Codec::Dv.decoder();
    let mut now = Instant::ZERO;
    while !stream.is_empty() {
        let Ok(packet) = Packet::arbitrary(&mut stream) else {
            return;
        };
        now += std::time::Duration::from_millis(1);
        let payload = packet.payload(system);
        check_places(&payload, system);
        let frame = (packet.timestamp.into(), packet.marker);
        reassembler.push(&media_packet(now, packet.sequence.into(), frame, &payload));
        assert!(reassembler.frames().count() <= Reassembler::MAX_FRAMES);
        let oldest = reassembler.frames().next();
        let taken = oldest.filter(|_| packet.take).map(|frame| frame.timestamp);
        let Some(Ok(frame)) = taken.and_then(|timestamp| reassembler.take(timestamp, now)) else {
            continue;
        };
        assert!(matches!(&frame.picture, CodedPicture::Dv(dv) if dv.system == system));
        match decoder.decode(&frame.picture) {
            Ok(decoded) => {
                let shown = decoded.picture.dv().expect("what is recorded");
                assert!(shown.missing.is_empty() && shown.data.len() == system.frame_len());
                assert_eq!(decoded.concealed == 0, frame.picture.is_whole());
            }
            Err(_) => assert!(!frame.picture.is_whole(), "only holes are not shown"),
        }
    }
}

impl Packet {
    fn payload(&self, system: System) -> Vec<u8> {
        let places = system.frame_len() / BLOCK;
        let first = usize::from(self.blocks.0) % places;
        let last = (first + usize::from(self.blocks.1) % places + 1).min(places);
        let mut payload = vec![self.sequence; (last - first) * BLOCK];
        for (place, block) in (first..last).zip(payload.chunks_exact_mut(BLOCK)) {
            block[..3].copy_from_slice(&BlockId::at(place).to_bytes());
        }
        for &(at, byte) in &self.damage {
            if let Some(damaged) = payload.get_mut(usize::from(at)) {
                *damaged = byte;
            }
        }
        payload
    }
}

fn check_places(bytes: &[u8], system: System) {
    if let Ok(payload) = DvPayload::parse(bytes, system) {
        assert_eq!(payload.blocks().count() * BLOCK, bytes.len());
        let mut places = payload.blocks().map(|(place, _)| place);
        assert!(places.all(|place| place < system.frame_len() / BLOCK));
    }
}

fn check_file(bytes: &[u8]) {
    let Ok(source) = DvFile::new(bytes, "fuzz".into()) else {
        return;
    };
    read_pictures(source, |picture| {
        assert!(picture.dv().is_some_and(|frame| frame.missing.is_empty()));
    });
}
