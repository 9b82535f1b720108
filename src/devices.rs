//! `--source screen`, `camera` and `camera:N`: what `ffmpeg` is asked for on each system.

#[cfg(test)]
mod tests;

use std::fs;
use std::process::{Command, Stdio};

use evenkeel_codec::source::{FfmpegInput, Format};

/// A source that has no name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    Screen,
    /// The camera of this number, from 0.
    Camera(u16),
}

/// An operating system, as far as its devices have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Linux,
    MacOs,
    Windows,
}

/// What a system and its `ffmpeg` offer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct DeviceCapture {
    /// The devices that `ffmpeg` reads.
    formats: Vec<String>,
    /// The X display.
    display: Option<String>,
    /// The names of cameras, where they have no number.
    cameras: Vec<String>,
}

impl System {
    /// Returns this system; those without devices of their own have the names of Linux.
    const fn here() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }

    /// Returns the format of cameras in `ffmpeg`.
    const fn camera_format(self) -> &'static str {
        match self {
            Self::Linux => "v4l2",
            Self::MacOs => "avfoundation",
            Self::Windows => "dshow",
        }
    }

    /// Returns the formats of screens in `ffmpeg`, the best first.
    const fn screen_formats(self) -> &'static [&'static str] {
        match self {
            Self::Linux => &["x11grab", "kmsgrab"],
            Self::MacOs => &["avfoundation"],
            Self::Windows => &["gdigrab"],
        }
    }
}

/// Parses `screen`, `camera` and `camera:N`; `None` for other names.
pub(crate) fn named(name: &str) -> Option<Device> {
    match name {
        "screen" => Some(Device::Screen),
        "camera" => Some(Device::Camera(0)),
        _ => {
            let number = name.strip_prefix("camera:")?.parse();
            number.ok().map(Device::Camera)
        }
    }
}

/// Returns the inputs of a device on this system, to be tried in turn; the error says what is missing.
pub(crate) fn inputs(device: Device, wanted: Format) -> Result<Vec<FfmpegInput>, String> {
    let system = System::here();
    let capture = DeviceCapture {
        formats: formats(&said(&["-devices"])),
        display: std::env::var("DISPLAY")
            .ok()
            .filter(|name| !name.is_empty()),
        cameras: listed(system, &list(system)),
    };
    match device {
        Device::Screen => screen(system, &capture, wanted).map(|input| vec![input]),
        Device::Camera(number) => {
            let name = camera_name(system, &capture, number)?;
            if system == System::Linux && !fs::exists(&name).is_ok_and(|exists| exists) {
                return Err(format!(
                    "there is no {name}; plug a camera in, or choose one of `evenkeel doctor`"
                ));
            }
            Ok(camera(system, &name, wanted))
        }
    }
}

/// Returns the inputs of a camera that is named by its device file, to be tried in turn.
pub(crate) fn camera_file(name: &str, wanted: Format) -> Vec<FfmpegInput> {
    camera(System::here(), name, wanted)
}

fn screen(system: System, capture: &DeviceCapture, wanted: Format) -> Result<FfmpegInput, String> {
    let is_offered = |format: &&&str| capture.formats.iter().any(|offered| offered == **format);
    let known = system.screen_formats();
    let Some(&format) = known.iter().find(is_offered) else {
        return Err(format!(
            "this ffmpeg cannot read a screen ({}); install a whole one",
            known.join(" or ")
        ));
    };
    let rate = wanted.frame_rate.to_string();
    let (more, name) = match format {
        "x11grab" => {
            let display = capture.display.clone().ok_or(
                "there is no screen, as DISPLAY is not set; start this in a desktop session, or name a camera or a file",
            )?;
            (&[][..], display)
        }
        "kmsgrab" => (&[][..], "-".to_owned()),
        "avfoundation" => (
            &["-capture_cursor", "1"][..],
            "Capture screen 0:none".to_owned(),
        ),
        _ => (&[][..], "desktop".to_owned()),
    };
    let words = ["-f", format, "-framerate", &rate];
    Ok(FfmpegInput::Device {
        options: words.iter().chain(more).map(ToString::to_string).collect(),
        name,
        // The screen is in the memory of the graphics card.
        filter: (format == "kmsgrab").then_some("hwdownload,format=bgr0"),
    })
}

