//! Wire formats: checked views to read, plain values to write. No file here depends on the session.

pub mod ext;
pub mod flexfec;
pub mod payload;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod wire;
