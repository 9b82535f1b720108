//! The proof that a client receives at the address it sends from, kept by the client alone.

use std::net::{IpAddr, SocketAddr};

use tfrc::time::{Duration, Instant};

/// Makes tokens and knows its own again: a keyed hash of the address, the client's nonce and the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mint {
    key: [u64; 2],
}

impl Mint {
    /// No token is good for longer.
    pub(crate) const LIFETIME: Duration = Duration::from_secs(2 * PERIOD_SECS);

    /// `key` must be secret and drawn anew for each server.
    pub(crate) const fn new(key: [u64; 2]) -> Self {
        Self { key }
    }

    /// The token for `client` at `now`.
    pub(crate) fn token(&self, now: Instant, client: SocketAddr, nonce: u64) -> u64 {
        self.token_of(period(now), client, nonce)
    }

    /// True if `token` was made for the same, less than two periods ago.
    pub(crate) fn knows(&self, now: Instant, client: SocketAddr, nonce: u64, token: u64) -> bool {
        let period = period(now);
        [period, period.wrapping_sub(1)]
            .into_iter()
            .any(|period| self.token_of(period, client, nonce) == token)
    }

    fn token_of(&self, period: u64, client: SocketAddr, nonce: u64) -> u64 {
        let address = match client.ip().to_canonical() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        let mut message = [0; 34];
        message[..16].copy_from_slice(&address.octets());
        message[16..18].copy_from_slice(&client.port().to_be_bytes());
        message[18..26].copy_from_slice(&nonce.to_be_bytes());
        message[26..].copy_from_slice(&period.to_be_bytes());
        siphash(self.key, &message)
    }
}

/// A token is good for one to two of these: longer than any handshake, and too short to be collected.
const PERIOD_SECS: u64 = 10;

fn period(now: Instant) -> u64 {
    now.as_micros() / (PERIOD_SECS * 1_000_000)
}

/// SipHash-2-4 (Aumasson and Bernstein, 2012): short messages, a secret key, nothing to look up.
fn siphash(key: [u64; 2], message: &[u8]) -> u64 {
    let mut state = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = message.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = message.len() as u8;
    for word in words.iter().chain([&last]) {
        let word = u64::from_le_bytes(*word);
        state[3] ^= word;
        round(&mut state);
        round(&mut state);
        state[0] ^= word;
    }
    state[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut state);
    }
    state.into_iter().fold(0, |hash, part| hash ^ part)
}

fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINT: Mint = Mint::new([1, 2]);

    fn at(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }

    #[test]
    fn the_hash_is_that_of_its_authors() {
        // Appendix A of the paper: the key 00..0f, the message 00..0e.
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(key, &message), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn a_token_is_good_for_its_address_and_nonce_alone() {
        let now = Instant::from_secs(5);
        let client = at("192.0.2.1:5004");
        let token = MINT.token(now, client, 7);
        assert!(MINT.knows(now, client, 7, token));
        assert!(!MINT.knows(now, client, 8, token));
        assert!(!MINT.knows(now, at("192.0.2.1:5005"), 7, token));
        assert!(!MINT.knows(now, at("192.0.2.2:5004"), 7, token));
        assert!(!Mint::new([1, 3]).knows(now, client, 7, token));
        assert!(MINT.knows(now, at("[::ffff:192.0.2.1]:5004"), 7, token));
    }

    #[test]
    fn a_token_grows_old() {
        let client = at("192.0.2.1:5004");
        let token = MINT.token(Instant::from_secs(9), client, 7);
        assert!(MINT.knows(Instant::from_secs(19), client, 7, token));
        assert!(!MINT.knows(Instant::from_secs(20), client, 7, token));
    }
}
