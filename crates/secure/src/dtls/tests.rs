//! Tests of two ends over a path that loses, repeats and forges datagrams, in virtual time.

use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;
use crate::srtp::{Protector, Unprotector};
use crate::test_support::system_zero;

/// The path's delay one way.
const DELAY: Duration = Duration::from_millis(20);

struct End {
    association: DtlsAssociation,
    keys: Option<SrtpKeys>,
    failed: Option<DtlsError>,
    has_closed: bool,
}

impl End {
    fn new(role: Role, identity: &Identity, peer: Fingerprint, zero: StdInstant) -> Self {
        let config = configuration()
            .dangerously_set_rng_seed(1 + role as u64)
            .build()
            .unwrap();
        Self {
            association: DtlsAssociation::with_config(
                Instant::ZERO,
                zero,
                role,
                identity,
                peer,
                config,
            ),
            keys: None,
            failed: None,
            has_closed: false,
        }
    }

    fn read_events(&mut self) {
        while let Some(event) = self.association.poll_event() {
            match event {
                DtlsEvent::Keys(keys) => self.keys = Some(keys),
                DtlsEvent::Failed(error) => self.failed = Some(error),
                DtlsEvent::Closed => self.has_closed = true,
            }
        }
    }
}

/// Runs two ends until both have keys or `secs` have passed. `on_path` returns the copies that arrive of a datagram.
fn run(ends: &mut [End; 2], secs: u64, mut on_path: impl FnMut(usize, Vec<u8>) -> Vec<Vec<u8>>) {
    let mut travelling: VecDeque<(Instant, usize, Vec<u8>)> = VecDeque::new();
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + Duration::from_secs(secs) {
        for (from, end) in ends.iter_mut().enumerate() {
            while let Some(datagram) = end.association.poll_transmit() {
                for copy in on_path(from, datagram) {
                    travelling.push_back((now + DELAY, 1 - from, copy));
                }
            }
            end.read_events();
        }
        if ends.iter().all(|end| end.keys.is_some()) {
            return;
        }
        let timeouts = ends.iter().filter_map(|end| end.association.poll_timeout());
        let arrival = travelling.front().map(|(at, ..)| *at);
        let Some(next) = timeouts.chain(arrival).min() else {
            return;
        };
        now = now.max(next);
        while let Some((_, to, datagram)) = travelling.pop_front_if(|(at, ..)| *at <= now) {
            ends[to].association.handle_datagram(now, &datagram);
        }
        for end in ends.iter_mut() {
            end.association.handle_timeout(now);
        }
    }
}

fn identities() -> [Identity; 2] {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    [(); 2].map(|()| Identity::generate(now).unwrap())
}

fn ends() -> [End; 2] {
    let [client, server] = identities();
    let zero = system_zero();
    [
        End::new(Role::Client, &client, server.fingerprint(), zero),
        End::new(Role::Server, &server, client.fingerprint(), zero),
    ]
}

/// Returns true if what one end protects is opened by the other, both ways.
fn keys_fit(ends: &[End; 2]) -> bool {
    [(0, 1), (1, 0)].iter().all(|&(from, to)| {
        let (Some(from), Some(to)) = (&ends[from].keys, &ends[to].keys) else {
            return false;
        };
        let mut packet = vec![0x80; 60];
        let len = Protector::new(&from.local).protect_rtp(&mut packet, 40);
        let len = len.unwrap();
        Unprotector::new(&to.remote).unprotect_rtp(&mut packet[..len]) == Ok(40)
    })
}

#[test]
fn two_ends_agree_on_keys() {
    let mut ends = ends();
    run(&mut ends, 5, |_, datagram| vec![datagram]);
    assert!(keys_fit(&ends));
}

#[test]
fn another_certificate_gives_no_keys() {
    let [client, server] = identities();
    let stranger = identities()[0].fingerprint();
    let zero = system_zero();
    for wrong in 0..2 {
        let mut peers = [server.fingerprint(), client.fingerprint()];
        peers[wrong] = stranger;
        let mut ends = [
            End::new(Role::Client, &client, peers[0], zero),
            End::new(Role::Server, &server, peers[1], zero),
        ];
        run(&mut ends, 60, |_, datagram| vec![datagram]);
        assert!(ends[wrong].keys.is_none());
        let failed = ends[wrong].failed.clone().unwrap();
        assert!(matches!(failed, DtlsError::WrongFingerprint(_)), "{failed}");
    }
}

#[test]
fn silent_peer_ends_the_handshake() {
    let mut ends = ends();
    run(&mut ends, 60, |_, _| Vec::new());
    assert!(matches!(ends[0].failed, Some(DtlsError::Handshake(_))));
    assert!(ends[0].association.poll_timeout().is_none());
}

/// An alert in the clear, which anyone can forge, ends no handshake, at whatever point it comes and behind whatever record.
#[test]
fn forged_alerts_end_no_handshake() {
    let alert = |level, description| {
        let mut record = vec![21, 254, 253, 0, 0, 255, 255, 255, 255, 255, 255, 0, 2];
        record.extend([level, description]);
        record
    };
    for forged in [alert(1, 0), alert(2, 40), alert(2, 10)] {
        let mut ends = ends();
        run(&mut ends, 60, |_, datagram| {
            let behind = [&*datagram, &forged].concat();
            vec![forged.clone(), behind, datagram, forged.clone()]
        });
        assert!(keys_fit(&ends), "{:?} {:?}", ends[0].failed, ends[1].failed);
        assert!(ends.iter().all(|end| !end.has_closed));
    }
}

/// A server whose answers nobody fetches, as before there is a path, keeps few of them.
#[test]
fn unsent_datagrams_are_bounded() {
    let mut ends = ends();
    let hello = ends[0].association.poll_transmit().unwrap();
    for _ in 0..1_000 {
        ends[1].association.handle_datagram(Instant::ZERO, &hello);
        ends[1]
            .association
            .handle_datagram(Instant::ZERO, &[22, 254, 253]);
    }
    assert!(ends[1].association.datagrams.len() <= MAX_DATAGRAMS);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Keys come over any path that loses eight datagrams, and repeats and forges others.
    #[test]
    fn keys_survive_a_path_that_loses_repeats_and_forges(fates in prop::collection::vec(0u8..8, 60)) {
        let mut ends = ends();
        let mut fates = fates.into_iter();
        let mut lost = 0;
        run(&mut ends, 60, |_, datagram| match fates.next() {
            Some(0) if lost < 8 => {
                lost += 1;
                Vec::new()
            }
            Some(1) => vec![datagram.clone(), datagram],
            Some(2) => vec![vec![22, 254, 253, 0, 0], datagram],
            Some(3) => {
                let mut damaged = datagram.clone();
                let last = damaged.len() - 1;
                damaged[last] ^= 1;
                vec![datagram, damaged]
            }
            _ => vec![datagram],
        });
        prop_assert!(keys_fit(&ends), "{:?} {:?}", ends[0].failed, ends[1].failed);
    }

    /// No datagram makes an end panic.
    #[test]
    fn noise_does_no_harm(noise in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..40)) {
        let mut ends = ends();
        for mut datagram in noise {
            if let Some(first) = datagram.first_mut() {
                *first = 20 + *first % 44;
            }
            for end in &mut ends {
                end.association.handle_datagram(Instant::ZERO, &datagram);
            }
        }
    }
}
