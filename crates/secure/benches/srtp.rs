//! Time to protect and to unprotect a packet of 1,200 bytes, by profile.

use divan::{Bencher, black_box};
use evenkeel_secure::srtp::{MAX_OVERHEAD, MasterKey, Profile, Protector, Unprotector};

fn main() {
    divan::main();
}

const PACKET: usize = 1_200;
const PROFILES: [Profile; 3] = [
    Profile::Aes128CmSha1_80,
    Profile::AeadAes128Gcm,
    Profile::AeadAes256Gcm,
];

fn key(profile: Profile) -> MasterKey {
    let (key, salt) = (vec![1; profile.key_len()], vec![2; profile.salt_len()]);
    MasterKey::new(profile, &key, &salt).expect("the profile's lengths")
}

/// Writes the next packet of a stream.
fn next(packet: &mut [u8], sequence: &mut u16) {
    *sequence = sequence.wrapping_add(1);
    packet[0] = 0x80;
    packet[2..4].copy_from_slice(&sequence.to_be_bytes());
}

#[divan::bench(args = PROFILES)]
fn protect(bencher: Bencher<'_, '_>, profile: Profile) {
    let mut protector = Protector::new(&key(profile));
    let mut packet = vec![0; PACKET + MAX_OVERHEAD];
    let mut sequence = 0;
    bencher.bench_local(|| {
        next(&mut packet, &mut sequence);
        protector.protect_rtp(black_box(&mut packet), PACKET)
    });
}

#[divan::bench(args = PROFILES)]
fn protect_and_unprotect(bencher: Bencher<'_, '_>, profile: Profile) {
    let mut protector = Protector::new(&key(profile));
    let mut unprotector = Unprotector::new(&key(profile));
    let mut packet = vec![0; PACKET + MAX_OVERHEAD];
    let mut sequence = 0;
    bencher.bench_local(|| {
        next(&mut packet, &mut sequence);
        let len = protector
            .protect_rtp(&mut packet, PACKET)
            .expect("a new number");
        unprotector.unprotect_rtp(black_box(&mut packet[..len]))
    });
}
