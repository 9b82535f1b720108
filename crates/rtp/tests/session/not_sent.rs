//! The reasons for which a packet is not written.

use crate::pair::{End, PACKET, PAYLOAD_TYPE};
use evenkeel_rtp::session::{Config, MediaInfo, NotSent, SendConfig, Session};
use tfrc::time::Instant;

const INFO: MediaInfo = MediaInfo {
    timestamp: 0,
    marker: true,
};

fn write(session: &mut Session, payload: usize, buffer: usize) -> Result<usize, NotSent> {
    let mut buf = vec![0; buffer];
    let written = session.write_media(Instant::ZERO, &INFO, &vec![0; payload], &mut buf);
    written.map(|transmit| transmit.len)
}

#[test]
fn write_media_names_the_cause() {
    let new = |config| Session::new(Instant::ZERO, config);
    let mut receiver = new(End::A.receiver(1));
    assert_eq!(write(&mut receiver, 1, PACKET), Err(NotSent::ReceivesOnly));

    let mut lonely = Config::new("lonely@test", 1);
    lonely.send = Some(SendConfig::new(PAYLOAD_TYPE));
    assert_eq!(write(&mut new(lonely), 1, PACKET), Err(NotSent::NoPeer));

    let mut sender = new(End::A.sender(1));
    let capacity = sender.payload_capacity();
    let too_long = write(&mut sender, capacity + 1, PACKET);
    assert_eq!(too_long, Err(NotSent::PayloadTooLong { capacity }));
    let too_short = write(&mut sender, capacity, PACKET - 1);
    assert_eq!(too_short, Err(NotSent::BufferTooShort));
    assert_eq!(write(&mut sender, capacity, PACKET), Ok(PACKET));
    let early = write(&mut sender, capacity, PACKET);
    let until = sender.next_departure(Instant::ZERO).unwrap();
    assert_eq!(early, Err(NotSent::Early { until }));

    let mut buf = [0; PACKET];
    let repair = sender.write_repair(until, &[0], &mut buf);
    assert_eq!(repair, Err(NotSent::NoRepair));
    sender.close(until);
    assert_eq!(write(&mut sender, 1, PACKET), Err(NotSent::Closed));
}
