//! Metrics of peers side by side: where a peer differs from the first one by more than chance.

use std::fmt::Write as _;

use crate::comparison::{Better, ComparedRow, Measure, PeerComparison};
use crate::figure::{escape, readable};
use crate::metrics::Estimate;
use crate::result::RunResult;

/// A difference of less than this share is no difference to a viewer, however small the intervals are.
const NEGLIGIBLE: f64 = 0.01;

/// How a peer compares with the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Better,
    Worse,
    /// The intervals overlap, or the difference is negligible.
    Level,
}

impl PeerComparison {
    /// The table as HTML, with a line a peer on how often it is better and worse.
    pub fn html(&self, result: &RunResult) -> String {
        let mut html = String::from("<h3>Side by side</h3>\n<ul>\n");
        for (peer, label) in self.peers.iter().skip(1) {
            let _ = writeln!(html, "<li>{}</li>", self.tally(result, peer, label));
        }
        html.push_str(
            "</ul>\n<p>Better and worse: the 90 % intervals do not overlap, and the means differ by 1 % or more.</p>\n\
             <table>\n<thead><tr><th>Case</th><th></th>",
        );
        for measure in &self.measures {
            let _ = write!(html, "<th>{}</th>", escape(&measure.heading));
        }
        html.push_str("<th>shares, Mb/s</th></tr></thead>\n<tbody>\n");
        for row in &self.rows {
            self.rows_of(&mut html, result, row);
        }
        html.push_str("</tbody>\n</table>\n");
        html
    }

    fn rows_of(&self, html: &mut String, result: &RunResult, row: &ComparedRow) {
        for (index, (peer, label)) in self.peers.iter().enumerate() {
            html.push_str("<tr>");
            if index == 0 {
                let title = escape(&row.title);
                let _ = write!(html, "<th rowspan=\"{}\">{title}</th>", self.peers.len());
            }
            let _ = write!(html, "<td>{}</td>", escape(label));
            for measure in &self.measures {
                let class = match self.standing(result, measure, row, peer) {
                    Some(Standing::Better) => " class=\"pass\" title=\"better than the first\"",
                    Some(Standing::Worse) => " class=\"fail\" title=\"worse than the first\"",
                    Some(Standing::Level) | None => "",
                };
                let value = value(result, measure, row, peer);
                let cell = value.map_or_else(String::new, |value| text(&value));
                let _ = write!(html, "<td{class}>{cell}</td>");
            }
            let shares = row.shares.iter().filter_map(|(flow, metric)| {
                let value = metric_of(result, &format!("{metric}_{peer}"))?;
                Some(format!("{} {}", escape(flow), text(&value)))
            });
            let shares: Vec<String> = shares.collect();
            let _ = writeln!(html, "<td>{}</td></tr>", shares.join("; "));
        }
    }

    /// Where a peer is better than the first one and how often it is worse.
    fn tally(&self, result: &RunResult, peer: &str, label: &str) -> String {
        let all = self.rows.iter().flat_map(|row| {
            let measures = self.measures.iter();
            measures.filter_map(move |measure| {
                let standing = self.standing(result, measure, row, peer)?;
                Some((standing, measure, row))
            })
        });
        let all: Vec<_> = all.collect();
        let first = self.peers.first().map_or("", |(_, label)| label);
        let count = |wanted| {
            all.iter()
                .filter(|(standing, ..)| *standing == wanted)
                .count()
        };
        let mut text = format!(
            "{}: better than {} in {} of {} comparisons, worse in {}.",
            escape(label),
            escape(first),
            count(Standing::Better),
            all.len(),
            count(Standing::Worse),
        );
        for measure in &self.measures {
            let better = all.iter().filter(|(standing, of, _)| {
                *standing == Standing::Better && of.name == measure.name
            });
            let titles: Vec<String> = better.map(|(_, _, row)| escape(&row.title)).collect();
            if !titles.is_empty() {
                let heading = escape(&measure.heading);
                let _ = write!(text, "<br>Better, {heading}: {}.", titles.join("; "));
            }
        }
        text
    }

