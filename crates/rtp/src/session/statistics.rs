//! Counts the packets and datagrams of a session since its start.

/// Declares the kinds of ignored datagrams, each with its name in logs and reports.
macro_rules! ignored {
    ($($(#[$doc:meta])+ $kind:ident => $name:literal,)+) => {
        /// The reason for which a datagram was ignored. Each kind has its counter in [`Statistics`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Ignored {
            $($(#[$doc])+ $kind,)+
        }

        impl Ignored {
            /// Every kind, in the order of the counters.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// Returns the name of the reason in logs and reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

ignored! {
    /// The datagram is shorter than the header that it claims to have.
    TooShort => "too_short",
    /// The datagram is larger than any expected one, [`MAX_DATAGRAM`](crate::endpoint::MAX_DATAGRAM).
    Oversized => "oversized",
    /// The datagram is neither RTP nor RTCP: the version is not 2.
    BadVersion => "bad_version",
    /// The RTP padding is longer than its packet, or of length zero.
    BadPadding => "bad_padding",
    /// The RTP header extension exceeds its packet or is malformed.
    BadExtension => "bad_extension",
    /// The RTP packet has no `rtt-sendts` element or transport-wide number, which reports about it need.
    MissingExtension => "missing_extension",
    /// The payload type is not one of the received ones.
    UnknownPayloadType => "unknown_payload_type",
    /// The datagram is not from the peer's address.
    WrongSource => "wrong_source",
    /// The datagram is from the peer's address, but not from or about the right synchronisation source.
    WrongSsrc => "wrong_ssrc",
    /// The source is our own: a loop, or a collision (RFC 3550 §8.2).
    OwnSsrc => "own_ssrc",
    /// The sequence number is too far from the last one to be believed the first time (RFC 3550 §A.1).
    SequenceJump => "sequence_jump",
    /// The RTP timestamp is too far ahead of the last one, or behind it, to be believed the first time.
    TimestampJump => "timestamp_jump",
    /// The media packet arrived before, or is too old to decide.
    Duplicate => "duplicate",
    /// The RTCP breaks the rules of RFC 3550 §A.2 or has lengths that do not add up.
    BadRtcp => "bad_rtcp",
    /// The TFRC feedback concerns a packet that was never sent, not yet, or too long ago.
    StaleFeedback => "stale_feedback",
    /// The report is from a receiver that was caught lying.
    Distrusted => "distrusted",
    /// The feedback contradicts reception reports, which trip a circuit breaker (RFC 8083).
    Refuted => "refuted",
    /// The datagram was replayed: TFRC feedback about an earlier packet than before, or the same feedback again; a
    /// sender report that is not newer than the last; media that left long before the newest.
    Replayed => "replayed",
    /// The repair packet has a malformed header, or recovers bytes that are no packet.
    BadRepair => "bad_repair",
    /// The session is closed.
    Closed => "closed",
}

/// The counters since the session began, which never wrap: 2^64 packets are out of reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Media packets sent.
    pub packets_sent: u64,
    /// The bytes of these packets, including RTP headers.
    pub bytes_sent: u64,
    /// Media packets received and passed to the caller, without duplicates.
    pub packets_received: u64,
    /// The bytes of these packets, including RTP headers.
    pub bytes_received: u64,
    /// Repair packets and dummies sent.
    pub repair_sent: u64,
    /// The bytes of these packets, including RTP headers.
    pub repair_bytes_sent: u64,
    /// Repair packets and dummies received, without duplicates.
    pub repair_received: u64,
    /// The bytes of these packets, including RTP headers.
    pub repair_bytes_received: u64,
    /// Lost media packets that repair packets recovered. For TFRC they remain lost.
    pub packets_recovered: u64,
    /// Media packets expected by sequence number and not received (RFC 3550 §A.3). A late packet reduces the count
    /// again.
    pub packets_lost: u64,
    /// Media packets received with a congestion mark (ECN CE).
    pub packets_marked: u64,
    /// TFRC feedback messages sent.
    pub feedback_sent: u64,
    /// TFRC feedback messages accepted.
    pub feedback_received: u64,
    /// TFRC feedback messages whose *`X_recv`* was reduced to what had been sent.
    pub receive_rates_capped: u64,
    /// Full compound RTCP packets sent.
    pub compounds_sent: u64,
    /// RTCP datagrams sent, reduced-size ones included.
    pub rtcp_sent: u64,
    /// The bytes of these datagrams (UDP payload).
    pub rtcp_bytes_sent: u64,
    /// RTCP datagrams accepted.
    pub rtcp_received: u64,
    /// Expiries of the nofeedback timer.
    pub nofeedback_expiries: u64,
    /// Events that the caller did not take in time and that were overwritten.
    pub events_lost: u64,
    ignored: [u64; Ignored::ALL.len()],
}

impl Statistics {
    /// Returns the number of datagrams ignored for this reason, and of refused reports in datagrams with accepted
    /// ones.
    pub fn ignored(&self, kind: Ignored) -> u64 {
        self.ignored[kind as usize]
    }

    /// Returns the number of datagrams ignored for any reason.
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
