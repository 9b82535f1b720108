//! Makes a title of frames of given sizes: TS packets without content.

use evenkeel_sim::{DATAGRAM, FrameTrace, Pace, TsStream};
use evenkeel_vod::{Content, Datagram, PAYLOAD_LEN, TS_LEN, TS_PER_DATAGRAM, TitleError};
use tfrc::time::Instant;
use tfrc::units::Rate;

const _: () = assert!(DATAGRAM.get() == PAYLOAD_LEN as u64);

/// The first bytes of a TS packet that decoders skip (ISO/IEC 13818-1 §2.4.3.3).
const NULL_PACKET: [u8; 4] = [0x47, 0x1f, 0xff, 0x10];

/// The frames of a trace, once through.
pub(super) struct Frames {
    stream: TsStream,
    /// TS packets of the present datagram of the trace that are not sent yet.
    left: usize,
    end: Instant,
    rates: [Rate; 1],
}

impl Frames {
    pub(super) fn new(trace: FrameTrace) -> Self {
        Self {
            left: TS_PER_DATAGRAM,
            end: Instant::ZERO + trace.period(),
            rates: [trace.mean_rate()],
            stream: TsStream::new(trace, 0, Instant::ZERO, Pace::default()),
        }
    }
}

impl Content for Frames {
    fn rates(&self) -> &[Rate] {
        &self.rates
    }

    fn next(&mut self, _wanted: usize, count: usize) -> Result<Option<Datagram>, TitleError> {
        let ready = self.stream.ready();
        if ready >= self.end {
            return Ok(None);
        }
        let count = self.left.min(count);
        self.left -= count;
        if self.left == 0 {
            self.stream.advance();
            self.left = TS_PER_DATAGRAM;
        }
        let mut payload = vec![0xff; count * TS_LEN];
        for packet in payload.chunks_mut(TS_LEN) {
            packet[..NULL_PACKET.len()].copy_from_slice(&NULL_PACKET);
        }
        Ok(Some(Datagram {
            due: ready - Instant::ZERO,
            payload,
        }))
    }

    fn current(&self) -> usize {
        0
    }
}
