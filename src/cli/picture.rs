//! Options of every command that sends pictures.

use std::str::FromStr;

use clap::Args;
use evenkeel_codec::source::FrameRate;
use evenkeel_codec::{Codec, UnknownCodec};
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::Rules;
use tfrc::time::Duration;

use crate::units;

/// What to send and how.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Picture")]
pub(crate) struct PictureArgs {
    /// Where pictures come from: `scene`, a .y4m file, any file or device that ffmpeg reads, or
    /// `v4l2:/dev/video0` (with the feature `v4l2`); with `--codec dv` a file of raw DV, or `-`. What ffmpeg reads
    /// begins again at its end; y4m and DV end the run
    #[arg(long, value_name = "SOURCE", default_value = "scene")]
    pub(crate) source: String,
    /// Picture size of the scene or camera; a file keeps its own unless this is given. Uncompressed pictures
    /// (`--codec raw`) are received in one size: the same at both ends of a call, or what --sdp tells recv
    #[arg(long, value_name = "WxH", value_parser = units::size)]
    pub(crate) size: Option<(usize, usize)>,
    /// Frames per second; a file keeps its own unless this is given
    #[arg(long, value_name = "FPS", value_parser = units::fps)]
    pub(crate) fps: Option<FrameRate>,
    /// How pictures are coded: `evenkeel demo --codec list` tells what each codec can do
    #[arg(long, value_name = "CODEC", default_value = "mjpeg")]
    pub(crate) codec: CodecChoice,
    /// How large frames may be and which are sent: `evenkeel`, or the rules of the `thesis` to compare with
    #[arg(long, value_name = "POLICY", default_value = "evenkeel")]
    pub(crate) policy: Rules,
    /// Aim at this time from capture to display, from 20ms to 2s (a bare number is ms), as in `--deadline 300ms`. The policy `evenkeel` uses a
    /// longer deadline while the path cannot hold this one, and the page and --json show both
    #[arg(long, value_name = "TIME", default_value = "150ms", allow_hyphen_values = true, value_parser = units::deadline)]
    pub(crate) deadline: Duration,
    /// Do not slow down for losses that slowing down does not avoid, as on a radio link, up to 10 % of packets; by
    /// default every loss counts (RFC 5348). Needs --feedback ccfb or twcc and --policy evenkeel, as in `--random-loss
    /// --loss 5%`. Beside TCP in a queue of a few packets the rate is then unfair
    #[arg(long)]
    pub(crate) random_loss: bool,
    /// What fills the rate where pictures leave some of it: `none`, `dummy` packets, or repair packets (`fec`,
    /// RFC 8627) as the loss asks for
    #[arg(long, value_name = "FILLER", default_value = "none")]
    pub(crate) filler: Filler,
    /// Seed of every random choice of this run [default: 1; `call` and `send` then draw what names
    /// them on the network anew each time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

impl PictureArgs {
    /// The seed of pictures and losses: equal runs unless another is asked for.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// The codec of a run.
    pub(crate) fn codec(&self) -> Codec {
        match self.codec {
            CodecChoice::List => Codec::default(),
            CodecChoice::One(codec) => codec,
        }
    }
}

/// What `--codec` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodecChoice {
    /// The names of all codecs are asked for, not a run.
    List,
    One(Codec),
}

impl FromStr for CodecChoice {
    type Err = UnknownCodec;

    fn from_str(name: &str) -> Result<Self, UnknownCodec> {
        if name == "list" {
            Ok(Self::List)
        } else {
            name.parse().map(Self::One)
        }
    }
}
