//! The rate of an emulated link: a number, or a file that says when the link can deliver.

use std::fmt;
use std::path::{Path, PathBuf};

use evenkeel_lab::recorded;
use evenkeel_link::DeliveryTrace;
use tfrc::units::Rate;

use crate::failure::Failure;
use crate::units;

/// What `--rate` of an emulator takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LinkRate {
    /// `2M`.
    Constant(Rate),
    /// `trace:FILE`, in Mahimahi's format.
    Trace(PathBuf),
}

/// A rate, or `trace:FILE`.
pub(crate) fn link_rate(text: &str) -> Result<LinkRate, String> {
    match text.strip_prefix("trace:") {
        Some("") => Err("no file: write trace:FILE, as in trace:lte.down".into()),
        Some(file) => Ok(LinkRate::Trace(file.into())),
        None => {
            let rate = units::rate(text).map_err(|why| format!("{why}, or trace:FILE"));
            rate.map(LinkRate::Constant)
        }
    }
}

/// Reads the trace that was `given`: `--trace-link FILE`, or how else its option is written.
pub(crate) fn read(given: impl fmt::Display, file: &Path) -> Result<DeliveryTrace, Failure> {
    recorded::read(file).map_err(|what| {
        Failure::usage(format!(
            "{given}: {what}: give a file in Mahimahi's format, in each line the millisecond at which 1500 bytes can \
             be delivered"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_rate_is_a_rate_or_a_file() {
        let rate = Rate::from_bits_per_sec(2e6);
        assert_eq!(link_rate("2M"), Ok(LinkRate::Constant(rate)));
        let file = LinkRate::Trace("lte.down".into());
        assert_eq!(link_rate("trace:lte.down"), Ok(file));
        assert!(link_rate("trace:").unwrap_err().contains("trace:FILE"));
        assert!(link_rate("fast").unwrap_err().contains("3M"));
    }
}
