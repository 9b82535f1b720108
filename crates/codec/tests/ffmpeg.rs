//! `ffmpeg` as a source, and as what knows DV. It runs where `EVENKEEL_MEDIA_DIR` is set, as it is where `ffmpeg` must be.

use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_codec::picture::Picture;
use evenkeel_codec::source::{DvFile, Ffmpeg, FfmpegInput, FfmpegOptions, FrameRate, Source};

fn wanted() -> bool {
    let wanted = std::env::var_os("EVENKEEL_MEDIA_DIR").is_some();
    if !wanted {
        println!("EVENKEEL_MEDIA_DIR is not set: ffmpeg is not tried");
    }
    wanted
}

#[test]
fn ffmpeg_gives_pictures_of_requested_size_and_rate() {
    if !wanted() {
        return;
    }
    let options = FfmpegOptions {
        frame_rate: FrameRate::new(30_000, 1001),
        size: Some((49, 35)),
        repeat: false,
    };
    // Without an end: only being killed stops this one.
    let input = FfmpegInput::Device {
        options: vec!["-f".into(), "lavfi".into()],
        name: "testsrc2".into(),
        filter: None,
    };
    let mut source = Ffmpeg::open(input, &options).expect("ffmpeg draws it");
    let format = source.format();
    assert_eq!((format.width, format.height), (49, 35));
    assert_eq!(Some(format.frame_rate), options.frame_rate);
    let first = source.next().expect("unbroken");
    let second = source.next().expect("unbroken");
    assert!(first.is_some() && second.is_some() && first != second);
}

#[test]
fn unreadable_input_gives_the_message_of_ffmpeg() {
    if !wanted() {
        return;
    }
    let file = std::env::temp_dir().join(format!("evenkeel-{}.mp4", std::process::id()));
    std::fs::write(&file, "this is no film").expect("writable folder");
    let path = file.to_str().expect("a path that ffmpeg can be told");
    let message = Ffmpeg::open(path, &FfmpegOptions::default())
        .err()
        .map(|e| e.to_string());
    std::fs::remove_file(&file).expect("just written");
    let message = message.expect("no film");
    assert!(message.starts_with("ffmpeg cannot read"), "{message}");
    assert!(message.contains("Invalid data"), "{message}");
}

/// A folder of this name, which the test removes.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("evenkeel-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a writable folder");
    folder
}

/// Makes a file of this filter's pictures.
fn make(filter: &str, options: &[&str], file: &Path) {
    let made = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error", "-f", "lavfi", "-i", filter])
        .args(options)
        .arg("-y")
        .arg(format!("file:{}", file.display()))
        .status();
    assert!(made.expect("ffmpeg runs").success(), "{filter}");
}

fn read(file: &Path) -> Result<Ffmpeg, evenkeel_codec::source::SourceError> {
    Ffmpeg::open(file.to_str().expect("UTF-8"), &FfmpegOptions::default())
}

/// The colour in the middle, as a receiver of M-JPEG shows it (BT.601).
fn middle(picture: &Picture) -> [i32; 3] {
    let (columns, rows) = (picture.chroma_width(), picture.chroma_height());
    let [luma, cb, cr] = picture.planes();
    let chroma = rows / 2 * columns + columns / 2;
    let luma = f64::from(luma[2 * (rows / 2) * picture.width() + 2 * (columns / 2)]) - 16.0;
    let [cb, cr] = [cb, cr].map(|plane| f64::from(plane[chroma]) - 128.0);
    let luma = luma * 255.0 / 219.0;
    let [cb, cr] = [cb, cr].map(|sample| sample * 255.0 / 224.0);
    let colour = [
        luma + 1.402 * cr,
        luma - 0.344_136 * cb - 0.714_136 * cr,
        luma + 1.772 * cb,
    ];
    colour.map(|sample| sample.clamp(0.0, 255.0).round() as i32)
}

