//! Describes a field of a configuration that is out of its range.

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
    /// The valid values, such as "from 1 to 65535".
    pub wanted: &'static str,
}

impl TfrcConfigError {
    /// Returns this error unless `is_valid`.
    pub(crate) fn unless(
        is_valid: bool,
        field: &'static str,
        value: f64,
        wanted: &'static str,
    ) -> Result<(), Self> {
        let error = Self {
            field,
            value,
            wanted,
        };
        if is_valid { Ok(()) } else { Err(error) }
    }
}

impl fmt::Display for TfrcConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            value,
            wanted,
        } = self;
        write!(f, "{field} is {value} and must be {wanted}")
    }
}

impl Error for TfrcConfigError {}

#[cfg(test)]
mod tests {
    use crate::loss::Average;
    use crate::units::Bytes;
    use crate::{ReceiverConfig, SenderConfig};
    use std::string::ToString as _;

    #[test]
    fn defaults_are_valid() {
        assert_eq!(SenderConfig::default().validate(), Ok(()));
        assert_eq!(ReceiverConfig::default().validate(), Ok(()));
    }

    #[test]
    fn error_names_field_value_and_range() {
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
        let averages = [Average::Plain(0), Average::Plain(33), Average::Ewma(0.0)];
        for average in averages {
            let config = ReceiverConfig {
                average,
                ..ReceiverConfig::default()
            };
            assert!(
                config
                    .validate()
                    .is_err_and(|error| error.field == "average")
            );
        }
        for (result, expected) in [
            (
                segment.validate(),
                "segment_size is 70000 and must be from 1 to 65535",
            ),
            (
                weight.validate(),
                "rtt_weight is NaN and must be from 0.001 to 1",
            ),
            (
                quarters.validate(),
                "report_quarters is 0 and must be 1 or more",
            ),
        ] {
            let text = result.map_err(|error| error.to_string());
            assert_eq!(text, Err(expected.to_string()));
        }
    }
}
