//! SRTP and SRTCP: packets that nobody protected, and protected ones that were bent, each by every profile.

use evenkeel_secure::srtp::{MAX_OVERHEAD, MasterKey, Profile, Protector, Unprotector};

const PROFILES: [Profile; 3] = [
    Profile::Aes128CmSha1_80,
    Profile::AeadAes128Gcm,
    Profile::AeadAes256Gcm,
];

/// Reads the bytes as a protected packet, and then protects them. The first two bytes say how the packet is bent.
pub fn check(data: &[u8]) {
    let [at, by, packet @ ..] = data else {
        return;
    };
    for profile in PROFILES {
        let (key, salt) = (vec![1; profile.key_len()], vec![2; profile.salt_len()]);
        let key = MasterKey::new(profile, &key, &salt).expect("the profile's lengths");
        let bend = (*at, *by);
        check_kind(
            &key,
            packet,
            bend,
            Protector::protect_rtp,
            Unprotector::unprotect_rtp,
        );
        check_kind(
            &key,
            packet,
            bend,
            Protector::protect_rtcp,
            Unprotector::unprotect_rtcp,
        );
    }
}

fn check_kind<P, U>(
    key: &MasterKey,
    packet: &[u8],
    bend: (u8, u8),
    protect: fn(&mut Protector, &mut [u8], usize) -> Result<usize, P>,
    unprotect: fn(&mut Unprotector, &mut [u8]) -> Result<usize, U>,
) {
    let mut peer = Unprotector::new(key);
    let forged = unprotect(&mut peer, &mut packet.to_vec());
    assert!(forged.is_err(), "a packet that nobody protected");
    let mut protected = [packet, &[0; MAX_OVERHEAD]].concat();
    let Ok(len) = protect(&mut Protector::new(key), &mut protected, packet.len()) else {
        return;
    };
    protected.truncate(len);
    if let Some(mut bent) = bend_packet(&protected, bend) {
        assert!(unprotect(&mut peer, &mut bent).is_err(), "a bent packet");
    }
    let mut again = protected.clone();
    let opened = unprotect(&mut peer, &mut protected);
    assert_eq!(opened.ok(), Some(packet.len()));
    assert_eq!(&protected[..packet.len()], packet);
    assert!(
        unprotect(&mut peer, &mut again).is_err(),
        "a repeated packet"
    );
}

/// Returns the packet with a byte changed, or `None` if nothing changes.
fn bend_packet(packet: &[u8], (at, by): (u8, u8)) -> Option<Vec<u8>> {
    let mut bent = packet.to_vec();
    let at = usize::from(at).checked_rem(bent.len())?;
    bent[at] ^= by;
    (by != 0).then_some(bent)
}
