//! A parcel holds a packet under way, and a pointer to it goes from link to link.

use crate::agent::Packet;
use tfrc::Ecn;

/// Where a packet lies while it is under way; empty when it has arrived, for another one to come.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Parcel<B> {
    pub(super) packet: Option<Packet<B>>,
    /// The agent that sent it.
    pub(super) flow: u32,
}

impl<B> Default for Parcel<B> {
    fn default() -> Self {
        Self {
            packet: None,
            flow: 0,
        }
    }
}

/// A packet inside a link: what fits into two registers, in which it goes from link to link.
#[derive(Clone, Debug)]
pub struct Travelling<B> {
    /// Stays where it is until it has arrived: moving it at every hop would cost more.
    pub(super) parcel: Box<Parcel<B>>,
    /// Where in the stops of all paths it goes from here.
    pub(super) next: u32,
}

impl<B: Clone> evenkeel_link::Packet for Travelling<B> {
    fn ecn(&self) -> Ecn {
        let packet = self.parcel.packet.as_ref();
        packet.map_or(Ecn::NotEct, |packet| packet.ecn)
    }

    fn mark(&mut self) {
        if let Some(packet) = &mut self.parcel.packet {
            packet.ecn = Ecn::Ce;
        }
    }

    fn flow(&self) -> u64 {
        self.parcel.flow.into()
    }
}
