//! The source before a call's sending side: pictures at their rate, and the encoder.

use core::fmt;
use evenkeel_codec::mjpeg::restart_interval_for;
use evenkeel_codec::picture::{JpegImage, Picture, QuantTables, Sampling};
use evenkeel_codec::rate_target::Encoder;
use evenkeel_codec::source::{Format, FrameRate, Source};
use evenkeel_link::Random;
use evenkeel_media::frame::EncodedFrame;
use evenkeel_rtp::packet::rtp::media_time;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// Ticks of the media clock in a second: every video payload has 90 kHz (RFC 3551 §5).
const MEDIA_CLOCK: u32 = 90_000;
/// What coding a picture takes. Assumed, as no real time passes here; small beside a frame interval.
const CODING: Duration = Duration::from_millis(3);

/// What coded frames are made of.
pub enum Pictures {
    /// A source's pictures through the product's encoder. After the last there are no more.
    Coded(Box<dyn Source + Send>),
    /// No pictures: frames with nothing in them, as far below their target as the encoder would be.
    Sizes(Format, Random),
}

impl fmt::Debug for Pictures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coded(_) => f.write_str("Coded"),
            Self::Sizes(..) => f.write_str("Sizes"),
        }
    }
}

impl Pictures {
    /// Their size and frame rate.
    pub fn format(&self) -> Format {
        match self {
            Self::Coded(source) => source.format(),
            Self::Sizes(format, _) => *format,
        }
    }
}

/// When pictures are captured, and how large they may become.
#[derive(Clone, Copy, Debug)]
pub struct Shooting {
    /// The first picture.
    pub start: Instant,
    /// There are none from then on.
    pub stop: Instant,
    /// Nor in between, from the first of these to the second.
    pub pause: Option<[Instant; 2]>,
    /// No frame is larger than this rate has it, however much the network offers.
    pub most: Rate,
}

impl Shooting {
    /// Iterates over the numbers and instants of all captures at a picture rate.
    pub(crate) fn captures(self, rate: FrameRate) -> impl Iterator<Item = (u64, Instant)> {
        let all = (0..).map(move |number| (number, self.start + rate.due(number)));
        let until_stop = all.take_while(move |(_, at)| *at < self.stop);
        until_stop.filter(move |(_, at)| !self.is_paused(*at))
    }

    fn is_paused(&self, at: Instant) -> bool {
        self.pause
            .is_some_and(|[from, to]| (from..to).contains(&at))
    }
}

/// A camera with its encoder.
#[derive(Debug)]
pub struct Camera {
    pictures: Pictures,
    encoder: Encoder,
    shooting: Shooting,
    format: Format,
    /// The next picture, counted from the start.
    index: u64,
    /// With the instant at which its coding ends.
    coding: Option<(Instant, EncodedFrame)>,
}

impl Camera {
    /// A camera that waits for the first capture.
    pub fn new(pictures: Pictures, shooting: Shooting) -> Self {
        Self {
            format: pictures.format(),
            pictures,
            encoder: Encoder::new(),
            shooting,
            index: 0,
            coding: None,
        }
    }

    /// The frame that has been coded by now.
    pub fn poll_coded(&mut self, now: Instant) -> Option<EncodedFrame> {
        let coded = self.coding.take_if(|(at, _)| *at <= now);
        coded.map(|(_, frame)| frame)
    }

    /// The picture that is captured now; one of which nobody wants to know is lost.
    pub fn poll_captured(&mut self, now: Instant) -> Option<Captured> {
        if self.next_capture()? > now {
            return None;
        }
        self.index += 1;
        if self.shooting.is_paused(now) {
            return None;
        }
        match &mut self.pictures {
            Pictures::Coded(source) => Some(Captured(source.next().ok()??.into())),
            Pictures::Sizes(..) => Some(Captured(None)),
        }
    }

    /// How many pictures were due so far.
    pub const fn pictures_due(&self) -> u64 {
        self.index
    }

    /// Begins to code a picture, to `target` bytes of scan or to what the rate of pictures allows.
    pub fn code(&mut self, now: Instant, captured: &Captured, target: Bytes) {
        let target = target.min(self.shooting.most * self.format.frame_rate.interval());
        let image = match (&captured.0, &mut self.pictures) {
            (Some(picture), _) => self.encoder.encode(picture, target).ok().map(|e| e.image),
            (None, Pictures::Sizes(format, random)) => Some(blank(*format, target, random)),
            (None, Pictures::Coded(_)) => None,
        };
        self.coding = image.map(|image| {
            let frame = EncodedFrame {
                captured: now,
                timestamp: media_time(now, MEDIA_CLOCK),
                picture: image.into(),
            };
            (now + CODING, frame)
        });
    }

    /// Counts the captures from one instant on until before another.
    pub(crate) fn captures(&self, [from, to]: [Instant; 2]) -> usize {
        let captures = self.shooting.captures(self.format.frame_rate);
        let so_far = captures.take_while(|(number, _)| *number < self.index);
        so_far.filter(|(_, at)| (from..to).contains(at)).count()
    }

    /// When it wants to be asked next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let coded = self.coding.as_ref().map(|(at, _)| *at);
        self.next_capture().into_iter().chain(coded).min()
    }

    fn next_capture(&self) -> Option<Instant> {
        let at = self.shooting.start + self.format.frame_rate.due(self.index);
        (at < self.shooting.stop).then_some(at)
    }
}

/// A picture, if there are any.
#[derive(Debug)]
pub struct Captured(Option<Picture>);

/// An image of a size within what the encoder comes to: 95 % of the target and all of it.
fn blank(format: Format, target: Bytes, random: &mut Random) -> JpegImage {
    let scan = target.as_f64() * (0.95 + 0.05 * random.unit());
    let restart_interval = restart_interval_for(format.width);
    let mut image = JpegImage {
        width: format.width as u16,
        height: format.height as u16,
        sampling: Sampling::Yuv420,
        tables: QuantTables {
            luma: [16; 64],
            chroma: [17; 64],
        },
        restart_interval,
        intervals: Vec::new(),
    };
    let count = image.mcus().div_ceil(restart_interval.into());
    // A marker of two bytes between them; an MCU has six blocks, of no less than six bits each.
    let least = usize::from(restart_interval) * 6 * 6 / 8;
    let each = (scan as usize / count).saturating_sub(2).max(least);
    image.intervals = vec![Some(vec![0x55; each]); count];
    image
}
