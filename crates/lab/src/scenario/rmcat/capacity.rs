//! The capacity of a bottleneck over time: rates in steps, radio grants, or the deliveries of a cellular link.

use std::fmt;
use std::path::Path;

use evenkeel_link::{DeliveryTrace, Random};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use tfrc::time::Duration;
use tfrc::units::{Rate, duration_from_secs};

use crate::cellular::Model;
use crate::error::{Impossible, RunError, impossible, require};
use crate::recorded;
use crate::units::{BitRate, Time};

/// `[[time, rate], …]`, `{ grants = { every, packets } }`, `{ trace = "NAME" }` or `{ generated = "NAME" }`.
#[derive(Clone, Debug)]
pub(super) enum Capacity {
    /// Rates, each from an instant on; the first from zero.
    Steps(Vec<(Time, BitRate)>),
    /// Equal radio grants at equal intervals.
    Grants(DeliveryTrace),
    /// A cellular link.
    Cellular(Cellular),
}

/// A cellular link, by the name of its recording.
#[derive(Clone, Debug)]
pub(super) struct Cellular {
    name: String,
    /// The recording is wanted; the model stands in where the file is absent.
    is_recorded: bool,
    /// The recording, if it is wanted and there.
    recording: Option<DeliveryTrace>,
    /// The trace of one run, drawn from the model.
    generated: Option<DeliveryTrace>,
}

/// A generated trace is as long as this, and looped.
const GENERATED: Duration = Duration::from_secs(120);
/// A curve shows the mean capacity over this, in seconds.
const DRAWN: f64 = 1.0;

impl Capacity {
    pub(super) fn verify(&self) -> Result<(), Impossible> {
        match self {
            Self::Steps(steps) => {
                let from_zero = steps.first().is_some_and(|(at, _)| at.0.is_zero());
                let ordered = steps.is_sorted_by(|a, b| a.0 < b.0);
                let wanted = "[time, rate] pairs, from 0s on, each later than the last";
                require(from_zero && ordered, "bottleneck", wanted)
            }
            Self::Grants(_) => Ok(()),
            Self::Cellular(link) => link.verify(),
        }
    }

    /// Reads its recording, if that is wanted and there.
    pub(super) fn load(&mut self, folder: &Path) -> Result<(), Impossible> {
        match self {
            Self::Cellular(link) if link.is_recorded => link.load(folder),
            _ => Ok(()),
        }
    }

    /// Copies it, and draws a trace from the model if there is no recording.
    pub(super) fn drawn(&self, random: &mut Random) -> Result<Self, RunError> {
        let Self::Cellular(link) = self else {
            return Ok(self.clone());
        };
        let mut link = link.clone();
        if link.recording.is_none() {
            let model = Model::of(&link.name);
            link.generated = model.and_then(|model| model.generate(GENERATED, random));
        }
        match link.trace() {
            Some(_) => Ok(Self::Cellular(link)),
            None => Err(RunError::Failed(format!("{}: no delivery", link.name))),
        }
    }

    /// The name of the recording, if one is wanted, and whether the file is there.
    pub(super) fn recording(&self) -> Option<(&str, bool)> {
        match self {
            Self::Cellular(link) if link.is_recorded => {
                Some((&link.name, link.recording.is_some()))
            }
            _ => None,
        }
    }

    pub(super) fn trace(&self) -> Option<&DeliveryTrace> {
        match self {
            Self::Steps(_) => None,
            Self::Grants(trace) => Some(trace),
            Self::Cellular(link) => link.trace(),
        }
    }

    /// The first rate, or the mean rate of the trace.
    pub(super) fn first(&self) -> Rate {
        match self {
            Self::Steps(steps) => steps[0].1.0,
            _ => self.trace().map_or(Rate::ZERO, DeliveryTrace::mean_rate),
        }
    }

    /// The rates that it changes to, and when.
    pub(super) fn changes(&self) -> impl Iterator<Item = (Time, BitRate)> + '_ {
        let steps = match self {
            Self::Steps(steps) => &steps[1..],
            _ => &[],
        };
        steps.iter().copied()
    }

    /// The mean in bits per second between two times in seconds.
    pub(super) fn mean(&self, from: f64, to: f64) -> f64 {
        self.bits(from, to) / (to - from)
    }

    /// The bits that it could carry between two times in seconds; none of a link whose trace is not drawn yet.
    pub(super) fn bits(&self, from: f64, to: f64) -> f64 {
        match self {
            Self::Steps(steps) => {
                let ends = steps[1..].iter().map(|(at, _)| at.secs());
                let steps = steps.iter().zip(ends.chain([f64::INFINITY]));
                steps
                    .map(|((begin, rate), end)| {
                        let time = end.min(to) - begin.secs().max(from);
                        rate.0.bits_per_sec() * time.max(0.0)
                    })
                    .sum()
            }
            _ => self.trace().map_or(0.0, |trace| {
                let [from, to] = [from, to].map(duration_from_secs);
                trace.deliverable(from, to).as_f64() * 8.0
            }),
        }
    }

    /// As a curve of steps up to a time in seconds, in kb/s.
    pub(super) fn curve(&self, to: f64) -> Vec<(f64, f64)> {
        let begins: Vec<f64> = match self {
            Self::Steps(steps) => steps.iter().map(|(at, _)| at.secs()).collect(),
            _ => (0..(to / DRAWN) as u32)
                .map(|i| f64::from(i) * DRAWN)
                .collect(),
        };
        let ends = begins.iter().skip(1).copied().chain([to]);
        let steps = begins.iter().zip(ends);
        steps
            .flat_map(|(&begin, end)| {
                let kilobits = self.mean(begin, end) / 1e3;
                [(begin, kilobits), (end, kilobits)]
            })
            .collect()
    }
}

