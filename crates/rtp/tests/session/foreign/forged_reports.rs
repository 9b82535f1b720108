//! Forged reception reports beside those of a foreign receiver, and circuit breakers that are left again.

use std::time::Duration;

use evenkeel_rtp::packet::rtcp::{ReceiverReport, ReportBlock, twcc};
use evenkeel_rtp::session::{Breach, EventKind, FeedbackMode, SendConfig};
use tfrc::units::Rate;

use super::world::{Datagrams, SSRC, Sends, World};
use super::{RR, kbps};

/// What an attacker writes into a report.
#[derive(Clone, Copy, Debug)]
struct Lie {
    fraction: u8,
    lost: i32,
    /// The highest number, by how far it lies behind the last packet that left.
    behind: u32,
    /// The attacker reads our sender reports, and answers them.
    reads_reports: bool,
}

impl Lie {
    fn report(self, world: &World) -> Vec<u8> {
        let answered = world.receiver.last_report.as_ref();
        let answered = answered.filter(|_| self.reads_reports);
        let block = ReportBlock {
            ssrc: world.session.ssrc(),
            fraction_lost: self.fraction,
            cumulative_lost: self.lost,
            highest_sequence: world.session.next_sequence() - 1 - self.behind,
            jitter: 0,
            last_sender_report: answered.map_or(0x5eed, |(report, _)| report.ntp.middle()),
            delay_since: 0,
        };
        let mut buf = [0; 64];
        let len = ReceiverReport { ssrc: SSRC }.emit(&[block], &mut buf);
        buf[..len.expect("it fits")].to_vec()
    }
}

/// Most packets lost since the last true report, more than were sent, and none arrived.
fn lies(reads_reports: bool) -> [Lie; 4] {
    let lies = [(200, 150, 0), (255, 100_000, 0), (255, 0, 0), (0, 0, 400)];
    lies.map(|(fraction, lost, behind)| Lie {
        fraction,
        lost,
        behind,
        reads_reports,
    })
}

/// Forges ten reports, a time apart.
fn forge_ten(world: &mut World, lie: Lie, apart: Duration) {
    for _ in 0..10 {
        let bytes = lie.report(world);
        world.inject(&bytes);
        world.run_for(apart);
    }
}

fn world(fixed: bool) -> World {
    let set = |send: &mut SendConfig| send.fixed_rate = fixed.then_some(kbps(500.0));
    let mut world = World::new(RR, set);
    // The second report after a sender report of ours proves the receiver.
    world.run(60);
    world
}

#[test]
fn ten_forged_reports_hold_no_foreign_receiver() {
    for fixed in [false, true] {
        for lie in lies(false) {
            for apart in [110, 1_000] {
                let mut world = world(fixed);
                let (before, _) = world.run(5);
                forge_ten(&mut world, lie, Duration::from_millis(apart));
                let (held, _) = world.run(2);
                assert!(
                    held >= before * 0.5,
                    "{lie:?}, {apart} ms: {held:?} of {before:?}"
                );
                world.run(40);
                assert_eq!(world.breaches(), [], "{lie:?}, {apart} ms");
            }
        }
    }
}

#[test]
fn reports_of_who_reads_ours_are_refuted_by_the_next() {
    for fixed in [false, true] {
        for lie in lies(true) {
            let mut world = world(fixed);
            let (before, _) = world.run(5);
            forge_ten(&mut world, lie, Duration::from_millis(110));
            // The receiver reports each five seconds.
            world.run(6);
            let (after, _) = world.run(2);
            assert!(after >= before * 0.5, "{lie:?}: {after:?} of {before:?}");
            world.run(40);
            assert_eq!(world.breaches(), [], "{lie:?}");
        }
    }
}

#[test]
fn media_resumes_once_reports_come_again() {
    let mut world = world(true);
    world.sends = Sends::Nothing;
    world.run(20);
    assert_eq!(world.breaches(), [(Breach::NoReports, true)]);
    assert_eq!(world.run(5).0, Rate::ZERO);
    world.sends = RR;
    world.run(6);
    assert!(world.events.contains(&EventKind::Returned));
    let (after, _) = world.run(20);
    assert!(after > kbps(450.0), "{after:?}");
}

/// Feedback of an attacker that all of the last packets arrived.
fn everything_arrived(world: &World, made: u8) -> Vec<u8> {
    let (first, last) = (world.recent[0], world.recent[world.recent.len() - 1]);
    // A number that was left out would expose the attacker.
    let arrived = |ahead| {
        world
            .recent
            .contains(&first.wrapping_add(ahead))
            .then_some(world.now)
    };
    let statuses: Vec<_> = (0..=last.wrapping_sub(first)).map(arrived).collect();
    let ssrcs = (SSRC, world.session.ssrc());
    let mut buf = [0; 256];
    let len = twcc::emit(ssrcs, first, statuses.into_iter(), made, &mut buf);
    buf[..len.expect("it fits")].to_vec()
}

#[test]
fn reports_of_nothing_new_refute_forged_feedback() {
    let sends = Sends::TransportWide(Duration::ZERO, Datagrams::One);
    let mut world = World::new(sends, |send| send.feedback = FeedbackMode::Twcc);
    world.run(20);
    world.is_cut = true;
    let forge = |world: &mut World, seconds: u32| {
        for made in 0..seconds * 50 {
            let bytes = everything_arrived(world, made as u8);
            world.inject(&bytes);
            world.run_for(Duration::from_millis(20));
        }
    };
    forge(&mut world, 31);
    assert!(world.breaches().contains(&(Breach::NoMedia, false)));
    forge(&mut world, 10);
    let sent = world.sent;
    forge(&mut world, 10);
    assert!(world.sent - sent < 20, "{} packets", world.sent - sent);
    world.is_cut = false;
    world.run(20);
    let (after, _) = world.run(10);
    assert!(after > kbps(1_000.0), "{after:?}");
}
