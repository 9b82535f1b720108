//! Cuts a picture of H.264 into RTP payloads in packetisation mode 1 (RFC 6184 §6.3): small NAL units together,
//! large ones in fragments.

use std::ops::Range;

use evenkeel_codec::picture::{AccessUnit, H264Picture};
use evenkeel_rtp::packet::payload::h264::{FRAGMENT_HEADERS, Fragment, aggregate};
use tfrc::units::Bytes;

use super::PacketizeError;

/// Bytes of a STAP-A beside its units: its header, and the size of each.
const AGGREGATE_HEADER: usize = 1;
const SIZE_FIELD: usize = 2;

/// A picture with the plan of its packets.
#[derive(Clone, Debug)]
pub(super) struct H264Payloads {
    units: Vec<Vec<u8>>,
    packets: Vec<Packet>,
    is_keyframe: bool,
}

#[derive(Clone, Debug)]
enum Packet {
    /// Whole units.
    Units(Range<usize>),
    /// A range of bytes of a unit, which excludes its header.
    Fragment { unit: usize, bytes: Range<usize> },
}

impl H264Payloads {
    /// Plans the packets of a picture, whose payloads have at most `capacity` bytes.
    pub(super) fn plan(picture: H264Picture, capacity: usize) -> Result<Self, PacketizeError> {
        let is_keyframe = picture.access_units.iter().any(AccessUnit::is_keyframe);
        let units = picture
            .access_units
            .into_iter()
            .flat_map(|access| access.units);
        let units: Vec<Vec<u8>> = units
            .enumerate()
            .map(|(index, unit)| {
                unit.filter(|unit| !unit.is_empty())
                    .ok_or(PacketizeError::MissingUnit { index })
            })
            .collect::<Result<_, _>>()?;
        if units.is_empty() {
            return Err(PacketizeError::MissingUnit { index: 0 });
        }
        if capacity <= FRAGMENT_HEADERS {
            return Err(PacketizeError::Capacity);
        }
        let mut packets = Vec::new();
        let mut first = 0;
        while first < units.len() {
            let mut room = capacity.saturating_sub(AGGREGATE_HEADER);
            let together = units[first..].iter().take_while(|unit| {
                // A longer unit does not fit into 16 bits of size.
                let fits = unit.len() + SIZE_FIELD <= room && u16::try_from(unit.len()).is_ok();
                room = room.saturating_sub(unit.len() + SIZE_FIELD);
                fits
            });
            let count = together.count().max(1);
            if units[first].len() <= capacity {
                packets.push(Packet::Units(first..first + count));
            } else {
                let end = units[first].len() - 1;
                let fragment = |start| Packet::Fragment {
                    unit: first,
                    bytes: start..end.min(start + capacity - FRAGMENT_HEADERS),
                };
                packets.extend((0..end).step_by(capacity - FRAGMENT_HEADERS).map(fragment));
            }
            first += count;
        }
        Ok(Self {
            units,
            packets,
            is_keyframe,
        })
    }

    /// Returns true if the picture refers to none before it.
    pub(super) const fn is_keyframe(&self) -> bool {
        self.is_keyframe
    }

    /// Returns the size of the NAL units.
    pub(super) fn size(&self) -> Bytes {
        Bytes::from(self.units.iter().map(Vec::len).sum::<usize>())
    }

    pub(super) fn packets(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn payload_len(&self, index: usize) -> usize {
        match self.packets.get(index) {
            None => 0,
            Some(Packet::Units(range)) if range.len() == 1 => self.units[range.start].len(),
            Some(Packet::Units(range)) => {
                let sized = |unit: &Vec<u8>| SIZE_FIELD + unit.len();
                AGGREGATE_HEADER + self.units[range.clone()].iter().map(sized).sum::<usize>()
            }
            Some(Packet::Fragment { bytes, .. }) => FRAGMENT_HEADERS + bytes.len(),
        }
    }

    pub(super) fn write(&self, index: usize, buf: &mut Vec<u8>) {
        match self.packets.get(index) {
            None => {}
            Some(Packet::Units(range)) if range.len() == 1 => {
                buf.extend_from_slice(&self.units[range.start]);
            }
            Some(Packet::Units(range)) => {
                let written = aggregate(self.units[range.clone()].iter().map(Vec::as_slice), buf);
                debug_assert!(written, "plan() admits what aggregate() can write");
            }
            Some(Packet::Fragment { unit, bytes }) => {
                let unit = &self.units[*unit];
                let fragment = Fragment {
                    header: unit[0],
                    start: bytes.start == 0,
                    end: bytes.end + 1 == unit.len(),
                    data: &unit[1..][bytes.clone()],
                };
                fragment.emit(buf);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_codec::picture::AccessUnit;

    fn plan(units: &[Vec<u8>], capacity: usize) -> Result<H264Payloads, PacketizeError> {
        let units = units.iter().cloned().map(Some).collect();
        let access_units = vec![AccessUnit { units }];
        H264Payloads::plan(H264Picture { access_units }, capacity)
    }

    fn payloads(units: &[Vec<u8>], capacity: usize) -> Vec<Vec<u8>> {
        let plan = plan(units, capacity).unwrap();
        let write = |index| {
            let mut buf = Vec::new();
            plan.write(index, &mut buf);
            assert_eq!(buf.len(), plan.payload_len(index));
            buf
        };
        (0..plan.packets()).map(write).collect()
    }

    #[test]
    fn parameter_sets_are_aggregated_and_slices_fragmented() {
        let units = [
            vec![0x67, 1],
            vec![0x68, 2],
            vec![0x65, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        ];
        assert_eq!(
            payloads(&units, 9),
            [
                vec![0x78, 0, 2, 0x67, 1, 0, 2, 0x68, 2],
                vec![0x7c, 0x85, 3, 4, 5, 6, 7, 8, 9],
                vec![0x7c, 0x45, 10, 11],
            ]
        );
    }

    #[test]
    fn a_unit_that_fits_exactly_travels_alone() {
        let units = [vec![0x41; 20]];
        assert_eq!(payloads(&units, 20), units);
        // With one byte less, two packets are needed: 17 bytes of data and 2.
        let fragments = payloads(&units, 19);
        assert_eq!(fragments.iter().map(Vec::len).collect::<Vec<_>>(), [19, 4]);
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let missing = |index| Err(PacketizeError::MissingUnit { index });
        assert_eq!(plan(&[], 100).map(drop), missing(0));
        assert_eq!(plan(&[vec![0x41], vec![]], 100).map(drop), missing(1));
        assert_eq!(
            plan(&[vec![0x41]], 2).map(drop),
            Err(PacketizeError::Capacity)
        );
    }
}
