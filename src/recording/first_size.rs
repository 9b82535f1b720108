//! Fits pictures into the size of a recording's first picture, and reports each kind of loss once.

use std::borrow::Cow;

use evenkeel_codec::picture::Picture;
use evenkeel_codec::resize::fitted;

use crate::failure;

/// The size of a recording, and the losses that were reported.
///
/// Pictures with a half, a quarter, twice or four times its sides are scaled. Pictures of another size, which a
/// restarted peer may send, are left out, because a recording has one size.
#[derive(Debug)]
pub(super) struct FirstSize {
    size: (usize, usize),
    reported: Vec<RecordingLoss>,
}

/// The loss of a later picture, if it has another size than the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordingLoss {
    /// The picture is recorded with fewer columns and rows than it has.
    Samples,
    /// The picture is left out.
    Picture,
}

impl FirstSize {
    /// Starts with the first picture.
    pub(super) fn of(picture: &Picture) -> Self {
        Self {
            size: (picture.width(), picture.height()),
            reported: Vec::new(),
        }
    }

    /// Returns the picture in the size of the first; `None` if it is left out.
    pub(super) fn fit<'a>(&mut self, picture: &'a Picture) -> Option<Cow<'a, Picture>> {
        let fitted = fitted(picture, self.size);
        if fitted.is_none() {
            self.report(RecordingLoss::Picture, picture);
        } else if picture.width() > self.size.0 {
            self.report(RecordingLoss::Samples, picture);
        }
        fitted
    }

    /// Returns true if the picture has the size of the first.
    pub(super) fn is_of(&self, picture: &Picture) -> bool {
        (picture.width(), picture.height()) == self.size
    }

    /// Returns true if the picture has the size of the first; else it is left out, because it cannot be scaled.
    pub(super) fn admits(&mut self, picture: &Picture) -> bool {
        if !self.is_of(picture) {
            self.report(RecordingLoss::Picture, picture);
        }
        self.is_of(picture)
    }

    fn report(&mut self, loss: RecordingLoss, picture: &Picture) {
        if !self.reported.contains(&loss) {
            failure::warn(self.warning(loss, picture));
            self.reported.push(loss);
        }
    }

    /// Returns the warning, with its remedy.
    fn warning(&self, loss: RecordingLoss, picture: &Picture) -> String {
        let what = match loss {
            RecordingLoss::Samples => {
                "are made smaller: it began while the sender halved the sides of its pictures, or with another sender"
            }
            RecordingLoss::Picture => "are left out: a recording has one size",
        };
        let (width, height) = self.size;
        format!(
            "--record has pictures of {width}x{height}, that of the first; those of {}x{} {what}; start again to record all of them",
            picture.width(),
            picture.height(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_loss_is_reported_once() {
        let mut first = FirstSize::of(&Picture::new(16, 16));
        let fits = |side| first.fit(&Picture::new(side, side)).map(|fit| fit.width());
        let widths = [16, 24, 24, 32, 32, 8].map(fits);
        assert_eq!(widths, [Some(16), None, None, Some(16), Some(16), Some(16)]);
        let losses = [RecordingLoss::Picture, RecordingLoss::Samples];
        assert_eq!(first.reported, losses);
        let warning = first.warning(RecordingLoss::Samples, &Picture::new(32, 32));
        assert!(
            warning.contains("16x16") && warning.contains("32x32"),
            "{warning}"
        );
    }

    #[test]
    fn halved_pictures_lose_nothing_in_a_full_recording() {
        let mut first = FirstSize::of(&Picture::new(32, 32));
        for side in [8, 16, 32] {
            assert!(first.fit(&Picture::new(side, side)).is_some());
        }
        assert_eq!(first.reported, []);
        assert!(!first.admits(&Picture::new(16, 16)));
    }
}
