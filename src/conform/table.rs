//! Formats the result for a person and for a program.

use evenkeel_conform::Value;
use serde_json::json;

use super::plan::Judged;

/// Formats one check as a line of the table.
pub(crate) fn line(judged: &Judged) -> String {
    let (check, outcome) = (judged.check, &judged.outcome);
    let verdict = match (outcome.pass, judged.attempts) {
        (true, 1) => "pass".to_owned(),
        (true, n) => format!("pass at attempt {n}"),
        (false, n) => match judged.disturbed {
            0 => "FAIL".to_owned(),
            late => format!("FAIL at {n} attempts, in {late} of which this host was late:"),
        },
    };
    let (value, expected) = (words(&outcome.value), words(&outcome.expected));
    format!(
        "{:<9} {verdict:<5} {}\n                {value}; expected {expected} ({})",
        check.id, check.title, check.section
    )
}

/// Returns all checks as one object.
pub(crate) fn json(judged: &[Judged]) -> serde_json::Value {
    let checks: Vec<_> = judged
        .iter()
        .map(|judged| {
            let rfc: Vec<_> = judged.check.rfc.iter().map(|rfc| rfc.number()).collect();
            json!({
                "id": judged.check.id,
                "pass": judged.outcome.pass,
                "rfc": rfc,
                "value": value(&judged.outcome.value),
                "expected": value(&judged.outcome.expected),
                "title": judged.check.title,
                "section": judged.check.section,
                "attempts": judged.attempts,
                "disturbed": judged.disturbed,
            })
        })
        .collect();
    json!({ "checks": checks, "commit": env!("EVENKEEL_COMMIT") })
}

fn value(value: &Value) -> serde_json::Value {
    match value {
        Value::Missing => serde_json::Value::Null,
        Value::Number(number) => json!(number),
        Value::Numbers(numbers) => json!(numbers),
        Value::Range(low, high) => json!({ "min": low, "max": high }),
        Value::Text(text) => json!(text),
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::Missing => "nothing".to_owned(),
        Value::Number(number) => short(*number),
        Value::Numbers(numbers) => {
            let list: Vec<_> = numbers.iter().map(|number| short(*number)).collect();
            list.join(", ")
        }
        Value::Range(low, high) if *low == f64::MIN_POSITIVE => {
            format!("above 0, to {}", short(*high))
        }
        Value::Range(low, high) => format!("{} to {}", short(*low), short(*high)),
        Value::Text(text) => text.clone(),
    }
}

/// Formats six digits, the most that the checks compare.
fn short(number: f64) -> String {
    let digits = if number == 0.0 {
        0
    } else {
        5 - number.abs().log10().floor() as i32
    };
    let text = format!("{number:.*}", digits.clamp(0, 12) as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits_without_trailing_zeros() {
        let cases = [
            (0.0, "0"),
            (20.0, "20"),
            (33.026_4, "33.0264"),
            (2_250_061.7, "2250062"),
            (0.137_279_4, "0.137279"),
            (-0.000_012_3, "-0.0000123"),
        ];
        for (number, expected) in cases {
            assert_eq!(short(number), expected);
        }
    }
}
