//! How both ends of a flow behave, whichever protocol the flow speaks.

use tfrc::units::Bytes;

use super::tcp::{TCP_HEADER, Tcp};
use super::tfrc_rules::Tfrc;
use crate::error::{Impossible, require};
use crate::units::Size;

/// What UDP over IP can carry, roughly.
pub(crate) const MOST_PACKET: Bytes = Bytes::new(65_000);

/// How the ends of a flow behave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stacks {
    /// Of every data packet, on the wire.
    pub(crate) packet: Size,
    /// Of those of a TCP beside it: TFRC-SP takes the rate of one.
    pub(crate) tcp_packet: Size,
    pub(crate) tcp: Tcp,
    pub(crate) tfrc: Tfrc,
}

impl Stacks {
    pub(crate) fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify()?;
        self.tcp.verify()?;
        let room = self.packet.0 > TCP_HEADER && self.packet.0 <= MOST_PACKET;
        require(room, "packet", "from 41B to 65kB")
    }
}
