//! The emulated link of `demo` and `link`: its rate or the trace that it follows, its queue and its losses.

use std::fmt;
use std::path::{Path, PathBuf};

use evenkeel_lab::recorded;
use evenkeel_lab::whole_file::{FileKind, read_text};
use evenkeel_link::{DeliveryTrace, LinkConfig, Loss, Schedule};
use evenkeel_net::{Direction, LinkChange};
use tfrc::time::Duration;
use tfrc::units::Rate;

use crate::failure::Failure;
use crate::outputs::cannot;
use crate::queue::LinkQueue;
use crate::units;

/// The value of `--rate` of an emulator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LinkRate {
    /// A constant rate, such as `2M`.
    Constant(Rate),
    /// A trace in Mahimahi's format, as `trace:FILE`.
    Trace(PathBuf),
}

/// Parses a rate, or `trace:FILE`.
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

/// Reads a trace; errors name the option as `given`, such as `--trace-link FILE`.
pub(crate) fn read(given: impl fmt::Display, file: &Path) -> Result<DeliveryTrace, Failure> {
    recorded::read(file).map_err(|what| {
        Failure::usage(format!(
            "{given}: {what}: give a file in Mahimahi's format, in each line the millisecond at which 1500 bytes can \
             be delivered"
        ))
    })
}

/// Reads `--schedule`.
pub(crate) fn schedule(path: &Path) -> Result<Schedule, Failure> {
    let text = read_text(path, FileKind::Settings).map_err(|error| cannot("read", path, &error))?;
    Schedule::parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// Returns a link with this rate, one-way delay, queue and share of lost packets.
pub(crate) fn config(rate: Rate, delay: Duration, queue: LinkQueue, loss: f64) -> LinkConfig {
    LinkConfig {
        rate,
        delay,
        queue: queue.limit,
        discipline: queue.discipline,
        loss: random_loss(loss),
        ..LinkConfig::default()
    }
}

/// Returns a loss model that drops this share of packets independently.
pub(crate) fn random_loss(share: f64) -> Loss {
    if share > 0.0 {
        Loss::Bernoulli(share)
    } else {
        Loss::None
    }
}

/// Returns the changes of a schedule for the way forward. The delay of a schedule is one way and applies both ways;
/// its rate and loss apply to the way back only `if_both` ways carry media.
pub(crate) fn follow_schedule(schedule: Schedule, if_both: bool) -> Vec<(Direction, LinkChange)> {
    let back = match if_both {
        true => schedule.clone(),
        false => schedule.delays_only(),
    };
    vec![
        (Direction::Forward, LinkChange::Schedule(schedule)),
        (Direction::Reverse, LinkChange::Schedule(back)),
    ]
}

/// Returns the changes that let these ways follow a trace.
pub(crate) fn follow_trace(
    trace: &DeliveryTrace,
    directions: &[Direction],
) -> Vec<(Direction, LinkChange)> {
    let change = |way: &Direction| (*way, LinkChange::Trace(trace.clone()));
    directions.iter().map(change).collect()
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
