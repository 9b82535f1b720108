//! The knobs that a viewer posts: rate, delay, queue and loss with their ranges, and codec, policy and filler.

use evenkeel_codec::Codec;
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::Rules;
use serde::{Deserialize, Serialize};

use crate::tcp::MAX_FLOWS;

/// A change of the link or the sender, or their present settings. `None` leaves a setting unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Knobs {
    /// The link's rate, bits a second.
    pub(crate) rate_bps: Option<f64>,
    /// The base **round-trip** time in milliseconds, as `--rtt`: half of it each way.
    pub(crate) delay_ms: Option<f64>,
    /// The drop-tail queue's size in milliseconds at the link's rate.
    pub(crate) queue_ms: Option<f64>,
    /// Independent random loss, percent of packets.
    pub(crate) loss_pct: Option<f64>,
    /// The number of TCP flows beside the call.
    pub(crate) tcp: Option<u8>,
    /// The codec, by its name.
    #[serde(with = "named")]
    pub(crate) codec: Option<Codec>,
    /// The sending policy, by its name.
    #[serde(with = "named")]
    pub(crate) policy: Option<Rules>,
    /// The filler, by its name.
    #[serde(with = "named")]
    pub(crate) filler: Option<Filler>,
}

/// A setting with the same names on the command line and on the page.
trait Named: Copy {
    fn name(self) -> &'static str;
}

impl Named for Codec {
    fn name(self) -> &'static str {
        Self::name(self)
    }
}

impl Named for Rules {
    fn name(self) -> &'static str {
        Self::name(self)
    }
}

impl Named for Filler {
    fn name(self) -> &'static str {
        Self::name(self)
    }
}

mod named {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Named;

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(super) fn serialize<T: Named, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(T::name).serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let name = Option::<String>::deserialize(deserializer)?;
        name.map(|name| name.parse().map_err(D::Error::custom))
            .transpose()
    }
}

/// The range of one knob, ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    pub(super) field: &'static str,
    pub(super) min: f64,
    pub(super) max: f64,
}

/// The ranges: from a poor modem to more than M-JPEG at 720p ever fills; from a cable to twice a satellite hop;
/// from one packet at the higher rates to a bloated buffer; from no loss to a cut line; and the flows that the
/// model offers.
pub(super) const LIMITS: [Limit; 5] = [
    limit("rate_bps", 50e3, 100e6),
    limit("delay_ms", 0.0, 1_000.0),
    limit("queue_ms", 1.0, 1_000.0),
    limit("loss_pct", 0.0, 100.0),
    limit("tcp", 0.0, MAX_FLOWS as f64),
];

const fn limit(field: &'static str, min: f64, max: f64) -> Limit {
    Limit { field, min, max }
}

/// The reason for which posted knobs are refused.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum KnobsError {
    /// The text is not JSON of the right shape; the error names the place.
    #[error("not a set of knobs: {0}")]
    Malformed(String),
    /// There is no knob in it.
    #[error(
        "nothing to change: give at least one of {} codec policy filler",
        LIMITS.map(|limit| limit.field).join(" ")
    )]
    Empty,
    /// A value lies outside its range.
    #[error("{} is {value}: it must be from {} to {}", limit.field, limit.min, limit.max)]
    OutOfRange {
        /// The given value.
        value: f64,
        /// The valid range.
        limit: Limit,
    },
}

