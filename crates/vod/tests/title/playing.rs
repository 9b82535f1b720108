//! What a viewer sees of a path that fits, of one that does not, and of one that changes.

use std::time::Duration;

use evenkeel_link::{LinkConfig, Loss, QueueLimit};
use evenkeel_vod::{
    Content, Datagram, PlayerDeparture, PlayerState, TS_LEN, TitleError, ts_per_datagram,
};
use tfrc::units::Rate;

use crate::world::{Even, World};

const TITLE: Duration = Duration::from_secs(40);

fn link(bits_per_sec: f64) -> LinkConfig {
    LinkConfig {
        rate: Rate::from_bits_per_sec(bits_per_sec),
        delay: Duration::from_millis(30),
        queue: QueueLimit::Packets(20),
        ..LinkConfig::default()
    }
}

#[test]
fn title_that_fits_plays_without_a_stall() {
    let mut world = World::new(Even::new(&[1e6], TITLE), false, link(2e6));
    world.run_for(Duration::from_secs(30));
    let path = world.server.path().expect("a sender's");
    assert!(path.rtt.is_some());
    world.run_for(Duration::from_secs(12));
    let (server, player) = (world.server.figures(), world.player.figures());
    assert!(server.is_done);
    assert_eq!((player.stalls, player.lost, player.unplayed), (0, 0, 0));
    assert_eq!(player.received, server.datagrams);
    assert!(
        server.lag_max < Duration::from_millis(500),
        "{:?}",
        server.lag_max
    );
    // The queue is empty: 30 ms of delay, and 5.5 ms on the wire.
    let delay = player.delay_mean.expect("a sender report came");
    assert!((0.035..0.08).contains(&delay.as_secs_f64()), "{delay:?}");
    assert!(player.delay_max.expect("a sender report came") >= delay);
    let startup = player.startup.expect("it played").as_secs_f64();
    assert!((1.9..2.6).contains(&startup), "{startup}");
    // In order, and as far apart as they were sent.
    assert!(
        world
            .played
            .windows(2)
            .all(|pair| pair[1].1 == pair[0].1 + 1)
    );
    let (first, last) = (world.played[100], world.played[2_100]);
    let apart = (last.0 - first.0).as_secs_f64();
    assert!(
        (apart - 2_000.0 * 1_316.0 * 8.0 / 1e6).abs() < 0.02,
        "{apart}"
    );
}

#[test]
fn goodbye_ends_it_when_all_is_played() {
    let mut world = World::new(Even::new(&[1e6], Duration::from_secs(5)), false, link(2e6));
    world.run_for(Duration::from_secs(6));
    world.server.close(world.now);
    assert_eq!(world.player.figures().state, PlayerState::Playing);
    world.run_for(Duration::from_secs(3));
    assert_eq!(world.player.figures().state, PlayerState::Ended);
    assert_eq!(world.played.len() as u64, world.server.figures().datagrams);
}

#[test]
fn lost_goodbye_ends_in_silence_without_stall() {
    let mut world = World::new(Even::new(&[1e6], Duration::from_secs(5)), false, link(2e6));
    world.run_for(Duration::from_secs(6));
    world.links[0].set_loss(world.now, Loss::Bernoulli(1.0));
    world.server.close(world.now);
    world.run_for(Duration::from_secs(20));
    assert_eq!(world.player.figures().state, PlayerState::Stalled);
    world.run_for(Duration::from_secs(6));
    let player = world.player.figures();
    assert_eq!((player.state, player.stalls), (PlayerState::Ended, 0));
    assert_eq!(player.stalled, Duration::ZERO);
    assert_eq!(world.played.len() as u64, world.server.figures().datagrams);
}

#[test]
fn silence_before_more_media_is_a_stall() {
    let mut world = World::new(Even::new(&[1e6], TITLE), true, link(2e6));
    world.run_for(Duration::from_secs(5));
    world.links[0].set_loss(world.now, Loss::Bernoulli(1.0));
    world.run_for(Duration::from_secs(26));
    assert_eq!(world.player.figures().state, PlayerState::Ended);
    world.links[0].set_loss(world.now, Loss::None);
    world.run_for(Duration::from_secs(5));
    let player = world.player.figures();
    assert_eq!((player.state, player.stalls), (PlayerState::Playing, 1));
    assert!(player.stalled > Duration::from_secs(20), "{player:?}");
}

