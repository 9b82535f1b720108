//! Results of controllers that are built apart, as a file in the repository.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::figure::rounded;
use crate::findings::{Findings, Sample};
use crate::metrics::Estimate;
use crate::whole_file::{self, FileKind};

/// What one controller came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptResults {
    /// In names of metrics.
    pub(super) peer: String,
    /// For people, with the version.
    pub(super) label: String,
    /// Runs of each case.
    seeds: usize,
    cells: Vec<KeptCell>,
}

/// What it came to in one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptCell {
    /// The case as the experiment's file has it: a result counts for no other.
    described: serde_json::Value,
    /// Means over seeds, with half the width of their 90 % intervals.
    pub(super) metrics: BTreeMap<String, Estimate>,
}

impl KeptResults {
    pub(super) fn new(
        peer: &str,
        label: &str,
        described: &[serde_json::Value],
        cases: &[Vec<Sample>],
    ) -> Self {
        let cells = described.iter().zip(cases).map(|(described, seeds)| {
            let findings = Findings::join(std::slice::from_ref(seeds));
            let metrics = findings.metrics.into_iter();
            KeptCell {
                described: described.clone(),
                metrics: metrics.map(|(name, value)| (name, short(value))).collect(),
            }
        });
        Self {
            peer: peer.to_owned(),
            label: label.to_owned(),
            seeds: cases.first().map_or(0, Vec::len),
            cells: cells.collect(),
        }
    }

    /// The results of a file, if there is one.
    pub(super) fn read(file: &Path) -> io::Result<Option<Self>> {
        match whole_file::read(file, FileKind::Output) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The content of such a file.
    pub(super) fn text(&self) -> String {
        format!("{:#}\n", serde_json::json!(self))
    }

    /// The results of the cases that are still described as they were.
    pub(super) fn of<'a>(
        &'a self,
        described: &'a [serde_json::Value],
    ) -> impl Iterator<Item = &'a KeptCell> {
        let cells = self.cells.iter();
        cells.filter(|cell| described.contains(&cell.described))
    }
}

/// To the digits that results have.
fn short(estimate: Estimate) -> Estimate {
    Estimate {
        mean: rounded(estimate.mean),
        half_width: estimate.half_width.map(rounded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kept_result_counts_for_its_own_case_alone() {
        let mut sample = Sample::default();
        sample.metric("use_1_a_gcc", 0.123_456_789);
        sample.time("reaches_s_1_a_gcc", f64::NAN);
        let described = [json!({ "queue": "50ms" })];
        let kept = KeptResults::new("gcc", "GCC", &described, &[vec![sample]]);
        let read: KeptResults = serde_json::from_str(&kept.text()).unwrap();
        let cells: Vec<&KeptCell> = read.of(&described).collect();
        assert_eq!(cells[0].metrics["use_1_a_gcc"].mean, 0.123_457);
        assert!(cells[0].metrics["reaches_s_1_a_gcc"].mean.is_nan());
        assert_eq!(read.of(&[json!({ "queue": "60ms" })]).count(), 0);
    }
}
