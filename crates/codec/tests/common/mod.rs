//! Pictures of real clips for the tests.

use std::ffi::OsStr;
use std::path::Path;

use evenkeel_codec::picture::Picture;
use evenkeel_codec::source::{Ffmpeg, FfmpegOptions, Source, Y4m};

/// The clips in the folder that `EVENKEEL_MEDIA_DIR` names, with their names; none if it is not set.
///
/// Once set it must hold: no folder, no clip or an unreadable one is a failure.
pub(crate) fn clips() -> Vec<(String, Vec<Picture>)> {
    let Some(folder) = std::env::var_os("EVENKEEL_MEDIA_DIR") else {
        println!("EVENKEEL_MEDIA_DIR is not set: no clips");
        return Vec::new();
    };
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .expect("EVENKEEL_MEDIA_DIR must be a folder")
        .map(|entry| entry.expect("readable folder").path())
        .collect();
    paths.sort();
    let clips: Vec<_> = paths.iter().filter_map(|path| clip(path)).collect();
    assert!(!clips.is_empty(), "no .y4m or .mp4 in {}", folder.display());
    clips
}

fn clip(path: &Path) -> Option<(String, Vec<Picture>)> {
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let pictures = match path.extension().and_then(OsStr::to_str)? {
        "y4m" => read(Y4m::open(path).expect("readable clip"), usize::MAX),
        "mp4" => {
            let path = path.to_str().expect("a path that ffmpeg can be told");
            read(
                Ffmpeg::open(path, &FfmpegOptions::default()).expect("readable clip"),
                usize::MAX,
            )
        }
        _ => return None,
    };
    Some((name, pictures))
}

fn read(mut source: impl Source, count: usize) -> Vec<Picture> {
    core::iter::from_fn(|| source.next().expect("unbroken"))
        .take(count)
        .collect()
}
