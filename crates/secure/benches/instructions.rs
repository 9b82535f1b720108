//! Instructions that AES-GCM takes to protect and to unprotect a packet of 1,200 bytes, counted by callgrind; fails over budget.
//!
//! `cargo bench -p evenkeel-secure --bench instructions`; needs valgrind. Without the profile of HMAC-SHA1: valgrind hides the
//! processor's instructions for SHA-1, and would count seven times those of AES-GCM.

#[path = "../../tfrc/benches/cases/budgets.rs"]
mod budgets;
#[path = "../../tfrc/benches/cases/callgrind.rs"]
mod callgrind;
mod packets;

use std::hint::black_box;
use std::process::ExitCode;

use budgets::{Case, counted};
use evenkeel_secure::srtp::Profile::{AeadAes128Gcm, AeadAes256Gcm};
use evenkeel_secure::srtp::{Profile, Protector, Unprotector};
use packets::{PACKET, Packets};

/// The budgets: little above what was counted.
const CASES: [Case; 4] = [
    case(
        "protect_gcm_128",
        "AEAD_AES_128_GCM: protect",
        3_900.0,
        |steps| protect_all(AeadAes128Gcm, steps),
    ),
    case(
        "unprotect_gcm_128",
        "the same: unprotect",
        4_000.0,
        |steps| unprotect_all(AeadAes128Gcm, steps),
    ),
    case(
        "protect_gcm_256",
        "AEAD_AES_256_GCM: protect",
        4_350.0,
        |steps| protect_all(AeadAes256Gcm, steps),
    ),
    case(
        "unprotect_gcm_256",
        "the same: unprotect",
        4_450.0,
        |steps| unprotect_all(AeadAes256Gcm, steps),
    ),
];

const fn case(name: &'static str, what: &'static str, budget: f64, run: fn(u64)) -> Case {
    Case {
        name,
        what,
        target: f64::INFINITY,
        budget,
        run,
    }
}

fn protect_all(profile: Profile, steps: u64) {
    let mut protector = Protector::new(&packets::key(profile));
    let mut packets = Packets::default();
    for _ in 0..steps {
        let packet = packets.next();
        let _ = black_box(counted(&mut protector, packet, |protector, packet| {
            protector.protect_rtp(packet, PACKET)
        }));
    }
}

fn unprotect_all(profile: Profile, steps: u64) {
    let key = packets::key(profile);
    let (mut protector, mut unprotector) = (Protector::new(&key), Unprotector::new(&key));
    let mut packets = Packets::default();
    for _ in 0..steps {
        let packet = packets.next();
        let len = protector.protect_rtp(packet, PACKET).expect("a new number");
        let _ = black_box(counted(
            &mut unprotector,
            &mut packet[..len],
            Unprotector::unprotect_rtp,
        ));
    }
}

fn main() -> ExitCode {
    budgets::hold(&CASES)
}
