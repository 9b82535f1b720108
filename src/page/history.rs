//! The last minute of samples, for the charts of viewers that join late, and the stream of new ones.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;
use tokio::sync::broadcast;

use super::sample::{Sample, to_json};

/// The time that the charts cover, in seconds.
pub(super) const SPAN_S: f64 = 60.0;
/// The most samples: 20 a second over that time, twice the requested number, whatever their times are.
const MAX_SAMPLES: usize = 1_200;
/// The samples by which a viewer may fall behind before it skips some: six seconds' worth.
const MAX_LAG: usize = 64;

/// The samples as server-sent events, bounded.
pub(super) struct History {
    /// The first event of every stream, which describes the run.
    info_event: String,
    recent: Mutex<Samples>,
    live: broadcast::Sender<Bytes>,
}

#[derive(Default)]
struct Samples {
    /// The samples of the last minute, without the invitation, which must not outlive its use.
    old: VecDeque<Recent>,
    /// The newest sample, whole.
    newest: Option<String>,
}

struct Recent {
    t_s: f64,
    json: String,
}

impl History {
    /// Creates a history without samples; `info` is the JSON that opens every stream.
    pub(super) fn new(info: &str) -> Self {
        Self {
            // A browser whose stream breaks reconnects after one second.
            info_event: format!("retry: 1000\nevent: info\ndata: {info}\n\n"),
            recent: Mutex::default(),
            live: broadcast::Sender::new(MAX_LAG),
        }
    }

    /// Adds a sample, forgets samples over a minute old, and sends it to the viewers.
    pub(super) fn push(&self, sample: &Sample) {
        let json = to_json(sample);
        let event = Bytes::from(format!("data: {json}\n\n"));
        let kept = match sample.invitation {
            None => json.clone(),
            Some(_) => to_json(&Sample {
                invitation: None,
                ..sample.clone()
            }),
        };
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = |old: &Recent| old.t_s < sample.t_s - SPAN_S;
        while recent.old.len() >= MAX_SAMPLES || recent.old.front().is_some_and(is_old) {
            recent.old.pop_front();
        }
        recent.old.push_back(Recent {
            t_s: sample.t_s,
            json: kept,
        });
        recent.newest = Some(json);
        // The event is sent under the lock, so that a stream that opens now has the sample once. The call fails if
        // nobody watches, which is no error.
        let _ = self.live.send(event);
    }

    /// Returns the newest sample as JSON, if there is one.
    pub(super) fn latest(&self) -> Option<String> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.newest.clone()
    }

    /// Returns the events that open a stream (the run, the last minute), and the samples after them.
    pub(super) fn follow(&self) -> (Bytes, broadcast::Receiver<Bytes>) {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let samples: Vec<&str> = recent
            .old
            .iter()
            .map(|sample| sample.json.as_str())
            .collect();
        let opening = format!(
            "{}event: history\ndata: [{}]\n\n",
            self.info_event,
            samples.join(",")
        );
        (opening.into(), self.live.subscribe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(t_s: f64) -> Sample {
        Sample {
            t_s,
            ..Sample::default()
        }
    }

    /// Returns the times of the samples that open a stream.
    fn times(history: &History) -> Vec<f64> {
        let (opening, _) = history.follow();
        let text = std::str::from_utf8(&opening).unwrap();
        let data = text.split("event: history\ndata: ").nth(1).unwrap();
        let samples: Vec<serde_json::Value> = serde_json::from_str(data.trim()).unwrap();
        samples
            .iter()
            .map(|sample| sample["t_s"].as_f64().unwrap())
            .collect()
    }

    #[test]
    fn a_late_joiner_gets_the_last_minute() {
        let history = History::new("{}");
        assert_eq!(times(&history), [0.0; 0]);
        (0..1_000).for_each(|n| history.push(&at(f64::from(n) / 8.0)));
        let times = times(&history);
        assert_eq!(times.len(), 481);
        assert_eq!((times[0], times[480]), (64.875, 124.875));
    }

    #[test]
    fn memory_is_bounded_when_time_stands_still() {
        let history = History::new("{}");
        (0..3_000).for_each(|n| history.push(&at(if n % 2 == 0 { 1.0 } else { f64::NAN })));
        assert_eq!(history.recent.lock().unwrap().old.len(), MAX_SAMPLES);
    }

    #[test]
    fn late_joiner_gets_no_used_invitation() {
        let history = History::new("{}");
        let (_, mut live) = history.follow();
        history.push(&Sample {
            invitation: Some("evenkeel call evenkeel:AQBz".into()),
            ..at(1.0)
        });
        let is_there = |text: &[u8]| std::str::from_utf8(text).unwrap().contains("AQBz");
        assert!(is_there(&live.try_recv().unwrap()));
        assert!(is_there(history.latest().unwrap().as_bytes()));
        history.push(&at(2.0));
        assert!(!is_there(&history.follow().0));
        assert!(!is_there(history.latest().unwrap().as_bytes()));
    }

    #[test]
    fn every_sample_is_streamed_exactly_once() {
        let history = History::new("{}");
        history.push(&at(1.0));
        let (opening, mut live) = history.follow();
        history.push(&at(2.0));
        assert!(
            std::str::from_utf8(&opening)
                .unwrap()
                .contains("\"t_s\":1.0")
        );
        assert!(live.try_recv().unwrap().starts_with(b"data: {\"t_s\":2.0"));
        assert!(live.try_recv().is_err());
    }

    #[test]
    fn slow_viewer_skips_to_the_newest_sample() {
        let history = History::new("{}");
        let (_, mut live) = history.follow();
        (0..1_000).for_each(|n| history.push(&at(f64::from(n))));
        assert!(matches!(
            live.try_recv(),
            Err(broadcast::error::TryRecvError::Lagged(_))
        ));
        assert_eq!(std::iter::from_fn(|| live.try_recv().ok()).count(), MAX_LAG);
        assert_eq!(
            history.latest().unwrap().split(',').next(),
            Some("{\"t_s\":999.0")
        );
    }
}
