//! Starts an end on its socket, with the timing and the capture that both ends share.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use evenkeel_net::{Capture, Clock, Driver, Handle, Tapped};
use evenkeel_perf::control;
use evenkeel_rtp::endpoint::Endpoint;

use super::output::{Kept, Started};
use crate::cli::PerfOutputArgs;
use crate::failure::Failure;
use crate::wiring;

/// Starts the thread of an end that is bound to `address`. Its capture replaces the last file when a test has
/// `begun`.
pub(super) fn spawn<E: Endpoint + Send + 'static>(
    clock: Clock,
    address: SocketAddr,
    endpoint: E,
    args: &PerfOutputArgs,
    begun: Started,
) -> Result<Handle<Tapped<E>>, Failure> {
    let socket = wiring::bind(address, "--port")?;
    let capture = match &args.pcap {
        Some(path) => {
            let file = Kept::open(path, begun)?;
            let capture = Capture::start(file, &clock, socket.local_address(), describe);
            Some(capture.map_err(Failure::runtime)?)
        }
        None => None,
    };
    let tapped = Tapped { endpoint, capture };
    let handle = if args.spin {
        Driver::spawn_spinning(clock, socket, tapped)
    } else {
        Driver::spawn(clock, socket, tapped)
    };
    handle.map_err(Failure::runtime)
}

/// Returns our address towards `peer`, with any free port, so that a capture shows the real address.
pub(super) fn towards(peer: SocketAddr) -> io::Result<SocketAddr> {
    // The call sends nothing, and makes the system look for a route.
    let socket = UdpSocket::bind(wiring::any_port_towards(peer))?;
    socket.connect(peer)?;
    let mut local = socket.local_addr()?;
    local.set_port(0);
    Ok(local)
}

/// Ends the thread and the capture. The result of the capture is separate from the end, because the measurements
/// are worth reporting even if the capture failed.
pub(super) fn stop<E>(handle: Handle<Tapped<E>>) -> Result<(E, Result<(), Failure>), Failure> {
    let Tapped { endpoint, capture } = handle.stop().map_err(Failure::runtime)?;
    let missed = capture.map_or(Ok(0), Capture::finish);
    if let Ok(missed @ 1..) = missed {
        eprintln!("evenkeel: {missed} packets are not in the capture: the disk was too slow");
    }
    let captured = missed
        .map(|_| ())
        .map_err(|error| Failure::runtime(format!("cannot write the capture: {error}")));
    Ok((endpoint, captured))
}

fn describe(datagram: &[u8]) -> Option<String> {
    control::describe(datagram).or_else(|| evenkeel_net::describe(datagram))
}
