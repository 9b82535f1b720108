//! A check is a value: it has a source, the runs that it judges, and the condition that must hold.

use std::borrow::Borrow;
use std::time::Duration;

use evenkeel_rtp::session::FeedbackMode;
use tfrc::time::Instant;
use tfrc::{ReceiverConfig, SenderConfig, Standard};

use crate::interposer::{Script, Side};
use crate::log::Log;

/// The standard whose behaviour is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rfc {
    /// RFC 3448, January 2003, which the thesis quotes.
    Rfc3448,
    /// RFC 5348, September 2008, which replaced it.
    Rfc5348,
}

impl Rfc {
    /// Its number.
    pub const fn number(self) -> &'static str {
        match self {
            Self::Rfc3448 => "3448",
            Self::Rfc5348 => "5348",
        }
    }

    /// A sender that behaves so.
    pub fn sender(self) -> SenderConfig {
        SenderConfig {
            standard: self.into(),
            ..SenderConfig::default()
        }
    }

    /// A receiver that behaves so.
    pub fn receiver(self) -> ReceiverConfig {
        ReceiverConfig {
            standard: self.into(),
            ..ReceiverConfig::default()
        }
    }
}

impl From<Rfc> for Standard {
    fn from(rfc: Rfc) -> Self {
        match rfc {
            Rfc::Rfc3448 => Self::Rfc3448,
            Rfc::Rfc5348 => Self::Rfc5348,
        }
    }
}

/// Both standards.
pub const BOTH: &[Rfc] = &[Rfc::Rfc3448, Rfc::Rfc5348];
/// RFC 5348 alone.
pub const RFC_5348: &[Rfc] = &[Rfc::Rfc5348];
/// RFC 3448 alone.
pub const RFC_3448: &[Rfc] = &[Rfc::Rfc3448];

/// How the sender of a run is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// s: bytes of every data packet.
    pub packet_size: u16,
    /// What the sender's clock shows when the run begins, so that its timestamps wrap early.
    pub clock_ahead: Duration,
    /// When the sender has less to send than it may.
    pub pause: Option<Pause>,
    /// Bytes that every second packet is short of `packet_size`.
    pub shortfall: u16,
    /// What the receiver reports, and so where p is computed.
    pub feedback: FeedbackMode,
}

/// A time in which the application has one packet to send every so often, and none in between. Before and
/// after it there is always one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Its beginning, from the sender's start.
    pub from: Duration,
    /// Its end.
    pub to: Duration,
    /// From one packet to the next; longer than the pause if there is none at all.
    pub every: Duration,
}

/// A sender that has packets of this size whenever it may send one.
pub const fn packets_of(packet_size: u16) -> Setup {
    Setup {
        packet_size,
        clock_ahead: Duration::ZERO,
        pause: None,
        shortfall: 0,
        feedback: FeedbackMode::Tfrc,
    }
}

impl Setup {
    /// The same sender, with a packet every so often between two times.
    pub const fn with_pause(self, from: Duration, to: Duration, every: Duration) -> Self {
        Self {
            pause: Some(Pause { from, to, every }),
            ..self
        }
    }
}

/// A run: two fresh implementations, and what the interface system does between them.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Its name, one word or several with hyphens.
    pub name: &'static str,
    /// The sender.
    pub setup: Setup,
    /// How long, from the first data packet.
    pub lasts: Duration,
    /// The script, fresh for each run.
    pub script: fn() -> Script,
}

impl Run {
    /// The run of this name, sender, length and script.
    pub const fn new(
        name: &'static str,
        setup: Setup,
        lasts: Duration,
        script: fn() -> Script,
    ) -> Self {
        Self {
            name,
            setup,
            lasts,
            script,
        }
    }
}

/// By which clock a run went, which says how exact its times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A virtual one: times are exact to the resolution of the wire, a microsecond.
    Virtual,
    /// This machine's: timers are late, more so on a busy host.
    Real,
}

/// The logs that a check looks at.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// One for each of the check's runs, in their order.
    pub logs: &'a [&'a Log],
    /// How exact they are.
    pub clock: Clock,
    /// Which behaviour was tested.
    pub rfc: Rfc,
}

impl<'a> Evidence<'a> {
    /// The log of the check's first run, for most the only one.
    pub fn log(&self) -> &'a Log {
        self.logs[0]
    }

    /// The tolerance for the clock.
    pub fn pick<T>(&self, exact: T, real: T) -> T {
        match self.clock {
            Clock::Virtual => exact,
            Clock::Real => real,
        }
    }
}

