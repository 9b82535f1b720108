//! The arguments of `ffmpeg`: which input it may open, and what pictures it makes of it.

use std::fmt;

use super::super::format::FrameRate;
use super::super::y4m::MAX_SIDE;
use super::FfmpegOptions;
use crate::picture::HD_ROWS;

/// The place from which `ffmpeg` reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FfmpegInput {
    /// The path of a file, which cannot make `ffmpeg` open anything else.
    File(String),
    /// The standard input of this process, which cannot either.
    StandardInput,
    /// The address of a stream, which can make `ffmpeg` open other addresses, but no file.
    Address(String),
    /// A camera, a screen or a filter.
    Device {
        /// The format of the input, and its options.
        options: Vec<String>,
        /// The name of the input in this format.
        name: String,
        /// The filter that its pictures need before any other.
        filter: Option<&'static str>,
    },
}

/// Formats whose files stand alone. A playlist names other files, which `ffmpeg` would open and send.
const FORMATS: &str = "apng,asf,av1,avi,avs2,avs3,bmp_pipe,cavsvideo,dirac,dnxhd,dv,flv,gif,gxf,h261,h263,h264,hevc,\
    ivf,jpeg_pipe,live_flv,lxf,m4v,matroska,mjpeg,mjpeg_2000,mov,mpeg,mpegts,mpegvideo,mxf,nut,nuv,obu,ogg,\
    png_pipe,rm,tiff_pipe,vc1,vc1test,vvc,webp_pipe,wtv,yuv4mpegpipe";

/// The format of single images, which reads many files if there is a `%` in the name.
const IMAGE_FORMAT: &str = "image2";

/// The protocols of streams, and those on which they are built.
const STREAM_PROTOCOLS: &str =
    "crypto,http,https,httpproxy,rtmp,rtmps,rtmpt,rtp,rtsp,srt,srtp,tcp,tls,udp,udplite";

impl FfmpegInput {
    /// Returns the options that confine the input, for `ffmpeg` and `ffprobe`, and the input.
    pub(super) fn arguments(&self) -> Vec<String> {
        let confined = |protocols: &str, formats: &str, input: String| {
            let words = [
                "-protocol_whitelist",
                protocols,
                "-format_whitelist",
                formats,
            ];
            let words = words.map(str::to_owned).into_iter();
            words.chain(["-i".into(), input]).collect()
        };
        match self {
            // The protocol's name comes first, because a path may begin with a dash, or with what looks like a protocol.
            Self::File(path) if path.contains('%') => {
                confined("file", FORMATS, format!("file:{path}"))
            }
            Self::File(path) => {
                let formats = format!("{FORMATS},{IMAGE_FORMAT}");
                confined("file", &formats, format!("file:{path}"))
            }
            Self::StandardInput => confined("pipe", FORMATS, "pipe:0".into()),
            Self::Address(address) => {
                let words = ["-protocol_whitelist", STREAM_PROTOCOLS, "-i", address];
                words.map(str::to_owned).into()
            }
            Self::Device { options, name, .. } => {
                let mut words = options.clone();
                words.extend(["-i".into(), name.clone()]);
                words
            }
        }
    }
}

impl From<&str> for FfmpegInput {
    fn from(path: &str) -> Self {
        Self::File(path.into())
    }
}

impl From<&String> for FfmpegInput {
    fn from(path: &String) -> Self {
        Self::File(path.clone())
    }
}

impl fmt::Display for FfmpegInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(name) | Self::Address(name) | Self::Device { name, .. } => f.write_str(name),
            Self::StandardInput => f.write_str("standard input"),
        }
    }
}

/// What `ffprobe` knows of a file before its first picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The pictures of the file in its whole time. `ffmpeg` itself would take the least interval of two pictures
    /// for the interval of all.
    pub(super) mean_rate: Option<FrameRate>,
    /// True for pictures of high definition that do not name the matrix of their colours.
    pub(super) is_undeclared_hd: bool,
}

impl Facts {
    /// Reads lines of `key=value`.
    pub(super) fn parse(text: &str) -> Self {
        let value = |name: &str| {
            let mut pairs = text.lines().filter_map(|line| line.trim().split_once('='));
            pairs.find_map(|(key, value)| (key == name).then_some(value))
        };
        let rate = |text: &str| {
            let (numerator, denominator) = text.split_once('/')?;
            FrameRate::new(numerator.parse().ok()?, denominator.parse().ok()?)
        };
        let rows = value("height").and_then(|rows| rows.parse().ok());
        Self {
            mean_rate: value("avg_frame_rate").and_then(rate),
            is_undeclared_hd: value("color_space") == Some("unknown")
                && rows.is_some_and(|rows: usize| rows >= HD_ROWS),
        }
    }
}

/// Returns the arguments of `ffprobe` for the [`Facts`] of an input.
pub(super) fn questions(input: &FfmpegInput) -> Vec<String> {
    let entries = "stream=avg_frame_rate,color_space,height";
    let words = [
        "-v",
        "quiet",
        "-select_streams",
        "V:0",
        "-show_entries",
        entries,
    ];
    let words = words
        .into_iter()
        .chain(["-of", "default=noprint_wrappers=1"]);
    words.map(str::to_owned).chain(input.arguments()).collect()
}

