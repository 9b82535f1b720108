//! The built-in scene, which needs no file and no camera but costs as many bits as real video.
//!
//! The scene has a textured backdrop under a drifting camera, detailed objects that move over it, film grain, light
//! that wanders and switches, a cut every few seconds, and a counter of the pictures in the corner.
//!
//! The table compares its mean cost with three real clips, coded as JPEG with the tables of Annex K (quality 50):
//!
//! | picture | bits a pixel | luma PSNR |
//! |---|---|---|
//! | scene 176x144 | 0.91 | 34.5 dB |
//! | scene 320x240 | 0.86 | 35.2 dB |
//! | scene 640x480 | 0.65 | 38.2 dB |
//! | scene 1280x720 | 0.63 | 38.3 dB |
//! | talking head 176x144 (`carphone`) | 0.90 | 35.2 dB |
//! | film 640x272 (`bikes`) | 0.58 | 41.3 dB |
//! | animation 1280x720 (`bigbuckbunny`) | 0.66 | 40.1 dB |
//!
//! Coded to 15,000 bytes (3 Mb/s at 25 pictures a second), 640x480 has 35.3 dB. The source of these figures is
//! `cargo test --release -p evenkeel-codec --test scene_cost -- --nocapture`, with `EVENKEEL_MEDIA_DIR` as the
//! folder of the clips.

mod noise;
mod shot;

use super::built_in::{check_sides, develop, grain};
use super::contract::{Source, SourceError};
use super::counter;
use super::format::{Format, FrameRate};
use super::random::Random;
use crate::picture::Picture;
use shot::Shot;

/// The number of different shots, after which the first returns, at another moment of its motion.
const SHOTS: usize = 3;

/// The range of seconds between cuts, drawn anew each time.
const SHOT_SECONDS: (i32, i32) = (5, 9);

/// The scene of a seed.
#[derive(Debug)]
pub struct Scene {
    format: Format,
    random: Random,
    shots: Vec<Shot>,
    grain: Vec<u8>,
    current: usize,
    /// The number of pictures until the next cut.
    until_cut: u64,
    index: u64,
}

impl Scene {
    /// Creates the scene of this format; equal seeds give equal pictures on every machine.
    ///
    /// # Errors
    /// Returns an error if a side is below 16 or above 2040.
    pub fn new(format: Format, seed: u64) -> Result<Self, SourceError> {
        check_sides("scene", &format)?;
        let mut random = Random::new(seed);
        let shots = (0..SHOTS)
            .map(|look| Shot::new(look, format.width, format.height, &mut random))
            .collect();
        let grain = grain(format.width, &mut random);
        let mut scene = Self {
            format,
            random,
            shots,
            grain,
            current: 0,
            until_cut: 0,
            index: 0,
        };
        scene.until_cut = scene.shot_length();
        Ok(scene)
    }

    fn shot_length(&mut self) -> u64 {
        let seconds = self.random.between(SHOT_SECONDS.0, SHOT_SECONDS.1) as u64;
        frames_in(self.format.frame_rate, seconds)
    }

    fn draw(&mut self) -> Picture {
        if self.until_cut == 0 {
            self.current = (self.current + 1) % self.shots.len();
            self.until_cut = self.shot_length();
        }
        self.until_cut -= 1;
        let mut picture = Picture::new(self.format.width, self.format.height);
        let millis = self.format.frame_rate.due(self.index).as_millis() as u64;
        self.shots[self.current].draw(millis, &mut picture);
        let light = shot::light(millis);
        develop(&mut picture, light, &self.grain, &mut self.random);
        counter::draw(&mut picture, self.index);
        self.index += 1;
        picture
    }
}

fn frames_in(rate: FrameRate, seconds: u64) -> u64 {
    (seconds * u64::from(rate.numerator()) / u64::from(rate.denominator())).max(1)
}

impl Source for Scene {
    fn format(&self) -> Format {
        self.format
    }

    fn next(&mut self) -> Result<Option<Picture>, SourceError> {
        Ok(Some(self.draw()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::built_in::digest;

    fn scene(width: usize, height: usize, seed: u64) -> Scene {
        let frame_rate = FrameRate::new(5, 1).expect("valid");
        let format = Format {
            width,
            height,
            frame_rate,
        };
        Scene::new(format, seed).expect("possible size")
    }

    #[test]
    fn a_seed_gives_the_same_pictures_everywhere() {
        // Any change of the scene changes this number, and with it every figure measured on it.
        assert_eq!(digest(scene(49, 35, 7), 60), 6_465_944_677_710_850_919);
        assert_ne!(digest(scene(49, 35, 7), 2), digest(scene(49, 35, 8), 2));
    }

    #[test]
    fn scene_draws_at_every_size_through_cuts() {
        for (width, height) in [(16, 16), (17, 31), (16, 200), (300, 16), (64, 48)] {
            let mut scene = scene(width, height, 1);
            for _ in 0..150 {
                let picture = scene.draw();
                assert_eq!((picture.width(), picture.height()), (width, height));
            }
        }
    }

    #[test]
    fn sizes_beyond_the_format_are_refused_by_name() {
        let frame_rate = FrameRate::new(25, 1).expect("valid");
        for (width, height, field) in [(15, 16, "width"), (16, 2041, "height")] {
            let format = Format {
                width,
                height,
                frame_rate,
            };
            let message = Scene::new(format, 1).expect_err("impossible").to_string();
            assert!(message.contains(field), "{message}");
        }
    }
}
