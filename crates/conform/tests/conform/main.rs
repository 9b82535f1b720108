//! Every check against our own implementation, in virtual time.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod mutant;
mod mutants;
mod mutants_extended;
mod mutants_sender_based;
mod numbers;
