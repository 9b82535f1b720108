//! An attacker on the path, who adds packets to those that pass, but does not hold them up.

/// Repeats, cuts, damages and invents packets, with the addresses of those that pass.
#[derive(Default)]
pub(crate) struct Attacker {
    seen: Vec<Vec<u8>>,
    count: usize,
}

impl Attacker {
    /// Returns what arrives before a packet.
    pub(crate) fn forge(&mut self, packet: &[u8]) -> Vec<Vec<u8>> {
        if packet.is_empty() {
            return Vec::new();
        }
        self.count += 1;
        let count = self.count;
        // The oldest are remembered: no window of a receiver has them any more.
        if self.seen.len() < 4_096 {
            self.seen.push(packet.to_vec());
        }
        let mut damaged = packet.to_vec();
        let at = count % packet.len();
        damaged[at] ^= 1 << (count % 8);
        let cut = packet[..count % packet.len()].to_vec();
        let repeated = self.seen[count / 2 % self.seen.len()].clone();
        let mut invented = packet.to_vec();
        invented.reverse();
        invented[0] = packet[0];
        vec![damaged, cut, repeated, invented]
    }
}
