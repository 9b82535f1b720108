//! The numbers that packets of media and repair carry.

use crate::packet::rtp::RtpHeader;
use crate::session::config::RepairConfig;
use crate::session::random::Random;

/// The largest first sequence number (RFC 3711 §3.3.1).
const MAX_FIRST_SEQUENCE: u32 = (1 << 15) - 1;

/// The source of repair packets.
#[derive(Clone, Copy, Debug)]
struct RepairSource {
    payload_type: u8,
    ssrc: u32,
    /// The sequence number of the next packet.
    sequence: u16,
}

/// The numbers of the next packets, and the counts of a sender report.
///
/// Every packet of either source takes one transport-wide number. Where packets do not carry it, the sequence number is
/// the same number.
#[derive(Debug)]
pub(super) struct Numbering {
    /// The extended sequence number of the next media packet. RTP carries the lower half.
    sequence: u32,
    /// The transport-wide number of the next packet, by which TFRC counts.
    transport: u32,
    /// True if packets carry the transport-wide number.
    has_transport: bool,
    repair: Option<RepairSource>,
    timestamp_offset: u32,
    packets: u32,
    payload_bytes: u32,
}

impl Numbering {
    /// Draws the first numbers, which are random (RFC 3550 §5.1).
    ///
    /// They are below 2^15, so that a receiver of SRTP that misses the first packets does not misjudge the rollover (RFC 3711
    /// §3.3.1).
    pub(super) fn new(
        repair: Option<RepairConfig>,
        has_transport: bool,
        random: &mut Random,
    ) -> Self {
        let sequence = random.next_u32() & MAX_FIRST_SEQUENCE;
        let repair = repair.map(|repair| {
            let mut random = random.fork("repair");
            RepairSource {
                payload_type: repair.payload_type,
                ssrc: repair.ssrc.unwrap_or(random.next_u32()),
                sequence: (random.next_u32() & MAX_FIRST_SEQUENCE) as u16,
            }
        });
        Self {
            sequence,
            transport: sequence,
            has_transport,
            repair,
            timestamp_offset: random.next_u32(),
            packets: 0,
            payload_bytes: 0,
        }
    }

    /// Returns the extended sequence number of the next media packet.
    pub(super) fn sequence(&self) -> u32 {
        self.sequence
    }

    /// Returns the transport-wide number of the next packet.
    pub(super) fn transport(&self) -> u32 {
        self.transport
    }

    /// Returns true if there are repair packets.
    pub(super) fn has_repair(&self) -> bool {
        self.repair.is_some()
    }

    /// Returns true if packets carry the transport-wide number.
    pub(super) fn has_transport(&self) -> bool {
        self.has_transport
    }

    /// Returns the source of repair packets, if there is one.
    pub(super) fn repair_source(&self) -> Option<u32> {
        self.repair.map(|repair| repair.ssrc)
    }

    /// Returns a timestamp of the caller with the random offset.
    pub(super) fn offset(&self, timestamp: u32) -> u32 {
        timestamp.wrapping_add(self.timestamp_offset)
    }

    /// Returns the header of the next repair packet, if there are any. `timestamp` has no offset yet.
    pub(super) fn repair_header(&self, timestamp: u32) -> Option<RtpHeader> {
        let repair = self.repair.as_ref()?;
        Some(RtpHeader {
            payload_type: repair.payload_type,
            marker: false,
            sequence: repair.sequence,
            timestamp: self.offset(timestamp),
            ssrc: repair.ssrc,
        })
    }

    /// Counts a media packet that leaves.
    pub(super) fn count_media(&mut self, payload: usize) {
        self.sequence = self.sequence.wrapping_add(1);
        self.packets = self.packets.wrapping_add(1);
        self.payload_bytes = self.payload_bytes.wrapping_add(payload as u32);
    }

    /// Counts a repair packet that leaves.
    pub(super) fn count_repair(&mut self) {
        if let Some(repair) = &mut self.repair {
            repair.sequence = repair.sequence.wrapping_add(1);
        }
    }

    /// Takes a transport-wide number for a packet that leaves.
    pub(super) fn take_transport(&mut self) {
        self.transport = self.transport.wrapping_add(1);
    }

    /// Leaves out a number: the transport-wide one, and the sequence number only if it is the same.
    pub(super) fn leave_out(&mut self) {
        self.take_transport();
        if !self.has_transport {
            self.sequence = self.transport;
        }
    }

    /// Returns the number of media packets sent.
    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    /// Returns the bytes of media payload sent.
    pub(super) fn payload_bytes(&self) -> u32 {
        self.payload_bytes
    }
}