    /// How a peer compares with the first one; `None` where one of the two has no value.
    fn standing(
        &self,
        result: &RunResult,
        measure: &Measure,
        row: &ComparedRow,
        peer: &str,
    ) -> Option<Standing> {
        let (first, _) = self.peers.first()?;
        if peer == first {
            return None;
        }
        let reference = value(result, measure, row, first)?;
        let value = value(result, measure, row, peer)?;
        let ahead = match measure.better {
            Better::More => value.mean - reference.mean,
            Better::Less => reference.mean - value.mean,
        };
        let chance = half_width(&value) + half_width(&reference);
        let least = chance.max(NEGLIGIBLE * reference.mean.abs());
        Some(if ahead > least {
            Standing::Better
        } else if -ahead > least {
            Standing::Worse
        } else {
            Standing::Level
        })
    }
}

fn value(result: &RunResult, measure: &Measure, row: &ComparedRow, peer: &str) -> Option<Estimate> {
    let names = row.keys.iter();
    let mut names = names.map(|key| format!("{}_{key}_{peer}", measure.name));
    names.find_map(|name| metric_of(result, &name))
}

fn metric_of(result: &RunResult, name: &str) -> Option<Estimate> {
    let interval = result.intervals.get(name);
    Some(Estimate {
        mean: result.metrics.get(name).copied().flatten()?,
        half_width: interval.map(|[low, high]| (high - low) / 2.0),
    })
}

/// Zero without an interval.
fn half_width(estimate: &Estimate) -> f64 {
    estimate.half_width.unwrap_or(0.0)
}

fn text(estimate: &Estimate) -> String {
    format!("{} ± {}", short(estimate.mean), short(half_width(estimate)))
}

/// Three digits: five seeds give no more.
fn short(value: f64) -> String {
    if value.abs() >= 100.0 {
        readable(value.round())
    } else if value.abs() >= 10.0 {
        readable((value * 10.0).round() / 10.0)
    } else {
        readable((value * 100.0).round() / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> RunResult {
        let text = r#"{"id": "e", "commit": "c", "seed": 1, "seeds": 5, "clock": "virtual", "command": "",
            "machine": "", "fingerprint": "", "wall_s": 0, "checks": [],
            "metrics": {"use_a_ours": 90, "use_a_b": 95, "use_a_c": 80, "gap_a_ours": 300, "gap_a_b": 310, "gap_a_c": null},
            "intervals": {"use_a_ours": [89, 91], "use_a_b": [93, 97], "gap_a_ours": [290, 310], "gap_a_b": [305, 315]}}"#;
        serde_json::from_str(text).unwrap()
    }

    fn comparison() -> PeerComparison {
        let measure = |name: &str, better| Measure {
            name: name.to_owned(),
            heading: format!("{name} of it"),
            better,
        };
        PeerComparison {
            peers: ["ours", "b", "c"]
                .map(|key| (key.to_owned(), key.to_uppercase()))
                .into(),
            measures: vec![measure("use", Better::More), measure("gap", Better::Less)],
            rows: vec![ComparedRow {
                title: "a".to_owned(),
                keys: vec!["a".to_owned()],
                shares: Vec::new(),
            }],
        }
    }

    #[test]
    fn peer_is_better_only_where_intervals_part() {
        let (comparison, result) = (comparison(), result());
        let standing = |measure: usize, peer| {
            let measure = &comparison.measures[measure];
            comparison.standing(&result, measure, &comparison.rows[0], peer)
        };
        assert_eq!(standing(0, "b"), Some(Standing::Better));
        assert_eq!(standing(0, "c"), Some(Standing::Worse));
        assert_eq!(standing(1, "b"), Some(Standing::Level));
        assert_eq!(standing(1, "c"), None);
        assert_eq!(standing(0, "ours"), None);
    }

    #[test]
    fn table_says_where_a_peer_is_better() {
        let html = comparison().html(&result());
        let said =
            "B: better than OURS in 1 of 2 comparisons, worse in 0.<br>Better, use of it: a.";
        assert!(html.contains(said), "{html}");
        assert!(
            html.contains("<td class=\"pass\" title=\"better than the first\">95 ± 2</td>"),
            "{html}"
        );
        assert!(html.contains("<td>310 ± 5</td>"), "{html}");
    }
}
