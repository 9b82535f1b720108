//! Tests of SRTP with the vectors of RFC 7714 and with forged, replayed and reordered packets.

use proptest::prelude::*;

use super::cipher::SessionCipher;
use super::*;

pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .collect();
    let bytes = digits.chunks(2).map(|pair| pair.iter().collect::<String>());
    bytes
        .map(|pair| u8::from_str_radix(&pair, 16).unwrap())
        .collect()
}

const PROFILES: [Profile; 3] = [
    Profile::Aes128CmSha1_80,
    Profile::AeadAes128Gcm,
    Profile::AeadAes256Gcm,
];

fn key(profile: Profile, seed: u8) -> MasterKey {
    let material: Vec<u8> = (0..profile.material_len())
        .map(|i| i as u8 ^ seed)
        .collect();
    MasterKeys::from_material(profile, &material)
        .unwrap()
        .client
}

fn pair(profile: Profile) -> (Protector, Unprotector) {
    let key = key(profile, 7);
    (Protector::new(&key), Unprotector::new(&key))
}

/// Returns an RTP packet with an extension of one word.
fn rtp(ssrc: u32, sequence: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x90, 96];
    packet.extend(sequence.to_be_bytes());
    packet.extend([0, 0, 0, 1]);
    packet.extend(ssrc.to_be_bytes());
    packet.extend([0xBE, 0xDE, 0, 1, 0x10, 1, 0, 0]);
    packet.extend(payload);
    packet
}

fn protect(protector: &mut Protector, packet: &[u8]) -> Result<Vec<u8>, ProtectError> {
    let mut buffer = packet.to_vec();
    buffer.resize(packet.len() + MAX_OVERHEAD, 0);
    let len = if packet[1] == 200 {
        protector.protect_rtcp(&mut buffer, packet.len())?
    } else {
        protector.protect_rtp(&mut buffer, packet.len())?
    };
    buffer.truncate(len);
    Ok(buffer)
}

fn unprotect(unprotector: &mut Unprotector, packet: &[u8]) -> Result<Vec<u8>, UnprotectError> {
    let mut buffer = packet.to_vec();
    let len = if packet.get(1) == Some(&200) {
        unprotector.unprotect_rtcp(&mut buffer)?
    } else {
        unprotector.unprotect_rtp(&mut buffer)?
    };
    buffer.truncate(len);
    Ok(buffer)
}

