//! Follows the chain of pictures that a decoder needs: each refers to the one before, so after a loss only a
//! keyframe can be shown.

use evenkeel_codec::picture::{AccessUnit, CodedPicture, H264Picture};
use evenkeel_h264::Sps;

use crate::reassemble::{InFlight, Reassembler};

/// Follows the frames of a stream as they are released, in their order.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    /// True if every frame since the last keyframe was whole.
    intact: bool,
    /// True once a frame arrived: before that, no keyframe is requested.
    begun: bool,
    /// The sequence number of the last packet released.
    last: Option<u64>,
    /// The extended timestamp of the last keyframe released whole.
    keyframe: Option<i64>,
    /// True if the decoder has parameter sets, as far as is known.
    parameters: bool,
    /// Superseded pictures to which the next one refers.
    before: Vec<AccessUnit>,
    count: Count,
}

/// The number of reference pictures, as the stream itself counts them: frame_num (H.264 §7.4.3).
#[derive(Debug, Default)]
struct Count {
    sps: Option<Sps>,
    /// The frame_num of the next picture, if none is missing.
    next: Option<u32>,
}

impl Count {
    /// Records the next picture; returns true if certainly none is missing before it.
    fn follows(&mut self, unit: &AccessUnit) -> bool {
        let units = || unit.units.iter().flatten();
        self.sps = units().find_map(|unit| Sps::parse(unit)).or(self.sps);
        let expected = self.next.take();
        let Some(sps) = self.sps else {
            return false;
        };
        let slice = units().find_map(|unit| Some((sps.frame_num(unit)?, unit[0] & 0x60 != 0)));
        self.next = slice
            .map(|(num, referred)| (num + u32::from(referred)) & ((1 << sps.frame_num_bits) - 1));
        slice.is_some_and(|(num, _)| expected == Some(num))
    }
}

impl Chain {
    /// Handles a released frame. Returns the pictures that a decoder needs to show it, or `None` if they are
    /// missing. A codec without references returns each frame.
    pub(crate) fn link(&mut self, picture: CodedPicture, frame: &InFlight) -> Option<CodedPicture> {
        let (first, last) = frame.sequences;
        let CodedPicture::H264(picture) = picture else {
            // Pictures of H.264 that follow later begin with a keyframe.
            *self = Self::default();
            return Some(picture);
        };
        // A number that no packet has may be one that the sender left out.
        let counted = picture
            .access_units
            .first()
            .is_some_and(|unit| self.count.follows(unit));
        let adjoins = self
            .last
            .is_some_and(|last| last.checked_add(1) == Some(first));
        self.last = Some(last);
        self.begun = true;
        let unit = picture.access_units.first();
        let keyframe = unit.is_some_and(AccessUnit::is_keyframe);
        let parameters = unit.is_some_and(AccessUnit::has_parameters);
        // If numbers are missing before a keyframe without parameter sets, the lost packets may have changed them.
        let begins = keyframe && (parameters || (self.parameters && adjoins));
        let follows = self.intact && (counted || adjoins);
        self.intact = frame.complete && (begins || follows);
        if !self.intact {
            self.break_off();
        } else if keyframe {
            self.keyframe = Some(frame.timestamp);
            if parameters {
                self.before.clear();
                self.parameters = true;
            }
        }
        self.intact.then(|| {
            let mut access_units = std::mem::take(&mut self.before);
            access_units.extend(picture.access_units);
            CodedPicture::H264(H264Picture { access_units })
        })
    }

    /// Keeps a picture of [`link`](Self::link) that is not shown, because later pictures refer to it.
    pub(crate) fn keep(&mut self, picture: CodedPicture) {
        let CodedPicture::H264(picture) = picture else {
            return;
        };
        let size: usize = picture.access_units.iter().map(AccessUnit::len).sum();
        if size > Reassembler::MAX_BYTES {
            self.break_off();
        } else {
            self.before = picture.access_units;
        }
    }

