//! The thesis's call of figure 7.16 (100 ms, 1000 kb/s, 10 frames a second, scaled to CIF) of real clips, where
//! `EVENKEEL_MEDIA_DIR` names their folder.
//!
//! `EVENKEEL_MEDIA_DIR=DIR cargo test --release -p evenkeel-lab --test clips -- --nocapture`

use std::path::Path;
use std::sync::atomic::AtomicBool;

use evenkeel_lab::experiment::Experiment;
use evenkeel_lab::findings::Findings;
use evenkeel_lab::job::Job;

/// The thesis has 18.9 dB there, of a camera's pictures of who talks, and calls 25 dB good (§7.5).
const LEAST_DB: f64 = 30.0;

/// Of the frames, in per cent: 50 ms of propagation leave 100 of the 150 ms for a frame.
const MOST_LATE: f64 = 1.0;

fn metrics_of(clip: &Path) -> Findings {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/thesis-fig7-16.toml");
    let settings = [
        format!("content.clip={:?}", clip.display().to_string()),
        r#"policies=["evenkeel"]"#.to_owned(),
    ];
    let experiment = Experiment::load(&file, &settings).expect("a sound experiment");
    let scenario = experiment.definition.scenario.scenario();
    let sample = scenario.run(Job {
        cell: 0,
        seed: 1,
        stop: &AtomicBool::new(false),
    });
    Findings::join(&[vec![sample.expect("ffmpeg and the clip are there")]])
}

#[test]
fn real_clips_are_seen_in_time_and_well() {
    let Some(folder) = std::env::var_os("EVENKEEL_MEDIA_DIR") else {
        println!("EVENKEEL_MEDIA_DIR is not set: no clips");
        return;
    };
    for name in ["carphone_pristine", "bikes", "bigbuckbunny"] {
        let clip = Path::new(&folder).join(name).with_extension("mp4");
        let findings = metrics_of(&clip);
        let value = |metric: &str| findings.value(&format!("{metric}_evenkeel_100ms"));
        let (psnr, in_time) = (value("psnr_mean_db"), value("psnr_in_time_db"));
        let late = 100.0 - value("in_time_pct");
        println!(
            "{name}: {psnr:.1} dB shown, {in_time:.1} dB in time, {late:.2} % of the frames not in time"
        );
        assert!(
            psnr > LEAST_DB && in_time > LEAST_DB,
            "{name}: {psnr}, {in_time} dB"
        );
        assert!(late <= MOST_LATE, "{name}: {late} %");
    }
}