/// What was observed, or should have been.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing: what should have been observed did not happen.
    Missing,
    /// A number; the check's title names its unit.
    Number(f64),
    /// A sequence.
    Numbers(Vec<f64>),
    /// A range, both ends included.
    Range(f64, f64),
    /// Anything else, in words.
    Text(String),
}

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was observed.
    pub value: Value,
    /// What was expected.
    pub expected: Value,
    /// Whether the one satisfies the other, within the tolerance.
    pub pass: bool,
}

/// `value` is `expected` but for a share of it.
pub fn close(value: Option<f64>, expected: f64, share: f64) -> Outcome {
    within(value, expected, share * expected.abs())
}

/// `value` is `expected` but for a difference.
pub fn within(value: Option<f64>, expected: f64, tolerance: f64) -> Outcome {
    Outcome {
        value: value.map_or(Value::Missing, Value::Number),
        expected: Value::Number(expected),
        pass: value.is_some_and(|value| (value - expected).abs() <= tolerance),
    }
}

/// Every one of `values` is `expected` but for a difference: in virtual time the one that is farthest from
/// it, in real time the median, since single times are as late as the host makes them.
pub fn all_within(
    e: &Evidence<'_>,
    values: impl IntoIterator<Item = f64>,
    expected: f64,
    tolerance: f64,
) -> Outcome {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(|a, b| (a - expected).abs().total_cmp(&(b - expected).abs()));
    let value = e.pick(values.last(), values.get(values.len() / 2));
    within(value.copied(), expected, tolerance)
}

/// `value` is in the range, both ends included.
pub fn between(value: Option<f64>, low: f64, high: f64) -> Outcome {
    Outcome {
        value: value.map_or(Value::Missing, Value::Number),
        expected: Value::Range(low, high),
        pass: value.is_some_and(|value| (low..=high).contains(&value)),
    }
}

/// One rate over another, if both are known.
pub fn ratio(after: Option<f64>, before: Option<f64>) -> Option<f64> {
    Some(after? / before?)
}

/// Each of `values` equals the value of `expected` within the tolerance that `allow` gives.
pub fn sequence(values: Vec<f64>, expected: Vec<f64>, allow: impl Fn(f64) -> f64) -> Outcome {
    let pass = values.len() == expected.len()
        && values
            .iter()
            .zip(&expected)
            .all(|(value, expected)| (value - expected).abs() <= allow(*expected));
    Outcome {
        value: Value::Numbers(values),
        expected: Value::Numbers(expected),
        pass,
    }
}

/// What was observed in words, and whether it is right.
pub fn says(value: impl Into<String>, expected: impl Into<String>, pass: bool) -> Outcome {
    Outcome {
        value: Value::Text(value.into()),
        expected: Value::Text(expected.into()),
        pass,
    }
}

/// One numbered check.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its number: `B.` or `E.`, the section, a hyphen and the number in its list; for sender-based mode `S.`
    /// and the format in place of the section.
    pub id: &'static str,
    /// Which of the two implementations it is about.
    pub subject: Side,
    /// What is verified, in a few words; the unit of the value where it has one.
    pub title: &'static str,
    /// The section of the standard that asks for it.
    pub section: &'static str,
    /// The standards that it holds for.
    pub rfc: &'static [Rfc],
    /// The runs that it looks at.
    pub runs: &'static [&'static Run],
    /// What must hold.
    pub judge: fn(&Evidence<'_>) -> Outcome,
}

impl Check {
    /// A check of one implementation, to be completed by [`Check::title`], [`Check::section`] and [`Check::on`].
    pub(crate) const fn of(subject: Side, rfc: &'static [Rfc], id: &'static str) -> Self {
        Self {
            id,
            subject,
            title: "",
            section: "",
            rfc,
            runs: &[],
            judge: |_| within(None, 0.0, 0.0),
        }
    }

    /// States what is verified.
    pub(crate) const fn title(self, title: &'static str) -> Self {
        Self { title, ..self }
    }

    /// Cites the section of the standard.
    pub(crate) const fn section(self, section: &'static str) -> Self {
        Self { section, ..self }
    }

    /// Judges the logs of these runs by this rule.
    pub(crate) const fn on(
        self,
        runs: &'static [&'static Run],
        judge: fn(&Evidence<'_>) -> Outcome,
    ) -> Self {
        Self {
            runs,
            judge,
            ..self
        }
    }

    /// Judges the logs of its runs, in their order.
    pub fn judge<L: Borrow<Log>>(&self, logs: &[L], clock: Clock, rfc: Rfc) -> Outcome {
        let logs: Vec<&Log> = logs.iter().map(Borrow::borrow).collect();
        (self.judge)(&Evidence {
            logs: &logs,
            clock,
            rfc,
        })
    }
}

/// Milliseconds.
pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The instant so many milliseconds after the first data packet.
pub const fn at_ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}
