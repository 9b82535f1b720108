//! `equation.toml` and `inverse.toml` (RFC 5348 §3.1, §6.3.1).

use std::time::Duration;

use serde::Deserialize;
use tfrc::equation;
use tfrc::units::{Bytes, LossEventRate, Rate};

use super::{assert_close, read};

#[derive(Deserialize)]
struct Equation {
    tolerance: f64,
    range: Vec<[f64; 2]>,
    rate: Vec<Case>,
}

#[derive(Deserialize)]
struct Inverse {
    tolerance: f64,
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    s: u64,
    r_ns: u64,
    p: f64,
    x: f64,
}

#[test]
fn the_equation_is_right_over_the_whole_range_of_p() {
    let vectors: Equation = read("equation.toml");
    for [p, expected] in vectors.range {
        let x = equation::rate(Bytes::new(1), Duration::from_secs(1), LossEventRate::new(p));
        assert_close(
            x.bytes_per_sec(),
            expected,
            vectors.tolerance,
            &format!("p = {p}"),
        );
    }
    for Case { s, r_ns, p, x } in vectors.rate {
        let got = equation::rate(
            Bytes::new(s),
            Duration::from_nanos(r_ns),
            LossEventRate::new(p),
        );
        let what = format!("s = {s}, R = {r_ns} ns, p = {p}");
        assert_close(got.bytes_per_sec(), x, vectors.tolerance, &what);
    }
}

#[test]
fn the_inverse_finds_the_loss_event_rate() {
    let vectors: Inverse = read("inverse.toml");
    for Case { s, r_ns, p, x } in vectors.case {
        let rate = Rate::from_bytes_per_sec(x);
        let got = equation::loss_event_rate(Bytes::new(s), Duration::from_nanos(r_ns), rate);
        let what = format!("s = {s}, R = {r_ns} ns, X = {x}");
        assert_close(got.get(), p, vectors.tolerance, &what);
    }
}
