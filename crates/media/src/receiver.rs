//! The receiving side of a call: reassembly and playout.

use std::time::Duration;

use evenkeel_rtp::session::MediaPacket;
use tfrc::time::Instant;

use crate::chain::Chain;
use crate::event::{Event, EventKind, EventQueue, NotShown};
use crate::frame::ReceivedFrame;
use crate::playout::Playout;
use crate::reassemble::{InFlight, Payloads, Pushed, Reassembler, Refused};

/// Packets in, frames out when they are due.
#[derive(Debug)]
pub struct ReceivingSide {
    reassembler: Reassembler,
    playout: Playout,
    chain: Chain,
    refused: [u64; Refused::ALL.len()],
    /// It was told that pictures do not fit.
    told_other_size: bool,
    events: EventQueue,
}

impl ReceivingSide {
    /// A receiving side of a stream, for timestamps of `clock_rate` ticks a second, whose frames are to be shown
    /// within `deadline` of their capture.
    pub fn new(payloads: impl Into<Payloads>, clock_rate: u32, deadline: Duration) -> Self {
        Self {
            reassembler: Reassembler::new(payloads),
            playout: Playout::new(clock_rate, deadline),
            chain: Chain::default(),
            refused: [0; Refused::ALL.len()],
            told_other_size: false,
            events: EventQueue::default(),
        }
    }

    /// Takes a media packet that the session accepted.
    pub fn push_packet(&mut self, now: Instant, packet: &MediaPacket<'_>) {
        let timestamp = self.reassembler.extend(packet.timestamp);
        if self.playout.is_discontinuous(timestamp, packet.arrival) {
            self.reset(now);
        }
        let timestamp = self.reassembler.extend(packet.timestamp);
        self.playout
            .packet_arrived(timestamp, packet.arrival, packet.rtt);
        let (pushed, evicted) = self.reassembler.push(packet);
        if !matches!(pushed, Pushed::Complete { .. }) {
            self.tell_other_size(now, packet);
        }
        match pushed {
            Pushed::Complete { timestamp } => {
                let late = self.playout.frame_arrived(timestamp, packet.arrival);
                let timestamp = packet.timestamp;
                self.events
                    .push(now, EventKind::Completed { timestamp, late });
            }
            Pushed::Partial { timestamp } if packet.marker => {
                // Damaged frames tell when frames end, too.
                self.playout.frame_arrived(timestamp, packet.arrival);
            }
            Pushed::Partial { .. } => {}
            Pushed::Refused(reason) => self.refused[reason as usize] += 1,
        }
        if let Some(timestamp) = evicted {
            self.chain.break_off();
            self.not_shown(now, timestamp, NotShown::Overflow);
        }
    }

    /// A sender report came, with the timestamp that the moment had in which it left.
    pub fn note_report(&mut self, arrival: Instant, timestamp: u32) {
        let timestamp = self.reassembler.extend(timestamp);
        if !self.playout.is_discontinuous(timestamp, arrival) {
            self.playout.report_arrived(timestamp, arrival);
        }
    }

    /// A repair packet came: what it gives back follows by [`push_packet`](Self::push_packet), and more may
    /// come.
    pub fn note_repair(&mut self, now: Instant) {
        self.reassembler.note_repair(now);
    }

    /// The frame that is due for display, if one is. The newest due frame wins.
    pub fn poll_frame(&mut self, now: Instant) -> Option<ReceivedFrame> {
        loop {
            let mut frames = self.reassembler.frames();
            let frame = frames.next()?;
            if self.ready_at(&frame) > now {
                return None;
            }
            let next = frames.next();
            let timestamp = frame.timestamp;
            let superseded = next.is_some_and(|next| next.complete && self.ready_at(&next) <= now);
            drop(frames);
            let taken = self.reassembler.take(timestamp, now)?;
            let linked = taken.and_then(|taken| {
                let picture = self.chain.link(taken.picture, &frame);
                let picture = picture.ok_or(NotShown::NoReference)?;
                Ok(ReceivedFrame { picture, ..taken })
            });
            match linked {
                Ok(frame) if superseded => {
                    self.chain.keep(frame.picture);
                    self.not_shown(now, timestamp, NotShown::Superseded);
                }
                Ok(frame) => {
                    let kind = EventKind::Shown {
                        timestamp: frame.timestamp,
                        parts: frame.picture.parts(),
                    };
                    self.events.push(now, kind);
                    return Some(frame);
                }
                Err(reason) => {
                    self.chain.break_off();
                    self.not_shown(now, timestamp, reason);
                }
            }
        }
    }

