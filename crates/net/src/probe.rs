//! Measures the capabilities of this machine on the loopback interface.

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::socket::{BindError, Outgoing, RECEIVE_BUFFER, ReceiveBatch, Socket};
use crate::wait;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use tfrc::Ecn;
use tfrc::time::Duration;
use tfrc::units::Bytes;

/// What a machine offers to whoever sends and receives on time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeReport {
    /// The kernel says when each datagram came.
    pub kernel_timestamps: bool,
    /// Datagrams that one call can send; 1 if each takes its own.
    pub send_segments: usize,
    /// Datagrams that the kernel may hand over in one buffer; 1 if each takes its own.
    pub receive_segments: usize,
    /// An ECN mark that was sent could be read at the other end.
    pub ecn: bool,
    /// The kernel takes departure times with packets (`SO_TXTIME`). It keeps to them where the interface's
    /// queue discipline is `fq` or `etf`; others send at once.
    pub departure_times: bool,
    /// The queue discipline that interfaces get unless told otherwise, where the system says.
    pub queue_discipline: Option<String>,
    /// How late waits of a millisecond ended.
    pub timer_error: Lateness,
    /// The receive buffer that a socket asks for.
    pub receive_buffer_asked: Bytes,
    /// What the system granted of it, its bookkeeping included (on Linux, twice the usable size).
    pub receive_buffer_granted: Bytes,
    /// From sending a datagram until it was read by the same thread.
    pub loopback: Lateness,
}

/// Why a machine could not be probed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No socket on the loopback interface.
    #[error("loopback: {0}")]
    Bind(#[source] BindError),
    /// A datagram could not be sent to, or read from, the loopback interface.
    #[error("loopback: {0}")]
    Loopback(#[source] io::Error),
    /// A datagram sent over the loopback interface did not come within a second.
    #[error("loopback: a datagram did not come within a second")]
    Silent,
}

/// Tries out what this machine offers. Takes about a quarter of a second, on a thread of its own,
/// since it makes its thread's timers as punctual as an endpoint's.
pub fn probe(clock: Clock) -> Result<ProbeReport, ProbeError> {
    let prober = std::thread::spawn(move || {
        wait::be_punctual();
        examine(&clock)
    });
    prober
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn examine(clock: &Clock) -> Result<ProbeReport, ProbeError> {
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let bind = || Socket::bind(any_port).map_err(ProbeError::Bind);
    let (sender, receiver) = (bind()?, bind()?);
    let mut echo = Echo {
        clock,
        sender: &sender,
        receiver: &receiver,
        batch: ReceiveBatch::new(),
    };
    let mut loopback = Lateness::default();
    let (mut kernel_timestamps, mut ecn) = (true, true);
    for _ in 0..LOOPBACK_TRIALS {
        loopback.record(echo.pass()?);
        kernel_timestamps &= echo.batch.is_stamped();
        ecn &= echo.batch.datagrams().all(|d| d.ecn == Ecn::Ect0);
    }
    Ok(ProbeReport {
        kernel_timestamps,
        send_segments: sender.max_segments(),
        receive_segments: receiver.max_received_segments(),
        ecn,
        departure_times: takes_departure_times(&sender),
        queue_discipline: default_queue_discipline(),
        timer_error: timer_error(clock),
        receive_buffer_asked: RECEIVE_BUFFER,
        receive_buffer_granted: receiver.receive_buffer(),
        loopback,
    })
}

#[cfg(target_os = "linux")]
fn takes_departure_times(socket: &Socket) -> bool {
    use nix::sys::socket::{setsockopt, sockopt::TxTime};

    let monotonic = libc::sock_txtime {
        clockid: libc::CLOCK_MONOTONIC,
        flags: 0,
    };
    setsockopt(socket, TxTime, &monotonic).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn takes_departure_times(_: &Socket) -> bool {
    false
}

fn default_queue_discipline() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/net/core/default_qdisc").ok()?;
    Some(name.trim().to_owned())
}

/// How late the wait that endpoints use ends.
fn timer_error(clock: &Clock) -> Lateness {
    let mut error = Lateness::default();
    for _ in 0..TIMER_TRIALS {
        let deadline = clock.now() + Duration::from_millis(1);
        wait::readable(clock, [], Some(deadline));
        error.record(clock.now().saturating_since(deadline));
    }
    error
}

struct Echo<'a> {
    clock: &'a Clock,
    sender: &'a Socket,
    receiver: &'a Socket,
    batch: ReceiveBatch,
}

impl Echo<'_> {
    /// How long a datagram takes from one socket to the other.
    fn pass(&mut self) -> Result<Duration, ProbeError> {
        let outgoing = Outgoing {
            destination: self.receiver.local_address(),
            ecn: Ecn::Ect0,
            contents: &[0; 1_200],
            segment: 1_200,
        };
        let sent = self.clock.now();
        self.sender.send(&outgoing).map_err(ProbeError::Loopback)?;
        wait::readable(self.clock, [self.receiver.as_fd()], Some(sent + PATIENCE));
        match self.receiver.receive(self.clock, &mut self.batch) {
            Ok(0) => Err(ProbeError::Silent),
            Ok(_) => Ok(self.batch.read_at().saturating_since(sent)),
            Err(error) => Err(ProbeError::Loopback(error)),
        }
    }
}

/// Enough for a 99th percentile, and a fifth of a second.
const TIMER_TRIALS: u32 = 200;

const LOOPBACK_TRIALS: u32 = 50;

const PATIENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_every_trial() {
        let report = probe(Clock::start()).unwrap();
        assert_eq!(report.timer_error.count(), u64::from(TIMER_TRIALS));
        assert_eq!(report.loopback.count(), u64::from(LOOPBACK_TRIALS));
        assert!(report.send_segments >= 1 && report.receive_segments >= 1);
        assert!(report.receive_buffer_granted > Bytes::ZERO);
        if cfg!(target_os = "linux") {
            assert!(report.kernel_timestamps && report.ecn);
        }
    }
}