impl Cellular {
    fn trace(&self) -> Option<&DeliveryTrace> {
        self.recording.as_ref().or(self.generated.as_ref())
    }

    fn verify(&self) -> Result<(), Impossible> {
        if self.recording.is_some() || Model::of(&self.name).is_some() {
            return Ok(());
        }
        let wanted = format!("a recording that is there, or one of {}", Model::names());
        let key = if self.is_recorded {
            "trace"
        } else {
            "generated"
        };
        Err(impossible(key, wanted))
    }

    /// An error if the file is there and no trace.
    fn load(&mut self, folder: &Path) -> Result<(), Impossible> {
        let file = folder.join(&self.name);
        if self.name.contains(['/', '\\']) || !file.is_file() {
            return Ok(());
        }
        let read = recorded::read(&file).map_err(|what| {
            let file = file.display();
            impossible(
                "trace",
                format!("a file of Mahimahi's format: {file}: {what}"),
            )
        });
        self.recording = Some(read?);
        Ok(())
    }
}

/// A grant of some packets of 1,500 bytes at the end of each interval.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct EqualGrants {
    every: Time,
    packets: usize,
}

impl EqualGrants {
    /// `None` unless the interval is a number of milliseconds and the number of packets is sensible.
    fn trace(self) -> Option<DeliveryTrace> {
        let millis = self.every.0.as_millis() as u64;
        let is_whole = millis > 0 && Duration::from_millis(millis) == self.every.0;
        let wanted = is_whole && (1..=1_000).contains(&self.packets);
        wanted
            .then(|| DeliveryTrace::new(vec![millis; self.packets]))
            .flatten()
    }
}

impl<'de> Deserialize<'de> for Capacity {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(CapacityVisitor)
    }
}

struct CapacityVisitor;

impl<'de> Visitor<'de> for CapacityVisitor {
    type Value = Capacity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "[time, rate] pairs, { grants = { every = \"10ms\", packets = 2 } }, { trace = \"NAME\" } or \
             { generated = \"NAME\" }",
        )
    }

    fn visit_seq<A: SeqAccess<'de>>(self, pairs: A) -> Result<Capacity, A::Error> {
        let pairs = Vec::deserialize(de::value::SeqAccessDeserializer::new(pairs));
        pairs.map(Capacity::Steps)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Capacity, A::Error> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Named {
            Trace(String),
            Generated(String),
            Grants(EqualGrants),
        }
        let named = Named::deserialize(de::value::MapAccessDeserializer::new(map))?;
        let (name, is_recorded) = match named {
            Named::Trace(name) => (name, true),
            Named::Generated(name) => (name, false),
            Named::Grants(grants) => {
                let wanted = "grants every whole ms, 1 to 1000 packets each";
                let trace = grants.trace().ok_or_else(|| de::Error::custom(wanted))?;
                return Ok(Capacity::Grants(trace));
            }
        };
        Ok(Capacity::Cellular(Cellular {
            name,
            is_recorded,
            recording: None,
            generated: None,
        }))
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
        assert_eq!(capacity.mean(30.0, 50.0), 2e6);
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

    #[test]
    fn equal_grants_come_at_the_ends_of_intervals() {
        let grants = capacity(r#"{ grants = { every = "40ms", packets = 8 } }"#);
        assert_eq!(grants.verify().map(|()| grants.changes().count()), Ok(0));
        assert_eq!(grants.mean(0.04, 4.04).round(), 2.4e6);
        assert_eq!(grants.bits(0.0, 0.04), 0.0);
        assert_eq!(grants.bits(0.04, 0.041), 96e3);
    }

    #[test]
    fn recording_counts_its_own_deliveries_where_the_file_is_there() {
        let folder = std::env::temp_dir().join(format!("evenkeel-traces-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.down"), "500\n500\n1500\n2000\n").unwrap();
        std::fs::write(folder.join("b.down"), "x\n").unwrap();
        let load = |name: &str| {
            let mut capacity = capacity(&format!(r#"{{ trace = "{name}" }}"#));
            capacity.load(&folder).map(|()| capacity)
        };
        let recorded = load("a.down").unwrap();
        assert_eq!(recorded.recording(), Some(("a.down", true)));
        assert_eq!(recorded.verify(), Ok(()));
        // The loop takes 2 s, and its last delivery belongs to the next second.
        let means = [0.0, 1.0, 2.0].map(|from| recorded.mean(from, from + 1.0));
        assert_eq!(means, [24e3, 12e3, 36e3]);
        let wrong = load("b.down").unwrap_err().to_string();
        assert!(
            wrong.contains("b.down") && wrong.contains("line 1"),
            "{wrong}"
        );
        let absent = load("none.down").unwrap().verify().unwrap_err().to_string();
        assert!(absent.contains("TMobile-LTE-short.up"), "{absent}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn model_stands_in_and_draws_the_same_from_a_seed() {
        let absent = capacity(r#"{ trace = "Verizon-LTE-short.down" }"#);
        let generated = capacity(r#"{ generated = "Verizon-LTE-short.down" }"#);
        let run = absent.drawn(&mut Random::new(1, 1)).unwrap();
        assert_eq!(run.recording(), Some(("Verizon-LTE-short.down", false)));
        assert_eq!(generated.recording(), None);
        let bits = |capacity: &Capacity, seed| {
            let drawn = capacity.drawn(&mut Random::new(seed, 1)).unwrap();
            drawn.bits(0.0, 60.0)
        };
        assert_eq!(bits(&absent, 1), bits(&generated, 1));
        assert_ne!(bits(&generated, 1), bits(&generated, 2));
    }
}