    /// What [`poll_frame`](Self::poll_frame) gave with this timestamp was not shown after all: nothing that refers
    /// to it can be.
    pub fn reference_lost(&mut self, now: Instant, timestamp: u32, reason: NotShown) {
        let timestamp = self.reassembler.extend(timestamp);
        self.chain.lose(timestamp);
        self.not_shown(now, timestamp, reason);
    }

    /// When [`poll_frame`](Self::poll_frame) has something to do, if nothing arrives before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let frame = self.reassembler.frames().next()?;
        Some(self.ready_at(&frame))
    }

    /// True while nothing that comes can be shown but a keyframe.
    pub fn wants_keyframe(&self) -> bool {
        self.chain.wants_keyframe()
    }

    /// How long playout holds a frame that came as fast as any.
    pub fn allowance(&self) -> Duration {
        self.playout.allowance()
    }

    /// Packets that were of no use for this reason.
    pub fn refused(&self, reason: Refused) -> u64 {
        self.refused[reason as usize]
    }

    /// The oldest event that was not taken yet.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Begins anew: the peer is another one, or its clock jumped.
    pub fn reset(&mut self, now: Instant) {
        self.reassembler.reset();
        self.playout.reset();
        self.chain = Chain::default();
        self.events.push(now, EventKind::Resynchronised);
    }

    /// When a frame may be taken: at its display time, or later if more of it is on its way.
    fn ready_at(&self, frame: &InFlight) -> Instant {
        let due = self.playout.display_at(frame.timestamp);
        if frame.settled {
            return due.unwrap_or(frame.last_arrival);
        }
        // The sender fell silent in the middle of it.
        let patience = frame.last_arrival + PATIENCE;
        due.map_or(patience, |due| due.max(patience))
    }

    /// A picture that is whole fits, in whatever order its lines came.
    fn tell_other_size(&mut self, now: Instant, packet: &MediaPacket<'_>) {
        if !self.told_other_size
            && let Some([sent, received]) = self.reassembler.other_size(packet)
        {
            self.told_other_size = true;
            self.events
                .push(now, EventKind::OtherSize { sent, received });
        }
    }

    fn not_shown(&mut self, now: Instant, timestamp: i64, reason: NotShown) {
        let timestamp = timestamp as u32;
        self.events
            .push(now, EventKind::Dropped { timestamp, reason });
    }
}

