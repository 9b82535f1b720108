//! DTLS: two ends whose datagrams are bent, cut, repeated and lost, and who hear what nobody of them sent.

use evenkeel_secure::dtls::{DtlsAssociation, DtlsEvent, Role, SrtpKeys};
use evenkeel_secure::srtp::{MAX_OVERHEAD, Protector, Unprotector};
use tfrc::time::Instant;

use crate::records;
use crate::stun::{IDENTITIES, ZERO};

/// More steps would make an execution last: each may cost a signature.
const MAX_STEPS: usize = 60;

/// What becomes of the oldest datagram for the client or the server, but for the last, which is invented.
const ACTS: [Act; 6] = [
    Act::Deliver,
    Act::Repeat,
    Act::Bend,
    Act::Cut,
    Act::Lose,
    Act::Forge,
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Deliver,
    Repeat,
    /// The second byte of the record is added to the byte that the first one names.
    Bend,
    /// The first byte of the record says how much is left.
    Cut,
    Lose,
    Forge,
}

#[derive(Default)]
struct Side {
    arriving: Vec<Vec<u8>>,
    keys: Option<SrtpKeys>,
}

/// Plays the bytes as what happens on the path.
pub fn check(data: &[u8]) {
    let mut now = Instant::ZERO;
    let mut associations = [0, 1].map(|own: usize| {
        let peer = IDENTITIES[1 - own].fingerprint();
        let role = [Role::Client, Role::Server][own];
        DtlsAssociation::new(now, *ZERO, role, &IDENTITIES[own], peer)
    });
    let mut sides = [Side::default(), Side::default()];
    drain(&mut associations, &mut sides);
    for record in records(data).take(MAX_STEPS) {
        now += record.wait;
        let to = usize::from(record.what % 2);
        let act = ACTS[usize::from(record.what / 2) % ACTS.len()];
        if let Some(datagram) = arrival(&mut sides[to].arriving, act, record.bytes) {
            associations[to].handle_datagram(now, &datagram);
        }
        for association in &mut associations {
            association.handle_timeout(now);
            let next = association.poll_timeout();
            // A handshake that begins anew is due at once.
            assert!(next.is_none_or(|next| next >= now), "the timer is late");
        }
        drain(&mut associations, &mut sides);
    }
    let [client, server] = sides;
    if let (Some(client), Some(server)) = (client.keys, server.keys) {
        assert_fit(&client, &server);
        assert_fit(&server, &client);
    }
}

fn arrival(arriving: &mut Vec<Vec<u8>>, act: Act, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut datagram = match act {
        Act::Forge => bytes.to_vec(),
        _ => arriving.first()?.clone(),
    };
    if !matches!(act, Act::Repeat | Act::Forge) {
        arriving.remove(0);
    }
    match (act, bytes) {
        (Act::Bend, [at, by, ..]) => {
            let at = usize::from(*at) % datagram.len();
            datagram[at] ^= by;
        }
        (Act::Cut, [len, ..]) => datagram.truncate(usize::from(*len)),
        (Act::Lose, _) => return None,
        _ => {}
    }
    // Others do not pass the door (RFC 7983).
    let first = datagram.first_mut()?;
    *first = 20 + first.wrapping_sub(20) % 44;
    Some(datagram)
}

fn drain(associations: &mut [DtlsAssociation; 2], sides: &mut [Side; 2]) {
    for own in 0..2 {
        while let Some(datagram) = associations[own].poll_transmit() {
            sides[1 - own].arriving.push(datagram);
        }
        while let Some(event) = associations[own].poll_event() {
            if let DtlsEvent::Keys(keys) = event {
                sides[own].keys = Some(keys);
            }
        }
    }
}

/// What one end protects, its peer opens.
fn assert_fit(from: &SrtpKeys, to: &SrtpKeys) {
    let mut packet = vec![0x80; 40 + MAX_OVERHEAD];
    let len = Protector::new(&from.local).protect_rtp(&mut packet, 40);
    let len = len.expect("a packet of RTP");
    let opened = Unprotector::new(&to.remote).unprotect_rtp(&mut packet[..len]);
    assert_eq!(opened, Ok(40), "the keys of two ends differ");
}
