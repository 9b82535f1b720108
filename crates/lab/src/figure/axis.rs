//! An axis: its range, its ticks, and where a value lies on it.

/// A range of values, and how far it is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    from: f64,
    to: f64,
    log: bool,
    /// Where `from` is drawn.
    start: f64,
    /// Where `to` is drawn.
    end: f64,
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    /// Empty for a minor tick.
    pub(super) label: String,
}

/// The longest label that leaves room for what the axis is called.
const LONGEST: usize = 6;

/// What a tick's label is raised by: `10` and `3` for 10³.
pub(super) const RAISED: char = '^';

impl Axis {
    /// An axis over given or found values, drawn between two places.
    ///
    /// `fixed` is the range that the experiment asks for. Without one a linear axis begins at zero if
    /// `from_zero`, ends a little above the largest value, and takes in what lies below zero.
    pub(super) fn new(
        fixed: Option<[f64; 2]>,
        values: impl Iterator<Item = f64>,
        log: bool,
        from_zero: bool,
        [start, end]: [f64; 2],
    ) -> Self {
        let usable = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (least, most) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(v), b.max(v))
        });
        let [from, to] = fixed.unwrap_or(match (log, least <= most) {
            (_, false) => [if log { 0.1 } else { 0.0 }, 1.0],
            (true, true) if least == most => [least / 2.0, most * 2.0],
            (true, true) => [least, most],
            (false, true) => {
                let from = if from_zero { least.min(0.0) } else { least };
                let room = if from_zero { 0.05 * (most - from) } else { 0.0 };
                let to = most + room;
                [from, if to > from { to } else { from + 1.0 }]
            }
        });
        Self {
            from,
            to,
            log,
            start,
            end,
        }
    }

    /// Where a value is drawn; not a number where a logarithmic axis has none.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.start + share * (self.end - self.start)
    }

    /// Where the axis is drawn from and to.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.start, self.end)
    }

    pub(super) fn ticks(&self) -> Vec<Tick> {
        if self.log {
            self.log_ticks()
        } else {
            self.linear_ticks()
        }
    }

    /// Four to eight ticks at multiples of 1, 2 or 5 times a power of ten.
    fn linear_ticks(&self) -> Vec<Tick> {
        let span = self.to - self.from;
        let rough = span / 4.0;
        let power = 10f64.powi(rough.log10().floor() as i32);
        let step = [5.0, 2.0, 1.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|step| *step <= rough)
            .unwrap_or(power);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let tolerance = span * 1e-9;
        let first = ((self.from - tolerance) / step).ceil() as i64;
        let last = ((self.to + tolerance) / step).floor() as i64;
        let plain = |i: i64| format!("{:.decimals$}", i as f64 * step);
        let fits = [first, last].map(plain).iter().all(|l| l.len() <= LONGEST);
        let exponent = step.log10().floor() as i32;
        let digits = (step / 10f64.powi(exponent)).round() as i64;
        let label = |i: i64| match i {
            _ if fits => plain(i),
            0 => "0".to_owned(),
            _ => raised(i * digits, exponent),
        };
        let tick = |i: i64| Tick {
            value: i as f64 * step,
            label: label(i),
        };
        (first..=last).map(tick).collect()
    }

    /// Every power of ten, or every few; all digits as minor ticks, with more labels where only two
    /// powers are shown.
    fn log_ticks(&self) -> Vec<Tick> {
        let (first, last) = (
            self.from.log10().floor() as i32,
            self.to.log10().ceil() as i32,
        );
        let decades = (self.to / self.from).log10();
        let every = (decades / 6.0).ceil().max(1.0) as i32;
        let is_inside =
            |value: f64| self.from * (1.0 - 1e-9) <= value && value <= self.to * (1.0 + 1e-9);
        let powers = (first..=last).filter(|power| is_inside(10f64.powi(*power)));
        let few = powers.count() <= 2;
        let mut ticks = Vec::new();
        for power in first..=last {
            for digit in 1..=9 {
                let value = f64::from(digit) * 10f64.powi(power);
                if !is_inside(value) || (every > 1 && digit > 1) {
                    continue;
                }
                let labelled = match digit {
                    1 => (power - first).rem_euclid(every) == 0,
                    2 | 5 => few,
                    _ => false,
                };
                let label = if labelled {
                    log_label(digit, power)
                } else {
                    String::new()
                };
                ticks.push(Tick { value, label });
            }
        }
        ticks
    }
}

