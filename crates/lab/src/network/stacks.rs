//! How both ends of a flow behave, whichever protocol the flow speaks.

use tfrc::units::Bytes;

use super::tcp::Tcp;
use super::tfrc_rules::Tfrc;
use crate::error::{Impossible, impossible};
use crate::units::Size;

/// What UDP over IP can carry, roughly.
const MOST_PACKET: Bytes = Bytes::new(65_000);

/// One byte more than the headers of TCP.
const LEAST_PACKET: Bytes = Bytes::new(41);

/// Refuses packets without room for data, and packets that UDP over IP cannot carry.
pub(crate) fn require_packet(packet: Size) -> Result<(), Impossible> {
    require_packet_from(LEAST_PACKET, packet)
}

/// Refuses packets smaller than `least`, and packets that UDP over IP cannot carry.
pub(crate) fn require_packet_from(least: Bytes, packet: Size) -> Result<(), Impossible> {
    if (least..=MOST_PACKET).contains(&packet.0) {
        return Ok(());
    }
    let range = format!("from {least} to {MOST_PACKET}");
    Err(impossible("packet", range).given(packet.0))
}

/// How the ends of a flow behave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stacks {
    /// Of every data packet, on the wire.
    pub(crate) packet: Size,
    /// The packets of a TCP beside it: TFRC-SP takes the rate of such a TCP.
    pub(crate) tcp_packet: Size,
    pub(crate) tcp: Tcp,
    pub(crate) tfrc: Tfrc,
}

impl Stacks {
    pub(crate) fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify()?;
        self.tcp.verify()?;
        require_packet(self.packet)?;
        require_packet(self.tcp_packet)
    }
}
