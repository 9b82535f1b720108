//! The displaying thread: decoder, page and file, and the quality and delay of each frame.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evenkeel_codec::h264::H264DecodeError;
use evenkeel_codec::mjpeg::{Scale, encode, jfif};
use evenkeel_codec::picture::Picture;
use evenkeel_codec::quality::luma_psnr;
use evenkeel_codec::sink::Sink;
use evenkeel_codec::{DecodeError, StreamDecoder, VideoDecoder as _};
use evenkeel_media::frame::ReceivedFrame;
use evenkeel_media::report::ShownFrame;
use evenkeel_net::Clock;

use super::reference::References;
use crate::page::Page;

/// The quality at which the page shows pictures, so high that visible faults come from the call.
const PAGE_QUALITY: f64 = 90.0;

/// What the displaying thread tells the endpoint about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DisplayOutcome {
    /// It was shown, this long after its display could begin.
    Shown { took: Duration },
    /// The frame with this timestamp did not decode.
    Undecodable(u32),
}

/// The state of the displaying thread.
pub(crate) struct Display {
    pub(crate) clock: Clock,
    pub(crate) decoder: StreamDecoder,
    pub(crate) frames: Receiver<ReceivedFrame>,
    /// The channel for what becomes of each frame.
    pub(crate) outcomes: SyncSender<DisplayOutcome>,
    pub(crate) originals: References,
    pub(crate) shown: SyncSender<ShownFrame>,
    pub(crate) sink: Box<dyn Sink + Send>,
    pub(crate) page: Option<Arc<Page>>,
}

impl Display {
    /// Starts the thread, which ends when the endpoint does.
    pub(crate) fn start(self) -> io::Result<JoinHandle<io::Result<()>>> {
        thread::Builder::new()
            .name("display".into())
            .spawn(move || self.run())
    }

    fn run(mut self) -> io::Result<()> {
        while let Ok(frame) = self.frames.recv() {
            let decoded = match self.decoder.decode(&frame.picture) {
                Ok(decoded) => decoded,
                // Later pictures have no more memory than this one.
                Err(DecodeError::H264(H264DecodeError::Memory)) => {
                    self.sink.finish()?;
                    return Err(io::Error::other(H264DecodeError::Memory));
                }
                Err(_) => {
                    // The picture before stays on display. The channel has room for as many frames as the endpoint
                    // has delivered.
                    let refused = DisplayOutcome::Undecodable(frame.timestamp);
                    let _ = self.outcomes.try_send(refused);
                    continue;
                }
            };
            let at = self.clock.now();
            let took = at.saturating_since(frame.due);
            let _ = self.outcomes.try_send(DisplayOutcome::Shown { took });
            let original = self.originals.take(frame.timestamp);
            // A slow monitor loses figures, never the picture.
            let _ = self.shown.try_send(ShownFrame {
                at,
                codec: frame.picture.codec(),
                delay: original
                    .as_ref()
                    .map(|original| at.saturating_since(original.captured)),
                psnr: original
                    .as_ref()
                    .and_then(|original| luma_psnr(&original.picture, &decoded.picture)),
                damaged: !frame.picture.is_whole(),
                concealed: decoded.concealed,
            });
            self.sink
                .show_coded(&decoded.picture, &frame.picture, frame.timestamp)?;
            if let Some(page) = self.page.as_ref().filter(|page| page.has_viewers()) {
                page.show_received(&jpeg_for_page(&decoded.picture));
            }
        }
        self.sink.finish()
    }
}

/// Codes a picture for the page.
pub(crate) fn jpeg_for_page(picture: &Picture) -> Vec<u8> {
    encode(picture, Scale::from_quality(PAGE_QUALITY))
        .map(|image| jfif::write(&image))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    use evenkeel_codec::Codec;
    use evenkeel_codec::picture::CodedPicture;
    use evenkeel_codec::sink::Null;

    #[test]
    fn lost_undecodable_and_absurd_parts_are_told_apart() {
        let whole =
            encode(&Picture::new(64, 32), Scale::from_quality(50.0)).expect("a size of JPEG");
        assert!(whole.intervals.len() > 1);
        let (mut lost, mut bent, mut absurd) = (whole.clone(), whole.clone(), whole.clone());
        lost.intervals[0] = None;
        bent.intervals[0] = Some(vec![0xff; 4]);
        absurd.intervals.clear();
        let (frames, due) = sync_channel(4);
        let (outcomes, outcomes_of) = sync_channel(4);
        let (shown, told) = sync_channel(4);
        let display = Display {
            clock: Clock::start(),
            decoder: StreamDecoder::new(Codec::Mjpeg),
            frames: due,
            outcomes,
            originals: References::default(),
            shown,
            sink: Box::new(Null),
            page: None,
        };
        for (image, timestamp) in [whole, lost, bent, absurd].into_iter().zip(0..) {
            let frame = ReceivedFrame {
                timestamp,
                due: tfrc::time::Instant::ZERO,
                picture: CodedPicture::from(image),
            };
            frames.send(frame).expect("room for it");
        }
        drop(frames);
        display.run().expect("nothing to write");
        let told: Vec<_> = told
            .iter()
            .map(|shown| (shown.damaged, shown.concealed))
            .collect();
        assert_eq!(told, [(false, 0), (true, 1), (false, 1)]);
        let outcomes: Vec<_> = outcomes_of.iter().collect();
        assert_eq!(outcomes.len(), 4);
        let refused: Vec<_> = outcomes
            .into_iter()
            .filter(|outcome| !matches!(outcome, DisplayOutcome::Shown { .. }))
            .collect();
        assert_eq!(refused, [DisplayOutcome::Undecodable(3)]);
    }
}
