//! The parameters of H.264 in offers and answers (RFC 6184 §8.1): which profile, and how large a picture a level permits.

use std::fmt;

/// The size and the rate of pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PictureFormat {
    /// The luma samples of a row.
    pub width: usize,
    /// The rows.
    pub height: usize,
    /// The pictures in a second.
    pub frames_per_second: f64,
}

/// The profile, the constraint flags and the level of a stream (`profile-level-id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileLevelId([u8; 3]);

/// A profile of H.264 whose streams of progressive 4:2:0 pictures are decoded here, the preferred first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum H264Profile {
    ConstrainedBaseline,
    Baseline,
    Main,
    High,
}

/// The limits of a level: macroblocks in a second, macroblocks in a picture (H.264 Table A-1).
struct LevelLimits {
    level: u8,
    per_second: f64,
    per_picture: usize,
}

const fn limits(level: u8, per_second: u32, per_picture: usize) -> LevelLimits {
    LevelLimits {
        level,
        per_second: per_second as f64,
        per_picture,
    }
}

/// The levels. Level 1b has the limits of level 1 here: it differs in its bit rate.
const LEVELS: [LevelLimits; 16] = [
    limits(10, 1_485, 99),
    limits(11, 3_000, 396),
    limits(12, 6_000, 396),
    limits(13, 11_880, 396),
    limits(20, 11_880, 396),
    limits(21, 19_800, 792),
    limits(22, 20_250, 1_620),
    limits(30, 40_500, 1_620),
    limits(31, 108_000, 3_600),
    limits(32, 216_000, 5_120),
    limits(40, 245_760, 8_192),
    limits(42, 522_240, 8_704),
    limits(50, 589_824, 22_080),
    limits(51, 983_040, 36_864),
    limits(52, 2_073_600, 36_864),
    limits(62, 16_711_680, 139_264),
];

/// The side of a macroblock, in samples.
const MACROBLOCK: usize = 16;

impl ProfileLevelId {
    /// The profile and level of a stream that names none (RFC 6184 §8.1): Baseline, level 1.
    pub const DEFAULT: Self = Self([66, 0, 10]);

    /// Constrained baseline at level 4, up to which this end decodes: 1920x1080 at 30 pictures a second.
    pub const CONSTRAINED_BASELINE: Self = Self([66, 0xE0, 40]);

    /// Reads six hexadecimal digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_hex = text.len() == 6 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let bits = is_hex.then(|| u32::from_str_radix(text, 16).ok())??;
        let [_, profile, constraints, level] = bits.to_be_bytes();
        Some(Self([profile, constraints, level]))
    }

    /// Returns the profile (RFC 6184 Table 5), if it is decoded here.
    pub(super) const fn profile(self) -> Option<H264Profile> {
        let [profile, constraints, _] = self.0;
        match (profile, constraints & 0x0F) {
            (66, 0) if constraints & 0x40 != 0 => Some(H264Profile::ConstrainedBaseline),
            // Main with constraint_set0_flag, and Extended with the first two.
            (77, 0) if constraints & 0x80 != 0 => Some(H264Profile::ConstrainedBaseline),
            (88, 0) if constraints & 0xC0 == 0xC0 => Some(H264Profile::ConstrainedBaseline),
            (66, 0) => Some(H264Profile::Baseline),
            (77, 0) => Some(H264Profile::Main),
            (100, 0 | 0x0C) => Some(H264Profile::High),
            _ => None,
        }
    }

    /// Returns this profile at a level that is no higher than this.
    pub(super) fn at_most(self, level: u8) -> Self {
        let [profile, constraints, own] = self.0;
        Self([profile, constraints, own.min(level)])
    }

    /// Returns this profile at another level.
    pub(super) const fn at(self, level: u8) -> Self {
        let [profile, constraints, _] = self.0;
        Self([profile, constraints, level])
    }

    pub(super) const fn level(self) -> u8 {
        self.0[2]
    }

    /// Returns true if a decoder of this level takes such pictures (H.264 §A.3.1).
    pub fn admits(self, format: PictureFormat) -> bool {
        let mut known = LEVELS.iter().rev();
        let level = known.find(|limits| limits.level <= self.level());
        level.is_some_and(|limits| limits.admit(format))
    }

    /// Returns constrained baseline at the lowest level that takes such pictures, if any does.
    pub fn for_pictures(format: PictureFormat) -> Option<Self> {
        let level = LEVELS.iter().find(|limits| limits.admit(format))?.level;
        Some(Self::CONSTRAINED_BASELINE.at(level))
    }
}

