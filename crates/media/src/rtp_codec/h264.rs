//! The parameters of H.264 in a session description (RFC 6184 §8.1).

use evenkeel_codec::h264::parameter_sets;

/// Returns the media type's parameters for pictures of this size; `None` if there are none.
///
/// The parameter sets are those that every keyframe repeats. They tell a receiver what to expect if it joins late,
/// or configures its decoder before the first picture.
pub(super) fn parameters(size: (usize, usize)) -> Option<String> {
    let sets = parameter_sets(size)?;
    // profile_idc, the constraint flags and level_idc follow the NAL unit's header (H.264 §7.3.2.1.1).
    let &[_, profile, constraints, level, ..] = sets.sequence.as_slice() else {
        return None;
    };
    // OpenH264 sets constraint_set3_flag, which is reserved except at level 11, where it means 1b (§A.3.4).
    let constraints = constraints & !0x10;
    Some(format!(
        "packetization-mode=1; profile-level-id={profile:02x}{constraints:02x}{level:02x}; \
         sprop-parameter-sets={},{}",
        base64(&sets.sequence),
        base64(&sets.picture)
    ))
}

/// Encodes base64 (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * index)) as usize & 63];
            text.push(if index <= group.len() {
                digit.into()
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reassemble::Payload;
    use evenkeel_codec::Codec;
    use evenkeel_codec::FrameTarget;
    use evenkeel_codec::picture::{CodedPicture, Picture};
    use evenkeel_codec::test_support::frame_target;
    use evenkeel_rtp::packet::payload::h264::unit_type;
    use std::time::Duration;

    #[test]
    fn bytes_are_told_in_letters() {
        // The rows are the examples of RFC 4648 §10.
        for (bytes, letters) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), letters);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    #[test]
    fn the_parameter_sets_are_those_of_every_keyframe() {
        for (size, level) in [
            ((160, 120), "28"),
            ((1280, 720), "28"),
            ((1920, 1080), "2a"),
        ] {
            let described = parameters(size).unwrap();
            assert_eq!(
                Payload::described(Codec::H264, &described),
                Ok(Payload::H264)
            );
            let profile = format!("profile-level-id=42c0{level};");
            assert!(described.contains(&profile), "{described}");
            let mut encoder = Codec::H264.encoder(Duration::from_millis(40));
            let picture = Picture::new(size.0, size.1);
            for (frame, bytes) in [2_000, 9_000, 3_000, 20_000].into_iter().enumerate() {
                let target = FrameTarget {
                    keyframe: frame % 2 == 0,
                    ..frame_target(bytes, 25.0)
                };
                let coded = encoder.encode(&picture, &target).unwrap().unwrap();
                let CodedPicture::H264(coded) = coded.picture else {
                    unreachable!("an encoder has one codec");
                };
                let units = coded.access_units[0].units.iter().flatten();
                let sets: Vec<String> = units
                    .filter(|unit| matches!(unit_type(unit[0]), 7 | 8))
                    .map(|unit| base64(unit))
                    .collect();
                if frame % 2 == 0 {
                    assert!(
                        described.ends_with(&format!("={}", sets.join(","))),
                        "{described}: {sets:?}"
                    );
                } else {
                    assert!(sets.is_empty(), "{sets:?}");
                }
            }
        }
    }

    #[test]
    fn impossible_size_has_no_parameter_sets() {
        assert_eq!(parameters((63, 48)), None);
    }
}
