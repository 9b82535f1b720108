//! A call on its own thread, which passes its frames and events to other threads.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use evenkeel_media::call::{Call, CallEvent};
use evenkeel_media::event::NotShown;
use evenkeel_media::frame::ReceivedFrame;
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use tfrc::time::Instant;

/// The most frames that wait for the display. A further one is dropped, because a late display would delay the next
/// frames too.
const FRAME_CAPACITY: usize = 4;
/// The most events that wait for the monitor: some seconds of them.
const EVENT_CAPACITY: usize = 8_192;

/// The endpoint that the driver drives: a [`Call`], and the channels out of it.
pub(crate) struct CallEndpoint {
    /// The call itself.
    pub(crate) call: Call,
    frames: SyncSender<ReceivedFrame>,
    undecodable: Receiver<u32>,
    events: SyncSender<CallEvent>,
}

/// The outputs of an endpoint.
pub(crate) struct Outlets {
    /// The frames, each at its playout time.
    pub(crate) frames: Receiver<ReceivedFrame>,
    /// The timestamps of frames that did not decode, sent back to the endpoint.
    pub(crate) undecodable: SyncSender<u32>,
    /// The events of the session and the media.
    pub(crate) events: Receiver<CallEvent>,
}

impl CallEndpoint {
    /// Creates an endpoint around a call.
    pub(crate) fn new(call: Call) -> (Self, Outlets) {
        let (frames, due) = sync_channel(FRAME_CAPACITY);
        let (events, happened) = sync_channel(EVENT_CAPACITY);
        // The channel holds the frames that wait, and the one at the decoder.
        let (refused, undecodable) = sync_channel(FRAME_CAPACITY + 1);
        (
            Self {
                call,
                frames,
                undecodable,
                events,
            },
            Outlets {
                frames: due,
                undecodable: refused,
                events: happened,
            },
        )
    }

    fn hand_out(&mut self, now: Instant) {
        for timestamp in self.undecodable.try_iter() {
            self.call
                .reference_lost(now, timestamp, NotShown::Undecodable);
        }
        while let Some(frame) = self.call.poll_frame(now) {
            if let Err(TrySendError::Full(frame)) = self.frames.try_send(frame) {
                self.call
                    .reference_lost(now, frame.timestamp, NotShown::Behind);
            }
        }
        while let Some(event) = self.call.poll_event() {
            let _ = self.events.try_send(event);
        }
    }
}

impl Endpoint for CallEndpoint {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        self.call.handle_datagram(now, datagram);
        self.hand_out(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.call.handle_timeout(now);
        self.hand_out(now);
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        let transmit = self.call.poll_transmit(now, buf);
        if transmit.is_none() {
            self.hand_out(now);
        }
        transmit
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        self.call.poll_timeout()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::net::SocketAddr;
    use std::time::Duration;

    use evenkeel_codec::Codec;
    use evenkeel_codec::source::{Format, FrameRate, Scene, Source as _};
    use evenkeel_media::event::EventKind;
    use evenkeel_media::frame::EncodedFrame;
    use evenkeel_media::policy::PolicyConfig;
    use evenkeel_media::reassemble::Payload;
    use evenkeel_rtp::packet::rtp::media_time;
    use evenkeel_rtp::session::{Config, ReceiveConfig, SendConfig};

    const INTERVAL: Duration = Duration::from_millis(100);

    fn address(end: u8) -> SocketAddr {
        ([10, 0, 0, end], 5_004).into()
    }

    fn call(end: u8) -> Call {
        let mut config = Config::new("end", u64::from(end));
        config.peer = Some(address(3 - end));
        match end {
            1 => config.send = Some(SendConfig::new(97)),
            _ => config.receive = Some(ReceiveConfig::new(97)),
        }
        let policy = PolicyConfig::new(INTERVAL);
        Call::new(Instant::ZERO, config, policy, Payload::H264)
    }

    /// The datagrams in flight to an end.
    #[derive(Default)]
    struct Way(VecDeque<(Instant, Vec<u8>)>);

    impl Way {
        /// Takes the datagrams that leave `from` now, and delivers to `to` those that left ten milliseconds ago.
        fn carry(
            &mut self,
            now: Instant,
            from: &mut impl Endpoint,
            source: SocketAddr,
            to: &mut impl Endpoint,
        ) {
            let mut buf = [0; 2_048];
            while let Some(transmit) = from.poll_transmit(now, &mut buf) {
                let due = now + Duration::from_millis(10);
                self.0.push_back((due, buf[..transmit.len].to_vec()));
            }
            while self.0.front().is_some_and(|(due, _)| *due <= now) {
                let (_, payload) = self.0.pop_front().expect("the first");
                let datagram = Datagram {
                    source,
                    arrival: now,
                    ecn: tfrc::Ecn::NotEct,
                    payload: &payload,
                };
                to.handle_datagram(now, datagram);
            }
        }
    }

    #[test]
    fn dropped_and_undecodable_frames_are_followed_by_keyframes() {
        let format = Format {
            width: 64,
            height: 48,
            frame_rate: FrameRate::new(10, 1).expect("ten a second"),
        };
        let mut scene = Scene::new(format, 1).expect("possible size");
        let mut encoder = Codec::H264.encoder(INTERVAL);
        let mut decoder = Codec::H264.decoder();
        let mut sender = call(1);
        let (mut endpoint, outlets) = CallEndpoint::new(call(2));
        let (mut there, mut back) = (Way::default(), Way::default());
        let (mut shown, mut reasons) = (Vec::new(), Vec::new());
        for step in 0..9_000_u64 {
            let now = Instant::from_millis(step);
            if step % 100 == 0 {
                let picture = scene.next().expect("endless").expect("endless");
                if let Some(target) = sender.frame_target(now) {
                    let coded = encoder.encode(&picture, &target).expect("possible size");
                    let frame = EncodedFrame {
                        captured: now,
                        timestamp: media_time(now, 90_000),
                        picture: coded.expect("room for it").picture,
                    };
                    sender.push_frame(now, frame).expect("well formed");
                }
            }
            sender.handle_timeout(now);
            endpoint.handle_timeout(now);
            there.carry(now, &mut sender, address(1), &mut endpoint);
            back.carry(now, &mut endpoint, address(2), &mut sender);
            // The display stops for the fourth second, and its decoder refuses one picture of the seventh.
            let stands = (3_000..4_000).contains(&step);
            for frame in outlets
                .frames
                .try_iter()
                .take(if stands { 0 } else { FRAME_CAPACITY })
            {
                if step / 1_000 == 6 && !reasons.contains(&NotShown::Undecodable) {
                    decoder = Codec::H264.decoder();
                }
                match decoder.decode(&frame.picture) {
                    Ok(_) => shown.push(step),
                    // The channel is full if the endpoint does not read it.
                    Err(_) => drop(outlets.undecodable.try_send(frame.timestamp)),
                }
            }
            reasons.extend(outlets.events.try_iter().filter_map(|event| match event {
                CallEvent::Media(event) => match event.kind {
                    EventKind::Dropped { reason, .. } => Some(reason),
                    _ => None,
                },
                CallEvent::Session(_) => None,
            }));
        }
        let count = |reason| reasons.iter().filter(|told| **told == reason).count();
        assert!(count(NotShown::Behind) > 0, "{reasons:?}");
        assert_eq!(count(NotShown::Undecodable), 1, "{reasons:?}");
        for second in [2, 5, 8] {
            let of_it = shown.iter().filter(|step| **step / 1_000 == second).count();
            assert!(of_it >= 9, "second {second}: {shown:?}");
        }
    }
}
