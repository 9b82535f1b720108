//! The packets of a datagram, parsed once for all readers.

use super::packets::{Packet, Packets};
use super::receiver_report::ReportBlock;
use crate::packet::wire::ParseError;

/// The packets that are kept as parsed: more than our own compounds have. Later packets are parsed again at each
/// use, so that no datagram makes its reader allocate.
const PARSED_PACKETS: usize = 8;

/// The packets of a datagram, a compound or a reduced-size one (RFC 5506), all of which are valid.
#[derive(Clone, Debug)]
pub struct Compound<'a> {
    kept: [Option<Packet<'a>>; PARSED_PACKETS],
    /// The packets after those that are kept.
    rest: Packets<'a>,
    author: Option<u32>,
    is_full: bool,
}

impl<'a> Compound<'a> {
    /// Reads every packet of a datagram.
    ///
    /// # Errors
    ///
    /// Returns the first invalid header or content of any packet.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, ParseError> {
        let mut packets = Packets::parse(datagram)?;
        let is_full = packets.is_compound();
        let mut kept = [const { None }; PARSED_PACKETS];
        let mut author = None;
        for (place, packet) in kept.iter_mut().zip(&mut packets) {
            let packet = packet?;
            author = author.or_else(|| packet.author());
            *place = Some(packet);
        }
        let rest = packets.clone();
        for packet in packets {
            let packet = packet?;
            author = author.or_else(|| packet.author());
        }
        Ok(Self {
            kept,
            rest,
            author,
            is_full,
        })
    }

    /// Returns the packets in the order of the datagram.
    pub fn packets(&self) -> impl Iterator<Item = Packet<'a>> + Clone {
        let kept = self.kept.iter().flatten().cloned();
        kept.chain(self.rest.clone().flatten())
    }

    /// Returns the source that wrote the packets: the source of the first packet that names one.
    pub fn author(&self) -> Option<u32> {
        self.author
    }

    /// Returns true if the datagram is a full compound, which begins with a report (RFC 3550 §6.1).
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the first reception report about a source.
    pub fn block_about(&self, ssrc: u32) -> Option<ReportBlock> {
        self.packets().find_map(|packet| match packet {
            Packet::SenderReport(_, mut blocks) | Packet::ReceiverReport(_, mut blocks) => {
                blocks.find(|block| block.ssrc == ssrc)
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bye, ReceiverReport};
    use super::*;

    #[test]
    fn packets_come_in_order_beyond_those_kept() {
        let mut buf = [0; 256];
        let mut len = ReceiverReport { ssrc: 7 }.emit(&[], &mut buf).unwrap();
        for source in 0..20 {
            len += Bye::emit(source, &mut buf[len..]).unwrap();
        }
        let compound = Compound::parse(&buf[..len]).unwrap();
        assert!(compound.is_full());
        assert_eq!(compound.author(), Some(7));
        let sources = compound.packets().filter_map(|packet| match packet {
            Packet::Bye(bye) => bye.sources().next(),
            _ => None,
        });
        assert!(sources.eq(0..20));
    }

    #[test]
    fn one_bad_packet_refuses_all() {
        let mut buf = [0; 256];
        let mut len = 0;
        for source in 0..12 {
            len += Bye::emit(source, &mut buf[len..]).unwrap();
        }
        // The last packet claims two sources and has room for one.
        buf[len - 8] = 0x82;
        assert!(Compound::parse(&buf[..len]).is_err());
        assert!(Compound::parse(&buf[..len - 8]).is_ok());
    }
}
