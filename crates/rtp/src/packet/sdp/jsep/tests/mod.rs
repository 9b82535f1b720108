//! Tests of offers and answers: those that browsers and other programs write, and hostile ones.

mod hostile;
mod real;

use super::*;

const CHROMIUM: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../testdata/offers/chromium.sdp"
));
const FIREFOX: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../testdata/offers/firefox.sdp"
));
const SAFARI: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../testdata/offers/safari.sdp"
));
const WHIPCLIENTSINK: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../testdata/offers/whipclientsink.sdp"
));
const OBS: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../testdata/offers/obs.sdp"
));

/// Returns what an end says that sends such pictures and receives.
fn local() -> LocalDescription {
    LocalDescription {
        session_id: 42,
        credentials: IceCredentials {
            ufrag: "ours".into(),
            password: "0123456789abcdefghijklmn".into(),
        },
        fingerprint: ["AB"; 32].join(":"),
        candidates: vec!["1 1 udp 2113937151 192.0.2.7 5004 typ host".into()],
        ssrc: 7,
        sends: Some(PictureFormat {
            width: 640,
            height: 480,
            frames_per_second: 30.0,
        }),
        receives: true,
    }
}

fn parsed(text: &str) -> RemoteDescription {
    RemoteDescription::parse(text).expect("a description")
}

fn answer(offer: &str) -> Answer {
    Answer::new(&parsed(offer), &local()).expect("an answer")
}

/// Returns the words with which an offer is refused.
fn refusal(offer: &str) -> String {
    let read = RemoteDescription::parse(offer);
    let answered = read.and_then(|offer| Answer::new(&offer, &local()));
    answered.expect_err("refused").to_string()
}
