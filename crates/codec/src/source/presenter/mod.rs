//! The built-in presenter is a painted person in a room at evening, for calls and demonstrations without a camera.
//!
//! She speaks in sentences, blinks, looks about, breathes, moves her head and raises a hand now and then; cars pass on
//! the street. The room, the body, the head and the hand are painted once. Each picture moves them and draws the
//! eyes, the brows and the mouth anew.
//!
//! Coded as JPEG with the tables of Annex K (quality 50), pictures cost in the mean:
//!
//! | picture | bits a pixel | luma PSNR |
//! |---|---|---|
//! | presenter 176x144 | 0.88 | 36.8 dB |
//! | presenter 320x240 | 0.73 | 38.4 dB |
//! | presenter 640x480 | 0.57 | 40.3 dB |
//! | presenter 1280x720 | 0.45 | 42.0 dB |
//!
//! `cargo test --release -p evenkeel-codec --test scene_cost -- --nocapture` prints these figures, and the figures of the
//! [`Scene`](super::Scene) and of real clips beside them.

mod body;
mod bookcase;
mod canvas;
mod face;
mod figure;
mod hand;
mod head;
mod motion;
mod plane;
mod plant;
mod room;
mod speech;
mod sprite;
mod street;

pub use speech::Speech;

use super::built_in::{FULL_LIGHT, check_sides, develop, grain};
use super::contract::{Source, SourceError};
use super::counter;
use super::format::Format;
use super::random::Random;
use crate::picture::Picture;
use canvas::PaintCanvas;
use figure::Figure;
use motion::Pose;
use plane::at;
use room::RoomPlan;
use street::StreetTraffic;

/// A presenter shows a painted person, whose looks and movements depend on a seed.
#[derive(Debug)]
pub struct Presenter {
    format: Format,
    seed: u64,
    random: Random,
    room: Picture,
    traffic: StreetTraffic,
    figure: Figure,
    grain: Vec<u8>,
    index: u64,
}

impl Presenter {
    /// Returns the presenter of this format; equal seeds give equal pictures on every machine.
    ///
    /// # Errors
    /// Returns an error if a side is below 16 or above 2040.
    pub fn new(format: Format, seed: u64) -> Result<Self, SourceError> {
        check_sides("presenter", &format)?;
        let (width, height) = (format.width, format.height);
        let mut random = Random::new(seed);
        let fine = random.next();
        let plan = RoomPlan::new(width as f32 / height as f32);
        let mut canvas =
            PaintCanvas::new(width, height, height as f32, at(width as f32 / 2.0, 0.0));
        let uncovered = room::paint(&mut canvas, plan, fine);
        // The camera's focus is on the person; a little of the blur also keeps small pictures from aliasing.
        canvas.blur(height as f32 / 400.0 + 0.1);
        let grain = grain(width, &mut random);
        Ok(Self {
            format,
            seed,
            random,
            room: sprite::develop(&canvas),
            traffic: StreetTraffic::new(&canvas, plan.window, fine, &uncovered),
            figure: Figure::new(width, height, fine),
            grain,
            index: 0,
        })
    }

    /// Returns the mouth's opening at a time since the first picture, from 0 to 1.
    pub fn speech(&self, millis: u64) -> f32 {
        Speech::new(self.seed).opening(millis)
    }

    fn draw(&mut self) -> Picture {
        let millis = self.format.frame_rate.due(self.index).as_millis() as u64;
        let mut picture = self.room.clone();
        self.traffic.draw(millis, &mut picture);
        self.figure
            .draw(&Pose::at_time(self.seed, millis), &mut picture);
        develop(&mut picture, FULL_LIGHT, &self.grain, &mut self.random);
        counter::draw(&mut picture, self.index);
        self.index += 1;
        picture
    }
}

impl Source for Presenter {
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
    use crate::source::FrameRate;
    use crate::source::built_in::digest;

    fn presenter(width: usize, height: usize, seed: u64) -> Presenter {
        let frame_rate = FrameRate::new(5, 1).expect("valid");
        let format = Format {
            width,
            height,
            frame_rate,
        };
        Presenter::new(format, seed).expect("possible size")
    }

    #[test]
    fn presenter_draws_equal_pictures_for_equal_seeds() {
        // Any change of the presenter changes this number, and with it every figure measured on it. The hand rises
        // within these twelve seconds.
        assert_eq!(digest(presenter(97, 73, 1), 60), 17_770_566_349_603_220_051);
        assert_ne!(
            digest(presenter(97, 73, 1), 2),
            digest(presenter(97, 73, 8), 2)
        );
    }

    #[test]
    fn presenter_opens_the_mouth_while_speaking() {
        let presenter = presenter(160, 120, 7);
        let times = (0..10_000).step_by(40);
        let loudest = times.max_by(|&a, &b| presenter.speech(a).total_cmp(&presenter.speech(b)));
        let spoken = Pose::at_time(7, loudest.expect("some time"));
        assert!(spoken.opening > 0.6);
        let silent = Pose {
            opening: 0.0,
            ..spoken
        };
        let [open, closed] = [spoken, silent].map(|pose| {
            let mut picture = presenter.room.clone();
            presenter.figure.draw(&pose, &mut picture);
            picture
        });
        let changed = open
            .data()
            .iter()
            .zip(closed.data())
            .filter(|(a, b)| a.abs_diff(**b) > 30);
        assert!(changed.count() > 20);
    }

    #[test]
    fn presenter_draws_every_size() {
        for (width, height) in [
            (16, 16),
            (17, 31),
            (16, 200),
            (300, 16),
            (64, 48),
            (2040, 16),
            (200, 301),
        ] {
            let mut presenter = presenter(width, height, 1);
            for _ in 0..60 {
                let picture = presenter.draw();
                assert_eq!((picture.width(), picture.height()), (width, height));
            }
        }
    }

    #[test]
    fn presenter_refuses_sizes_by_name() {
        let frame_rate = FrameRate::new(25, 1).expect("valid");
        for (width, height, field) in [(15, 16, "width"), (16, 2041, "height")] {
            let format = Format {
                width,
                height,
                frame_rate,
            };
            let message = Presenter::new(format, 1)
                .expect_err("impossible")
                .to_string();
            assert!(message.contains(field), "{message}");
        }
    }
}
