//! Tests of the names of screens and cameras, on each system.

use super::*;
use evenkeel_codec::source::FrameRate;

const SYSTEMS: [System; 3] = [System::Linux, System::MacOs, System::Windows];

fn wanted() -> Format {
    Format {
        width: 640,
        height: 480,
        frame_rate: FrameRate::new(30, 1).expect("valid"),
    }
}

fn offer(formats: &[&str]) -> DeviceCapture {
    DeviceCapture {
        formats: formats.iter().map(ToString::to_string).collect(),
        display: Some(":0".into()),
        cameras: vec!["Integrated Camera".into()],
    }
}

fn words(input: &FfmpegInput) -> String {
    match input {
        FfmpegInput::Device { options, name, .. } => format!("{} -i {name}", options.join(" ")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn device_is_found_by_its_name() {
    for (name, expected) in [
        ("screen", Some(Device::Screen)),
        ("camera", Some(Device::Camera(0))),
        ("camera:2", Some(Device::Camera(2))),
        ("camera:x", None),
        ("camera.mp4", None),
    ] {
        assert_eq!(named(name), expected, "{name}");
    }
}

#[test]
fn screen_is_asked_for_on_each_system() {
    for (system, formats, expected) in [
        (System::Linux, "x11grab", "-f x11grab -framerate 30 -i :0"),
        (System::Linux, "kmsgrab", "-f kmsgrab -framerate 30 -i -"),
        (
            System::MacOs,
            "avfoundation",
            "-f avfoundation -framerate 30 -capture_cursor 1 -i Capture screen 0:none",
        ),
        (
            System::Windows,
            "gdigrab",
            "-f gdigrab -framerate 30 -i desktop",
        ),
    ] {
        let input = screen(system, &offer(&[formats]), wanted());
        assert_eq!(input.as_ref().map(words).as_deref(), Ok(expected));
    }
}

#[test]
fn camera_is_asked_for_size_rate_and_mjpeg() {
    let asked = "-video_size 640x480 -framerate 30";
    for (system, format, mjpeg, name) in [
        (System::Linux, "v4l2", "-input_format mjpeg ", "/dev/video1"),
        (System::MacOs, "avfoundation", "", "1:none"),
        (
            System::Windows,
            "dshow",
            "-vcodec mjpeg ",
            "video=USB Camera",
        ),
    ] {
        let mut offer = offer(&[format]);
        offer.cameras.push("USB Camera".into());
        let found = camera_name(system, &offer, 1).expect("offered");
        assert_eq!(found, name);
        let inputs: Vec<String> = camera(system, &found, wanted()).iter().map(words).collect();
        assert_eq!(inputs[0], format!("-f {format} {mjpeg}{asked} -i {name}"));
        assert_eq!(inputs.last(), Some(&format!("-f {format} -i {name}")));
    }
}

#[test]
fn missing_device_is_one_line_with_a_remedy() {
    for system in SYSTEMS {
        let none = offer(&[]);
        let faults = [
            screen(system, &none, wanted()).err(),
            camera_name(system, &none, 0).err(),
        ];
        for fault in faults {
            let fault = fault.expect("nothing is offered");
            assert!(fault.contains("install"), "{fault}");
        }
    }
    let hidden = DeviceCapture {
        display: None,
        ..offer(&["x11grab"])
    };
    let fault = screen(System::Linux, &hidden, wanted()).err();
    assert!(fault.is_some_and(|fault| fault.contains("DISPLAY")));
    assert!(camera_name(System::Windows, &offer(&["dshow"]), 1).is_err());
}

#[test]
fn lists_of_ffmpeg_are_read() {
    let devices = "Devices:\n D. = Demuxing supported\n .E = Muxing supported\n --\n DE alsa  ALSA\n  E xv  XV\n DE video4linux2,v4l2 Video4Linux2\n D  x11grab X11\n";
    let expected = ["alsa", "video4linux2", "v4l2", "x11grab"];
    assert_eq!(formats(devices), expected);
    let mac = "[AVFoundation indev @ 0x1] AVFoundation video devices:\n[AVFoundation indev @ 0x1] [0] FaceTime HD Camera\n[AVFoundation indev @ 0x1] [1] Capture screen 0\n[AVFoundation indev @ 0x1] AVFoundation audio devices:\n[AVFoundation indev @ 0x1] [0] Microphone\n";
    assert_eq!(listed(System::MacOs, mac), ["FaceTime HD Camera"]);
    let windows = "[dshow @ 01] \"USB Camera\" (video)\n[dshow @ 01]   Alternative name \"@device\"\n[dshow @ 01] \"Microphone\" (audio)\n";
    assert_eq!(listed(System::Windows, windows), ["USB Camera"]);
    assert!(listed(System::Linux, mac).is_empty());
}