/// A vector: what the RTP and the RTCP packet become.
struct Vector {
    cipher: fn(&[u8], [u8; 14]) -> SessionCipher,
    key_len: usize,
    protected: [&'static str; 2],
}

/// RFC 7714 §16 and §17: the vectors have session keys, not master keys.
#[test]
fn aes_gcm_gives_the_packets_of_rfc_7714() {
    let key: Vec<u8> = (0..32).collect();
    let mut salt = [0; 14];
    salt[..12].copy_from_slice(b"Quid pro quo");
    let vectors = [
        Vector {
            cipher: SessionCipher::gcm_128,
            key_len: 16,
            protected: [
                "8040f17b 8041f8d3 5501a0b2 f24de3a3 fb34de6c acba861c 9d7e4bca be633bd5 0d294e6f 42a5f47a \
                 51c7d19b 36de3adf 8833899d 7f27beb1 6a9152cf 765ee439 0cce",
                "81c8000d 4d617273 63e94885 dcdab67c a727d766 2f6b7e99 7ff5c0f7 6c06f32d c676a5f1 730d6fda \
                 4ce09b46 86303ded 0bb9275b c84aa458 96cf4d2f c5abf872 45d9eade 800005d4",
            ],
        },
        Vector {
            cipher: SessionCipher::gcm_256,
            key_len: 32,
            protected: [
                "8040f17b 8041f8d3 5501a0b2 32b1de78 a822fe12 ef9f78fa 332e33aa b1801238 9a58e2f3 b50b2a02 \
                 76ffae0f 1ba63799 b87b7aa3 db36dfff d6b0f9bb 7878d7a7 6c13",
                "81c8000d 4d617273 d50ae4d1 f5ce5d30 4ba297e4 7d470c28 2c3ece5d bffe0a50 a2eaa5c1 110555be \
                 8415f658 c61de047 6f1b6fad 1d1eb30c 4446839f 57ff6f6c b26ac3be 800005d4",
            ],
        },
    ];
    let plain = [
        hex(
            "8040f17b 8041f8d3 5501a0b2 47616c6c 69612065 7374206f 6d6e6973 20646976 69736120 696e2070 \
             61727465 73207472 6573",
        ),
        hex(
            "81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930 4c756e61 deadbeef deadbeef \
             deadbeef deadbeef deadbeef",
        ),
    ];
    for vector in vectors {
        let new = || (vector.cipher)(&key[..vector.key_len], salt);
        let mut protector = Protector::with_ciphers(new(), new(), 0x5d4);
        let mut unprotector = Unprotector::with_ciphers(new(), new());
        for (plain, expected) in plain.iter().zip(vector.protected) {
            let protected = protect(&mut protector, plain).unwrap();
            assert_eq!(protected, hex(expected));
            assert_eq!(unprotect(&mut unprotector, &protected).unwrap(), *plain);
        }
    }
}

#[test]
fn packets_are_opened_by_the_same_key_alone() {
    for profile in PROFILES {
        let (mut protector, mut unprotector) = pair(profile);
        let mut stranger = Unprotector::new(&key(profile, 8));
        let report = hex("80c80006 00000001 00000000 00000000 00000000 00000000 00000000");
        for plain in [rtp(1, 10, b"picture"), report] {
            let protected = protect(&mut protector, &plain).unwrap();
            let overhead = protected.len() - plain.len();
            assert!(overhead <= MAX_OVERHEAD, "{overhead}");
            assert_eq!(
                unprotect(&mut stranger, &protected),
                Err(UnprotectError::Forged)
            );
            assert_eq!(unprotect(&mut unprotector, &protected).unwrap(), plain);
            assert_eq!(
                unprotect(&mut unprotector, &protected),
                Err(UnprotectError::Replayed)
            );
        }
    }
}

#[test]
fn no_sequence_number_is_protected_twice() {
    for profile in PROFILES {
        let (mut protector, _) = pair(profile);
        let first = rtp(1, 10, b"one");
        assert!(protect(&mut protector, &first).is_ok());
        let second = protect(&mut protector, &rtp(1, 10, b"two"));
        assert_eq!(second, Err(ProtectError::NumberReused));
        assert!(protect(&mut protector, &rtp(2, 10, b"two")).is_ok());
        // Even where the packet has no room, which leaves its number unused.
        let mut short = rtp(1, 11, b"three");
        let len = short.len();
        assert_eq!(
            protector.protect_rtp(&mut short, len),
            Err(ProtectError::NoRoom)
        );
        assert_eq!(short, rtp(1, 11, b"three"));
        assert!(protect(&mut protector, &short).is_ok());
    }
}

#[test]
fn sequence_numbers_roll_over_with_losses_and_reordering() {
    for profile in PROFILES {
        let (mut protector, mut unprotector) = pair(profile);
        let sequence = |n: u32| (60_000 + n) as u16;
        let sent: Vec<_> = (0..150_000)
            .step_by(7)
            .map(|n| rtp(1, sequence(n), &n.to_be_bytes()))
            .collect();
        let mut protected: Vec<_> = sent
            .iter()
            .map(|packet| protect(&mut protector, packet).unwrap())
            .collect();
        // Neighbours change places, and every third packet is lost.
        for pair in protected.chunks_mut(2) {
            pair.reverse();
        }
        let mut opened = 0;
        for packet in protected
            .iter()
            .enumerate()
            .filter(|(n, _)| n % 3 != 0)
            .map(|(_, packet)| packet)
        {
            unprotect(&mut unprotector, packet).unwrap();
            opened += 1;
        }
        assert_eq!(opened, protected.len() - protected.len().div_ceil(3));
    }
}

/// A receiver that misses the packets before the numbers begin again is out of step by 2^16, with any sender (RFC 3711 §3.3.1).
#[test]
fn receiver_that_missed_the_first_packets_follows() {
    for profile in PROFILES {
        let (mut protector, mut unprotector) = pair(profile);
        for sequence in [65_533, 65_534, 65_535, 0, 1] {
            protect(&mut protector, &rtp(1, sequence, b"lost")).unwrap();
        }
        for sequence in [2, 3, 30_000] {
            let packet = rtp(1, sequence, b"heard");
            let protected = protect(&mut protector, &packet).unwrap();
            assert_eq!(
                unprotect(&mut unprotector, &protected).as_ref(),
                Ok(&packet)
            );
            let again = unprotect(&mut unprotector, &protected);
            assert_eq!(again, Err(UnprotectError::Replayed));
        }
    }
}

#[test]
fn index_of_rtcp_ends_before_it_repeats() {
    let key = key(Profile::AeadAes128Gcm, 7);
    let last = (1 << 31) - 1;
    let mut protector = Protector::with_ciphers(key.rtp_cipher(), key.rtcp_cipher(), last);
    let mut unprotector = Unprotector::new(&key);
    let plain = hex("80c80001 00000001");
    let protected = protect(&mut protector, &plain).unwrap();
    assert_eq!(unprotect(&mut unprotector, &protected).unwrap(), plain);
    assert_eq!(
        protect(&mut protector, &plain),
        Err(ProtectError::KeyUsedUp)
    );
}

#[test]
fn streams_beyond_the_bound_are_refused() {
    let (mut protector, _) = pair(Profile::AeadAes128Gcm);
    for ssrc in 0..64 {
        assert!(protect(&mut protector, &rtp(ssrc, 1, b"")).is_ok());
    }
    let refused = protect(&mut protector, &rtp(64, 1, b""));
    assert_eq!(refused, Err(ProtectError::KeyUsedUp));
    assert!(protect(&mut protector, &rtp(63, 2, b"")).is_ok());
}

proptest! {
    /// Packets of noise are refused, and change nothing: the next packet of the peer is opened.
    #[test]
    fn noise_is_refused_and_changes_nothing(
        noise in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20),
        profile in prop::sample::select(PROFILES.to_vec()),
    ) {
        let (mut protector, mut unprotector) = pair(profile);
        for packet in &noise {
            prop_assert!(unprotect(&mut unprotector, packet).is_err());
            let mut packet = packet.clone();
            prop_assert!(unprotector.unprotect_rtcp(&mut packet).is_err());
            let len = packet.len();
            let _ = protector.protect_rtp(&mut packet, len);
        }
        let plain = rtp(0xFFFF_0000, 1, b"picture");
        let protected = protect(&mut protector, &plain).unwrap();
        prop_assert_eq!(unprotect(&mut unprotector, &protected), Ok(plain));
    }

