//! Sets options of a running encoder, which the safe wrapper lacks.

use std::mem::MaybeUninit;

use openh264::encoder::Encoder;
use openh264_sys2::{ENCODER_OPTION_SVC_ENCODE_PARAM_EXT, SEncParamExt};

use crate::Error;

/// Changes the parameters of an encoder that has coded a picture.
///
/// OpenH264 begins anew with a keyframe when the size, the profile, the slices, the frame rate or the
/// number of reference pictures change, and takes over everything else as it is.
#[expect(unsafe_code, reason = "the safe wrapper has no way to set options")]
pub(crate) fn change(
    encoder: &mut Encoder,
    change: impl FnOnce(&mut SEncParamExt),
) -> Result<(), Error> {
    let option = ENCODER_OPTION_SVC_ENCODE_PARAM_EXT;
    let mut parameters = MaybeUninit::<SEncParamExt>::zeroed();
    // SAFETY: with this option both calls copy a `SEncParamExt` between `parameters`, which outlives
    // them, and the encoder, or return an error before they touch it (`CWelsH264SVCEncoder::GetOption`
    // and `SetOption`). All zero bytes are a value of that type, and what is written over it came from
    // the encoder itself. The wrapper keeps no parameter of its own but the picture's size, which no
    // caller of this changes.
    unsafe {
        let api = encoder.raw_api();
        if api.get_option(option, parameters.as_mut_ptr().cast()) != 0 {
            return Err(Error::Encoder);
        }
        let mut parameters = parameters.assume_init();
        change(&mut parameters);
        if api.set_option(option, (&raw mut parameters).cast()) != 0 {
            return Err(Error::Encoder);
        }
    }
    Ok(())
}
