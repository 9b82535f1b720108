//! Offers as Chromium, Firefox, Safari, GStreamer and OBS write them, and answers to offers of this end.

use super::*;

#[test]
fn offers_of_five_programs_are_answered() {
    struct Row {
        offer: &'static str,
        payload_type: u8,
        level: &'static str,
        feedback: Option<FeedbackMode>,
        extension: Option<u8>,
        direction: &'static str,
        candidates: usize,
        sections: &'static [&'static str],
    }
    let twcc = Some(FeedbackMode::Twcc);
    let rows = [
        Row {
            offer: CHROMIUM,
            payload_type: 109,
            level: "42e01f",
            feedback: twcc,
            extension: Some(3),
            direction: "a=sendrecv",
            candidates: 1,
            sections: &[
                "m=audio 9 UDP/TLS/RTP/SAVPF 111",
                "m=video 9 UDP/TLS/RTP/SAVPF 109",
            ],
        },
        Row {
            offer: FIREFOX,
            payload_type: 126,
            level: "42e01f",
            feedback: twcc,
            extension: Some(7),
            direction: "a=sendrecv",
            candidates: 2,
            sections: &["m=video 9 UDP/TLS/RTP/SAVPF 126"],
        },
        Row {
            offer: SAFARI,
            payload_type: 98,
            level: "42e01f",
            feedback: twcc,
            extension: Some(4),
            direction: "a=sendrecv",
            candidates: 0,
            sections: &["m=video 9 UDP/TLS/RTP/SAVPF 98"],
        },
        Row {
            offer: WHIPCLIENTSINK,
            payload_type: 96,
            level: "42e016",
            feedback: twcc,
            extension: Some(1),
            direction: "a=recvonly",
            candidates: 0,
            sections: &["m=video 9 UDP/TLS/RTP/SAVPF 96"],
        },
        Row {
            offer: OBS,
            payload_type: 96,
            level: "42e01f",
            feedback: None,
            extension: None,
            direction: "a=recvonly",
            candidates: 0,
            sections: &[
                "m=audio 9 UDP/TLS/RTP/SAVPF 111",
                "m=video 9 UDP/TLS/RTP/SAVPF 96",
            ],
        },
    ];
    for row in rows {
        let Answer { video, peer, text } = answer(row.offer);
        assert_eq!(video.payload_type, row.payload_type, "{text}");
        assert_eq!(video.peer_level.to_string(), row.level);
        assert_eq!(video.feedback, row.feedback);
        assert_eq!(video.transport_sequence_id, row.extension);
        assert!(video.receives && video.keyframe_requests);
        assert_eq!(video.sends, row.direction == "a=sendrecv");
        assert_eq!(peer.candidates.len(), row.candidates);
        assert_eq!(peer.setup, DtlsSetup::Active);
        let sections: Vec<_> = text.lines().filter(|line| line.starts_with("m=")).collect();
        assert_eq!(sections, row.sections);
        assert!(text.lines().any(|line| line == row.direction), "{text}");
        assert!(text.contains("a=setup:passive") && !text.contains("simulcast"));
        let extensions = text.lines().filter(|line| line.starts_with("a=extmap"));
        let is_playout_read = row.offer == CHROMIUM || row.offer == FIREFOX;
        assert_eq!(video.playout_delay_id.is_some(), is_playout_read);
        let expected = usize::from(row.extension.is_some()) + usize::from(is_playout_read);
        assert_eq!(extensions.count(), expected, "{text}");
    }
}

#[test]
fn answer_has_each_section_of_its_offer() {
    let data =
        "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:2\r\na=sctp-port:5000\r\n";
    let text = answer(&format!("{CHROMIUM}{data}")).text;
    assert!(text.contains("m=application 0 UDP/DTLS/SCTP webrtc-datachannel"));
    assert!(text.contains("a=group:BUNDLE 0 1\r\n"), "{text}");
    assert!(text.contains("a=inactive\r\na=rtpmap:111 opus/48000/2\r\n"));
    let read = parsed(&text);
    let mids: Vec<_> = read
        .sections
        .iter()
        .map(|section| section.mid.as_deref())
        .collect();
    assert_eq!(mids, [Some("0"), Some("1"), Some("2")]);
}

#[test]
fn section_with_the_port_of_its_group_is_open() {
    let offer = CHROMIUM.replace("m=video 9", "m=video 0");
    assert!(refusal(&offer).contains("no video stream"));
    let offer = offer.replace("a=mid:1\n", "a=mid:1\na=bundle-only\n");
    assert!(answer(&offer).text.contains("m=video 9 "));
}

#[test]
fn reports_of_rfc_8888_are_preferred() {
    let offer = CHROMIUM.replace("a=rtcp-rsize", "a=rtcp-rsize\na=rtcp-fb:* ack ccfb");
    let Answer { video, text, .. } = answer(&offer);
    assert_eq!(video.feedback, Some(FeedbackMode::Ccfb));
    assert!(text.contains("a=rtcp-fb:* ack ccfb") && !text.contains("transport-cc"));
    assert_eq!(video.transport_sequence_id, None);
}

#[test]
fn simulcast_is_left_out_of_the_answer() {
    let simulcast = "a=mid:1\na=rid:h send\na=rid:l send\na=simulcast:send h;l\n";
    let text = answer(&CHROMIUM.replace("a=mid:1\n", simulcast)).text;
    assert!(!text.contains("rid") && !text.contains("simulcast"));
}

