//! Numbers with a unit, as people write them.

/// Reads a finite number that ends in one of `units`, and multiplies it by the unit's factor: `60ms` with `("ms", 1e-3)` gives
/// 0.06. The first unit that matches counts, so that `ms` stands before `s`, and an empty unit last.
///
/// Returns `None` if no unit matches, or if the rest is no finite number. The range is the caller's to check.
///
/// ```
/// # use evenkeel_link::parse_quantity;
/// let units = [("ms", 1e-3), ("s", 1.0)];
/// assert_eq!(parse_quantity("1.5 s", &units), Some(1.5));
/// assert_eq!(parse_quantity("1.5", &units), None);
/// ```
pub fn parse_quantity(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let value: f64 = number.trim().parse().ok()?;
    value.is_finite().then_some(value * factor)
}
