//! Options of every command that sends pictures.

use std::str::FromStr;

use clap::Args;
use evenkeel_codec::source::FrameRate;
use evenkeel_codec::{Codec, UnknownCodec};
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::Rules;
use tfrc::time::Duration;
use tfrc::units::Rate;

use crate::failure::Failure;
use crate::units;

/// What to send and how.
#[derive(Clone, Args)]
#[command(next_help_heading = "Picture")]
pub(crate) struct PictureArgs {
    /// Take pictures from `presenter`, `scene`, `screen`, `camera` or a file
    ///
    /// Built in are `presenter`, a drawn person who speaks, and `scene`, a city that is hard to code. `camera` is the first,
    /// `camera:1` the next, and `evenkeel doctor` lists them; v4l2:/dev/video0 reads one without ffmpeg, with the feature
    /// `v4l2`. Files are .y4m, or whatever ffmpeg reads, except for playlists; with `--codec dv` the file is raw DV. `-` is
    /// standard input. Files that ffmpeg reads begin again at their end; others end the run
    #[arg(long, value_name = "SOURCE", default_value = "presenter")]
    pub(crate) source: String,
    /// Set the size of a built-in picture or camera, or scale a file
    ///
    /// A file keeps its own size otherwise. With `--codec raw` both ends of a call need the same size, and recv takes
    /// it from --sdp
    #[arg(long, value_name = "WxH", value_parser = units::size)]
    pub(crate) size: Option<(usize, usize)>,
    /// Frames per second; a file keeps its own unless this is given
    #[arg(long, value_name = "FPS", value_parser = units::fps)]
    pub(crate) fps: Option<FrameRate>,
    /// Code pictures with this codec [default: mjpeg, and h264 for browsers and media servers, which have no other]
    ///
    /// `evenkeel demo --codec list` describes each
    #[arg(long, value_name = "CODEC")]
    pub(crate) codec: Option<CodecChoice>,
    /// Choose the rules for frame sizes: `evenkeel` or `thesis`
    ///
    /// The rules decide how large a frame may be, and whether it is still sent. `thesis` is there to compare with
    #[arg(long, value_name = "POLICY", default_value = "evenkeel")]
    pub(crate) policy: Rules,
    /// Aim at this time from capture to display, 20ms to 2s
    ///
    /// A bare number is in ms. The policy `evenkeel` uses a longer deadline while the path cannot hold this one; the
    /// page and --json show both. Example: `--deadline 300ms`
    #[arg(long, value_name = "TIME", default_value = "150ms", allow_hyphen_values = true, value_parser = units::deadline)]
    pub(crate) deadline: Duration,
    /// Send at no more than this rate, headers of RTP included
    ///
    /// The path may carry less. Example: `--max-rate 1.5M`
    #[arg(long, value_name = "RATE", value_parser = units::rate)]
    pub(crate) max_rate: Option<Rate>,
    /// Do not slow down for random losses, as on a radio link
    ///
    /// By default every loss counts (RFC 5348). Losses up to 10 % of packets are left out if slowing down does not
    /// avoid them. Beside TCP in a queue of a few packets the rate is then unfair. Needs --feedback ccfb or twcc and
    /// --policy evenkeel. Example: `evenkeel demo --random-loss --loss 5%`
    #[arg(long)]
    pub(crate) random_loss: bool,
    /// Fill unused rate with `dummy` packets or repair packets (`fec`)
    ///
    /// Repair packets (RFC 8627) are as many as the loss asks for
    #[arg(long, value_name = "FILLER", default_value = "none")]
    pub(crate) filler: Filler,
    /// Seed of every random choice of this run [default: 1]
    ///
    /// Without it, `call` and `send` draw their network identifiers anew each time
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

impl PictureArgs {
    /// Returns the seed of pictures and losses, which is constant unless the user chooses one.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Returns the codec of a run.
    pub(crate) fn codec(&self) -> Codec {
        match self.codec {
            Some(CodecChoice::One(codec)) => codec,
            _ => Codec::default(),
        }
    }

    /// Chooses H.264, the only codec of the peers that `option` is for. Refuses another that the user chose.
    pub(crate) fn require_h264(&mut self, option: &str) -> Result<(), Failure> {
        let h264 = CodecChoice::One(Codec::H264);
        if self.codec.is_some_and(|chosen| chosen != h264) {
            return Err(Failure::usage(format!(
                "--codec {}: {option} is for peers that have H.264 alone; leave out --codec",
                self.codec().name()
            )));
        }
        self.codec = Some(h264);
        Ok(())
    }
}

/// The value of `--codec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodecChoice {
    /// The request to list all codecs instead of a run.
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
