//! Reads the header of an MPEG transport stream packet (ISO/IEC 13818-1 §2.4.3).

use tfrc::time::Duration;

/// Bytes of a TS packet.
pub const TS_LEN: usize = 188;
/// The first byte of every packet.
pub(crate) const SYNC: u8 = 0x47;
/// The PID of packets that only fill a constant rate.
const NULL_PID: u16 = 0x1fff;
/// Ticks of the system clock in a second.
const CLOCK: u64 = 27_000_000;
/// A clock reference counts 33 bits of 90 kHz and 300 ticks within.
const CLOCK_WRAPS: u64 = (1 << 33) * 300;

/// Returns the low 13 bits of two bytes, a PID.
pub(crate) fn pid(bytes: [u8; 2]) -> u16 {
    u16::from_be_bytes(bytes) & NULL_PID
}

/// The fields of a packet's header and of its adaptation field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TsHeader {
    /// Which stream of the multiplex it belongs to, 13 bits.
    pub(crate) pid: u16,
    /// A PES packet or a section begins in its payload.
    pub(crate) starts_unit: bool,
    /// The packet begins what can be decoded without what went before.
    pub(crate) is_random_access: bool,
    /// The system clock at this packet.
    pub(crate) clock: Option<SystemClock>,
    /// This packet's clock does not continue the clock before it (§2.4.3.5).
    pub(crate) is_discontinuous: bool,
    has_payload: bool,
    /// Where the payload begins; at the end if nobody can read it.
    payload_at: usize,
}

/// A program clock reference: 27 MHz, 26.5 hours until it wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SystemClock(u64);

impl SystemClock {
    /// How long after `earlier` this is, if by less than half of what the clock counts.
    pub(crate) fn since(self, earlier: Self) -> Option<Duration> {
        let ticks = (self.0 + CLOCK_WRAPS - earlier.0) % CLOCK_WRAPS;
        (ticks < CLOCK_WRAPS / 2).then(|| Duration::from_nanos(ticks * 1_000 / (CLOCK / 1_000_000)))
    }

    /// The clock so long before this.
    pub(crate) fn before(self, time: Duration) -> Self {
        let ticks = time.as_nanos() * u128::from(CLOCK) / 1_000_000_000;
        let ticks = (ticks % u128::from(CLOCK_WRAPS)) as u64;
        Self((self.0 + CLOCK_WRAPS - ticks) % CLOCK_WRAPS)
    }
}

impl TsHeader {
    /// `None` for what is no TS packet, or a damaged one.
    pub(crate) fn parse(packet: &[u8; TS_LEN]) -> Option<Self> {
        // The demodulator marks what it could not mend (§2.4.3.3).
        let has_error = packet[1] & 0x80 != 0;
        if packet[0] != SYNC || has_error {
            return None;
        }
        let has_field = packet[3] & 0x20 != 0;
        let field = if has_field {
            // The length, then as many bytes; a longer one leaves the packet.
            packet.get(5..5 + usize::from(packet[4]))?
        } else {
            &[]
        };
        let flags = field.first().copied().unwrap_or(0);
        let has_payload = packet[3] & 0x10 != 0;
        let is_scrambled = packet[3] & 0xc0 != 0;
        Some(Self {
            pid: pid([packet[1], packet[2]]),
            starts_unit: packet[1] & 0x40 != 0,
            is_random_access: flags & 0x40 != 0,
            clock: field
                .get(1..7)
                .filter(|_| flags & 0x10 != 0)
                .map(clock_reference),
            is_discontinuous: flags & 0x80 != 0,
            has_payload,
            payload_at: match (has_payload && !is_scrambled, has_field) {
                (false, _) => TS_LEN,
                (true, false) => 4,
                (true, true) => 5 + field.len(),
            },
        })
    }

    /// True if it only fills a constant rate.
    pub(crate) fn is_null(self) -> bool {
        self.pid == NULL_PID
    }

    /// True if its counter is one higher than the counter of the packet before (§2.4.3.3).
    pub(crate) fn counts(self) -> bool {
        self.has_payload
    }