/// `0.01`, `20`, or `10^4` where plain digits would be long.
fn log_label(digit: i32, power: i32) -> String {
    match (digit, power) {
        (_, -3..=3) => {
            let decimals = (-power).max(0) as usize;
            format!("{:.decimals$}", f64::from(digit) * 10f64.powi(power))
        }
        _ => raised(digit.into(), power),
    }
}

/// `10^4`, `2·10^4`.
fn raised(digits: i64, power: i32) -> String {
    match digits {
        1 => format!("10{RAISED}{power}"),
        _ => format!("{digits}·10{RAISED}{power}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        let ticks = axis.ticks().into_iter().map(|tick| tick.label);
        ticks.filter(|label| !label.is_empty()).collect()
    }

    fn linear(from: f64, to: f64) -> Axis {
        Axis::new(
            Some([from, to]),
            std::iter::empty(),
            false,
            false,
            [0.0, 100.0],
        )
    }

    fn log(from: f64, to: f64) -> Axis {
        Axis::new(
            Some([from, to]),
            std::iter::empty(),
            true,
            false,
            [0.0, 100.0],
        )
    }

    #[test]
    fn linear_ticks_are_round_and_inside() {
        assert_eq!(
            labels(&linear(0.0, 1.0)),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels(&linear(9.5, 13.0)),
            [
                "9.5", "10.0", "10.5", "11.0", "11.5", "12.0", "12.5", "13.0"
            ]
        );
        assert_eq!(
            labels(&linear(0.0, 16.0)),
            ["0", "2", "4", "6", "8", "10", "12", "14", "16"]
        );
    }

    #[test]
    fn linear_labels_that_would_be_long_are_told_by_powers_of_ten() {
        assert_eq!(
            labels(&linear(0.0, 2.1e-6)),
            ["0", "5·10^-7", "10·10^-7", "15·10^-7", "20·10^-7"]
        );
        assert_eq!(
            labels(&linear(0.0, 4e6)),
            ["0", "10^6", "2·10^6", "3·10^6", "4·10^6"]
        );
        assert_eq!(labels(&linear(0.0, 4e5))[4], "400000");
    }

    #[test]
    fn log_ticks_are_powers_of_ten_and_their_digits() {
        assert_eq!(labels(&log(1.0, 1_000.0)), ["1", "10", "100", "1000"]);
        assert_eq!(labels(&log(0.2, 10.0)), ["0.2", "0.5", "1", "2", "5", "10"]);
        assert_eq!(labels(&log(1e4, 1e6)), ["10^4", "10^5", "10^6"]);
    }

    #[test]
    fn values_are_placed_in_proportion() {
        assert_eq!(linear(0.0, 4.0).place(1.0), 25.0);
        assert!((log(1.0, 100.0).place(10.0) - 50.0).abs() < 1e-9);
        assert!(!log(1.0, 100.0).place(-1.0).is_finite());
    }

    #[test]
    fn without_a_range_the_data_give_one() {
        let of = |values: &[f64], log, zero| {
            let axis = Axis::new(None, values.iter().copied(), log, zero, [0.0, 1.0]);
            (axis.from, axis.to)
        };
        assert_eq!(of(&[2.0, 10.0], false, true), (0.0, 10.5));
        assert_eq!(of(&[2.0, 10.0], false, false), (2.0, 10.0));
        assert_eq!(of(&[0.0, 2.0, 10.0, f64::NAN], true, true), (2.0, 10.0));
        assert_eq!(of(&[], false, true), (0.0, 1.0));
        assert_eq!(of(&[3.0], true, false), (1.5, 6.0));
    }
}