    /// Breaks the chain after a frame was lost as a whole.
    pub(crate) fn break_off(&mut self) {
        self.intact = false;
        // The kept pictures have reached no decoder.
        self.parameters &= self.before.is_empty();
        self.before.clear();
    }

    /// Breaks the chain if the released frame of this extended timestamp did not reach the decoder or did not
    /// decode. A frame before the last keyframe does not matter.
    pub(crate) fn lose(&mut self, timestamp: i64) {
        if self.keyframe.is_none_or(|keyframe| timestamp >= keyframe) {
            self.break_off();
            self.parameters = false;
        }
    }

    /// Returns true while only a keyframe can be shown.
    pub(crate) fn wants_keyframe(&self) -> bool {
        self.begun && !self.intact
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_codec::picture::RawPicture;
    use tfrc::time::Instant;

    /// Returns a picture of one unit; a keyframe has its parameter sets with it.
    fn unit(kind: u8) -> CodedPicture {
        let kinds = if kind == 5 { vec![7, 8, 5] } else { vec![kind] };
        bare(&kinds)
    }

    fn bare(kinds: &[u8]) -> CodedPicture {
        let units = kinds.iter().map(|kind| Some(vec![*kind, 1])).collect();
        CodedPicture::from(AccessUnit { units })
    }

    /// Returns a frame with packets of these numbers; the first number is its timestamp, too.
    fn frame(sequences: (u64, u64), complete: bool) -> InFlight {
        InFlight {
            timestamp: sequences.0 as i64,
            complete,
            settled: true,
            ended: true,
            last_arrival: Instant::ZERO,
            sequences,
        }
    }

    /// Returns the kinds of the units that a decoder gets.
    fn kinds(picture: Option<CodedPicture>) -> Option<Vec<u8>> {
        let CodedPicture::H264(picture) = picture? else {
            panic!("another codec");
        };
        let units = picture
            .access_units
            .into_iter()
            .flat_map(|access| access.units);
        Some(units.map(|unit| unit.unwrap()[0]).collect())
    }

    #[test]
    fn after_a_loss_only_a_keyframe_is_shown() {
        let mut chain = Chain::default();
        assert!(!chain.wants_keyframe());
        // A row has the kind, the packets, whether the frame is whole, and whether it can be shown.
        for (kind, packets, complete, shown) in [
            (1, (10, 11), true, false),
            (5, (12, 15), true, true),
            (1, (16, 17), true, true),
            (1, (19, 20), true, false),
            (1, (21, 22), true, false),
            (5, (23, 24), false, false),
            (5, (26, 27), true, true),
            (1, (28, 28), true, true),
        ] {
            let linked = chain.link(unit(kind), &frame(packets, complete));
            assert_eq!(linked.is_some(), shown, "{packets:?}");
            assert_eq!(chain.wants_keyframe(), !shown, "{packets:?}");
        }
    }

    /// Returns a picture of 16 by 16 whose slice has this frame_num.
    fn counted(kind: u8, frame_num: u8) -> CodedPicture {
        let sps = vec![0x67, 66, 0, 10, 0b1111_1011, 0b1111_1100];
        // The slice has macroblock 0, type P, parameter set 0, and four bits of frame_num.
        let slice = vec![0x60 | kind, 0b1001_1010 | frame_num >> 3, frame_num << 5];
        CodedPicture::from(AccessUnit {
            units: vec![Some(sps), Some(vec![0x68, 1]), Some(slice)],
        })
    }

    #[test]
    fn skipped_number_between_consecutive_pictures_is_no_loss() {
        let mut chain = Chain::default();
        for (kind, frame_num, packets, shown) in [
            (5, 0, (10, 11), true),
            (1, 1, (13, 13), true),
            (1, 2, (14, 15), true),
            (1, 4, (17, 17), false),
            (1, 5, (18, 19), false),
            (5, 0, (21, 21), true),
        ] {
            let linked = chain.link(counted(kind, frame_num), &frame(packets, true));
            assert_eq!(linked.is_some(), shown, "{packets:?}");
        }
        for frame_num in (1..40).map(|n| n % 16) {
            let n = u64::from(frame_num);
            let linked = chain.link(counted(1, frame_num), &frame((2 * n, 2 * n), true));
            assert!(linked.is_some(), "{frame_num}");
        }
    }

    #[test]
    fn other_codec_ends_the_wait_for_keyframe() {
        let mut chain = Chain::default();
        assert!(chain.link(unit(1), &frame((10, 11), true)).is_none() && chain.wants_keyframe());
        let other = CodedPicture::Raw(RawPicture {
            width: 2,
            height: 1,
            data: vec![0; 4],
            missing: Vec::new(),
        });
        assert!(chain.link(other, &frame((12, 12), true)).is_some() && !chain.wants_keyframe());
        assert!(chain.link(unit(1), &frame((13, 13), true)).is_none() && chain.wants_keyframe());
    }

    #[test]
    fn what_is_superseded_is_decoded_with_the_next() {
        let mut chain = Chain::default();
        for (kind, packets) in [(5, (0, 1)), (1, (2, 3))] {
            let linked = chain.link(unit(kind), &frame(packets, true)).unwrap();
            chain.keep(linked);
        }
        let linked = chain.link(unit(1), &frame((4, 4), true));
        assert_eq!(kinds(linked), Some(vec![7, 8, 5, 1, 1]));
        let linked = chain.link(unit(1), &frame((5, 5), true)).unwrap();
        chain.keep(linked);
        // A keyframe needs nothing before it, and damage makes it useless.
        assert_eq!(
            kinds(chain.link(unit(5), &frame((6, 6), true))),
            Some(vec![7, 8, 5])
        );
        chain.break_off();
        assert_eq!(kinds(chain.link(unit(1), &frame((7, 7), true))), None);
    }

    #[test]
    fn undecoded_picture_breaks_only_its_dependents() {
        let mut chain = Chain::default();
        let shown =
            |chain: &mut Chain, kind, n| chain.link(unit(kind), &frame((n, n), true)).is_some();
        assert!(shown(&mut chain, 5, 0) && shown(&mut chain, 1, 1));
        chain.lose(1);
        assert!(chain.wants_keyframe() && !shown(&mut chain, 1, 2));
        assert!(shown(&mut chain, 5, 3) && shown(&mut chain, 1, 4));
        // The picture behind the first is reported only now.
        chain.lose(2);
        assert!(!chain.wants_keyframe() && shown(&mut chain, 1, 5));
        chain.lose(3);
        assert!(chain.wants_keyframe());
    }

    #[test]
    fn keyframe_needs_known_parameter_sets() {
        let mut chain = Chain::default();
        for (kinds, packets, shown) in [
            (&[5][..], (1, 4), false),
            (&[8, 5], (5, 6), false),
            (&[7, 8, 5], (7, 9), true),
            (&[1], (11, 11), false),
            (&[5], (12, 14), true),
            // The lost packet before it may have had other parameter sets.
            (&[5], (16, 18), false),
            (&[5], (19, 20), true),
        ] {
            let linked = chain.link(bare(kinds), &frame(packets, true));
            assert_eq!(linked.is_some(), shown, "{packets:?}");
        }
        // The decoder has not seen them if it refused the picture that carried them.
        chain.lose(19);
        assert!(chain.link(bare(&[5]), &frame((21, 21), true)).is_none());
    }

    #[test]
    fn kept_parameter_sets_complete_a_keyframe() {
        let mut chain = Chain::default();
        let linked = chain.link(unit(5), &frame((0, 0), true)).unwrap();
        chain.keep(linked);
        let linked = chain.link(bare(&[5]), &frame((1, 1), true));
        assert_eq!(kinds(linked.clone()), Some(vec![7, 8, 5, 5]));
        chain.keep(linked.unwrap());
        // The parameter sets were given up with the loss, and have reached no decoder.
        assert!(chain.link(bare(&[1]), &frame((3, 3), true)).is_none());
        assert!(chain.link(bare(&[5]), &frame((4, 4), true)).is_none());
    }
}
