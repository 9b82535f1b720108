//! Time to protect and to unprotect a packet of 1,200 bytes, by profile.

mod packets;

use divan::{Bencher, black_box};
use evenkeel_secure::srtp::{Profile, Protector, Unprotector};
use packets::{PACKET, Packets, key};

fn main() {
    divan::main();
}

const PROFILES: [Profile; 3] = [
    Profile::Aes128CmSha1_80,
    Profile::AeadAes128Gcm,
    Profile::AeadAes256Gcm,
];

#[divan::bench(args = PROFILES)]
fn protect(bencher: Bencher<'_, '_>, profile: Profile) {
    let mut protector = Protector::new(&key(profile));
    let mut packets = Packets::default();
    bencher.bench_local(|| protector.protect_rtp(black_box(packets.next()), PACKET));
}

#[divan::bench(args = PROFILES)]
fn protect_and_unprotect(bencher: Bencher<'_, '_>, profile: Profile) {
    let mut protector = Protector::new(&key(profile));
    let mut unprotector = Unprotector::new(&key(profile));
    let mut packets = Packets::default();
    bencher.bench_local(|| {
        let packet = packets.next();
        let len = protector.protect_rtp(packet, PACKET).expect("a new number");
        unprotector.unprotect_rtp(black_box(&mut packet[..len]))
    });
}
