//! What a session has seen, counted since it began.

/// Declares the kinds of datagram that are ignored, each with the name it is shown by.
macro_rules! ignored {
    ($($(#[$doc:meta])+ $kind:ident => $name:literal,)+) => {
        /// Why a datagram was ignored. Each kind has its counter in [`Statistics`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Ignored {
            $($(#[$doc])+ $kind,)+
        }

        impl Ignored {
            /// Every kind, in the order of the counters.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// The name by which logs and reports show it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

ignored! {
    /// Shorter than the header that it claims to have.
    TooShort => "too_short",
    /// Larger than any datagram we expect, [`MAX_DATAGRAM`](crate::endpoint::MAX_DATAGRAM).
    Oversized => "oversized",
    /// Neither RTP nor RTCP: the version is not 2.
    BadVersion => "bad_version",
    /// RTP padding longer than its packet, or of length zero.
    BadPadding => "bad_padding",
    /// An RTP header extension that runs past its packet or is badly formed.
    BadExtension => "bad_extension",
    /// An RTP packet without a `rtt-sendts` element: TFRC cannot work on it.
    MissingExtension => "missing_extension",
    /// A payload type that we do not receive.
    UnknownPayloadType => "unknown_payload_type",
    /// Not from the peer's address.
    WrongSource => "wrong_source",
    /// From the peer's address, but not from or about the right synchronisation source.
    WrongSsrc => "wrong_ssrc",
    /// Our own synchronisation source: a loop, or a collision (RFC 3550 §8.2).
    OwnSsrc => "own_ssrc",
    /// A sequence number too far from the last one to be believed the first time (RFC 3550 §A.1).
    SequenceJump => "sequence_jump",
    /// A media packet that came before, or is too old to tell.
    Duplicate => "duplicate",
    /// RTCP that breaks the rules of RFC 3550 §A.2 or whose lengths do not add up.
    BadRtcp => "bad_rtcp",
    /// TFRC feedback for a packet that was never sent, not yet, or too long ago.
    StaleFeedback => "stale_feedback",
    /// A report from a receiver that was caught lying.
    Distrusted => "distrusted",
    /// Played again: TFRC feedback about an earlier packet than the feedback before, or the same once more;
    /// a sender report that is not newer than the last; media that left long before the newest.
    Replayed => "replayed",
    /// A repair packet whose header does not read, or that would give back what is no packet.
    BadRepair => "bad_repair",
    /// The session is closed.
    Closed => "closed",
}

/// Counters since the session began. They wrap nowhere: 2^64 packets are out of reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Media packets sent.
    pub packets_sent: u64,
    /// Their bytes, RTP headers included.
    pub bytes_sent: u64,
    /// Media packets received and handed on, duplicates apart.
    pub packets_received: u64,
    /// Their bytes, RTP headers included.
    pub bytes_received: u64,
    /// Repair packets and dummies sent.
    pub repair_sent: u64,
    /// Their bytes, RTP headers included.
    pub repair_bytes_sent: u64,
    /// Repair packets and dummies received, duplicates apart.
    pub repair_received: u64,
    /// Their bytes, RTP headers included.
    pub repair_bytes_received: u64,
    /// Lost media packets that repair packets gave back. For TFRC they stay lost.
    pub packets_recovered: u64,
    /// Media packets expected by sequence number and not received (RFC 3550 §A.3). A late packet
    /// reduces it again.
    pub packets_lost: u64,
    /// Media packets received with a congestion mark (ECN CE).
    pub packets_marked: u64,
    /// TFRC feedback messages sent.
    pub feedback_sent: u64,
    /// TFRC feedback messages accepted.
    pub feedback_received: u64,
    /// TFRC feedback whose *`X_recv`* was cut to what had been sent.
    pub receive_rates_capped: u64,
    /// Full compound RTCP packets sent.
    pub compounds_sent: u64,
    /// RTCP datagrams sent, reduced-size ones included.
    pub rtcp_sent: u64,
    /// Their bytes (UDP payload).
    pub rtcp_bytes_sent: u64,
    /// RTCP datagrams accepted.
    pub rtcp_received: u64,
    /// Times the nofeedback timer expired.
    pub nofeedback_expiries: u64,
    /// Events that nobody drained in time and that were overwritten.
    pub events_lost: u64,
    ignored: [u64; Ignored::ALL.len()],
}

impl Statistics {
    /// How many datagrams were ignored for this reason, or reports in one of which others were taken in.
    pub fn ignored(&self, kind: Ignored) -> u64 {
        self.ignored[kind as usize]
    }

    /// The same for any reason.
    pub fn ignored_total(&self) -> u64 {
        self.ignored.iter().sum()
    }

    pub(super) fn count_ignored(&mut self, kind: Ignored) {
        self.ignored[kind as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_counter_and_name() {
        let mut statistics = Statistics::default();
        for (index, &kind) in Ignored::ALL.iter().enumerate() {
            assert_eq!(kind as usize, index);
            statistics.count_ignored(kind);
            assert_eq!(statistics.ignored(kind), 1);
            assert!(
                Ignored::ALL[..index]
                    .iter()
                    .all(|k| k.name() != kind.name())
            );
        }
        assert_eq!(statistics.ignored_total(), Ignored::ALL.len() as u64);
    }
}
