//! A receiver that forgeries made a liar is believed again, and one that lies is not.

use std::time::Duration;

use evenkeel_rtp::session::{EventKind, FeedbackMode, Lie};

use super::{Fields, PATIENCE, RECOVERED_SHARE, received, running};
use crate::pair::{End, secs};
use crate::reports::MODES;

#[test]
fn receiver_of_forged_media_is_believed_again() {
    for mode in MODES {
        let mut pair = running(mode);
        let before = received(&mut pair, secs(1));
        let ahead = Fields::next(&pair);
        // B reports four packets of numbers that A has not used yet.
        for n in 0..4 {
            let mut fields = ahead;
            fields.header.sequence = ahead.header.sequence.wrapping_add(400 + n);
            let bytes = fields.to_bytes(100);
            pair.inject(End::B, End::A.address(), &bytes);
            pair.run(Duration::from_millis(60));
        }
        pair.run(PATIENCE);
        let lied = |kind: &EventKind| matches!(kind, EventKind::ReceiverLied { .. });
        let count = pair.kinds(End::A).filter(lied).count();
        if mode == FeedbackMode::Ccfb {
            let accused = pair.kinds(End::A).find(lied);
            let Some(EventKind::ReceiverLied { lie, again, .. }) = accused else {
                panic!("{mode:?}: B was not suspected");
            };
            assert_eq!((lie, again), (Lie::NeverSent, false));
        }
        assert!(count <= 1, "{mode:?}: accused {count} times");
        let after = received(&mut pair, secs(1));
        assert!(
            after >= RECOVERED_SHARE * before,
            "{mode:?}: {after} of {before}"
        );
    }
}
