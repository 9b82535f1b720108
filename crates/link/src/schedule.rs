//! A link's changes over time, as data: `time, rate, delay, loss` a line.

use crate::link::Link;
use crate::loss::Loss;
use crate::packet::Packet;
use crate::quantity::parse_quantity;
use core::fmt;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Rate, duration_from_secs};

/// What changes at one time. What is `None` stays as it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// How long after the schedule's start.
    pub at: Duration,
    /// The new rate.
    pub rate: Option<Rate>,
    /// The new one-way propagation delay.
    pub delay: Option<Duration>,
    /// The new probability of loss, as [`Loss::Bernoulli`].
    pub loss: Option<f64>,
}

impl Change {
    /// Makes the change on a link.
    pub fn apply<P: Packet>(&self, now: Instant, link: &mut Link<P>) {
        if let Some(rate) = self.rate {
            link.set_rate(now, rate);
        }
        if let Some(delay) = self.delay {
            link.set_delay(now, delay);
        }
        if let Some(probability) = self.loss {
            link.set_loss(now, Loss::Bernoulli(probability));
        }
    }
}

/// Changes in the order of their times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    changes: Vec<Change>,
}

/// Which field of a line is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The first.
    Time,
    /// The second.
    Rate,
    /// The third.
    Delay,
    /// The fourth.
    Loss,
}

impl Field {
    /// What the field holds, with an example.
    fn expected(self) -> &'static str {
        match self {
            Self::Time => "seconds, as in 12.5 or 500ms",
            Self::Rate => "bits per second, as in 800k or 3M",
            Self::Delay => "milliseconds, as in 30 or 30ms",
            Self::Loss => "a probability, as in 0.01 or 1%",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "time",
            Self::Rate => "rate",
            Self::Delay => "delay",
            Self::Loss => "loss",
        })
    }
}

/// Why a text is no schedule. Lines count from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The field does not read as what it should be.
    #[error("line {line}: {field} is not {}", .field.expected())]
    Invalid {
        /// Which line.
        line: usize,
        /// Which field of it.
        field: Field,
    },
    /// The line's time is before the time of the line above it.
    #[error("line {line}: time is earlier than the line before")]
    NotInOrder {
        /// Which line.
        line: usize,
    },
    /// The line has more than four fields.
    #[error("line {line}: more than time, rate, delay, loss")]
    TooManyFields {
        /// Which line.
        line: usize,
    },
}

impl Schedule {
    /// Reads `time, rate, delay, loss` lines. Missing or empty fields leave things as they are;
    /// empty lines and `#` comments are skipped.
    ///
    /// - time: seconds since the start, or with a unit (`500ms`, `2s`); never before the line above
    /// - rate: bits per second, or with k, M or G for powers of 1000 (`3M`)
    /// - delay: milliseconds one way, or with a unit (`30ms`, `0.1s`)
    /// - loss: a probability, or a percentage (`1%`)
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let mut changes: Vec<Change> = Vec::new();
        for (index, content) in text.lines().enumerate() {
            let content = content.split('#').next().unwrap_or_default();
            if content.trim().is_empty() {
                continue;
            }
            let line = index + 1;
            let change = parse_line(content, line)?;
            if changes.last().is_some_and(|last| change.at < last.at) {
                return Err(ScheduleError::NotInOrder { line });
            }
            changes.push(change);
        }
        Ok(Self { changes })
    }

    /// The same changes of the delay alone: for the way back, when rate and loss are the media's.
    pub fn delays_only(&self) -> Self {
        let delay_only = |change: &Change| Change {
            rate: None,
            loss: None,
            ..*change
        };
        Self {
            changes: self.changes.iter().map(delay_only).collect(),
        }
    }

    /// Every change, in the order of their times.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }
}

fn parse_line(content: &str, line: usize) -> Result<Change, ScheduleError> {
    let mut fields = content.split(',').map(str::trim);
    let mut next = |field, units: &[(&str, f64)]| match fields.next() {
        None | Some("") => Ok(None),
        Some(text) => match parse_quantity(text, units) {
            Some(value) if value >= 0.0 => Ok(Some(value)),
            _ => Err(ScheduleError::Invalid { line, field }),
        },
    };
    let invalid = |field| ScheduleError::Invalid { line, field };
    let at = next(Field::Time, &[("ms", 1e-3), ("s", 1.0), ("", 1.0)])?;
    let rate = next(
        Field::Rate,
        &[("k", 1e3), ("M", 1e6), ("G", 1e9), ("", 1.0)],
    )?;
    let delay = next(Field::Delay, &[("ms", 1e-3), ("s", 1.0), ("", 1e-3)])?;
    let loss = next(Field::Loss, &[("%", 1e-2), ("", 1.0)])?;
    if fields.next().is_some() {
        return Err(ScheduleError::TooManyFields { line });
    }
    if loss.is_some_and(|p| p > 1.0) {
        return Err(invalid(Field::Loss));
    }
    Ok(Change {
        at: at.map(duration_from_secs).ok_or(invalid(Field::Time))?,
        rate: rate.map(Rate::from_bits_per_sec),
        delay: delay.map(duration_from_secs),
        loss,
    })
}

/// Suffixes and what they multiply by; the first that matches counts.
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_fields_leave_things_as_they_are() {
        let text =
            "# time, rate, delay, loss\n0, 8M, 30ms, 0\n12, 2M\n500000ms,, 40 ,1% # late\n\n";
        let schedule = Schedule::parse(text).expect("valid");
        let change = |secs, rate: Option<f64>, delay: Option<u64>, loss| Change {
            at: Duration::from_secs(secs),
            rate: rate.map(Rate::from_bits_per_sec),
            delay: delay.map(Duration::from_millis),
            loss,
        };
        assert_eq!(
            schedule.changes(),
            [
                change(0, Some(8e6), Some(30), Some(0.0)),
                change(12, Some(2e6), None, None),
                change(500, None, Some(40), Some(0.01)),
            ]
        );
    }

    #[test]
    fn errors_name_the_line_and_the_field() {
        let error = |text| Schedule::parse(text).expect_err("invalid");
        let invalid = |line, field| ScheduleError::Invalid { line, field };
        assert_eq!(error("x"), invalid(1, Field::Time));
        assert_eq!(error(", 3M"), invalid(1, Field::Time));
        assert_eq!(error("1\n2, 3Q"), invalid(2, Field::Rate));
        assert_eq!(error("1,,-1"), invalid(1, Field::Delay));
        assert_eq!(error("1,,inf"), invalid(1, Field::Delay));
        assert_eq!(error("1,,,101%"), invalid(1, Field::Loss));
        assert_eq!(error("2\n1"), ScheduleError::NotInOrder { line: 2 });
        assert_eq!(error("1,,,,"), ScheduleError::TooManyFields { line: 1 });
        assert_eq!(
            error("1\n2, 3Q").to_string(),
            "line 2: rate is not bits per second, as in 800k or 3M"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-zA-Z,.#%\n -]{0,200}") {
            if let Ok(schedule) = Schedule::parse(&text) {
                for change in schedule.changes() {
                    prop_assert!(change.loss.is_none_or(|p| (0.0..=1.0).contains(&p)));
                }
            }
        }
    }
}