#[test]
fn level_without_asymmetry_is_that_of_both() {
    let offer = SAFARI.replace("level-asymmetry-allowed=1;", "");
    let text = answer(&offer).text;
    assert!(
        text.contains("a=fmtp:98 packetization-mode=1;profile-level-id=42e01f\r\n"),
        "{text}"
    );
    assert!(answer(SAFARI).text.contains("profile-level-id=42e028\r\n"));
}

#[test]
fn pictures_above_the_level_choose_another_format() {
    let offer = SAFARI.replace("42e01f", "42e00d");
    assert_eq!(answer(&offer).video.payload_type, 96);
    let refused = refusal(&offer.replace("640c1f", "640c0d"));
    assert!(
        refused.starts_with("line 8: profile-level-id \"42e00d\" is invalid"),
        "{refused}"
    );
    // A level bounds only what its end receives.
    let offer = offer.replace("a=sendrecv", "a=sendonly");
    assert_eq!(answer(&offer).video.payload_type, 98);
}

fn offer(sends: bool, receives: bool) -> Offer {
    let local = LocalDescription {
        sends: local().sends.filter(|_| sends),
        receives,
        ..local()
    };
    Offer::new(96, local)
}

#[test]
fn own_offer_is_answered_by_an_end_of_ours() {
    let publish = offer(true, false);
    let text = publish.to_string();
    assert!(
        text.contains("profile-level-id=42e01e\r\n") && text.contains("a=sendonly"),
        "{text}"
    );
    let Answer { video, text, .. } = answer(&text);
    assert!(video.receives && !video.sends);
    let (video, peer) = publish.accept(&parsed(&text)).expect("accepted");
    assert!(video.sends && !video.receives);
    assert_eq!(
        (video.payload_type, video.feedback),
        (96, Some(FeedbackMode::Ccfb))
    );
    assert_eq!(peer.setup, DtlsSetup::Passive);
    assert_eq!(peer.candidates, local().candidates);
}

#[test]
fn answer_of_a_media_server_is_accepted_or_refused() {
    let play = offer(false, true);
    let server = WHIPCLIENTSINK.replace("a=setup:actpass", "a=setup:active");
    let (video, peer) = play.accept(&parsed(&server)).expect("accepted");
    assert!(video.receives && !video.sends && video.keyframe_requests);
    assert_eq!(peer.setup, DtlsSetup::Active);
    for (from, to, named) in [
        ("m=video 9", "m=video 0", "no video stream"),
        ("a=setup:active", "a=setup:actpass", "setup"),
        ("rtpmap:96 H264", "rtpmap:96 VP8", "payload type"),
        ("a=sendonly", "a=recvonly", "direction"),
        ("a=sendonly", "a=inactive", "direction"),
    ] {
        let refused = play.accept(&parsed(&server.replace(from, to)));
        let refused = refused.expect_err("refused").to_string();
        assert!(refused.contains(named), "{to}: {refused}");
    }
}

#[test]
fn answer_that_cannot_be_sent_to_is_refused() {
    let publish = offer(true, false);
    let text = answer(&publish.to_string()).text;
    for (from, to, named) in [
        (
            "packetization-mode=1",
            "packetization-mode=0",
            "payload type",
        ),
        ("a=fmtp:96", "a=x-fmtp:96", "payload type"),
        (
            "profile-level-id=42e0",
            "profile-level-id=42e00a;was=",
            "profile-level-id",
        ),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        let refused = publish.accept(&parsed(&changed));
        let refused = refused.expect_err("refused").to_string();
        assert!(refused.contains(named), "{to}: {refused}");
    }
}

#[test]
fn refused_section_has_no_part_in_the_transport() {
    let offer = CHROMIUM
        .replacen("a=ice-ufrag:Cx8p", "a=ice-ufrag:Refused0", 1)
        .replace("opus/48000", "G7221/16000");
    let Answer { peer, text, .. } = answer(&offer);
    assert!(text.contains("m=audio 0 ") && text.contains("a=group:BUNDLE 1\r\n"));
    assert_eq!(peer.credentials.ufrag, "Cx8p");
}

#[test]
fn candidates_end_in_an_answer_alone() {
    let offer = offer(true, false).to_string();
    assert!(offer.contains("a=candidate:") && !offer.contains("a=end-of-candidates"));
    assert!(answer(&offer).text.contains("a=end-of-candidates\r\n"));
}

#[test]
fn fragment_has_candidates_and_new_credentials() {
    let text = "a=ice-ufrag:Cx8p\r\na=ice-pwd:Zk0wHqSxvP7uV2n4bQmR3tYd\r\nm=video 9 UDP/TLS/RTP/SAVPF 109\r\n\
                a=mid:0\r\na=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\na=end-of-candidates\r\n";
    let fragment = IceFragment::parse(text).expect("a fragment");
    assert_eq!(fragment.candidates, ["1 1 udp 1 192.0.2.1 9 typ host"]);
    assert_eq!(fragment.credentials.expect("credentials").ufrag, "Cx8p");
    assert!(IceFragment::parse("a=ice-pwd:short").is_err());
    let many = "a=candidate:1 1 udp 1 192.0.2.1 9 typ host\n".repeat(1_000);
    let fragment = IceFragment::parse(&many).expect("a fragment");
    assert_eq!(fragment.candidates.len(), MAX_CANDIDATES);
}
