//! The packets of a stream, for the benchmarks of SRTP.

use evenkeel_secure::srtp::{MAX_OVERHEAD, MasterKey, Profile};

/// The length of a packet before it is protected, in bytes.
pub(crate) const PACKET: usize = 1_200;

/// Returns a key of the profile.
pub(crate) fn key(profile: Profile) -> MasterKey {
    let (key, salt) = (vec![1; profile.key_len()], vec![2; profile.salt_len()]);
    MasterKey::new(profile, &key, &salt).expect("the profile's lengths")
}

/// Writes the packets of a stream, one after the other, into one buffer.
pub(crate) struct Packets {
    buffer: Vec<u8>,
    sequence: u16,
}

impl Default for Packets {
    fn default() -> Self {
        Self {
            buffer: vec![0; PACKET + MAX_OVERHEAD],
            sequence: 0,
        }
    }
}

impl Packets {
    /// Returns the next packet, with room for what protection adds.
    pub(crate) fn next(&mut self) -> &mut [u8] {
        self.sequence = self.sequence.wrapping_add(1);
        self.buffer[0] = 0x80;
        self.buffer[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        self.buffer[4..12].fill(0);
        &mut self.buffer
    }
}
