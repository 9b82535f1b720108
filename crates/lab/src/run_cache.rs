//! The runs of a test bed and of long experiments, on disk one by one, so that an interruption loses one run at most.
//!
//! A run is read back to the bit: a result is the same with and without an interruption.

use std::path::PathBuf;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use tfrc::time::Duration;

use crate::atomic_file;
use crate::findings::Sample;
use crate::whole_file::{FileKind, read_text};

/// Where the runs of one experiment are until its result is written, and what they must be of.
pub(crate) struct RunCache {
    pub(crate) folder: PathBuf,
    /// The source that the program was built from.
    pub(crate) commit: String,
    /// Stands for the experiment's file, its settings and its seeds.
    pub(crate) fingerprint: String,
}

#[derive(Serialize, Deserialize)]
struct CachedRun {
    commit: String,
    fingerprint: String,
    took_s: f64,
    sample: Sample,
}

impl RunCache {
    /// What a run gave and how long it took, if it was kept and is of the same source and experiment.
    pub(crate) fn load(&self, cell: usize, seed: u64) -> Option<(Sample, Duration)> {
        let text = read_text(&self.file(cell, seed), FileKind::Output).ok()?;
        let run: CachedRun = serde_json::from_str(&text).ok()?;
        let same = run.commit == self.commit && run.fingerprint == self.fingerprint;
        let took = Duration::try_from_secs_f64(run.took_s).ok()?;
        same.then_some((run.sample, took))
    }

    /// Keeps a run; its file is whole or not there.
    pub(crate) fn store(
        &self,
        cell: usize,
        seed: u64,
        sample: &Sample,
        took: Duration,
    ) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let run = CachedRun {
            commit: self.commit.clone(),
            fingerprint: self.fingerprint.clone(),
            took_s: took.as_secs_f64(),
            sample: sample.clone(),
        };
        atomic_file::write(&self.file(cell, seed), &serde_json::to_string(&run)?)
    }

    /// The result is written: nobody needs them any more, and if it lacks something, nobody must take them again.
    pub(crate) fn clear(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn file(&self, cell: usize, seed: u64) -> PathBuf {
        self.folder.join(format!("{cell}-{seed}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Findings;
    use crate::metrics::Estimate;

    #[test]
    fn a_run_is_what_it_was_and_one_of_another_source_is_none() {
        let name = format!("evenkeel-run-cache-{}", std::process::id());
        let cache = |commit: &str| RunCache {
            folder: std::env::temp_dir().join(&name),
            commit: commit.to_owned(),
            fingerprint: "f".to_owned(),
        };
        let mut sample = Sample::default();
        let half_width = Some(0.25);
        sample.metric(
            "ratio",
            Estimate {
                mean: 1.5,
                half_width,
            },
        );
        let unsure = Estimate {
            mean: 1.5,
            half_width: Some(f64::NAN),
        };
        sample.metric("unsure", unsure);
        sample.metric("undefined", f64::NAN);
        sample.metric("infinite", f64::INFINITY);
        sample.curve("c", "a", [(1.0, f64::NAN), (2.0, 3.0)]);
        // Decimals of 17 digits, each of them another rounding.
        let sevenths = || (1..1_000).map(|k| f64::from(k) / 7.0);
        let both = |x| {
            (
                x,
                Estimate {
                    mean: x,
                    half_width: Some(x),
                },
            )
        };
        sample.curve("c", "sevenths", sevenths().map(both));
        let (ours, took) = (cache("ours"), Duration::from_millis(1_500));
        ours.store(3, 1, &sample, took).unwrap();
        let (loaded, loaded_took) = ours.load(3, 1).unwrap();
        let [other, elsewhere] = [cache("theirs").load(3, 1), ours.load(4, 1)];
        ours.clear().unwrap();
        assert!(other.is_none() && elsewhere.is_none() && ours.load(3, 1).is_none());
        ours.clear().unwrap();

        assert_eq!(loaded_took, took);
        let findings = Findings::join(&[vec![loaded]]);
        let ratio = findings.estimate("ratio");
        assert_eq!((ratio.mean, ratio.half_width), (1.5, Some(0.25)));
        let unsure = findings.estimate("unsure").half_width;
        assert!(unsure.is_some_and(f64::is_nan));
        assert!(findings.value("undefined").is_nan());
        assert_eq!(findings.value("infinite"), f64::INFINITY);
        let points = &findings.curves[0].points;
        assert!(points[0].y.mean.is_nan() && points[1].y.mean == 3.0);
        let points = findings.curves[1].points.iter();
        let loaded: Vec<_> = points.map(|point| (point.x, point.y)).collect();
        assert_eq!(loaded, sevenths().map(both).collect::<Vec<_>>());
    }
}
