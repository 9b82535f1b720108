//! The chain of pictures that a decoder needs: each refers to the one before it, so that after a loss
//! nothing can be shown until a keyframe.

use crate::frame::{AccessUnit, CodedPicture, H264Picture};
use crate::reassemble::Reassembler;

/// Follows the frames of a stream as they are released, in their order.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    /// Every frame since the last keyframe was whole.
    intact: bool,
    /// Something has come: before that there is nothing to ask for.
    begun: bool,
    /// The sequence number of the last packet released.
    last: Option<u64>,
    /// Pictures that were superseded: the next one refers to them.
    before: Vec<AccessUnit>,
}

impl Chain {
    /// A frame is released, whose packets have these first and last numbers: what a decoder needs to
    /// show it, or `None` if it cannot. A codec whose frames stand alone is not concerned.
    pub(crate) fn link(
        &mut self,
        picture: CodedPicture,
        (first, last): (u64, u64),
        complete: bool,
    ) -> Option<CodedPicture> {
        let CodedPicture::H264(picture) = picture else {
            return Some(picture);
        };
        let follows = self
            .last
            .is_some_and(|last| last.checked_add(1) == Some(first));
        self.last = Some(last);
        self.begun = true;
        let keyframe = picture
            .access_units
            .first()
            .is_some_and(AccessUnit::is_keyframe);
        self.intact = complete && (keyframe || (self.intact && follows));
        if keyframe || !self.intact {
            self.before.clear();
        }
        self.intact.then(|| {
            let mut access_units = std::mem::take(&mut self.before);
            access_units.extend(picture.access_units);
            CodedPicture::H264(H264Picture { access_units })
        })
    }

    /// What [`link`](Self::link) gave is not shown after all, but what follows refers to it.
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

    /// A frame was lost as a whole.
    pub(crate) fn break_off(&mut self) {
        self.intact = false;
        self.before.clear();
    }

    /// True while nothing can be shown but a keyframe.
    pub(crate) fn wants_keyframe(&self) -> bool {
        self.begun && !self.intact
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(kind: u8) -> CodedPicture {
        let units = vec![Some(vec![kind, 1])];
        CodedPicture::from(AccessUnit { units })
    }

    /// Kinds of the slices that a decoder gets.
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
        // (kind, packets, whole) and whether it can be shown.
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
            let linked = chain.link(unit(kind), packets, complete);
            assert_eq!(linked.is_some(), shown, "{packets:?}");
            assert_eq!(chain.wants_keyframe(), !shown, "{packets:?}");
        }
    }

    #[test]
    fn what_is_superseded_is_decoded_with_the_next() {
        let mut chain = Chain::default();
        for (kind, packets) in [(5, (0, 1)), (1, (2, 3))] {
            let linked = chain.link(unit(kind), packets, true).unwrap();
            chain.keep(linked);
        }
        let linked = chain.link(unit(1), (4, 4), true);
        assert_eq!(kinds(linked), Some(vec![5, 1, 1]));
        let linked = chain.link(unit(1), (5, 5), true).unwrap();
        chain.keep(linked);
        // A keyframe needs nothing before it, and damage makes it worthless.
        assert_eq!(kinds(chain.link(unit(5), (6, 6), true)), Some(vec![5]));
        chain.break_off();
        assert_eq!(kinds(chain.link(unit(1), (7, 7), true)), None);
    }
}