/// A frame whose packets stopped coming is shown as it is after this long: longer than the longest
/// gap between two packets of a frame at a rate that video can use.
const PATIENCE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::EncodedFrame;
    use crate::packetize::Packetizer;
    use crate::reassemble::Payload;
    use evenkeel_codec::picture::{CodedPicture, JpegImage, QuantTables, RawPicture, Sampling};
    use proptest::prelude::*;

    const TICKS: u32 = 3_600;
    const DEADLINE: Duration = Duration::from_millis(150);

    /// A receiver, and frames of four packets each, every 40 ms, with 70 ms of transit.
    struct Bench {
        receiver: ReceivingSide,
        packetizer: Packetizer,
        /// Added to every timestamp.
        offset: u32,
        rtt: Option<Duration>,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                offset: 0,
                rtt: None,
                receiver: ReceivingSide::new(Payload::Jpeg, 90_000, DEADLINE),
                packetizer: Packetizer::new(200),
            }
        }

        /// Delivers frame `n`, except those of its packets, `later` ms after the usual time.
        fn deliver(&mut self, n: u32, lost: &[usize], later: u64) {
            let image = JpegImage {
                width: 64,
                height: 16,
                sampling: Sampling::Yuv420,
                tables: QuantTables {
                    luma: [255; 64],
                    chroma: [255; 64],
                },
                restart_interval: 1,
                intervals: vec![Some(vec![1; 150]); 4],
            };
            let frame = EncodedFrame {
                captured: Instant::ZERO,
                timestamp: n * TICKS + self.offset,
                picture: image.into(),
            };
            let frame = self.packetizer.packetize(frame).unwrap();
            assert_eq!(frame.packets(), 4);
            for index in (0..4).filter(|index| !lost.contains(index)) {
                let mut payload = Vec::new();
                frame.write(index, 0, &mut payload);
                let arrival = at(n, 70 + later);
                let packet = MediaPacket {
                    sequence: u64::from(n) * 4 + index as u64,
                    payload_type: 0,
                    timestamp: n * TICKS + self.offset,
                    marker: index == 3,
                    payload: &payload,
                    arrival,
                    send_time: 0,
                    rtt: self.rtt,
                };
                self.receiver.push_packet(arrival, &packet);
            }
        }

        fn poll(&mut self, n: u32, ms: u64) -> Option<(u32, usize)> {
            let frame = self.receiver.poll_frame(at(n, ms))?;
            let missing = frame.picture.parts().missing;
            Some(((frame.timestamp - self.offset) / TICKS, missing))
        }
    }

    /// So long after the capture of frame `n`.
    fn at(n: u32, ms: u64) -> Instant {
        Instant::from_millis(1_000 + u64::from(n) * 40 + ms)
    }

    #[test]
    fn a_whole_frame_is_shown_at_its_time() {
        let mut bench = Bench::new();
        assert_eq!(bench.receiver.poll_timeout(), None);
        bench.deliver(0, &[], 0);
        assert_eq!(bench.poll(0, 71), None);
        assert_eq!(bench.receiver.poll_timeout(), Some(at(0, 72)));
        assert_eq!(bench.poll(0, 72), Some((0, 0)));
        assert_eq!(bench.receiver.poll_timeout(), None);
    }

    #[test]
    fn a_damaged_frame_is_shown_at_its_time_too() {
        let mut bench = Bench::new();
        bench.deliver(0, &[], 0);
        assert_eq!(bench.poll(0, 72), Some((0, 0)));
        bench.deliver(1, &[0], 0);
        assert_eq!(bench.poll(1, 71), None);
        assert_eq!(bench.poll(1, 72), Some((1, 1)));
    }

    #[test]
    fn the_end_of_a_frame_is_waited_for_until_the_next_begins() {
        let mut bench = Bench::new();
        bench.deliver(0, &[], 0);
        assert_eq!(bench.poll(0, 72), Some((0, 0)));
        bench.deliver(1, &[3], 0);
        assert_eq!(bench.poll(1, 100), None);
        bench.deliver(2, &[], 0);
        assert_eq!(bench.poll(1, 110), Some((1, 1)));
        assert_eq!(bench.poll(2, 72), Some((2, 0)));
    }

    #[test]
    fn a_frame_whose_sender_fell_silent_is_shown_in_the_end() {
        let mut bench = Bench::new();
        bench.deliver(0, &[2, 3], 0);
        assert_eq!(bench.receiver.poll_timeout(), Some(at(0, 570)));
        assert_eq!(bench.poll(0, 570), Some((0, 2)));
    }

    #[test]
    fn the_newest_of_several_due_frames_is_shown() {
        let mut bench = Bench::new();
        for n in 0..4 {
            bench.deliver(n, &[], 0);
        }
        assert_eq!(bench.poll(3, 80), Some((3, 0)));
        assert_eq!(bench.poll(3, 80), None);
        let superseded = std::iter::from_fn(|| bench.receiver.poll_event())
            .filter(|event| matches!(event.kind, EventKind::Dropped { .. }))
            .count();
        assert_eq!(superseded, 3);
    }

    #[test]
    fn a_late_frame_is_shown_when_it_comes_and_told() {
        let mut bench = Bench::new();
        for n in 0..30 {
            bench.deliver(n, &[], 0);
            assert_eq!(bench.poll(n, 72), Some((n, 0)));
        }
        bench.deliver(30, &[], 20);
        assert_eq!(bench.poll(30, 90), Some((30, 0)));
        let late = std::iter::from_fn(|| bench.receiver.poll_event())
            .filter(|event| matches!(event.kind, EventKind::Completed { late: true, .. }))
            .count();
        assert_eq!(late, 1);
    }

    /// A report that took 70 ms says that frames do as well; over a round trip of 100 ms they are 50 ms old then.
    #[test]
    fn a_frame_that_arrives_in_time_is_not_held_beyond_the_deadline() {
        let mut bench = Bench::new();
        bench.rtt = Some(Duration::from_millis(100));
        bench.receiver.note_report(at(0, 70), 0);
        for n in 0..30 {
            bench.deliver(n, &[], if n % 4 == 0 { 120 } else { 90 });
        }
        while bench.receiver.poll_frame(at(30, 150)).is_some() {}
        let due = 70 + 100 - 2;
        bench.deliver(30, &[], 90);
        assert_eq!(bench.poll(30, due - 1), None);
        assert_eq!(bench.poll(30, due), Some((30, 0)));
        bench.deliver(31, &[], 120);
        assert_eq!(bench.poll(31, 190), Some((31, 0)));
    }

    #[test]
    fn a_jump_of_the_peers_clock_begins_anew() {
        let mut bench = Bench::new();
        bench.deliver(0, &[], 0);
        assert_eq!(bench.poll(0, 72), Some((0, 0)));
        for (n, offset) in [(1, 600 * 90_000), (2, 0)] {
            bench.offset = offset;
            bench.deliver(n, &[], 0);
            assert_eq!(bench.poll(n, 72), Some((n, 0)));
        }
    }

    #[test]
    fn a_pause_of_the_peer_changes_nothing() {
        let mut bench = Bench::new();
        for n in [0, 1, 1_000, 1_001] {
            bench.deliver(n, &[], 0);
            assert_eq!(bench.poll(n, 71), None);
            assert_eq!(bench.poll(n, 72), Some((n, 0)));
        }
    }

    #[test]
    fn uncompressed_pictures_of_another_size_are_told_once_with_both() {
        let payload = |width, height| Payload::raw(width, height).expect("possible");
        for (sent, received, told) in [
            ((32, 16), (64, 48), 1),
            ((64, 48), (32, 16), 1),
            ((64, 16), (64, 48), 1),
            ((64, 48), (64, 48), 0),
        ] {
            let mut receiver =
                ReceivingSide::new(payload(received.0, received.1), 90_000, DEADLINE);
            let mut packetizer = Packetizer::new(200);
            let mut sequence = 0;
            for n in 0..3 {
                let frame = EncodedFrame {
                    captured: Instant::ZERO,
                    timestamp: n * TICKS,
                    picture: CodedPicture::Raw(RawPicture {
                        width: sent.0 as u16,
                        height: sent.1 as u16,
                        data: vec![1; 2 * sent.0 * sent.1],
                        missing: Vec::new(),
                    }),
                };
                let frame = packetizer.packetize(frame).expect("possible");
                for index in 0..frame.packets() {
                    let mut payload = Vec::new();
                    frame.write(index, sequence as u32, &mut payload);
                    let packet = MediaPacket {
                        sequence,
                        payload_type: 0,
                        timestamp: n * TICKS,
                        marker: index + 1 == frame.packets(),
                        payload: &payload,
                        arrival: at(n, 70),
                        send_time: 0,
                        rtt: None,
                    };
                    sequence += 1;
                    receiver.push_packet(at(n, 70), &packet);
                }
            }
            let events: Vec<_> = std::iter::from_fn(|| receiver.poll_event())
                .filter_map(|event| match event.kind {
                    EventKind::OtherSize { sent, received } => Some((sent, received)),
                    _ => None,
                })
                .collect();
            let size = |(width, height): (usize, usize)| (width as u16, height as u16);
            assert_eq!(events, vec![(size(sent), size(received)); told]);
        }
    }

    proptest! {
        /// Whatever comes, what is due leaves: draining ends, and no wake-up stays in the past.
        #[test]
        fn no_packets_make_a_wake_up_that_polling_does_not_clear(
            packets in proptest::collection::vec(
                (0..60u64, any::<u32>(), any::<bool>(), 0..5u8, 0..2_000u64),
                0..120,
            ),
        ) {
            let mut bench = Bench::new();
            let mut now = Instant::ZERO;
            for (sequence, timestamp, marker, count, wait) in packets {
                now += Duration::from_millis(wait);
                let payload = [0, 0, 0, 0, 65, 40, 8, 2, 0, 1, 0xc0, count, 7];
                let packet = MediaPacket {
                    sequence,
                    payload_type: 0,
                    timestamp: timestamp % 1_000_000,
                    marker,
                    payload: &payload,
                    arrival: now,
                    send_time: 0,
                    rtt: None,
                };
                bench.receiver.push_packet(now, &packet);
                let drained = std::iter::from_fn(|| bench.receiver.poll_frame(now)).count();
                prop_assert!(drained <= Reassembler::MAX_FRAMES);
                prop_assert!(bench.receiver.poll_timeout().is_none_or(|at| at > now));
            }
        }
    }
}
