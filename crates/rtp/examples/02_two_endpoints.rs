//! Two ends of a call in virtual time: a camera sends as fast as is fair, a screen reports what arrives.
//! Between them are 2 Mb/s and a queue of 50 ms. `cargo run -p evenkeel-rtp --example 02_two_endpoints`

use std::{net::SocketAddr, time::Duration};

use evenkeel_link::{Link, LinkConfig, QueueLimit};
use evenkeel_rtp::endpoint::Datagram;
use evenkeel_rtp::session::{Config, MediaInfo, ReceiveConfig, SendConfig, Session};
use tfrc::{Ecn, time::Instant, units::Bytes, units::Rate};

fn main() {
    let [here, there] = [1, 2].map(|host| SocketAddr::from(([192, 0, 2, host], 5004)));
    let mut config = Config::new("camera@example", 1);
    (config.peer, config.send) = (Some(there), Some(SendConfig::new(96)));
    let mut camera = Session::new(Instant::ZERO, config);
    let mut config = Config::new("screen@example", 2);
    config.receive = Some(ReceiveConfig::new(96));
    let mut screen = Session::new(Instant::ZERO, config);
    let path = LinkConfig {
        rate: Rate::from_bits_per_sec(2e6),
        delay: Duration::from_millis(30),
        queue: QueueLimit::Time(Duration::from_millis(50)),
        ..LinkConfig::default()
    };
    let (mut forward, mut back) = (Link::new(path, 1), Link::new(path, 2));
    for now in (0..=10_000).map(Instant::from_millis) {
        // Hand in what has arrived, and that time has passed.
        deliver(&mut forward, now, here, &mut screen);
        deliver(&mut back, now, there, &mut camera);
        // Take what may leave: media when the pacer lets it go, reports when they are due.
        let mut buf = [0; 1_500];
        let (timestamp, marker) = (90 * now.as_micros() as u32 / 1_000, true);
        let info = MediaInfo { timestamp, marker };
        while let Ok(media) = camera.write_media(now, &info, &[7; 1_000], &mut buf) {
            forward.handle_packet(now, buf[..media.len].to_vec(), Bytes::from(media.len));
        }
        while let Some(report) = screen.poll_transmit(now, &mut buf) {
            back.handle_packet(now, buf[..report.len].to_vec(), Bytes::from(report.len));
        }
        if now.as_micros().is_multiple_of(1_000_000) {
            let (path, heard) = (camera.path().expect("it sends"), screen.statistics());
            let (x, rtt) = (path.allowed_rate, path.rtt.unwrap_or_default());
            println!("{now}: X = {x}, R = {rtt:.0?}, {} lost", heard.packets_lost);
        }
    }
}

fn deliver(link: &mut Link<Vec<u8>>, now: Instant, source: SocketAddr, end: &mut Session) {
    while let Some(bytes) = link.poll_output(now) {
        let datagram = Datagram {
            source,
            arrival: now,
            ecn: Ecn::NotEct,
            payload: &bytes,
        };
        end.handle_datagram(now, datagram);
    }
    end.handle_timeout(now);
}
