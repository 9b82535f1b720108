//! Quantities as they stand in an experiment's file: always with their unit.

use std::fmt;

use evenkeel_link::parse_quantity;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use tfrc::time::Duration;
use tfrc::units::{Bytes, Rate, duration_from_secs};

/// A time between zero and a day: `"50ms"`, `"1.5s"`, `"10m"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Duration);

/// A bit rate between 1 b/s and 1 Tb/s: `"15Mb/s"`, `"800kb/s"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct BitRate(pub Rate);

/// A size between 1 byte and 1 GB: `"1000B"`, `"15kB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub Bytes);

/// A share between nothing and all: `"0.1%"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl Time {
    /// In seconds.
    pub fn secs(self) -> f64 {
        self.0.as_secs_f64()
    }
}

/// How a kind of quantity is written.
struct Notation {
    /// What it is, with an example: the error's remedy.
    wanted: &'static str,
    units: &'static [(&'static str, f64)],
    least: f64,
    most: f64,
}

const TIME: Notation = Notation {
    wanted: "a time from 0s to a day with its unit, such as \"50ms\" or \"1.5s\" (us, ms, s, m, h)",
    units: &[
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3_600.0),
    ],
    least: 0.0,
    most: 86_400.0,
};

const BIT_RATE: Notation = Notation {
    wanted: "a bit rate from 1b/s to 1000Gb/s with its unit, such as \"15Mb/s\" (b/s, kb/s, Mb/s, Gb/s)",
    units: &[("kb/s", 1e3), ("Mb/s", 1e6), ("Gb/s", 1e9), ("b/s", 1.0)],
    least: 1.0,
    most: 1e12,
};

const SIZE: Notation = Notation {
    wanted: "a size from 1B to 1GB with its unit, such as \"1000B\" or \"15kB\" (B, kB, MB, GB)",
    units: &[("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1.0)],
    least: 1.0,
    most: 1e9,
};

const SHARE: Notation = Notation {
    wanted: "a share from 0% to 100%, such as \"0.1%\"",
    units: &[("%", 1e-2)],
    least: 0.0,
    most: 1.0,
};

impl Notation {
    fn read(&self, text: &str) -> Option<f64> {
        let value = parse_quantity(text, self.units)?;
        (self.least..=self.most).contains(&value).then_some(value)
    }
}

impl Visitor<'_> for &Notation {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wanted)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
        self.read(text)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = from.deserialize_str(&TIME)?;
        Ok(Self(duration_from_secs(seconds)))
    }
}

impl<'de> Deserialize<'de> for BitRate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bits = from.deserialize_str(&BIT_RATE)?;
        Ok(Self(Rate::from_bits_per_sec(bits)))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = from.deserialize_str(&SIZE)?;
        Ok(Self(Bytes::new(bytes.round() as u64)))
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(&SHARE).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_with_their_units() {
        assert_eq!(TIME.read("250us"), Some(250e-6));
        assert_eq!(TIME.read("1.5 s"), Some(1.5));
        assert_eq!(BIT_RATE.read("15Mb/s"), Some(15e6));
        assert_eq!(BIT_RATE.read("800kb/s"), Some(8e5));
        assert_eq!(SIZE.read("15kB"), Some(15e3));
        assert_eq!(SHARE.read("0.1%"), Some(0.001));
    }

    #[test]
    fn a_bare_number_and_a_wrong_or_impossible_one_are_refused() {
        for wrong in [
            "50", "", "ms", "-1ms", "nans", "infs", "2 days", "50MB", "25h",
        ] {
            assert_eq!(TIME.read(wrong), None, "{wrong}");
        }
        for wrong in ["15", "0b/s", "15MB/s", "-1kb/s", "nanb/s"] {
            assert_eq!(BIT_RATE.read(wrong), None, "{wrong}");
        }
        assert_eq!(SIZE.read("0B"), None);
        assert_eq!(SHARE.read("101%"), None);
        assert_eq!(SHARE.read("0.1"), None);
    }
}
