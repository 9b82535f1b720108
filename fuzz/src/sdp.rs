//! Descriptions of streams.

use evenkeel_rtp::packet::sdp::Description;

/// Reads a description; what reads well must survive being written and read.
pub fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let Ok(description) = text.parse::<Description>() else {
        return;
    };
    let written = description.to_string();
    let again: Description = match written.parse() {
        Ok(again) => again,
        Err(error) => panic!("{error} in what we wrote:\n{written}"),
    };
    assert_eq!(
        again.to_string(),
        written,
        "a description changes with every reading"
    );
}