impl LevelLimits {
    fn admit(&self, format: PictureFormat) -> bool {
        let [columns, rows] = [format.width, format.height].map(|side| side.div_ceil(MACROBLOCK));
        let count = columns.saturating_mul(rows);
        // Neither side exceeds the root of eight times the picture's limit.
        let is_too_long = columns.max(rows).saturating_pow(2) > 8 * self.per_picture;
        count <= self.per_picture
            && !is_too_long
            && count as f64 * format.frames_per_second <= self.per_second
    }
}

impl fmt::Display for ProfileLevelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [profile, constraints, level] = self.0;
        write!(f, "{profile:02x}{constraints:02x}{level:02x}")
    }
}

/// What `fmtp` says of a payload type, if its encoding is H.264.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct H264Parameters {
    pub(super) profile_level_id: ProfileLevelId,
    /// Packets may hold fragments and several units (`packetization-mode=1`), as this end sends them.
    pub(super) has_fragments: bool,
    /// Each direction has the level of its receiver.
    pub(super) level_asymmetry: bool,
}

impl Default for H264Parameters {
    fn default() -> Self {
        Self {
            profile_level_id: ProfileLevelId::DEFAULT,
            has_fragments: false,
            level_asymmetry: false,
        }
    }
}

impl H264Parameters {
    /// Reads parameters separated by semicolons, in any order; others are skipped.
    pub(super) fn parse(text: &str) -> Self {
        let mut parameters = Self::default();
        for (name, value) in text
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='))
        {
            match name {
                "profile-level-id" => {
                    let id = ProfileLevelId::parse(value);
                    parameters.profile_level_id = id.unwrap_or(ProfileLevelId::DEFAULT);
                }
                "packetization-mode" => parameters.has_fragments = value == "1",
                "level-asymmetry-allowed" => parameters.level_asymmetry = value == "1",
                _ => {}
            }
        }
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ProfileLevelId {
        ProfileLevelId::parse(text).expect("six digits")
    }

    #[test]
    fn profiles_follow_the_table_of_rfc_6184() {
        struct Row {
            id: &'static str,
            profile: Option<H264Profile>,
        }
        let rows = [
            ("42e01f", Some(H264Profile::ConstrainedBaseline)),
            ("42c028", Some(H264Profile::ConstrainedBaseline)),
            ("4d801f", Some(H264Profile::ConstrainedBaseline)),
            ("58f01e", Some(H264Profile::ConstrainedBaseline)),
            ("42001f", Some(H264Profile::Baseline)),
            ("4d001f", Some(H264Profile::Main)),
            ("640c1f", Some(H264Profile::High)),
            ("640032", Some(H264Profile::High)),
            ("f4001f", None),
            ("58a01e", None),
        ]
        .map(|(id, profile)| Row { id, profile });
        for row in rows {
            assert_eq!(id(row.id).profile(), row.profile, "{}", row.id);
        }
        for text in ["", "42e01", "42e01g", "+2e01f", "42e01f0"] {
            assert_eq!(ProfileLevelId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn level_bounds_size_and_rate() {
        struct Row {
            id: &'static str,
            picture: (usize, usize, f64),
            fits: bool,
        }
        let rows = [
            ("42e00a", (176, 144, 15.0), true),
            ("42e00a", (352, 288, 3.0), false),
            ("42e01e", (640, 480, 30.0), true),
            ("42e01e", (640, 480, 60.0), false),
            ("42e01f", (1_280, 720, 30.0), true),
            ("42e01f", (1_280, 720, 60.0), false),
            ("42e01f", (1_920, 1_080, 10.0), false),
            ("640028", (1_920, 1_080, 30.0), true),
            ("42e01f", (57_600, 16, 1.0), false),
            ("42e009", (16, 16, 1.0), false),
            ("42e0ff", (1_920, 1_080, 60.0), true),
            ("42e0ff", (usize::MAX, usize::MAX, 60.0), false),
        ]
        .map(|(id, picture, fits)| Row { id, picture, fits });
        for row in rows {
            let (width, height, frames_per_second) = row.picture;
            let format = PictureFormat {
                width,
                height,
                frames_per_second,
            };
            assert_eq!(id(row.id).admits(format), row.fits, "{} {format:?}", row.id);
        }
    }
}
