//! This file computes the times of the presenter's speech, and the mouth's opening, from the time and the seed.

use super::plane::{bump, chance, mix, noise, smooth};

/// A sentence takes this many milliseconds, with the pause at the end.
const SENTENCE_MILLIS: u64 = 4_200;

/// Syllables follow each other after this many milliseconds: about five a second, as in speech.
const SYLLABLE_MILLIS: u64 = 190;

/// The speech of a presenter has sentences of syllables, which depend on a seed.
#[derive(Clone, Copy, Debug)]
pub struct Speech {
    seed: u64,
}

impl Speech {
    /// Returns the speech of the presenter of this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns the mouth's opening from 0 (closed) to 1 at a time since the first picture.
    pub fn opening(self, millis: u64) -> f32 {
        let voice = self.voice(millis);
        if voice <= 0.0 {
            return 0.0;
        }
        let index = millis / SYLLABLE_MILLIS;
        let share = (millis % SYLLABLE_MILLIS) as f32 / SYLLABLE_MILLIS as f32;
        // Each syllable reaches over into its neighbours, so that the mouth closes between some of them only.
        let mut opening = 0.0_f32;
        for (step, centre) in [(-1, -0.5), (0, 0.5), (1, 1.5)] {
            let syllable = index as i64 + step;
            let reach = 0.55 + 0.35 * chance(self.seed ^ 0x51, syllable);
            opening = opening.max(self.stress(syllable) * bump((share - centre) / reach));
        }
        (voice * opening).clamp(0.0, 1.0)
    }

    /// Returns the width of the mouth from -1 (round) to 1 (wide).
    pub(super) fn vowel(self, millis: u64) -> f32 {
        let place = millis as f32 / SYLLABLE_MILLIS as f32 * 0.6;
        self.voice(millis) * noise(self.seed ^ 0x52, place)
    }

    /// Returns 1 within a sentence and 0 in a pause.
    pub(super) fn voice(self, millis: u64) -> f32 {
        let sentence = (millis / SENTENCE_MILLIS) as i64;
        let within = (millis % SENTENCE_MILLIS) as f32;
        let start = mix(60.0, 500.0, chance(self.seed ^ 0x53, sentence));
        let end = mix(2_700.0, 4_000.0, chance(self.seed ^ 0x54, sentence));
        // A comma in the middle of some sentences.
        let comma = mix(
            start,
            end,
            mix(0.4, 0.6, chance(self.seed ^ 0x55, sentence)),
        );
        let silence = if chance(self.seed ^ 0x56, sentence) < 0.6 {
            smooth(170.0, 90.0, (within - comma).abs())
        } else {
            0.0
        };
        smooth(start, start + 80.0, within) * smooth(end, end - 160.0, within) * (1.0 - silence)
    }

    fn stress(self, syllable: i64) -> f32 {
        let drawn = chance(self.seed ^ 0x57, syllable);
        mix(0.22, 1.0, drawn * drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mouth_opens_and_closes_within_bounds() {
        let openings: Vec<f32> = (0..60_000)
            .step_by(20)
            .map(|millis| Speech::new(1).opening(millis))
            .collect();
        assert!(openings.iter().all(|opening| (0.0..=1.0).contains(opening)));
        let share = |closed: fn(&f32) -> bool| {
            openings.iter().copied().filter(closed).count() as f32 / openings.len() as f32
        };
        assert!((0.1..0.5).contains(&share(|&opening| opening < 0.02)));
        assert!(share(|&opening| opening > 0.5) > 0.1);
    }

    #[test]
    fn mouth_never_jumps_between_pictures() {
        let speech = Speech::new(9);
        for millis in (0..60_000).step_by(5) {
            let step = speech.opening(millis + 5) - speech.opening(millis);
            assert!(step.abs() < 0.2, "{millis}: {step}");
        }
    }
}
