//! What is wrong with a configuration.

use core::error::Error;
use core::fmt;

/// A field of a configuration that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TfrcConfigError {
    /// The name of the field.
    pub field: &'static str,
    /// The given value, in the unit of the field.
    pub value: f64,
    /// The values that would be right.
    pub remedy: &'static str,
}

impl fmt::Display for TfrcConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            value,
            remedy,
        } = self;
        write!(f, "{field} is {value}, which is out of range; {remedy}")
    }
}

impl Error for TfrcConfigError {}

#[cfg(test)]
mod tests {
    use crate::units::Bytes;
    use crate::{ReceiverConfig, SenderConfig};
    use std::string::ToString as _;

    #[test]
    fn defaults_are_valid() {
        assert_eq!(SenderConfig::default().validate(), Ok(()));
        assert_eq!(ReceiverConfig::default().validate(), Ok(()));
    }

    #[test]
    fn error_names_field_value_and_remedy() {
        let segment = SenderConfig {
            segment_size: Bytes::new(70_000),
            ..SenderConfig::default()
        };
        let weight = SenderConfig {
            rtt_weight: f64::NAN,
            ..SenderConfig::default()
        };
        let quarters = ReceiverConfig {
            report_quarters: 0,
            ..ReceiverConfig::default()
        };
        for (result, expected) in [
            (
                segment.validate(),
                "segment_size is 70000, which is out of range; give 1 to 65535",
            ),
            (
                weight.validate(),
                "rtt_weight is NaN, which is out of range; give 0.001 to 1",
            ),
            (
                quarters.validate(),
                "report_quarters is 0, which is out of range; give 1 or more",
            ),
        ] {
            let text = result.map_err(|error| error.to_string());
            assert!(
                text.as_ref().is_err_and(|text| text.starts_with(expected)),
                "{text:?}"
            );
        }
    }
}
