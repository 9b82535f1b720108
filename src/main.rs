//! Live video that shares the network fairly: TFRC over RTP, end to end.
#![forbid(unsafe_code)]

fn main() {}
