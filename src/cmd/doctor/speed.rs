//! Measures how long this machine takes for a picture of each codec.

use evenkeel_codec::picture::Picture;
use evenkeel_codec::source::{Format, Presenter, Source as _};
use evenkeel_codec::{Codec, FrameTarget};
use evenkeel_media::policy::PolicyConfig;
use evenkeel_net::{Clock, processor_time};
use serde_json::{Value, json};
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use crate::failure::Failure;
use crate::inputs::{DEFAULT_FRAME_RATE, DEFAULT_SIZE};
use crate::units::millis;

/// The time for which a codec is measured: three codecs take less than a second.
const TIME_PER_CODEC: Duration = Duration::from_millis(250);
/// The fewest pictures that are coded, of which the median is known.
const MIN_PICTURES: usize = 3;
/// The rate of the pictures: the rate of the demo's link.
const CODED_RATE: Rate = Rate::from_bits_per_sec(3e6);

/// The time for a picture of the default size, to code and to decode it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodecSpeed {
    pub(super) codec: Codec,
    pub(super) encode: Duration,
    pub(super) decode: Duration,
}

impl CodecSpeed {
    /// Returns true if both ends on this machine keep up with the default frame rate.
    pub(super) fn keeps_up(&self) -> bool {
        self.encode + self.decode <= DEFAULT_FRAME_RATE.interval()
    }

    pub(super) fn as_json(&self) -> (String, Value) {
        let times = json!({ "encode_ms": millis(self.encode), "decode_ms": millis(self.decode) });
        (self.codec.name().to_owned(), times)
    }
}

/// Measures each codec that codes pictures.
pub(super) fn speeds(clock: &Clock) -> Result<Vec<CodecSpeed>, Failure> {
    let (width, height) = DEFAULT_SIZE;
    let format = Format {
        width,
        height,
        frame_rate: DEFAULT_FRAME_RATE,
    };
    let mut presenter = Presenter::new(format, 1).map_err(Failure::runtime)?;
    let pictures: Vec<Picture> = (0..MIN_PICTURES)
        .map(|_| presenter.next())
        .collect::<Result<Option<_>, _>>()
        .map_err(Failure::runtime)?
        .unwrap_or_default();
    let codecs = Codec::ALL
        .into_iter()
        .filter(|codec| codec.codes_pictures());
    codecs.map(|codec| speed(clock, codec, &pictures)).collect()
}

fn speed(clock: &Clock, codec: Codec, pictures: &[Picture]) -> Result<CodecSpeed, Failure> {
    let interval = DEFAULT_FRAME_RATE.interval();
    let rate = if codec.has_own_size() {
        Rate::INFINITY
    } else {
        CODED_RATE
    };
    let target = FrameTarget {
        size: CODED_RATE * interval,
        rate,
        deadline: PolicyConfig::DEADLINE,
        stretched: false,
        keyframe: false,
    };
    let mut encoder = codec.encoder(interval);
    let mut decoder = codec.decoder();
    let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
    let start = clock.now();
    for (n, picture) in pictures.iter().cycle().enumerate() {
        let before = Moment::now(clock);
        if n >= MIN_PICTURES && before.wall.saturating_since(start) >= TIME_PER_CODEC {
            break;
        }
        let coded = encoder.encode(picture, &target).map_err(Failure::runtime)?;
        let between = Moment::now(clock);
        encoded.push(between.since(before));
        if let Some(coded) = coded {
            decoder.decode(&coded.picture).map_err(Failure::runtime)?;
            decoded.push(Moment::now(clock).since(between));
        }
    }
    Ok(CodecSpeed {
        codec,
        encode: median(encoded),
        decode: median(decoded),
    })
}

/// A moment by the clock, and by the work of this process.
#[derive(Clone, Copy)]
struct Moment {
    wall: Instant,
    work: Duration,
}

impl Moment {
    fn now(clock: &Clock) -> Self {
        Self {
            wall: clock.now(),
            work: processor_time(),
        }
    }

    /// Returns the time since `before`, without that in which other programs had the processor. Threads that work side by
    /// side count once.
    fn since(self, before: Self) -> Duration {
        let work = self.work.saturating_sub(before.work);
        self.wall.saturating_since(before.wall).min(work)
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