    /// The payload of the packet that has this header; empty if it has none or is scrambled.
    pub(crate) fn payload(self, packet: &[u8; TS_LEN]) -> &[u8] {
        &packet[self.payload_at..]
    }
}

/// 33 bits, six that are reserved, nine.
fn clock_reference(bytes: &[u8]) -> SystemClock {
    let bits = bytes
        .iter()
        .fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    let (base, rest) = (bits >> 15, bits & 0x1ff);
    SystemClock((base * 300 + rest) % CLOCK_WRAPS)
}

/// The four bits that count the packets of a stream.
pub(crate) fn counter(packet: &[u8; TS_LEN]) -> u8 {
    packet[3] & 0x0f
}

/// Writes the four bits that count.
pub(crate) fn set_counter(packet: &mut [u8; TS_LEN], counter: u8) {
    packet[3] = packet[3] & 0xf0 | counter & 0x0f;
}

/// True if a payload is whole TS packets: what a player can hand on.
pub(crate) fn is_whole(payload: &[u8]) -> bool {
    !payload.is_empty()
        && payload.len().is_multiple_of(TS_LEN)
        && payload.chunks(TS_LEN).all(|packet| packet[0] == SYNC)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A TS packet of a stream, with a clock reference in milliseconds if there is to be one.
    pub(crate) fn packet(
        pid: u16,
        counter: u8,
        clock_ms: Option<u64>,
        random_access: bool,
    ) -> [u8; TS_LEN] {
        let mut packet = [0xff; TS_LEN];
        let [high, low] = pid.to_be_bytes();
        // A table begins in its packet.
        let start = u8::from(pid == 0) << 6;
        packet[..4].copy_from_slice(&[SYNC, start | high, low, 0x10 | counter]);
        if clock_ms.is_some() || random_access {
            packet[3] |= 0x20;
            let clock = clock_ms.map(|ms| (ms * 90 % (1 << 33)) << 15);
            packet[4] = if clock.is_some() { 7 } else { 1 };
            packet[5] = (u8::from(random_access) << 6) | (u8::from(clock.is_some()) << 4);
            if let Some(clock) = clock {
                packet[6..12].copy_from_slice(&clock.to_be_bytes()[2..]);
            }
        }
        packet
    }

    #[test]
    fn header_is_read_as_in_the_standard() {
        let header = TsHeader::parse(&packet(0x123, 5, Some(40_000), true)).unwrap();
        assert_eq!(header.pid, 0x123);
        assert!(header.is_random_access && header.counts() && !header.starts_unit);
        assert_eq!(header.clock, Some(SystemClock(40 * CLOCK)));
        let plain = packet(0, 15, None, false);
        let header = TsHeader::parse(&plain).unwrap();
        assert!(header.starts_unit && header.clock.is_none() && !header.is_random_access);
        assert_eq!(counter(&plain), 15);
        assert_eq!(TsHeader::parse(&[0; TS_LEN]), None);
    }

    #[test]
    fn a_field_that_leaves_the_packet_is_refused() {
        let mut wrong = packet(1, 0, Some(1), false);
        wrong[4] = 183;
        assert!(TsHeader::parse(&wrong).is_some());
        wrong[4] = 184;
        assert_eq!(TsHeader::parse(&wrong), None);
    }

    #[test]
    fn the_clock_goes_on_when_it_wraps() {
        let (last, next) = (SystemClock(CLOCK_WRAPS - 27), SystemClock(27));
        assert_eq!(next.since(last), Some(Duration::from_micros(2)));
        assert_eq!(last.since(next), None);
    }

    #[test]
    fn only_whole_packets_are_whole() {
        let two = [packet(1, 0, None, false), packet(1, 1, None, false)].concat();
        assert!(is_whole(&two));
        assert!(!is_whole(&two[..300]) && !is_whole(&[]) && !is_whole(&[0; TS_LEN]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: [u8; 32], rest: u8) {
            let mut packet = [rest; TS_LEN];
            packet[..32].copy_from_slice(&bytes);
            packet[0] = SYNC;
            let _ = TsHeader::parse(&packet);
        }
    }
}
