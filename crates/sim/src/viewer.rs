//! Who compares what is shown with what was captured, and with what was due by then.

use evenkeel_codec::mjpeg::Decoder;
use evenkeel_codec::picture::{CodedPicture, Picture};
use evenkeel_codec::quality::{luma_psnr, luma_ssim};
use evenkeel_codec::source::Source;
use evenkeel_media::policy::PolicyConfig;
use std::collections::VecDeque;
use std::fmt;
use tfrc::time::{Duration, Instant};

/// A viewer of one call, who knows the pictures that were captured.
pub struct Viewer {
    /// As they are shown, and as they are due.
    originals: [Originals; 2],
    start: Instant,
    /// Between two captures.
    interval: Duration,
    /// What is due or shown before that does not count.
    warm: Instant,
    decoder: Decoder,
    /// What was shown of the last picture that was due, or of the nearest before it, and of every later one, by the
    /// number of the capture.
    shown: VecDeque<(u64, Picture)>,
    /// How many pictures have been due.
    due: u64,
    similarity: Mean,
    in_time: Mean,
}

impl Viewer {
    pub(crate) fn new(
        originals: [Box<dyn Source + Send>; 2],
        start: Instant,
        warm: Instant,
    ) -> Self {
        let interval = originals[0].format().frame_rate.interval();
        Self {
            originals: originals.map(Originals::new),
            start,
            interval,
            warm,
            decoder: Decoder::new(),
            shown: VecDeque::new(),
            due: 0,
            similarity: Mean::default(),
            in_time: Mean::default(),
        }
    }

    /// The mean structural similarity of what was shown to what was captured.
    pub fn ssim_mean(&self) -> Option<f64> {
        self.similarity.get()
    }

    /// The mean PSNR of what had been shown of a picture 150 ms after its capture: of the nearest before it, where it was
    /// late or never came. That one captured later may have taken its place in sight by then is no fault.
    pub fn psnr_in_time(&self) -> Option<f64> {
        self.in_time.get()
    }

    /// Compares what was shown with the pictures that were due until `now`.
    pub(crate) fn look_back(&mut self, now: Instant) {
        loop {
            let captured = self.start + self.interval * self.due as u32;
            let due = captured + PolicyConfig::DEADLINE;
            if due > now {
                return;
            }
            while self
                .shown
                .get(1)
                .is_some_and(|&(index, _)| index <= self.due)
            {
                self.shown.pop_front();
            }
            let original = self.originals[1].get(self.due);
            // Of the first pictures nothing may have been shown.
            let shown = self.shown.front();
            let shown = shown.filter(|(index, _)| *index <= self.due);
            if due >= self.warm
                && let Some((original, (_, shown))) = original.zip(shown)
            {
                self.in_time.extend(luma_psnr(original, shown));
            }
            self.due += 1;
        }
    }

    /// The PSNR of what is shown at `at`.
    pub(crate) fn look(
        &mut self,
        shown: &CodedPicture,
        captured: Instant,
        at: Instant,
    ) -> Option<f64> {
        self.look_back(at);
        let CodedPicture::Jpeg(image) = shown else {
            return None;
        };
        let shown = self.decoder.decode(image).ok()?.picture;
        let since = captured.saturating_since(self.start).as_secs_f64();
        let index = (since / self.interval.as_secs_f64()).round() as u64;
        let original = self.originals[0].get(index)?;
        if at >= self.warm {
            self.similarity.extend(luma_ssim(original, &shown));
        }
        let psnr = luma_psnr(original, &shown);
        self.shown.push_back((index, shown));
        psnr
    }
}

impl fmt::Debug for Viewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Viewer")
            .field("due", &self.due)
            .finish_non_exhaustive()
    }
}

/// The pictures of a source, read in their order.
struct Originals {
    source: Box<dyn Source + Send>,
    /// How many have been read.
    read: u64,
    last: Option<Picture>,
}

impl Originals {
    fn new(source: Box<dyn Source + Send>) -> Self {
        Self {
            source,
            read: 0,
            last: None,
        }
    }

    /// This one, or the last that was read if that is later.
    fn get(&mut self, index: u64) -> Option<&Picture> {
        while self.read <= index {
            self.last = self.source.next().ok()?;
            self.read += 1;
        }
        self.last.as_ref()
    }
}

#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn extend(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.count += 1;
        }
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_codec::mjpeg::{Scale, encode};
    use evenkeel_codec::source::{Format, FrameRate, Scene};

    fn scene() -> Scene {
        let format = Format {
            width: 64,
            height: 48,
            frame_rate: FrameRate::new(10, 1).unwrap(),
        };
        Scene::new(format, 1).unwrap()
    }

    /// Each picture is shown so long after its capture.
    fn seen(delay: u64) -> (f64, f64) {
        let mut viewer = Viewer::new(
            [Box::new(scene()), Box::new(scene())],
            Instant::ZERO,
            Instant::from_millis(1_000),
        );
        let mut captured = scene();
        let mut shown = Mean::default();
        for n in 0..60 {
            let picture = captured.next().unwrap().unwrap();
            let image = encode(&picture, Scale::from_quality(60.0)).unwrap();
            let at = Instant::from_millis(100 * n);
            let look = viewer.look(&image.into(), at, at + Duration::from_millis(delay));
            shown.extend(look);
        }
        (viewer.psnr_in_time().unwrap(), shown.get().unwrap())
    }

    #[test]
    fn a_late_picture_is_as_good_as_another_and_what_is_in_sight_until_then_is_not() {
        // After 30 ms the next one is in sight, too, before this one is due.
        for delay in [30, 140] {
            let (in_time, shown) = seen(delay);
            assert!((in_time - shown).abs() < 0.5, "{in_time} {shown}");
        }
        let (_, shown) = seen(140);
        let (late, shown_late) = seen(160);
        assert_eq!(shown, shown_late);
        assert!(late < shown - 3.0, "{late} {shown}");
    }
}
