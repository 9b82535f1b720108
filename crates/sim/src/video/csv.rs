//! Frame traces as text: a line a frame, `time,type,size`.
//!
//! The time is in seconds from the first frame, with up to nine decimals; the type is `I`, `P` or `B`; the
//! size is in bytes. Empty lines, and what follows a `#`, are skipped; so is a line of the columns' names
//! above the first frame.

use super::{Frame, FrameKind, FrameTrace, FrameTraceError};
use core::fmt::{self, Write};
use tfrc::time::Duration;
use tfrc::units::Bytes;

/// Why a text is no frame trace. Lines count from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameTraceFileError {
    /// The line does not have three fields.
    Fields {
        /// Which line.
        line: usize,
    },
    /// A field says what it cannot.
    Field {
        /// Which line.
        line: usize,
        /// Which field.
        field: &'static str,
        /// What it must be.
        wanted: &'static str,
    },
    /// The lines make no trace.
    Trace {
        /// Which line, if it is one.
        line: Option<usize>,
        /// Why.
        error: FrameTraceError,
    },
}

impl fmt::Display for FrameTraceFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fields { line } => {
                write!(f, "line {line}: not three fields: time,type,size")
            }
            Self::Field {
                line,
                field,
                wanted,
            } => write!(f, "line {line}: {field} must be {wanted}"),
            Self::Trace { line, error } => {
                if let Some(line) = line {
                    write!(f, "line {line}: ")?;
                }
                error.write_what(f)
            }
        }
    }
}

impl std::error::Error for FrameTraceFileError {}

const COLUMNS: &str = "time,type,size";

impl FrameTrace {
    /// Reads a trace. Memory is bounded by [`FrameTrace::MAX_FRAMES`], whatever the text.
    ///
    /// # Errors
    /// Names the first line that is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Self, FrameTraceFileError> {
        let (mut frames, mut lines) = (Vec::new(), Vec::new());
        for (index, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or_default().trim();
            let names = frames.is_empty() && content == COLUMNS;
            if content.is_empty() || names {
                continue;
            }
            if frames.len() == Self::MAX_FRAMES {
                let (line, error) = (Some(index + 1), FrameTraceError::TooMany);
                return Err(FrameTraceFileError::Trace { line, error });
            }
            frames.push(parse_frame(index + 1, content)?);
            lines.push(index + 1);
        }
        Self::new(frames).map_err(|error| {
            let line = error.frame().map(|frame| lines[frame]);
            FrameTraceFileError::Trace { line, error }
        })
    }

    /// As [`FrameTrace::parse`] reads it.
    pub fn to_csv(&self) -> String {
        let mut text = format!("{COLUMNS}\n");
        for frame in self.frames() {
            let (secs, nanos) = (frame.at.as_secs(), frame.at.subsec_nanos());
            let (kind, size) = (letter(frame.kind), frame.size.get());
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{secs}.{nanos:09},{kind},{size}");
        }
        text
    }
}

fn parse_frame(line: usize, content: &str) -> Result<Frame, FrameTraceFileError> {
    let mut fields = content.split(',').map(str::trim);
    let (Some(at), Some(kind), Some(size), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(FrameTraceFileError::Fields { line });
    };
    let wrong = |field, wanted| FrameTraceFileError::Field {
        line,
        field,
        wanted,
    };
    Ok(Frame {
        at: seconds(at).ok_or(wrong("time", "seconds, with up to nine decimals"))?,
        kind: match kind {
            "I" => FrameKind::Intra,
            "P" => FrameKind::Predicted,
            "B" => FrameKind::Bidirectional,
            _ => return Err(wrong("type", "I, P or B")),
        },
        size: size
            .parse()
            .map(Bytes::new)
            .map_err(|_| wrong("size", "a whole number of bytes"))?,
    })
}

/// Digit by digit, so that what was written is read to the nanosecond.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 9 {
        return None;
    }
    Some(Duration::new(
        whole.parse().ok()?,
        format!("{decimals:0<9}").parse().ok()?,
    ))
}

fn letter(kind: FrameKind) -> char {
    match kind {
        FrameKind::Intra => 'I',
        FrameKind::Predicted => 'P',
        FrameKind::Bidirectional => 'B',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_file_is_read_with_its_comments() {
        let text =
            "# made by hand\ntime,type,size\n0,I,5000\n\n0.04,B,30 # small\n 0.08 , P , 700\n";
        let trace = FrameTrace::parse(text).unwrap();
        assert_eq!(
            trace.frames()[1],
            Frame {
                at: Duration::from_millis(40),
                kind: FrameKind::Bidirectional,
                size: Bytes::new(30)
            }
        );
        assert_eq!(trace.frames().len(), 3);
        assert_eq!(trace.period(), Duration::from_millis(120));
    }

    #[test]
    fn an_error_names_the_line_the_field_and_what_would_be_right() {
        let message = |line: &str| {
            let text = format!("time,type,size\n0,I,5000\n{line}\n");
            FrameTrace::parse(&text).unwrap_err().to_string()
        };
        assert_eq!(
            message("0.04,I"),
            "line 3: not three fields: time,type,size"
        );
        assert_eq!(
            message("0.04,I,1,2"),
            "line 3: not three fields: time,type,size"
        );
        for time in [
            "-1",
            "1e3",
            "nan",
            "0.1234567890",
            ".",
            "1.",
            "99999999999999999999",
        ] {
            let expected = "line 3: time must be seconds, with up to nine decimals";
            assert_eq!(message(&format!("{time},I,1")), expected);
        }
        assert_eq!(message("0.04,X,1"), "line 3: type must be I, P or B");
        let expected = "line 3: size must be a whole number of bytes";
        assert_eq!(message("0.04,I,-1"), expected);
        assert_eq!(message("0.04,I,18446744073709551616"), expected);
        assert_eq!(
            message("0,I,1"),
            "line 3: time must be after that of the frame before it, within a day"
        );
        let beyond = FrameTrace::MAX_SIZE.get() + 1;
        let size_error = message(&format!("# none\n0.04,I,{beyond}"));
        assert!(
            size_error.starts_with("line 4: size must be at most"),
            "{size_error}"
        );
        let late = FrameTrace::parse("0.04,I,1\n0.08,I,1").unwrap_err();
        assert_eq!(
            late.to_string(),
            "line 1: time must be 0, as of the first frame"
        );
        assert_eq!(
            message("time,type,size"),
            "line 3: time must be seconds, with up to nine decimals"
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            frames in prop::collection::vec((1u64..2_000_000_000, 0usize..3, 0u64..100_000), 2..50),
        ) {
            let kinds = [FrameKind::Intra, FrameKind::Predicted, FrameKind::Bidirectional];
            let mut at = Duration::ZERO;
            let frames = frames.into_iter().enumerate().map(|(index, (gap, kind, size))| {
                if index > 0 {
                    at += Duration::from_nanos(gap);
                }
                Frame { at, kind: kinds[kind], size: Bytes::new(size + 1) }
            });
            let trace = FrameTrace::new(frames.collect()).unwrap();
            prop_assert_eq!(FrameTrace::parse(&trace.to_csv()), Ok(trace));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "([0-9.,IPBx# -]|\n){0,200}") {
            let _ = FrameTrace::parse(&text);
        }
    }
}
