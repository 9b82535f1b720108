//! One network hop without I/O: rate, delay, queue and loss.
#![forbid(unsafe_code)]
