//! What fills the allowed rate where media leave some of it: nothing, the thesis's dummies, or repair packets.
//!
//! X holds for media and filler together. What fills only what media leave goes when the sending buffer is empty and
//! the pacer lets a packet go, so it delays a frame by no more than one packet's time. Repair packets that a frame's
//! target left room for belong to the frame, and leave before the next one.
//!
//! **Nothing** is enough for TFRC: a rate that was used is kept (RFC 5348 §8.2.1, data-limited senders).
//! **Dummies** are what the thesis sends whenever its buffer is empty (§7.4), so that the rate is used
//! whatever the pictures are: from one capture to the next they fill what media may have and have not used.
//! **Repair packets** (FlexFEC) follow the frame that they protect. How many it is to have comes from the loss that the
//! path shows, and its target leaves room for them; where its frame leaves unused some of its share, it may have more.
//! Without loss there are none.

mod repairs;

use std::str::FromStr;

use evenkeel_rtp::packet::flexfec::{self, Encoder};
use tfrc::units::Bytes;

pub(crate) use self::repairs::PathLoss;
use self::repairs::{DAMAGED, DAMAGED_IF_FREE, wanted};

/// The filler of the rate that media leave unused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filler {
    /// Nothing.
    #[default]
    None,
    /// Packets that say nothing, whenever there is no media to send.
    Dummy,
    /// Repair packets, as the loss asks for and the rate has room for.
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

/// No filler has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a filler is `none`, `dummy` or `fec`")]
pub struct UnknownFiller;

/// What fills the rate of one sender.
#[derive(Debug)]
pub(crate) struct Filling {
    filler: Filler,
    /// Bytes of payload that a packet of filler may have; 0 if the peer takes none.
    capacity: usize,
    /// A full packet, as TFRC counts it.
    packet: Bytes,
    encoder: Encoder,
    /// Of the repair packets planned, those that the frame's target left room for.
    owed: usize,
    loss: PathLoss,
    /// Media have begun.
    begun: bool,
    /// Bytes that media and dummies may still send before the next capture.
    room: Bytes,
}

/// A media packet that left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departed<'a> {
    /// The whole RTP packet.
    pub(crate) packet: &'a [u8],
    pub(crate) sequence: u16,
    /// The first of its frame; the last.
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

    /// From now on this fills the rate.
    pub(crate) fn set_filler(&mut self, filler: Filler) {
        if filler != self.filler {
            self.filler = filler;
            self.clear();
        }
    }

    /// Allows this many bytes until the next capture, and the remainder of the last interval that was less than a packet.
    pub(crate) fn begin_interval(&mut self, room: Bytes) {
        self.room = room + self.room.min(self.packet);
    }

    /// A packet of this length left.
    pub(crate) fn use_room(&mut self, len: usize) {
        self.room -= Bytes::from(len);
    }

    /// What the path was last seen to lose.
    pub(crate) fn set_loss(&mut self, loss: PathLoss) {
        self.loss = loss;
    }

    /// The share that media have of a frame that comes to `size` with its repair packets.
    pub(crate) fn media_share(&self, size: Bytes) -> f64 {
        if self.filler != Filler::Fec || self.capacity == 0 {
            return 1.0;
        }
        let packets = size.get().div_ceil(self.packet.get().max(1)) as usize;
        let repairs = wanted(packets, self.loss, DAMAGED);
        packets.max(1) as f64 / (packets + repairs).max(1) as f64
    }

    /// A media packet left. If it was the last of its frame, there is room for so much before the next.
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

    /// True if there is something to send where media leave room.
    pub(crate) fn has_data(&self) -> bool {
        self.capacity > 0
            && match self.filler {
                Filler::None => false,
                Filler::Dummy => self.begun && self.room >= self.packet,
                Filler::Fec => self.encoder.planned() > 0,
            }
    }

    /// True if a frame has left and repair packets that its target left room for have not.
    pub(crate) fn is_owed(&self) -> bool {
        self.owed > 0
    }

    /// What these come to, as TFRC will count it, at most.
    pub(crate) fn queued(&self) -> Bytes {
        Bytes::new(self.packet.get() * self.owed as u64)
    }

    /// Writes what is to be sent to `payload`; false if there is nothing.
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

    /// There is nothing to repair any more.
    fn clear(&mut self) {
        self.encoder.clear();
        self.owed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filler::repairs::tests::loss;

    /// Sends the packets of a frame, after which there is this much room.
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
        // 500 of 2,000 bytes are left: too few for a packet.
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