impl Knobs {
    /// Reads posted JSON and checks every value.
    pub(super) fn parse(json: &[u8]) -> Result<Self, KnobsError> {
        // A derived reader would also accept an array, by position.
        if !json.trim_ascii_start().starts_with(b"{") {
            return Err(KnobsError::Malformed("expected an object".into()));
        }
        let knobs: Self = serde_json::from_slice(json)
            .map_err(|error| KnobsError::Malformed(error.to_string()))?;
        if knobs == Self::default() {
            return Err(KnobsError::Empty);
        }
        let values = [
            knobs.rate_bps,
            knobs.delay_ms,
            knobs.queue_ms,
            knobs.loss_pct,
            knobs.tcp.map(f64::from),
        ];
        for (value, limit) in values.into_iter().zip(LIMITS) {
            // The condition also refuses NaN.
            if let Some(value) = value
                && !(limit.min..=limit.max).contains(&value)
            {
                return Err(KnobsError::OutOfRange { value, limit });
            }
        }
        Ok(knobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_knob_changes_and_the_others_stay() {
        let knobs = Knobs::parse(br#"{"rate_bps": 2e6}"#).unwrap();
        assert_eq!(
            knobs,
            Knobs {
                rate_bps: Some(2e6),
                ..Knobs::default()
            }
        );
    }

    #[test]
    fn the_ends_of_each_range_belong_to_it() {
        for limit in LIMITS {
            for value in [limit.min, limit.max] {
                assert!(
                    Knobs::parse(format!("{{\"{}\": {value}}}", limit.field).as_bytes()).is_ok()
                );
            }
        }
    }

    #[test]
    fn a_value_outside_says_field_value_and_range() {
        let error = Knobs::parse(br#"{"delay_ms": -1}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "delay_ms is -1: it must be from 0 to 1000"
        );
    }

    #[test]
    fn tcp_flows_are_whole_and_few() {
        let tcp = |json: &str| Knobs::parse(json.as_bytes());
        assert_eq!(tcp(r#"{"tcp": 2}"#).unwrap().tcp, Some(2));
        assert!(matches!(
            tcp(r#"{"tcp": 2.5}"#),
            Err(KnobsError::Malformed(_))
        ));
        assert_eq!(
            tcp(r#"{"tcp": 9}"#).unwrap_err().to_string(),
            "tcp is 9: it must be from 0 to 8"
        );
    }

    #[test]
    fn knobs_have_the_names_of_the_command_line() {
        let json = br#"{"codec": "h264", "policy": "thesis", "filler": "fec"}"#;
        let knobs = Knobs {
            codec: Some(Codec::H264),
            policy: Some(Rules::Thesis),
            filler: Some(Filler::Fec),
            ..Knobs::default()
        };
        assert_eq!(Knobs::parse(json), Ok(knobs));
        let written = serde_json::to_value(knobs).unwrap();
        assert_eq!(written["codec"], "h264");
        assert_eq!(written["policy"], "thesis");
        assert_eq!(written["filler"], "fec");
    }

    #[test]
    fn unknown_name_is_refused_with_the_known_ones() {
        for (json, names) in [
            (
                r#"{"rate_bps": 2e6, "codec": "vp9"}"#,
                Codec::ALL.map(Codec::name).join(", "),
            ),
            (r#"{"policy": "ours"}"#, "`evenkeel` or `thesis`".into()),
            (r#"{"filler": "noise"}"#, "`none`, `dummy` or `fec`".into()),
        ] {
            let error = Knobs::parse(json.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(&names), "{error}");
        }
    }

    #[test]
    fn nothing_and_nonsense_are_refused() {
        assert_eq!(Knobs::parse(b"{}"), Err(KnobsError::Empty));
        assert_eq!(
            Knobs::parse(br#"{"rate_bps": null}"#),
            Err(KnobsError::Empty)
        );
        for json in [
            "",
            "[1]",
            "{",
            r#"{"rate_bps": "2e6"}"#,
            r#"{"rate_bps": 1e999}"#,
            r#"{"rate": 1}"#,
        ] {
            assert!(
                matches!(Knobs::parse(json.as_bytes()), Err(KnobsError::Malformed(_))),
                "{json}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_in_range(bytes in any::<Vec<u8>>(), value in any::<f64>(), which in 0_usize..4) {
            prop_assert!(Knobs::parse(&bytes).is_err());
            let limit = LIMITS[which];
            let parsed = Knobs::parse(format!("{{\"{}\": {value}}}", limit.field).as_bytes());
            prop_assert_eq!(parsed.is_ok(), value >= limit.min && value <= limit.max);
        }
    }
}
