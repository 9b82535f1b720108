//! Offers and answers of encrypted calls.

use evenkeel_rtp::packet::sdp::jsep::{
    Answer, IceCredentials, IceFragment, LocalDescription, Offer, PictureFormat, RemoteDescription,
};

/// Answers an offer; the answer must be read as an answer, and must agree with it. The same bytes are also a fragment, and an
/// answer to an offer of this end.
pub fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let _ = IceFragment::parse(text);
    let Ok(description) = RemoteDescription::parse(text) else {
        return;
    };
    let offer = Offer::new(96, local());
    let _ = offer.accept(&description);
    let Ok(answer) = Answer::new(&description, &local()) else {
        return;
    };
    let own = match RemoteDescription::parse(&answer.text) {
        Ok(own) => own,
        Err(error) => panic!("{error} in what we wrote:\n{}", answer.text),
    };
    if let Ok((video, _)) = Offer::new(answer.video.payload_type, local()).accept(&own) {
        assert_eq!(video.payload_type, answer.video.payload_type);
        assert_eq!(video.feedback, answer.video.feedback);
    }
}

fn local() -> LocalDescription {
    LocalDescription {
        session_id: 1,
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
