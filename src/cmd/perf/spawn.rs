//! An end on its socket, with what is common to both: punctuality and the capture.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use evenkeel_net::{Capture, Clock, Driver, Handle, Tapped};
use evenkeel_perf::control;
use evenkeel_rtp::endpoint::Endpoint;

use super::output::{Kept, Started};
use crate::cli::PerfOutputArgs;
use crate::failure::Failure;
use crate::wiring;

/// Starts the thread of an end that is bound to `address`. Its capture takes the place of the last one when something has
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

/// Our address on the way to `peer`, so that a capture shows the one that is used; any free port.
pub(super) fn towards(peer: SocketAddr) -> io::Result<SocketAddr> {
    // Nothing is sent: the system looks for a route.
    let socket = UdpSocket::bind(wiring::any_port_towards(peer))?;
    socket.connect(peer)?;
    Ok(SocketAddr::new(socket.local_addr()?.ip(), 0))
}

/// Ends the thread, and the capture with it: how that went is beside the end, for what was measured is worth telling all
/// the same.
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
