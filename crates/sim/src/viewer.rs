//! Who compares what is shown with what was captured, and what is in sight when each picture is due.

use evenkeel_media::codec::mjpeg::Decoder;
use evenkeel_media::frame::{CodedPicture, Picture};
use evenkeel_media::policy::PolicyConfig;
use evenkeel_media::quality::{luma_psnr, luma_ssim};
use evenkeel_media::source::Source;
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
    /// What was shown last, and when.
    sight: Option<Picture>,
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
            sight: None,
            due: 0,
            similarity: Mean::default(),
            in_time: Mean::default(),
        }
    }

    /// The mean structural similarity of what was shown to what was captured.
    pub fn ssim_mean(&self) -> Option<f64> {
        self.similarity.get()
    }

    /// The mean PSNR of what was in sight 150 ms after a picture was captured, to that picture: the one before it, where
    /// it was late or never came.
    pub fn psnr_in_time(&self) -> Option<f64> {
        self.in_time.get()
    }

    /// Compares what is in sight with the pictures that were due until `now`.
    pub(crate) fn look_back(&mut self, now: Instant) {
        loop {
            let captured = self.start + self.interval * self.due as u32;
            let due = captured + PolicyConfig::DEADLINE;
            if due > now {
                return;
            }
            let original = self.originals[1].get(self.due);
            if due >= self.warm
                && let Some((original, sight)) = original.zip(self.sight.as_ref())
            {
                self.in_time.extend(luma_psnr(original, sight));
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
        self.sight = Some(shown);
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
    use evenkeel_media::codec::mjpeg::{Scale, encode};
    use evenkeel_media::source::{Format, FrameRate, Scene};

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
        let (in_time, shown) = seen(140);
        assert!((in_time - shown).abs() < 0.5, "{in_time} {shown}");
        let (late, shown_late) = seen(160);
        assert_eq!(shown, shown_late);
        assert!(late < shown - 3.0, "{late} {shown}");
    }
}
