//! The session over a path, in virtual time.

mod app;
mod begin_again;
mod call;
mod foreign;
mod hostile;
mod keyframes;
mod not_sent;
mod pair;
mod repair;
mod reports;
