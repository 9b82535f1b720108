//! The session over a path, in virtual time.

mod app;
mod call;
mod foreign;
mod hostile;
mod keyframes;
mod pair;
mod repair;
mod reports;
