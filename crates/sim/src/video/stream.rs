//! A video as a server sends it: MPEG-TS (ISO/IEC 13818-1) in datagrams of seven TS packets, which is what
//! fits into an Ethernet packet (RFC 2250 §2).
//!
//! Each frame is a PES packet; TS packets of several frames may share a datagram, which is ready when it is
//! full. Tables and clock references, about one per cent, are left out.

use super::FrameTrace;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// What a datagram carries: seven TS packets of 188 bytes.
pub const DATAGRAM: Bytes = Bytes::new(TS_PER_DATAGRAM * 188);
const TS_PER_DATAGRAM: u64 = 7;
/// Of a TS packet, the header takes four bytes.
const TS_PAYLOAD: u64 = 184;
/// With a timestamp (ISO/IEC 13818-1 §2.4.3.7).
const PES_HEADER: u64 = 14;

/// When the TS packets of a frame are ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Evenly from one frame to the next, as a multiplexer's clock has it.
    #[default]
    Even,
    /// All as soon as the frame is.
    Burst,
}

/// The instants at which a server has a datagram ready, without end: a place in a trace, and no more.
#[derive(Clone, Debug)]
pub struct TsStream {
    trace: FrameTrace,
    pace: Pace,
    frame: usize,
    /// When the frame is due.
    at: Instant,
    /// TS packets that the frame has, and how many of them are part of a datagram up to the present one.
    of_frame: u64,
    taken: u64,
    number: u64,
    ready: Instant,
}

impl TsStream {
    /// The stream that sends the frame of this number at `start`; beyond the last the numbers begin again.
    pub fn new(trace: FrameTrace, first_frame: usize, start: Instant, pace: Pace) -> Self {
        let frame = first_frame % trace.frames().len();
        let mut stream = Self {
            of_frame: ts_packets(trace.frames()[frame].size),
            trace,
            pace,
            frame,
            at: start,
            taken: 0,
            number: 0,
            ready: start,
        };
        stream.fill();
        stream
    }

    /// The number of the present datagram, from 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// When the present datagram is ready.
    pub fn ready(&self) -> Instant {
        self.ready
    }

    /// Goes on to the next datagram.
    pub fn advance(&mut self) {
        self.number += 1;
        self.fill();
    }

    /// Takes the TS packets of a datagram. Of every trace some frame has some, so this ends.
    fn fill(&mut self) {
        let mut missing = TS_PER_DATAGRAM;
        loop {
            let taken = missing.min(self.of_frame - self.taken);
            self.taken += taken;
            missing -= taken;
            if missing == 0 {
                break;
            }
            self.at += self.trace.lasts(self.frame);
            self.frame = (self.frame + 1) % self.trace.frames().len();
            self.of_frame = ts_packets(self.trace.frames()[self.frame].size);
            self.taken = 0;
        }
        self.ready = self.at + self.after();
    }

    /// How long after its frame the last TS packet taken is ready.
    fn after(&self) -> Duration {
        match self.pace {
            Pace::Burst => Duration::ZERO,
            Pace::Even => {
                let nanos = self.trace.lasts(self.frame).as_nanos() * u128::from(self.taken)
                    / u128::from(self.of_frame);
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }
}

/// How many TS packets carry a frame; none an empty one.
fn ts_packets(size: Bytes) -> u64 {
    if size == Bytes::ZERO {
        0
    } else {
        (size.get() + PES_HEADER).div_ceil(TS_PAYLOAD)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::trace;
    use super::*;

    /// The first datagrams of a stream: milliseconds at which they are ready.
    fn ready(sizes: &[u64], first_frame: usize, pace: Pace, count: usize) -> Vec<u64> {
        let trace = trace(sizes).unwrap();
        let mut stream = TsStream::new(trace, first_frame, Instant::from_secs(1), pace);
        let mut ready = Vec::new();
        for number in 0..count {
            assert_eq!(stream.number(), number as u64);
            ready.push(stream.ready().as_micros() / 1_000);
            stream.advance();
        }
        ready
    }

    /// Frames of this many TS packets.
    fn of_ts(packets: u64) -> u64 {
        if packets == 0 { 0 } else { packets * 184 - 14 }
    }

    #[test]
    fn a_frame_takes_its_bytes_and_headers_in_ts_packets() {
        assert_eq!(ts_packets(Bytes::new(170)), 1);
        assert_eq!(ts_packets(Bytes::new(171)), 2);
        assert_eq!(ts_packets(Bytes::ZERO), 0);
        assert_eq!(DATAGRAM, Bytes::new(1_316));
    }

    #[test]
    fn datagrams_are_ready_evenly_over_a_frame() {
        let sizes = [of_ts(14), of_ts(7)];
        let expected = [1_020, 1_040, 1_080, 1_100, 1_120, 1_160];
        assert_eq!(ready(&sizes, 0, Pace::Even, 6), expected);
    }

    #[test]
    fn frames_share_a_datagram_which_is_ready_with_the_last() {
        // The first datagram takes 4 of frame 0 and 3 of frame 1, the second the other 5 of that and 2.
        let sizes = [of_ts(4), of_ts(8), of_ts(2)];
        assert_eq!(ready(&sizes, 0, Pace::Even, 2), [1_055, 1_120]);
        assert_eq!(ready(&sizes, 0, Pace::Burst, 2), [1_040, 1_080]);
    }

    #[test]
    fn a_burst_is_ready_at_once_and_empty_frames_take_their_time() {
        let sizes = [of_ts(14), 0, 0];
        assert_eq!(
            ready(&sizes, 0, Pace::Burst, 4),
            [1_000, 1_000, 1_120, 1_120]
        );
    }

    #[test]
    fn a_stream_may_begin_anywhere() {
        let sizes = [of_ts(7), of_ts(14)];
        assert_eq!(ready(&sizes, 1, Pace::Burst, 3), [1_000, 1_000, 1_040]);
        assert_eq!(ready(&sizes, 3, Pace::Burst, 3), [1_000, 1_000, 1_040]);
    }
}