#[test]
fn server_stops_after_goodbye_of_player() {
    for is_uncontrolled in [false, true] {
        let mut world = World::new(Even::new(&[1e6], TITLE), is_uncontrolled, link(2e6));
        world.run_for(Duration::from_secs(10));
        world.player.close(world.now);
        world.run_for(Duration::from_secs(1));
        let at_goodbye = world.server.figures();
        assert_eq!(at_goodbye.gone, Some(PlayerDeparture::Left));
        world.run_for(Duration::from_secs(10));
        assert_eq!(world.server.figures().datagrams, at_goodbye.datagrams);
    }
}

#[test]
fn oversized_title_stalls_under_tfrc() {
    let mut fair = World::new(Even::new(&[3e6], TITLE), false, link(2e6));
    fair.run_for(TITLE);
    let (server, player) = (fair.server.figures(), fair.player.figures());
    assert!(
        player.stalls >= 2 && player.stalled > Duration::from_secs(3),
        "{player:?}"
    );
    assert!(player.loss_ratio() < 0.02, "{player:?}");
    assert!(server.lag > Duration::from_secs(10), "{server:?}");

    let mut greedy = World::new(Even::new(&[3e6], TITLE), true, link(2e6));
    greedy.run_for(TITLE);
    let player = greedy.player.figures();
    assert_eq!(player.stalls, 0);
    // A third and some of the headers.
    assert!((0.33..0.40).contains(&player.loss_ratio()), "{player:?}");
}

#[test]
fn renditions_avoid_stalls_and_return() {
    let mut world = World::new(
        Even::new(&[0.5e6, 1e6, 1.8e6], Duration::from_secs(200)),
        false,
        link(4e6),
    );
    world.run_for(Duration::from_secs(40));
    assert_eq!(world.server.figures().rendition, 2);
    world.links[0].set_rate(world.now, Rate::from_bits_per_sec(1.3e6));
    let before = world.player.figures().bytes;
    world.run_for(Duration::from_secs(60));
    // Between the lowest and the one that fits: now and then it tries the next higher one, in vain.
    let rate = (world.player.figures().bytes - before) as f64 * 8.0 / 60.0;
    assert!((0.7e6..1.1e6).contains(&rate), "{rate}");
    world.links[0].set_rate(world.now, Rate::from_bits_per_sec(4e6));
    world.run_for(Duration::from_secs(40));
    assert_eq!(world.server.figures().rendition, 2);
    assert_eq!(
        world.player.figures().stalls,
        0,
        "{:?}",
        world.player.figures()
    );
}

#[test]
fn what_is_lost_is_passed_over_and_counted() {
    let lossy = LinkConfig {
        loss: Loss::Bernoulli(0.02),
        ..link(4e6)
    };
    let mut world = World::new(Even::new(&[1e6], TITLE), true, lossy);
    world.run_for(TITLE + Duration::from_secs(3));
    let player = world.player.figures();
    assert!((0.01..0.03).contains(&player.loss_ratio()), "{player:?}");
    assert_eq!(world.played.len() as u64, player.received);
    assert_eq!((player.stalls, player.unplayed), (0, 0));
}

#[test]
fn what_was_never_heard_is_lost() {
    let mut world = World::new(Even::new(&[1e6], Duration::from_secs(10)), true, link(4e6));
    // Nothing arrives of the first second, and nothing of the last two but the goodbye.
    world.links[0].set_loss(world.now, Loss::Bernoulli(1.0));
    world.run_for(Duration::from_secs(1));
    world.links[0].set_loss(world.now, Loss::None);
    world.run_for(Duration::from_secs(7));
    let head = world.server.figures().datagrams - world.player.figures().received;
    world.links[0].set_loss(world.now, Loss::Bernoulli(1.0));
    world.run_for(Duration::from_millis(2_100));
    assert!(world.server.figures().is_done);
    world.links[0].set_loss(world.now, Loss::None);
    world.server.close(world.now);
    world.run_for(Duration::from_secs(5));
    let (server, player) = (world.server.figures(), world.player.figures());
    assert_eq!(player.state, PlayerState::Ended);
    assert_eq!(player.received + player.lost, server.datagrams);
    assert!(player.lost > head && head >= 90, "{player:?}");
}

