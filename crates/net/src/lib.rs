//! The real clock: paced UDP sockets and the relay that emulates a link.
//!
//! Made for Linux. Other Unix systems lack some of what makes it punctual and exact: kernel receive
//! times, segmentation offload, the timer slack. There it works with what remains, which [`probe`]
//! reports.
#![deny(unsafe_code)]

mod addresses;
mod binding;
mod capture;
mod clock;
mod command_thread;
mod driver;
mod emulation;
mod file_size_limit;
mod hop;
mod lateness;
mod packet_info;
mod packet_record;
mod path_mtu;
mod pcapng;
mod probe;
mod records;
mod recv_batch;
mod relay;
#[cfg(target_os = "linux")]
mod router;
mod socket;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod socket_option;
mod transmit;
mod wait;
mod wakeup_margin;

pub use addresses::{LocalAddress, local_addresses};
pub use capture::{Capture, Describe, Tapped, describe};
pub use clock::{Clock, processor_time};
pub use driver::{Driver, DriverError, DriverStats, Handle};
pub use emulation::{Direction, LinkChange, LinkEvent, LinkSnapshot};
pub use file_size_limit::fail_writes_beyond_size_limit;
pub use lateness::Lateness;
pub use packet_record::{Flow, PacketEvent, PacketRecord, Watch};
pub use path_mtu::greatest_payload;
pub use pcapng::{CapturedPacket, LinkType, Pcapng};
pub use probe::{ProbeError, ProbeReport, probe};
pub use records::Records;
pub use relay::{
    CrossTraffic, HEADERS, Relay, RelayConfig, RelayError, RelayGone, RelayHandle, RelaySnapshot,
};
#[cfg(target_os = "linux")]
pub use router::{
    InterfaceState, PortError, Router, RouterConfig, RouterError, RouterGone, RouterHandle,
    RouterSnapshot,
};
pub use socket::{BindError, Outgoing, ReceiveBatch, Received, Socket};
pub use transmit::SendCounters;
