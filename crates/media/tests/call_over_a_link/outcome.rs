//! The figures of a call: delays, queues, damage and the rate, by direction.

use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel_codec::quality::percentile;
use tfrc::time::Instant;
use tfrc::units::Bytes;

use crate::world::World;

#[derive(Debug)]
#[allow(dead_code, reason = "printed whole where a bound is missed")]
pub(crate) struct Outcome {
    pub(crate) media_over_link: f64,
    pub(crate) loss: f64,
    pub(crate) shown: usize,
    pub(crate) captured: u64,
    pub(crate) damaged: usize,
    pub(crate) damaged_at: Vec<Instant>,
    pub(crate) delay_p50: f64,
    pub(crate) delay_p95: f64,
    pub(crate) delay_max: f64,
    pub(crate) longest_gap: f64,
    pub(crate) queue_p50: f64,
    pub(crate) queue_p95: f64,
    pub(crate) discarded: BTreeMap<&'static str, u64>,
    pub(crate) not_shown: BTreeMap<&'static str, u64>,
    pub(crate) late: u64,
    pub(crate) stretched: Vec<(Instant, Option<Duration>)>,
    pub(crate) shown_at: Shown,
}

/// When each frame was shown; too many to print.
pub(crate) struct Shown(pub(crate) Vec<Instant>);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} frames", self.0.len())
    }
}

impl World {
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome_of(0, Instant::from_secs(10))
    }

    /// From capture to display, in milliseconds, of what `sender` sent and was shown in between.
    pub(crate) fn delays(&self, sender: usize, [from, until]: [Instant; 2]) -> Vec<f64> {
        let (sent, got) = (&self.ends[sender], &self.ends[1 - sender]);
        let shown = got.seen.shown.iter();
        let inside = shown.filter(|(at, ..)| *at >= from && *at < until);
        let delays = inside.filter_map(|(at, number, _)| {
            let captured = sent.captures.get(number)?;
            Some(at.saturating_since(*captured).as_secs_f64() * 1e3)
        });
        delays.collect()
    }

    /// How many frames came late to the second end from then on.
    pub(crate) fn late_after(&self, known: Instant) -> usize {
        let completed = self.ends[1].seen.completed.iter();
        completed.filter(|(at, late)| *late && *at >= known).count()
    }

    /// How long the first frame that the second end got whole from then on waited for its display.
    pub(crate) fn first_held_after(&self, on: Instant) -> Duration {
        let seen = &self.ends[1].seen;
        let whole = seen.completed.iter().find(|(at, _)| *at >= on);
        let shown = seen.shown.iter().find(|(at, ..)| *at >= on);
        let (whole, shown) = (whole.expect("a frame"), shown.expect("a picture").0);
        shown.saturating_since(whole.0)
    }

    /// The direction that `sender` (0 or 1) sends in, from `warm` on.
    pub(crate) fn outcome_of(&self, sender: usize, warm: Instant) -> Outcome {
        let (sent, got) = (&self.ends[sender], &self.ends[1 - sender]);
        let shown: Vec<_> = got.seen.shown.iter().filter(|s| s.0 >= warm).collect();
        let delays = self.delays(sender, [warm, Instant::MAX]);
        let gaps = shown
            .windows(2)
            .map(|pair| pair[1].0.saturating_since(pair[0].0).as_secs_f64() * 1e3);
        let rates: Vec<_> = sent.seen.rates.iter().filter(|r| r.0 >= warm).collect();
        let (first, last) = (rates[0], rates[rates.len() - 1]);
        let bytes = last.2 - first.2;
        let span = last.0.saturating_since(first.0);
        let counters = self.links[sender].counters();
        let queues: Vec<f64> = self.queue_ms[self.queue_ms.len() / 6..].to_vec();
        Outcome {
            media_over_link: (Bytes::new(bytes) / span).bits_per_sec()
                / self.scenario.rate.bits_per_sec(),
            loss: (counters.dropped.packets + counters.lost.packets) as f64
                / counters.received.packets.max(1) as f64,
            shown: shown.len(),
            captured: sent.captured,
            damaged: shown.iter().filter(|s| s.2).count(),
            damaged_at: shown.iter().filter(|s| s.2).map(|s| s.0).collect(),
            delay_p50: percentile(&delays, 50.0).unwrap_or(f64::INFINITY),
            delay_p95: percentile(&delays, 95.0).unwrap_or(f64::INFINITY),
            delay_max: percentile(&delays, 100.0).unwrap_or(f64::INFINITY),
            longest_gap: gaps.fold(0.0, f64::max),
            queue_p50: percentile(&queues, 50.0).unwrap_or(0.0),
            queue_p95: percentile(&queues, 95.0).unwrap_or(0.0),
            discarded: sent.seen.discarded.clone(),
            not_shown: got.seen.not_shown.clone(),
            late: got.seen.late,
            stretched: sent.seen.stretched.clone(),
            shown_at: Shown(got.seen.shown.iter().map(|s| s.0).collect()),
        }
    }
}
