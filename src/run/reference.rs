//! Keeps captured pictures until they are shown, to measure quality and delay if both ends run in one process.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_codec::picture::Picture;
use tfrc::time::Instant;

/// The most frames that are kept: four seconds at 25 fps, after which a frame is no longer expected.
const MAX_ORIGINALS: usize = 100;

/// One captured picture.
#[derive(Clone)]
pub(crate) struct Original {
    /// The RTP timestamp of the picture.
    pub(crate) timestamp: u32,
    /// The time of capture.
    pub(crate) captured: Instant,
    /// The picture itself.
    pub(crate) picture: Arc<Picture>,
}

/// A bounded store of originals, shared by the capturing and the displaying thread.
#[derive(Clone, Default)]
pub(crate) struct References(Arc<Mutex<VecDeque<Original>>>);

impl References {
    /// Keeps an original and forgets the oldest.
    pub(crate) fn keep(&self, original: Original) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MAX_ORIGINALS {
            kept.pop_front();
        }
        kept.push_back(original);
    }

    /// Takes the original of a frame, and forgets earlier ones.
    pub(crate) fn take(&self, timestamp: u32) -> Option<Original> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let position = kept
            .iter()
            .position(|original| original.timestamp == timestamp)?;
        kept.drain(..=position).next_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn original(timestamp: u32) -> Original {
        Original {
            timestamp,
            captured: Instant::ZERO,
            picture: Arc::new(Picture::new(16, 16)),
        }
    }

    #[test]
    fn taking_a_frame_forgets_those_before_it() {
        let references = References::default();
        (0..5).for_each(|timestamp| references.keep(original(timestamp)));
        assert_eq!(references.take(2).map(|o| o.timestamp), Some(2));
        assert!(references.take(1).is_none());
        assert_eq!(references.take(4).map(|o| o.timestamp), Some(4));
    }

    #[test]
    fn the_store_is_bounded() {
        let references = References::default();
        (0..1_000).for_each(|timestamp| references.keep(original(timestamp)));
        assert!(references.take(0).is_none());
        assert!(references.take(1_000 - MAX_ORIGINALS as u32).is_some());
    }
}
