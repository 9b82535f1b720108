//! Delivery traces on disk, and the folder in which recordings of others are looked for.

use std::env;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use evenkeel_link::DeliveryTrace;

/// The environment variable that names the folder of recorded links.
pub const FOLDER_VARIABLE: &str = "EVENKEEL_TRACES";

/// The largest trace that is read: an hour at some 30 Mb/s, with a line for 1500 bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a file in Mahimahi's format; the error says what is wrong with the file.
pub fn read(file: &Path) -> Result<DeliveryTrace, String> {
    let opened = File::open(file).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = opened.take(MAX_BYTES).read_to_string(&mut text);
    match read.map_err(|error| error.to_string())? as u64 {
        MAX_BYTES => Err("64 MB or more".to_owned()),
        _ => DeliveryTrace::parse(&text).map_err(|error| error.to_string()),
    }
}

/// The folder of recorded links: the one that [`FOLDER_VARIABLE`] names, else `shared/traces` beside the repository.
///
/// Recordings are data of others and not part of the repository. `experiments` is its folder of experiments.
pub(crate) fn folder(experiments: &Path) -> PathBuf {
    let beside = || experiments.join("../../shared/traces");
    env::var_os(FOLDER_VARIABLE).map_or_else(beside, PathBuf::from)
}
