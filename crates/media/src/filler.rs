//! Fills the part of the allowed rate that media leaves: with nothing, the thesis's dummies, or repair packets.
//!
//! X applies to media and filler together. A packet of filler leaves only while the sending buffer is empty and the
//! pacer permits it, so it delays a frame by at most one packet's time. The target of a frame may leave room for
//! repair packets; these belong to the frame, and leave before the next one.
//!
//! **Nothing** suffices for TFRC: a rate that was used is kept (RFC 5348 §8.2.1, data-limited senders). **Dummies**
//! are sent by the thesis whenever its buffer is empty (§7.4), so that the rate is used whatever the pictures are.
//! They fill the unused part of the media rate from one capture to the next. **Repair packets** (FlexFEC) follow
//! the frame that they protect. The loss of the path determines their number, and the frame's target leaves room
//! for them. If a frame leaves some of its share unused, it may have more of them. Without loss there are none.

mod repairs;

use std::str::FromStr;

use evenkeel_rtp::packet::flexfec::{self, Encoder};
use tfrc::units::Bytes;

pub(crate) use self::repairs::PathLoss;
use self::repairs::{DAMAGED, DAMAGED_IF_FREE, wanted};

/// The filler of the rate that media leave unused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filler {
    /// No filler.
    #[default]
    None,
    /// Packets without content, whenever no media waits.
    Dummy,
    /// Repair packets, according to the loss and the free rate.
    Fec,
}

impl Filler {
    /// All fillers.
    pub const ALL: [Self; 3] = [Self::None, Self::Dummy, Self::Fec];

    /// Gives the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Dummy => "dummy",
            Self::Fec => "fec",
        }
    }
}

impl FromStr for Filler {
    type Err = UnknownFiller;

    fn from_str(name: &str) -> Result<Self, UnknownFiller> {
        let mut all = Self::ALL.into_iter();
        all.find(|filler| filler.name() == name)
            .ok_or(UnknownFiller)
    }
}

/// The error that no filler has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a filler is `none`, `dummy` or `fec`")]
pub struct UnknownFiller;

/// The filler of one sender.
#[derive(Debug)]
pub(crate) struct Filling {
    filler: Filler,
    /// The largest payload of a packet of filler; 0 if the peer accepts none.
    capacity: usize,
    /// The size of a full packet, as TFRC counts it.
    packet: Bytes,
    encoder: Encoder,
    /// The planned repair packets for which the frame's target left room.
    owed: usize,
    loss: PathLoss,
    /// True once media has begun.
    begun: bool,
    /// The bytes that media and dummies may still send before the next capture.
    room: Bytes,
}

/// A media packet that left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departed<'a> {
    /// The whole RTP packet.
    pub(crate) packet: &'a [u8],
    pub(crate) sequence: u16,
    /// True for the first packet of a frame; true for the last.
    pub(crate) ends: (bool, bool),
}

impl Filling {
    pub(crate) fn new(filler: Filler, capacity: usize, packet: Bytes) -> Self {
        Self {
            filler,
            capacity,
            packet,
            encoder: Encoder::default(),
            owed: 0,
            loss: PathLoss::default(),
            begun: false,
            room: Bytes::ZERO,
        }
    }

    /// Sets the filler from now on.
    pub(crate) fn set_filler(&mut self, filler: Filler) {
        if filler != self.filler {
            self.filler = filler;
            self.clear();
        }
    }

    /// Permits this many bytes until the next capture, and the remainder of the last interval, up to a packet.
    pub(crate) fn begin_interval(&mut self, room: Bytes) {
        self.room = room + self.room.min(self.packet);
    }

    /// Counts a packet of this length that left.
    pub(crate) fn use_room(&mut self, len: usize) {
        self.room -= Bytes::from(len);
    }

    /// Sets the latest measured loss of the path.
    pub(crate) fn set_loss(&mut self, loss: PathLoss) {
        self.loss = loss;
    }

    /// Returns the share of media in a frame that has this `size` with its repair packets.
    pub(crate) fn media_share(&self, size: Bytes) -> f64 {
        if self.filler != Filler::Fec || self.capacity == 0 {
            return 1.0;
        }
        let packets = size.get().div_ceil(self.packet.get().max(1)) as usize;
        let repairs = wanted(packets, self.loss, DAMAGED);
        packets.max(1) as f64 / (packets + repairs).max(1) as f64
    }

    /// Records a media packet that left. If it was the last of its frame, `room` is free before the next frame.
    pub(crate) fn handle_sent(&mut self, departed: &Departed<'_>, room: Bytes) {
        self.begun = true;
        if self.filler != Filler::Fec || self.capacity == 0 {
            return;
        }
        let (first, last) = departed.ends;
        if first {
            self.clear();
        }
        self.encoder.push(departed.sequence, departed.packet);
        if last {
            let packets = self.encoder.len();
            let spare = room.get() / self.packet.get().max(1);
            let free = wanted(packets, self.loss, DAMAGED_IF_FREE).min(spare as usize);
            self.owed = wanted(packets, self.loss, DAMAGED);
            self.encoder.plan(self.owed.max(free));
        }
    }

    /// Returns true if filler is to be sent where media leaves room.
    pub(crate) fn has_data(&self) -> bool {
        self.capacity > 0
            && match self.filler {
                Filler::None => false,
                Filler::Dummy => self.begun && self.room >= self.packet,
                Filler::Fec => self.encoder.planned() > 0,
            }
    }

