//! A record of when the frames of a flow are complete at its receiver.

use crate::camera::Shooting;
use evenkeel_codec::source::FrameRate;
use tfrc::time::{Duration, Instant};

/// The frames of one flow, numbered from zero at the first capture.
///
/// A frame is complete when all of its packets have arrived, whatever playout does with it.
#[derive(Clone, Debug)]
pub struct FrameLog {
    shooting: Shooting,
    rate: FrameRate,
    frames: Vec<FrameArrivals>,
}

/// One frame from its capture to the arrival of its last packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedFrame {
    /// When the camera captured the picture.
    pub captured: Instant,
    /// When the last of its packets arrived; `None` if one never did.
    pub complete: Option<Instant>,
}

#[derive(Clone, Debug, Default)]
struct FrameArrivals {
    /// The packets that arrived; empty once the frame is complete.
    packets: Vec<u32>,
    complete: Option<Instant>,
}

impl FrameLog {
    /// An empty log of a camera that captures `rate` pictures a second.
    pub const fn new(shooting: Shooting, rate: FrameRate) -> Self {
        Self {
            shooting,
            rate,
            frames: Vec::new(),
        }
    }

    /// Records the arrival of packet `packet` of frame `frame`.
    ///
    /// `of` is the number of packets of the frame, once it is known. Duplicates count once, and a
    /// frame that is not captured yet is ignored.
    pub fn arrived(&mut self, now: Instant, frame: u64, packet: u32, of: Option<u32>) {
        if self.captured(frame) > now {
            return;
        }
        let index = frame as usize;
        if self.frames.len() <= index {
            self.frames.resize_with(index + 1, FrameArrivals::default);
        }
        let frame = &mut self.frames[index];
        if frame.complete.is_some() || frame.packets.contains(&packet) {
            return;
        }
        frame.packets.push(packet);
        if of.is_some_and(|of| frame.packets.len() >= of as usize) {
            *frame = FrameArrivals {
                packets: Vec::new(),
                complete: Some(now),
            };
        }
    }

    /// Every captured frame, in order of capture, including frames that were never sent.
    pub fn frames(&self) -> impl Iterator<Item = LoggedFrame> + '_ {
        let captures = self.shooting.captures(self.rate);
        captures.map(|(number, captured)| LoggedFrame {
            captured,
            complete: self.frames.get(number as usize).and_then(|f| f.complete),
        })
    }

    /// From one capture to the next.
    pub fn interval(&self) -> Duration {
        self.rate.interval()
    }

    /// The number of the newest frame that was captured by this instant.
    pub fn number_at(&self, now: Instant) -> u64 {
        let since = now.saturating_since(self.shooting.start);
        (since.as_nanos() / self.interval().as_nanos()) as u64
    }

    fn captured(&self, number: u64) -> Instant {
        self.shooting.start + self.rate.due(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::units::Rate;

    fn log() -> FrameLog {
        let shooting = Shooting {
            start: Instant::from_millis(100),
            stop: Instant::from_millis(300),
            pause: Some([180, 220].map(Instant::from_millis)),
            most: Rate::from_bits_per_sec(1e6),
        };
        FrameLog::new(shooting, FrameRate::new(25, 1).unwrap())
    }

    #[test]
    fn a_frame_is_complete_with_its_last_packet() {
        let mut log = log();
        let at = Instant::from_millis;
        log.arrived(at(150), 0, 7, None);
        log.arrived(at(151), 0, 7, Some(2));
        log.arrived(at(152), 0, 9, Some(2));
        log.arrived(at(153), 0, 9, Some(2));
        // Frame 3 is captured at 220 ms.
        log.arrived(at(219), 3, 1, Some(1));
        let frames: Vec<_> = log.frames().collect();
        let captured: Vec<_> = frames.iter().map(|frame| frame.captured).collect();
        assert_eq!(captured, [100, 140, 220, 260].map(at));
        assert_eq!(frames[0].complete, Some(at(152)));
        assert!(frames[1..].iter().all(|frame| frame.complete.is_none()));
    }
}
