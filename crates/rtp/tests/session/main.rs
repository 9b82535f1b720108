//! The session over a path, in virtual time.

mod call;
mod foreign;
mod hostile;
mod pair;
mod reports;
