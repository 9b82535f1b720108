//! A run in virtual time: two implementations and the interface system, and no time between them.

use std::net::SocketAddr;

use evenkeel_rtp::endpoint::MAX_DATAGRAM;
use evenkeel_rtp::endpoint::{Datagram, Endpoint};
use tfrc::time::Instant;

use crate::check::{Rfc, Run};
use crate::implementation::Implementation;
use crate::interposer::Interposer;
use crate::log::{Log, MAX_RECORDS};

const SENDER: SocketAddr = address(1);
/// Where the sender of a simulated run must send to.
pub const INTERPOSER: SocketAddr = address(2);
const RECEIVER: SocketAddr = address(3);
/// An endpoint may need a few calls to act on one instant; one that spins needs more.
const MAX_STEPS_AT_AN_INSTANT: u32 = 10_000;
/// Any number: the suite sees no random choice of either implementation.
const SEED: u64 = 1;

const fn address(host: u8) -> SocketAddr {
    SocketAddr::new(
        std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, host)),
        5004,
    )
}

/// Runs our own implementation.
pub fn simulate(run: &Run, rfc: Rfc) -> Log {
    let start = Instant::ZERO;
    simulate_with(
        run,
        &mut Implementation::sender(start, INTERPOSER, &run.setup, rfc.sender(), SEED),
        &mut Implementation::receiver(start, run.setup.feedback, rfc.receiver(), SEED),
    )
}

/// Runs any two implementations: the sender must send to [`INTERPOSER`].
///
/// # Panics
///
/// If an endpoint keeps sending, or asking to be woken, at one instant.
pub fn simulate_with(run: &Run, sender: &mut dyn Endpoint, receiver: &mut dyn Endpoint) -> Log {
    let mut interposer = Interposer::new(RECEIVER, (run.script)());
    let mut now = Instant::ZERO;
    let mut steps = 0;
    loop {
        let mut parties: [(SocketAddr, &mut dyn Endpoint); 3] = [
            (SENDER, sender),
            (INTERPOSER, &mut interposer),
            (RECEIVER, receiver),
        ];
        settle(now, &mut parties);
        let wake = parties
            .iter()
            .filter_map(|(_, party)| Some(party.poll_timeout()?.0))
            .min();
        // Without any data the run ends all the same.
        let elapsed = interposer.elapsed(now).unwrap_or(now - Instant::ZERO);
        let is_over = elapsed >= run.lasts || interposer.log().data.len() == MAX_RECORDS;
        let Some(wake) = wake.filter(|_| !is_over) else {
            return interposer.into_log();
        };
        steps = if wake > now { 0 } else { steps + 1 };
        assert!(
            steps < MAX_STEPS_AT_AN_INSTANT,
            "time stands still at {now}"
        );
        now = now.max(wake);
    }
}

/// Lets everyone act at `now` until nobody has anything left to say.
fn settle(now: Instant, parties: &mut [(SocketAddr, &mut dyn Endpoint); 3]) {
    let mut buf = [0; MAX_DATAGRAM];
    for (_, party) in parties.iter_mut() {
        if party.poll_timeout().is_some_and(|(at, _)| at <= now) {
            party.handle_timeout(now);
        }
    }
    for _ in 0..MAX_STEPS_AT_AN_INSTANT {
        let mut sent = None;
        for (source, party) in parties.iter_mut() {
            if let Some(transmit) = party.poll_transmit(now, &mut buf) {
                sent = Some((*source, transmit));
                break;
            }
        }
        let Some((source, transmit)) = sent else {
            return;
        };
        let to = parties
            .iter_mut()
            .find(|(address, _)| *address == transmit.destination);
        if let Some((_, party)) = to {
            party.handle_datagram(
                now,
                Datagram {
                    source,
                    arrival: now,
                    ecn: transmit.ecn,
                    payload: &buf[..transmit.len],
                },
            );
        }
    }
    panic!("an endpoint keeps sending at {now}");
}
