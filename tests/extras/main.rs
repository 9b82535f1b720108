//! What needs more than Rust: `cargo test --release --features extras --test extras`.
//!
//! These run the program with real peers: ffmpeg, GStreamer, iperf3, tshark and coturn. `.ci/run` installs them. A
//! missing tool is a failure, not a skip.

mod aiortc;
mod camera_faults;
mod decoders;
mod demo;
mod families;
mod faults;
mod foreign;
mod formats;
mod hdtv;
mod interop;
mod link;
mod link_faults;
mod media_server;
mod moves;
mod namespaces;
mod nats;
mod perf;
mod perf_faults;
mod perf_options;
mod plain_rtp;
mod recordings;
mod records;
mod repair;
mod sources;
mod support;
mod testbed;
mod unprivileged;
mod vod;
