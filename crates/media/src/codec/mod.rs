//! Codecs: pictures to coded images and back.

pub mod mjpeg;
