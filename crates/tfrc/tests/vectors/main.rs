//! The vectors in `testdata/`, whose numbers come from elsewhere: by hand, or from a program that shares
//! nothing with this crate.

mod equation;
mod loss;
mod sender;

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;

/// A file of `testdata/`.
fn read<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(name);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Panics unless `got` is within `tolerance`, relative, of `expected`.
fn assert_close(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        got == expected || (got / expected - 1.0).abs() <= tolerance,
        "{what}: {got:e} is not {expected:e}"
    );
}
