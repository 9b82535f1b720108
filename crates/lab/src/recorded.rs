//! Delivery traces on disk, and the folder in which recordings of others are looked for.

use std::env;
use std::path::{Path, PathBuf};

use evenkeel_link::DeliveryTrace;

use crate::whole_file::{FileKind, read_text};

/// The environment variable that names the folder of recorded links.
pub const FOLDER_VARIABLE: &str = "EVENKEEL_TRACES";

/// Reads a file in Mahimahi's format; the error says what is wrong with the file.
pub fn read(file: &Path) -> Result<DeliveryTrace, String> {
    let text = read_text(file, FileKind::Trace).map_err(|error| error.to_string())?;
    DeliveryTrace::parse(&text).map_err(|error| error.to_string())
}

/// The folder of recorded links: the one that [`FOLDER_VARIABLE`] names, else `shared/traces` beside the repository.
///
/// Recordings are data of others and not part of the repository. `experiments` is its folder of experiments.
pub(crate) fn folder(experiments: &Path) -> PathBuf {
    let beside = || experiments.join("../../shared/traces");
    env::var_os(FOLDER_VARIABLE).map_or_else(beside, PathBuf::from)
}
