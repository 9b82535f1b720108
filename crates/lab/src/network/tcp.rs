//! How the TCP of a flow behaves.

use evenkeel_sim::tcp::{self, InitialWindow, Variant};
use serde::Deserialize;
use tfrc::time::Duration;
use tfrc::units::Bytes;

use crate::error::{Impossible, require};
use crate::units::Time;

/// How TCP behaves where the papers leave it to their simulator.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Loss recovery.
    pub variant: TcpVariant,
    /// The least retransmission timeout.
    pub min_rto: Time,
    /// The tick of the retransmission timer and of measured round trips.
    pub clock: Time,
    /// Every second packet is acknowledged, or after 100 ms; else every one at once.
    pub delayed_ack: bool,
    /// Cuts what congestion leaves of the window to whole packets, as ns-2 does.
    #[serde(default)]
    pub whole_windows: bool,
    /// Grows the window by the packets that an acknowledgement covers, as Linux does, not by
    /// acknowledgements.
    #[serde(default)]
    pub byte_counting: bool,
    /// Any acknowledgement of new data ends the backing off of the timer, as in ns-2's SACK.
    #[serde(default)]
    pub ends_backoff: bool,
    /// The window before the first acknowledgement, in packets; by RFC 3390 unless given.
    #[serde(default)]
    pub initial_window: Option<u32>,
    /// The receiver's window in packets; beyond any path unless given, and on the test bed the kernel's own.
    #[serde(default)]
    pub receive_window: Option<u32>,
    /// Says that its packets may be marked, and heeds marks (RFC 3168).
    #[serde(default)]
    pub ecn: bool,
    /// On the test bed: the kernel's congestion control, if it is not the variant's.
    #[serde(default)]
    pub kernel: Option<Kernel>,
}

/// Congestion control of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// NewReno, with SACK as the kernel has it.
    Reno,
    /// CUBIC.
    Cubic,
    /// BBR.
    Bbr,
}

/// What `docs/METHOD.md` states: SACK, a timer of at least 200 ms, every packet acknowledged.
impl Default for Tcp {
    fn default() -> Self {
        Self {
            variant: TcpVariant::Sack,
            min_rto: Time(Duration::from_millis(200)),
            clock: Time(Duration::ZERO),
            delayed_ack: false,
            whole_windows: false,
            byte_counting: false,
            ends_backoff: false,
            initial_window: None,
            receive_window: None,
            ecn: false,
            kernel: None,
        }
    }
}

/// [`Variant`] as experiments name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TcpVariant {
    /// Tahoe.
    Tahoe,
    /// Reno.
    Reno,
    /// NewReno (RFC 6582).
    Newreno,
    /// SACK (RFC 6675).
    Sack,
    /// CUBIC (RFC 9438).
    Cubic,
}

impl TcpVariant {
    /// As it stands in a file.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::Newreno => "newreno",
            Self::Sack => "sack",
            Self::Cubic => "cubic",
        }
    }
}

/// Headers of a TCP packet.
pub(super) const TCP_HEADER: Bytes = Bytes::new(40);
/// The longest that a delayed acknowledgement waits.
const ACK_DELAY: Duration = Duration::from_millis(100);

impl Tcp {
    pub(crate) fn verify(&self) -> Result<(), Impossible> {
        for (window, key) in [
            (self.initial_window, "initial_window"),
            (self.receive_window, "receive_window"),
        ] {
            require(window != Some(0), key, "at least 1 packet")?;
        }
        let waits = self.min_rto.0 + self.clock.0;
        require(!waits.is_zero(), "min_rto", "above 0, or a clock above 0")
    }

    /// What the kernel of a test bed calls this congestion control.
    pub(crate) fn kernel_name(&self) -> &'static str {
        match (self.kernel, self.variant) {
            (Some(Kernel::Bbr), _) => "bbr",
            (Some(Kernel::Cubic), _) | (None, TcpVariant::Cubic) => "cubic",
            (Some(Kernel::Reno), _) | (None, _) => "reno",
        }
    }

    pub(crate) fn config(self, packet: Bytes) -> tcp::Config {
        let standard = tcp::Config::default();
        tcp::Config {
            variant: match self.variant {
                TcpVariant::Tahoe => Variant::Tahoe,
                TcpVariant::Reno => Variant::Reno,
                TcpVariant::Newreno => Variant::NewReno,
                TcpVariant::Sack => Variant::Sack,
                TcpVariant::Cubic => Variant::Cubic,
            },
            segment: packet - TCP_HEADER,
            header: TCP_HEADER,
            min_rto: self.min_rto.0,
            clock_granularity: self.clock.0,
            delayed_ack: self.delayed_ack.then_some(ACK_DELAY),
            whole_windows: self.whole_windows,
            byte_counting: self.byte_counting,
            ends_backoff: self.ends_backoff,
            ecn: self.ecn,
            initial_window: self
                .initial_window
                .map_or(InitialWindow::Rfc3390, InitialWindow::Packets),
            receive_window: self.receive_window.unwrap_or(standard.receive_window),
            ..standard
        }
    }
}