/// Returns the name of a camera in `ffmpeg`.
fn camera_name(system: System, capture: &DeviceCapture, number: u16) -> Result<String, String> {
    let format = system.camera_format();
    if !capture.formats.iter().any(|offered| offered == format) {
        return Err(format!(
            "this ffmpeg cannot read a camera ({format}); install a whole one"
        ));
    }
    match system {
        System::Linux => Ok(format!("/dev/video{number}")),
        System::MacOs => Ok(format!("{number}:none")),
        System::Windows => {
            let name = capture.cameras.get(usize::from(number));
            let name = name.ok_or_else(|| {
                let count = capture.cameras.len();
                format!(
                    "there are {count} cameras; plug one in, or choose one of `evenkeel doctor`"
                )
            })?;
            Ok(format!("video={name}"))
        }
    }
}

/// Returns the inputs of a camera, to be tried in turn. M-JPEG comes first, because USB has no room for large
/// pictures without it. Some cameras refuse a format that they do not have, and the last input asks for none.
fn camera(system: System, name: &str, wanted: Format) -> Vec<FfmpegInput> {
    let size = format!("{}x{}", wanted.width, wanted.height);
    let rate = wanted.frame_rate.to_string();
    let asked = ["-video_size", &size, "-framerate", &rate];
    let mjpeg: &[&str] = match system {
        System::Linux => &["-input_format", "mjpeg"],
        System::Windows => &["-vcodec", "mjpeg"],
        System::MacOs => &[],
    };
    let input = |options: &[&[&str]]| FfmpegInput::Device {
        options: ["-f", system.camera_format()]
            .iter()
            .chain(options.iter().copied().flatten())
            .map(ToString::to_string)
            .collect(),
        name: name.to_owned(),
        filter: None,
    };
    let mut inputs = vec![input(&[mjpeg, &asked]), input(&[&asked]), input(&[])];
    inputs.dedup();
    inputs
}

/// Returns the names of the devices that `ffmpeg -devices` lists as readable.
fn formats(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let is_readable = words.next()?.starts_with('D');
        words.next().filter(|names| is_readable && *names != "=")
    });
    lines
        .flat_map(|names| names.split(',').map(str::to_owned))
        .collect()
}

/// Returns the names of cameras in what `ffmpeg -list_devices true` prints.
fn listed(system: System, text: &str) -> Vec<String> {
    let words = |line: &str| {
        line.split_once("] ")
            .map(|(_, words)| words.trim().to_owned())
    };
    let lines = text.lines().filter_map(words);
    match system {
        System::Linux => Vec::new(),
        System::MacOs => lines
            .skip_while(|line| !line.ends_with("video devices:"))
            .skip(1)
            .take_while(|line| line.starts_with('['))
            .filter_map(|line| line.split_once("] ").map(|(_, name)| name.to_owned()))
            .filter(|name| !name.starts_with("Capture screen"))
            .collect(),
        System::Windows => lines
            .filter_map(|line| {
                let (name, kind) = line.strip_prefix('"')?.rsplit_once('"')?;
                (kind.trim() == "(video)").then(|| name.to_owned())
            })
            .collect(),
    }
}

/// Returns what `ffmpeg` prints about the cameras of a system that does not list them as files.
fn list(system: System) -> String {
    let list = ["-f", system.camera_format(), "-list_devices", "true", "-i"];
    match system {
        System::Linux => String::new(),
        System::MacOs => said(&[&list[..], &[""]].concat()),
        System::Windows => said(&[&list[..], &["dummy"]].concat()),
    }
}

/// Returns all that `ffmpeg` prints; nothing if there is none.
fn said(arguments: &[&str]) -> String {
    let mut ffmpeg = Command::new("ffmpeg");
    ffmpeg
        .arg("-hide_banner")
        .args(arguments)
        .stdin(Stdio::null());
    ffmpeg.output().map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
    )
}

/// Returns the cameras of this machine, each with the name that `--source` takes.
pub(crate) fn cameras() -> Vec<String> {
    let system = System::here();
    if system != System::Linux {
        let names = listed(system, &list(system)).into_iter().enumerate();
        return names
            .map(|(number, name)| format!("camera:{number} ({name})"))
            .collect();
    }
    let Ok(devices) = fs::read_dir("/sys/class/video4linux") else {
        return Vec::new();
    };
    let mut cameras: Vec<String> = devices
        .flatten()
        .map(|device| {
            let name = fs::read_to_string(device.path().join("name")).unwrap_or_default();
            let file = device.file_name().to_string_lossy().into_owned();
            let number = file.strip_prefix("video").unwrap_or(&file);
            format!("camera:{number} ({})", name.trim())
        })
        .collect();
    cameras.sort();
    cameras
}

/// Returns the ways in which `ffmpeg` reads the screen of this machine.
pub(crate) fn screens() -> Vec<String> {
    let known = System::here().screen_formats();
    let mut offered = formats(&said(&["-devices"]));
    offered.retain(|format| known.contains(&format.as_str()));
    offered
}
