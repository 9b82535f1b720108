//! How fast a bottleneck is: a rate, or a file that says when it may deliver.

use std::fmt;
use std::path::{Component, Path};

use evenkeel_link::DeliveryTrace;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use tfrc::units::Rate;

use crate::error::{Impossible, impossible};
use crate::recorded;
use crate::units::BitRate;

/// `"3Mb/s"`, or `{ trace = "cellular.trace" }`: a file of Mahimahi's format, played again and again.
#[derive(Clone, Debug, PartialEq)]
pub enum Pace {
    /// Always the same.
    Rate(BitRate),
    /// As the file says.
    Trace {
        /// Its name, from the folder of the experiment's file on.
        file: String,
        /// Its content, once it is read.
        content: Option<DeliveryTrace>,
    },
}

impl Pace {
    /// Reads the file, if there is one to read.
    pub(crate) fn load(&mut self, folder: &Path) -> Result<(), Impossible> {
        let Self::Trace { file, content } = self else {
            return Ok(());
        };
        *content = Some(read(folder, file).map_err(|what| {
            let wanted = format!("a delivery trace of Mahimahi's format: {file}: {what}");
            impossible("trace", wanted)
        })?);
        Ok(())
    }

    /// The rate, or the mean rate of a whole loop of the trace.
    pub(crate) fn mean(&self) -> Rate {
        match self {
            Self::Rate(rate) => rate.0,
            Self::Trace { .. } => self.trace().map_or(Rate::ZERO, DeliveryTrace::mean_rate),
        }
    }

    pub(crate) fn trace(&self) -> Option<&DeliveryTrace> {
        match self {
            Self::Rate(_) => None,
            Self::Trace { content, .. } => content.as_ref(),
        }
    }
}

/// An experiment is data, perhaps from others: it names files beside it and no devices elsewhere.
fn read(folder: &Path, file: &str) -> Result<DeliveryTrace, String> {
    let path = Path::new(file);
    let mut parts = path.components();
    if file.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
        return Err("not in or below the folder of the experiment".to_owned());
    }
    recorded::read(&folder.join(path))
}

impl<'de> Deserialize<'de> for Pace {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(PaceVisitor)
    }
}

struct PaceVisitor;

impl<'de> Visitor<'de> for PaceVisitor {
    type Value = Pace;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bit rate such as \"15Mb/s\", or { trace = \"FILE\" }")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Pace, E> {
        BitRate::deserialize(de::value::StrDeserializer::new(text)).map(Pace::Rate)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Pace, A::Error> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Named {
            trace: String,
        }
        let named = Named::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(Pace::Trace {
            file: named.trace,
            content: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Document {
        rate: Pace,
    }

    fn pace(value: &str) -> Result<Pace, String> {
        let read = toml::from_str::<Document>(&format!("rate = {value}"));
        read.map(|document| document.rate)
            .map_err(|error| error.message().to_owned())
    }

    fn refused(value: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        pace(value).unwrap().load(folder).unwrap_err().to_string()
    }

    #[test]
    fn a_rate_is_a_rate_and_a_trace_has_that_of_a_whole_loop() {
        assert_eq!(
            pace("'3Mb/s'").unwrap().mean(),
            Rate::from_bits_per_sec(3e6)
        );
        let folder = std::env::temp_dir().join(format!("evenkeel-pace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.trace"), "5\n10\n10\n20\n").unwrap();
        let mut trace = pace("{ trace = 'a.trace' }").unwrap();
        trace.load(&folder).unwrap();
        // Four times 1500 bytes in 20 ms.
        assert_eq!(trace.mean(), Rate::from_bits_per_sec(2.4e6));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_neither_is_refused_with_what_would_be_right() {
        assert!(pace("3").unwrap_err().contains("or { trace = \"FILE\" }"));
        assert!(pace("'3MB/s'").unwrap_err().contains("b/s, kb/s"));
        assert!(pace("{ file = 'a' }").unwrap_err().contains("`trace`"));
    }

    #[test]
    fn a_file_that_is_missing_elsewhere_or_no_trace_is_refused_by_its_name() {
        assert!(refused("{ trace = 'none.trace' }").contains("none.trace: "));
        assert!(refused("{ trace = 'Cargo.toml' }").contains("line 1: not a whole number"));
        for elsewhere in ["/dev/zero", "../lab/Cargo.toml", ""] {
            let message = refused(&format!("{{ trace = '{elsewhere}' }}"));
            assert!(message.contains("below the folder"), "{message}");
        }
    }
}
