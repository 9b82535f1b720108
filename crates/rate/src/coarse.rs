//! The state of reports without single arrivals: frames and the transit times that reports give for them.

use alloc::collections::VecDeque;

use crate::sent::{DepartedFrame, SentPacket};

/// Transit times of the packets of one report, in seconds. The last of the packets left at `sent`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransitRange {
    pub(crate) sent: f64,
    pub(crate) least: f64,
    pub(crate) largest: f64,
}

/// Coarse reports and the frames that they cover.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoarseReports {
    /// The first transit time that was reported, to which others are unwrapped.
    pub(crate) zero: Option<u32>,
    /// The frame whose last packet has not left.
    frame: Option<DepartedFrame>,
    /// Reports on packets of that frame, and the last report.
    pub(crate) ranges: VecDeque<TransitRange>,
}

/// Bound on the reports of a frame, beyond which the last reports are joined.
const MAX_RANGES: usize = 64;

impl CoarseReports {
    /// Records a packet that left. Gives the frame if the packet was its last.
    pub(crate) fn depart(&mut self, packet: &SentPacket) -> Option<DepartedFrame> {
        let begun = DepartedFrame {
            number: packet.burst,
            sent: [packet.at; 2],
            bytes: 0.0,
        };
        let frame = match self.frame {
            Some(frame) if frame.number == packet.burst => DepartedFrame {
                sent: [frame.sent[0], packet.at],
                bytes: frame.bytes + packet.size,
                ..frame
            },
            _ => begun,
        };
        self.frame = (!packet.ends_burst).then_some(frame);
        packet.ends_burst.then_some(frame)
    }

    pub(crate) fn push(&mut self, range: TransitRange) {
        let is_full = self.ranges.len() == MAX_RANGES;
        match self.ranges.back_mut() {
            Some(last) if is_full => {
                *last = TransitRange {
                    sent: range.sent,
                    least: last.least.min(range.least),
                    largest: last.largest.max(range.largest),
                };
            }
            _ => self.ranges.push_back(range),
        }
    }

    /// Returns the least and the largest transit time of packets that left from `since` on.
    pub(crate) fn range_since(&self, since: f64) -> [f64; 2] {
        let ranges = self.ranges.iter().filter(|range| range.sent >= since);
        ranges.fold(
            [f64::INFINITY, f64::NEG_INFINITY],
            |[least, most], range| [least.min(range.least), most.max(range.largest)],
        )
    }

    /// Forgets reports on frames that have left.
    pub(crate) fn expire(&mut self) {
        let begun = self.frame.map_or(f64::INFINITY, |frame| frame.sent[0]);
        self.ranges.retain(|range| range.sent >= begun);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }
}
