//! Application-defined packets (RFC 3550 §6.7).

use crate::packet::wire::{ParseError, Reader};

/// An application-defined packet, whose name determines its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct App<'a> {
    /// Distinguishes packets of the same name.
    pub subtype: u8,
    /// The source of the packet.
    pub ssrc: u32,
    /// Four ASCII characters.
    pub name: [u8; 4],
    /// The data, whose format the name determines.
    pub data: &'a [u8],
}

impl<'a> App<'a> {
    /// Reads a packet's body; `subtype` comes from its header.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(subtype: u8, body: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            subtype,
            ssrc: reader.u32("APP SSRC")?,
            name: reader.u32("APP name")?.to_be_bytes(),
            data: reader.rest(),
        })
    }
}

/// Returns the first packet of a datagram.
#[cfg(test)]
pub(super) fn read(datagram: &[u8]) -> App<'_> {
    match super::Packets::parse(datagram).unwrap().next() {
        Some(Ok(super::Packet::Application(app))) => app,
        other => panic!("{other:?}"),
    }
}