    /// Returns true if a frame has left but not all repair packets for which its target left room.
    pub(crate) fn is_owed(&self) -> bool {
        self.owed > 0
    }

    /// Returns the greatest size of these repair packets, as TFRC will count it.
    pub(crate) fn queued(&self) -> Bytes {
        Bytes::new(self.packet.get() * self.owed as u64)
    }

    /// Writes the next payload of filler to `payload`; returns false if there is none.
    pub(crate) fn write(&mut self, payload: &mut Vec<u8>) -> bool {
        if !self.has_data() {
            return false;
        }
        if self.filler == Filler::Dummy {
            flexfec::dummy(self.capacity, payload);
            return true;
        }
        self.owed = self.owed.saturating_sub(1);
        self.encoder.write(payload)
    }

    /// Forgets the packets to repair.
    fn clear(&mut self) {
        self.encoder.clear();
        self.owed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filler::repairs::tests::loss;

    /// Sends the packets of a frame, after which `room` bytes are free.
    fn send_frame(filling: &mut Filling, packets: usize, room: u64) {
        for n in 0..packets {
            assert!(!filling.is_owed(), "a frame that has not ended");
            let departed = Departed {
                packet: &[0x80; 100],
                sequence: n as u16,
                ends: (n == 0, n + 1 == packets),
            };
            filling.handle_sent(&departed, Bytes::new(room));
        }
    }

    #[test]
    fn repair_packets_take_their_share_of_the_frame() {
        let mut filling = Filling::new(Filler::Fec, 1_000, Bytes::new(1_000));
        let size = Bytes::new(10_000);
        assert_eq!(filling.media_share(size), 1.0);
        filling.set_loss(loss(0.01));
        assert_eq!(filling.media_share(size), 10.0 / 11.0);
        filling.set_filler(Filler::Dummy);
        assert_eq!(filling.media_share(size), 1.0);
    }

    #[test]
    fn long_frame_leaves_room_for_possible_repair_packets() {
        for packets in [20, 110, 111, 1_500] {
            let mut filling = Filling::new(Filler::Fec, 1_000, Bytes::new(1_000));
            filling.set_loss(loss(0.02));
            let share = filling.media_share(Bytes::from(1_000 * packets));
            send_frame(&mut filling, packets, 0);
            let mut repairs = 0;
            while filling.write(&mut Vec::new()) {
                repairs += 1;
            }
            assert!(repairs > 0);
            assert_eq!(
                share,
                packets as f64 / (packets + repairs) as f64,
                "{packets}"
            );
        }
    }

    #[test]
    fn what_the_encoder_leaves_becomes_more_repair_packets() {
        let mut filling = Filling::new(Filler::Fec, 1_000, Bytes::new(1_000));
        filling.set_loss(loss(0.01));
        let mut frame = |room: u64| {
            send_frame(&mut filling, 8, room);
            let mut payload = Vec::new();
            std::iter::from_fn(|| filling.write(&mut payload).then_some(())).count()
        };
        // Two of 9 are lost in 0.3 % of frames, two of 5, twice, in 0.2 %, two of 4,
        // three times, in 0.18 %, two of 3, four times, in 0.12 %.
        assert_eq!(frame(0), 1);
        assert_eq!(frame(3_999), 3);
        assert_eq!(frame(20_000), 4);
    }

    #[test]
    fn only_repair_packets_with_room_are_owed() {
        let mut filling = Filling::new(Filler::Fec, 1_000, Bytes::new(1_000));
        filling.set_loss(loss(0.01));
        let frame = |filling: &mut Filling| {
            send_frame(filling, 8, 20_000);
            assert!(filling.is_owed());
            assert_eq!(filling.queued(), Bytes::new(1_000));
        };
        frame(&mut filling);
        assert!(filling.write(&mut Vec::new()));
        assert!(!filling.is_owed() && filling.has_data());
        assert_eq!(filling.queued(), Bytes::ZERO);
        frame(&mut filling);
        filling.set_filler(Filler::Dummy);
        assert!(!filling.is_owed());
        assert_eq!(filling.queued(), Bytes::ZERO);
    }

    #[test]
    fn dummies_fill_what_media_leave_of_an_interval() {
        let mut filling = Filling::new(Filler::Dummy, 500, Bytes::new(600));
        filling.begin_interval(Bytes::new(2_000));
        let departed = Departed {
            packet: &[0x80; 900],
            sequence: 0,
            ends: (true, true),
        };
        filling.handle_sent(&departed, Bytes::ZERO);
        filling.use_room(900);
        assert!(filling.has_data());
        filling.use_room(600);
        // The remainder is 500 of 2,000 bytes, too few for a packet.
        assert!(!filling.has_data());
        filling.begin_interval(Bytes::new(100));
        assert!(filling.has_data());
    }

    #[test]
    fn dummies_need_a_frame_and_a_capacity() {
        let mut payload = Vec::new();
        for (capacity, goes) in [(500, true), (0, false)] {
            let mut filling = Filling::new(Filler::Dummy, capacity, Bytes::new(1_000));
            filling.begin_interval(Bytes::new(1_000));
            assert!(!filling.has_data());
            let departed = Departed {
                packet: &[0x80; 100],
                sequence: 0,
                ends: (true, false),
            };
            filling.handle_sent(&departed, Bytes::ZERO);
            assert_eq!(filling.has_data(), goes);
            assert_eq!(filling.write(&mut payload), goes);
            assert_eq!(payload.len(), 500);
        }
    }
}