#[test]
fn colours_are_right_for_any_matrix_and_range() {
    if !wanted() {
        return;
    }
    let folder = folder("colours");
    for (size, matrix, range, is_tagged) in [
        ("1280x720", "bt709", "tv", true),
        ("1280x720", "bt709", "tv", false),
        ("640x480", "bt709", "pc", true),
        ("640x480", "smpte170m", "tv", true),
        ("640x480", "smpte170m", "tv", false),
    ] {
        let file = folder.join("green.mkv");
        let filter = format!(
            "color=c=0x00BC00:s={size}:d=0.2,format=rgb24,scale=out_color_matrix={matrix}:out_range={range},format=yuv420p"
        );
        let tags = ["-colorspace", matrix, "-color_range", range];
        let tags: &[&str] = if is_tagged {
            &tags
        } else {
            &["-colorspace", "unknown"]
        };
        make(
            &filter,
            &[&["-c:v", "libx264", "-qp", "0"], tags].concat(),
            &file,
        );
        let picture = read(&file).expect("a clip").next().expect("unbroken");
        let shown = middle(&picture.expect("a picture"));
        let near = shown
            .iter()
            .zip([0, 188, 0])
            .all(|(a, b)| (a - b).abs() <= 2);
        assert!(near, "{matrix} {range}, tagged {is_tagged}: {shown:?}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder of this test");
}

#[test]
fn pixels_become_square_and_rates_true() {
    if !wanted() {
        return;
    }
    let folder = folder("shapes");
    let h264 = ["-c:v", "libx264", "-preset", "ultrafast"];
    for (name, filter, expected) in [
        (
            "wide.mpg",
            "testsrc=s=720x576:r=25:d=1,setsar=64/45",
            ((1024, 576), 25.0),
        ),
        (
            "plain.mkv",
            "testsrc=s=850x480:r=30000/1001:d=1",
            ((850, 480), 29.97),
        ),
        // Two of three pictures of 30 a second are left out of the second half.
        (
            "uneven.mp4",
            "testsrc=s=320x240:r=30:d=4,select='lt(t,2)+not(mod(n,3))'",
            ((320, 240), 20.0),
        ),
        (
            "fast.mkv",
            "testsrc=s=320x240:r=240:d=1",
            ((320, 240), 120.0),
        ),
    ] {
        let file = folder.join(name);
        let options: &[&str] = if name == "wide.mpg" { &[] } else { &h264 };
        make(
            filter,
            &[options, &["-fps_mode", "passthrough"]].concat(),
            &file,
        );
        let source = read(&file).expect(name);
        let format = source.format();
        let rate = format.frame_rate.per_second();
        assert_eq!((format.width, format.height), expected.0, "{name}");
        assert!((rate - expected.1).abs() < 0.5, "{name}: {rate} a second");
        assert_eq!(source.faster_rate().is_some(), name == "fast.mkv", "{name}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder of this test");
}

#[test]
fn file_of_any_name_opens_and_opens_no_other() {
    if !wanted() {
        return;
    }
    let folder = folder("names");
    for name in ["12:30 meeting.mp4", "-x.mp4", "100%03d.mp4", "http:x.mp4"] {
        let file = folder.join(name);
        make("testsrc=d=0.2", &["-c:v", "libx264"], &file);
        assert!(read(&file).is_ok(), "{name}");
    }
    make(
        "testsrc=d=0.2",
        &["-c:v", "libx264"],
        &folder.join("secret.ts"),
    );
    let still = folder.join("still.png");
    make("testsrc=d=0.04", &["-frames:v", "1"], &still);
    assert!(read(&still).is_ok());
    for (name, text) in [
        (
            "list.m3u8",
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n",
        ),
        ("list.mp4", "ffconcat version 1.0\nfile 'secret.ts'\n"),
        (
            "session.sdp",
            "v=0\nm=video 5004 RTP/AVP 26\nc=IN IP4 127.0.0.1\n",
        ),
    ] {
        let file = folder.join(name);
        std::fs::write(&file, text).expect("writable folder");
        let message = read(&file).err().map(|error| error.to_string());
        let message = message.expect("it names others");
        assert!(message.contains("stands alone"), "{name}: {message}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder of this test");
}

/// The mean of so many columns and eight rows from there on.
fn mean(plane: &[u8], width: usize, columns: usize, (x, y): (usize, usize)) -> i32 {
    let rows = plane.chunks_exact(width).skip(y).take(8);
    let samples = rows.flat_map(|row| &row[x..x + columns]);
    samples.map(|&sample| i32::from(sample)).sum::<i32>() / (8 * columns as i32)
}

#[test]
fn dv_mosaic_equals_means_by_ffmpeg() {
    if !wanted() {
        return;
    }
    for target in ["ntsc-dv", "pal-dv"] {
        let name = format!("evenkeel-{}-{target}.dv", std::process::id());
        let file = std::env::temp_dir().join(name);
        let made = Command::new("ffmpeg")
            .args(["-nostdin", "-v", "error", "-f", "lavfi"])
            .args(["-i", "testsrc=duration=0.1", "-target", target, "-y"])
            .arg(&file)
            .status();
        assert!(made.expect("ffmpeg runs").success());
        let mut raw = DvFile::open(&file).expect("raw DV");
        let options = FfmpegOptions {
            // Its pixels are not square, and stay so in the mosaic.
            size: Some((raw.format().width, raw.format().height)),
            ..FfmpegOptions::default()
        };
        let decoded = Ffmpeg::open(file.to_str().expect("UTF-8"), &options);
        let mut decoded = decoded.expect("ffmpeg reads it");
        assert_eq!(raw.format(), decoded.format(), "{target}");
        let format = raw.format();
        let shown = raw.next().expect("unbroken").expect("a frame");
        let whole = decoded.next().expect("unbroken").expect("a frame");
        std::fs::remove_file(&file).expect("just written");
        // Chroma of 525 lines has its means over 32x8 samples of luma, 16x4 of its own here.
        for (plane, scale, columns) in [(0, 1, 8), (1, 2, 16), (2, 2, 16)] {
            let (width, height) = (format.width / scale, format.height / scale);
            let [shown, whole] = [&shown, &whole].map(|picture| picture.planes()[plane]);
            let mut far = Vec::new();
            for y in (0..height - 7).step_by(8) {
                for x in (0..width - columns + 1).step_by(columns) {
                    let [shown, whole] =
                        [shown, whole].map(|plane| mean(plane, width, columns, (x, y)));
                    far.push((shown - whole).abs());
                }
            }
            far.sort_unstable();
            let most = far[far.len() * 9 / 10];
            println!("{target}, plane {plane}: nine of ten means are within {most}");
            assert!(most <= 3, "{target}, plane {plane}: {most}");
        }
    }
}
