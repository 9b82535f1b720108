//! The rate of a bottleneck over time.

use serde::Deserialize;

use crate::scenario::{Impossible, require};
use crate::units::{BitRate, Time};

/// Rates, each from an instant on; the first from zero.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Capacity(Vec<(Time, BitRate)>);

impl Capacity {
    pub(super) fn verify(&self) -> Result<(), Impossible> {
        let from_zero = self.0.first().is_some_and(|(at, _)| at.0.is_zero());
        let ordered = self.0.is_sorted_by(|a, b| a.0 < b.0);
        let wanted = "[time, rate] pairs, from 0s on, each later than the last";
        require(from_zero && ordered, "bottleneck", wanted)
    }

    /// What it begins with.
    pub(super) fn first(&self) -> BitRate {
        self.0[0].1
    }

    /// What it changes to, and when.
    pub(super) fn changes(&self) -> impl Iterator<Item = (Time, BitRate)> + '_ {
        self.0[1..].iter().copied()
    }

    /// In bits per second, at a time in seconds.
    pub(super) fn at(&self, time: f64) -> f64 {
        let so_far = self.0.iter().take_while(|(at, _)| at.secs() <= time);
        so_far
            .last()
            .map_or(f64::NAN, |(_, rate)| rate.0.bits_per_sec())
    }

    /// The bits that it could carry between two times in seconds.
    pub(super) fn bits(&self, from: f64, to: f64) -> f64 {
        let ends = self.0[1..].iter().map(|(at, _)| at.secs());
        let steps = self.0.iter().zip(ends.chain([f64::INFINITY]));
        steps
            .map(|((begin, rate), end)| {
                let time = end.min(to) - begin.secs().max(from);
                rate.0.bits_per_sec() * time.max(0.0)
            })
            .sum()
    }

    /// As a curve of steps up to a time in seconds, in kb/s.
    pub(super) fn curve(&self, to: f64) -> Vec<(f64, f64)> {
        let ends = self.0[1..].iter().map(|(at, _)| at.secs());
        let steps = self.0.iter().zip(ends.chain([to]));
        steps
            .flat_map(|((begin, rate), end)| {
                let kilobits = rate.0.bits_per_sec() / 1e3;
                [(begin.secs(), kilobits), (end, kilobits)]
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(text: &str) -> Capacity {
        let table: toml::Table = toml::from_str(&format!("steps = {text}")).unwrap();
        table["steps"].clone().try_into().unwrap()
    }

    #[test]
    fn bits_are_summed_over_the_steps() {
        let capacity = capacity(r#"[["0s", "1Mb/s"], ["40s", "3Mb/s"], ["60s", "2Mb/s"]]"#);
        assert!(capacity.verify().is_ok());
        assert_eq!(capacity.bits(30.0, 70.0), 10e6 + 60e6 + 20e6);
        assert_eq!(capacity.bits(41.0, 42.0), 3e6);
        assert_eq!([39.9, 40.0, 99.0].map(|t| capacity.at(t)), [1e6, 3e6, 2e6]);
        let corners = [
            (0.0, 1e3),
            (40.0, 1e3),
            (40.0, 3e3),
            (60.0, 3e3),
            (60.0, 2e3),
            (90.0, 2e3),
        ];
        assert_eq!(capacity.curve(90.0), corners);
    }

    #[test]
    fn steps_that_begin_late_or_go_back_are_refused() {
        for wrong in [
            "[]",
            r#"[["1s", "1Mb/s"]]"#,
            r#"[["0s", "1Mb/s"], ["9s", "2Mb/s"], ["9s", "1Mb/s"]]"#,
        ] {
            assert!(capacity(wrong).verify().is_err(), "{wrong}");
        }
    }
}