/// Returns the arguments with which `ffmpeg` writes the pictures of an input to standard output.
pub(super) fn arguments(input: &FfmpegInput, options: &FfmpegOptions, facts: Facts) -> Vec<String> {
    let mut words: Vec<String> = ["-nostdin", "-v", "error"].map(str::to_owned).into();
    if options.repeat {
        words.extend(["-stream_loop", "-1"].map(str::to_owned));
    }
    words.extend(input.arguments());
    let filters = filters(options, facts);
    let filters = match input {
        FfmpegInput::Device {
            filter: Some(first),
            ..
        } => format!("{first},{filters}"),
        _ => filters,
    };
    words.extend(["-vf".into(), filters]);
    if options.frame_rate.is_none() {
        words.extend(["-fpsmax".into(), FrameRate::DEFAULT_MAX.to_string()]);
    }
    let output = ["-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "-"];
    words.extend(output.map(str::to_owned));
    words
}

/// Returns the filters that make pictures as [`Picture`](crate::picture::Picture) has them: a constant rate, square
/// pixels, BT.601's matrix and video's range. A rate is a filter only where it is known: the filter waits for the next
/// picture, and a camera's would be a picture late.
fn filters(options: &FfmpegOptions, facts: Facts) -> String {
    let mean = facts.mean_rate.map(|rate| {
        if rate.is_above(FrameRate::DEFAULT_MAX) {
            FrameRate::DEFAULT_MAX
        } else {
            rate
        }
    });
    let rate = options.frame_rate.or(mean);
    let rate = rate.map_or_else(String::new, |rate| format!("fps={rate},"));
    let size = match options.size {
        Some((width, height)) => format!("{width}:{height}"),
        // Both M-JPEG and H.264 can have a width of whole blocks.
        None => format!("'if(eq(sar,1),iw,clip(8*round(iw*sar/8),8,{MAX_SIDE}))':ih"),
    };
    let matrix = if facts.is_undeclared_hd {
        "in_color_matrix=bt709:"
    } else {
        ""
    };
    format!(
        "{rate}scale={size}:{matrix}out_color_matrix=bt601:out_range=tv,format=yuv420p,setsar=1"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(input: &FfmpegInput, options: &FfmpegOptions, facts: Facts) -> String {
        arguments(input, options, facts).join(" ")
    }

    #[test]
    fn options_become_arguments_in_ffmpegs_order() {
        let options = FfmpegOptions {
            frame_rate: FrameRate::new(30_000, 1001),
            size: Some((320, 240)),
            repeat: true,
        };
        let camera = FfmpegInput::Device {
            options: vec!["-f".into(), "v4l2".into()],
            name: "/dev/video0".into(),
            filter: None,
        };
        assert_eq!(
            words(&camera, &options, Facts::default()),
            "-nostdin -v error -stream_loop -1 -f v4l2 -i /dev/video0 -vf fps=30000/1001,scale=320:240:\
             out_color_matrix=bt601:out_range=tv,format=yuv420p,setsar=1 -pix_fmt yuv420p -f yuv4mpegpipe -"
        );
    }

    #[test]
    fn file_is_confined_whatever_its_name() {
        for path in [
            "12:30 meeting.mp4",
            "-x.mp4",
            "http://x/y.m3u8",
            "x%03d.png",
        ] {
            let words = FfmpegInput::from(path).arguments();
            assert_eq!(words[..2], ["-protocol_whitelist", "file"]);
            assert_eq!(words[4..], ["-i".to_owned(), format!("file:{path}")]);
            let formats: Vec<&str> = words[3].split(',').collect();
            assert_eq!(formats.contains(&IMAGE_FORMAT), !path.contains('%'));
            for playlist in ["hls", "concat", "dash", "sdp", "image2pipe", "lavfi", "imf"] {
                assert!(!formats.contains(&playlist), "{playlist}");
            }
        }
    }

    #[test]
    fn stream_opens_no_file_or_pipe() {
        let words = FfmpegInput::Address("http://192.0.2.1/live.m3u8".into()).arguments();
        let mut protocols = words[1].split(',');
        assert!(protocols.all(|protocol| !["file", "pipe", "fd", "subfile"].contains(&protocol)));
    }

    #[test]
    fn rate_is_the_mean_up_to_the_most() {
        for (given, mean, expected) in [
            (None, Some((25, 1)), "fps=25,"),
            (None, Some((1498, 100)), "fps=1498/100,"),
            (None, Some((240, 1)), "fps=120,"),
            (None, None, "scale="),
            (Some((240, 1)), Some((25, 1)), "fps=240,"),
        ] {
            let rate = |pair: Option<(u32, u32)>| pair.and_then(|(n, d)| FrameRate::new(n, d));
            let options = FfmpegOptions {
                frame_rate: rate(given),
                ..FfmpegOptions::default()
            };
            let facts = Facts {
                mean_rate: rate(mean),
                ..Facts::default()
            };
            assert!(filters(&options, facts).starts_with(expected), "{expected}");
        }
    }

    #[test]
    fn facts_of_a_file_are_read() {
        let text = "height=720\r\ncolor_space=unknown\navg_frame_rate=30000/1001\n";
        let facts = Facts {
            mean_rate: FrameRate::new(30_000, 1001),
            is_undeclared_hd: true,
        };
        assert_eq!(Facts::parse(text), facts);
        assert!(filters(&FfmpegOptions::default(), facts).contains(":in_color_matrix=bt709:"));
        for text in [
            "",
            "height=576\ncolor_space=unknown\navg_frame_rate=0/0",
            "height=1080\ncolor_space=bt709",
        ] {
            assert_eq!(Facts::parse(text), Facts::default(), "{text}");
        }
    }
}