    /// A packet with one changed bit, wherever the bit is, and a packet that is cut are refused; then the packet itself is opened.
    #[test]
    fn damaged_packet_is_refused(
        payload in prop::collection::vec(any::<u8>(), 0..60),
        bit in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        profile in prop::sample::select(PROFILES.to_vec()),
        is_rtcp in any::<bool>(),
    ) {
        let (mut protector, mut unprotector) = pair(profile);
        let plain = if is_rtcp {
            [&hex("80c80001 00000001"), &payload[..]].concat()
        } else {
            rtp(1, 10, &payload)
        };
        let protected = protect(&mut protector, &plain).unwrap();
        let mut changed = protected.clone();
        let bit = bit.index(protected.len() * 8);
        changed[bit / 8] ^= 1 << (bit % 8);
        let mut opened = |mut packet: Vec<u8>| {
            let len = if is_rtcp {
                unprotector.unprotect_rtcp(&mut packet)?
            } else {
                unprotector.unprotect_rtp(&mut packet)?
            };
            packet.truncate(len);
            Ok::<_, UnprotectError>(packet)
        };
        prop_assert!(opened(changed).is_err());
        prop_assert!(opened(protected[..cut.index(protected.len())].to_vec()).is_err());
        prop_assert_eq!(opened(protected), Ok(plain));
    }
}

/// RFC 9335 Appendix A.1: AES in counter mode, extensions of one and of two bytes.
#[test]
fn encrypted_extensions_are_those_of_rfc_9335() {
    let material = hex(
        "e1f97a0d3e018be0d64fa32c06de4139 00000000000000000000000000000000
        0ec675ad498afeebb6960b3aabe6 0000000000000000000000000000",
    );
    let key = MasterKeys::from_material(Profile::Aes128CmSha1_80, &material)
        .unwrap()
        .client;
    let mut protector = Protector::new(&key).with_encrypted_extensions(true);
    let mut unprotector = Unprotector::new(&key);
    for (plain, protected) in [
        (
            "900f1235 decafbad cafebabe bede0001 51000200 abababab abababab abababab abababab",
            "900f1235 decafbad cafebabe c0de0001 eb923652 51c3e036 f8de27e9 c27ee3e0 b4651d9f bc4218a7 0244522f 34a5",
        ),
        (
            "900f1236 decafbad cafebabe 10000001 05020002 abababab abababab abababab abababab",
            "900f1236 decafbad cafebabe c2de0001 4ed9cc4e 6a712b30 96c5ca77 339d4204 ce0d7739 6cab6958 5fbce381 94a5",
        ),
    ] {
        let plain = hex(plain);
        let sent = protect(&mut protector, &plain).unwrap();
        assert_eq!(sent, hex(protected));
        assert_eq!(unprotect(&mut unprotector, &sent), Ok(plain));
    }
}

#[test]
fn extensions_are_encrypted_where_they_can_be() {
    for profile in PROFILES {
        let key = key(profile, 7);
        let mut protector = Protector::new(&key).with_encrypted_extensions(true);
        let mut unprotector = Unprotector::new(&key);
        let with_extension = rtp(1, 1, b"picture");
        let sent = protect(&mut protector, &with_extension).unwrap();
        assert_eq!(sent[12..16], [0xC0, 0xDE, 0, 1]);
        assert_ne!(sent[16..20], with_extension[16..20]);
        assert_eq!(unprotect(&mut unprotector, &sent), Ok(with_extension));
        // A packet without an extension, and one with a contributing source.
        let mut bare = rtp(1, 2, b"picture");
        bare[0] = 0x80;
        bare.drain(12..20);
        let mut mixed = rtp(1, 3, b"picture");
        mixed[0] = 0x91;
        mixed.splice(12..12, [9, 9, 9, 9]);
        for (packet, header) in [(bare, 12), (mixed, 24)] {
            let sent = protect(&mut protector, &packet).unwrap();
            assert_eq!(sent[..header], packet[..header]);
            assert_eq!(unprotect(&mut unprotector, &sent), Ok(packet));
        }
    }
}
