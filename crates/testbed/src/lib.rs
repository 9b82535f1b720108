//! Real kernels over emulated links.
#![forbid(unsafe_code)]

pub mod control;
pub mod link_table;