#[test]
fn datagrams_carry_as_many_packets_as_fit() {
    let mut world = World::new(Even::new(&[1e6], Duration::from_secs(10)), false, link(2e6));
    // IPv6 has 1,280 bytes at least (RFC 8200 §5), with 48 of headers.
    assert_eq!(ts_per_datagram(1_232), 6);
    let counts = [0, 230, 1_344, 1_472, 65_507].map(ts_per_datagram);
    assert_eq!(counts, [1, 1, 7, 7, 7]);
    world.run_for(Duration::from_secs(4));
    world.server.set_ts_per_datagram(2);
    let before = world.server.figures();
    world.run_for(Duration::from_secs(4));
    let after = world.server.figures();
    // It cannot have more than at first.
    world.server.set_ts_per_datagram(100);
    world.run_for(Duration::from_secs(4));
    let player = world.player.figures();
    assert!(world.server.figures().is_done);
    let mean = (after.bytes - before.bytes) / (after.datagrams - before.datagrams);
    assert_eq!(mean, 2 * TS_LEN as u64 + 24);
    assert_eq!((player.stalls, player.lost, player.malformed), (0, 0, 0));
}

#[test]
fn title_waits_for_a_player() {
    let mut world = World::new(
        Even::new(&[1e6], TITLE),
        false,
        LinkConfig {
            loss: Loss::Bernoulli(1.0),
            ..link(2e6)
        },
    );
    world.run_for(Duration::from_secs(20));
    let server = world.server.figures();
    assert!(
        server.datagrams < 40 && server.position < Duration::from_secs(1),
        "{server:?}"
    );
    assert_eq!(server.lag, Duration::ZERO);
}

#[test]
fn silent_server_freezes_the_picture() {
    let mut world = World::new(Even::new(&[1e6], TITLE), false, link(2e6));
    world.run_for(Duration::from_secs(10));
    world.links[0].set_rate(world.now, Rate::from_bits_per_sec(1.0));
    // Two seconds are buffered and as many may be a pause of the title.
    world.run_for(Duration::from_secs(10));
    let player = world.player.figures();
    assert_eq!((player.state, player.stalls), (PlayerState::Stalled, 1));
    let stalled = player.stalled.as_secs_f64();
    assert!((7.5..8.5).contains(&stalled), "{stalled}");
}

#[test]
fn another_server_begins_again() {
    // Whatever its numbers and its clock begin with.
    for seed in 10..30 {
        let mut world = World::new(Even::new(&[1e6], TITLE), false, link(2e6));
        world.run_for(Duration::from_secs(10));
        world.replace_server(seed, Even::new(&[1e6], TITLE));
        let before = world.played.len();
        world.run_for(Duration::from_secs(20));
        let player = world.player.figures();
        assert_eq!((player.state, player.stalls), (PlayerState::Playing, 1));
        let stalled = player.stalled.as_secs_f64();
        assert!((1.5..6.0).contains(&stalled), "{stalled}");
        let delay = player.delay_mean.expect("a sender report came");
        assert!(delay < Duration::from_millis(80), "{delay:?}");
        let (played, last) = (world.played.len() - before, world.played.last());
        assert!(played > 1_000, "{played}");
        assert!(last.is_some_and(|(at, _)| world.now - *at < Duration::from_millis(50)));
    }
}

/// The hundredth datagram's second TS packet does not begin as one.
struct Torn(Box<Even>, u32);

impl Content for Torn {
    fn rates(&self) -> &[Rate] {
        self.0.rates()
    }

    fn next(&mut self, wanted: usize, count: usize) -> Result<Option<Datagram>, TitleError> {
        let mut next = self.0.next(wanted, count)?;
        if let Some(datagram) = next.as_mut().filter(|_| self.1 == 100) {
            datagram.payload[TS_LEN] = 0;
        }
        self.1 += 1;
        Ok(next)
    }

    fn current(&self) -> usize {
        self.0.current()
    }
}

#[test]
fn what_is_malformed_is_counted_and_not_played() {
    let torn = Torn(Even::new(&[1e6], Duration::from_secs(5)), 0);
    let mut world = World::new(Box::new(torn), false, link(2e6));
    world.run_for(Duration::from_secs(10));
    assert_eq!(world.player.figures().malformed, 1);
    let sent = world.server.figures().datagrams;
    assert_eq!(world.played.len() as u64, sent - 1);
    assert!(world.played.iter().all(|(_, number)| *number != 100));
}
