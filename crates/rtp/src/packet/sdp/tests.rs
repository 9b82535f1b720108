//! Tests of session descriptions: texts that are written, read and refused.

use super::*;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const TEXT: &str = "v=0\r\no=- 7 7 IN IP4 192.0.2.1\r\ns=Evenkeel\r\nc=IN IP4 192.0.2.2\r\n\
    t=0 0\r\nm=video 5004 RTP/AVPF 26\r\nb=AS:3000\r\nb=RS:40000\r\nb=RR:60000\r\n\
    a=rtpmap:26 JPEG/90000\r\na=extmap:1 urn:ietf:params:rtp-hdrext:rtt-sendts\r\n\
    a=rtcp-fb:26 tfrc\r\na=rtcp-rsize\r\na=rtcp-mux\r\na=framerate:25\r\na=sendonly\r\n";

fn described() -> Description {
    let host = |last| IpAddr::from([192, 0, 2, last]);
    let kbps = |kbps: f64| Some(Rate::from_bits_per_sec(kbps * 1e3));
    Description {
        session_id: 7,
        frame_rate: Some(25.0),
        bandwidth: kbps(3_000.0),
        sender_reports: kbps(40.0),
        receiver_reports: kbps(60.0),
        ..Description::new(host(1), host(2), 5004, 26)
    }
}

#[test]
fn a_stream_under_tfrc_is_described_line_by_line() {
    assert_eq!(described().to_string(), TEXT);
    assert_eq!(TEXT.parse(), Ok(described()));
    assert_eq!(TEXT.replace("\r\n", "\n").parse(), Ok(described()));
}

#[test]
fn transit_bounds_are_asked_for_beside_plain_reports() {
    let described = Description {
        transit_bounds: true,
        ..described()
    };
    let text = described.to_string();
    let lines = "a=rtcp-fb:26 tfrc\r\na=rtcp-fb:26 tfrc transit\r\n";
    assert!(text.contains(lines), "{text}");
    assert_eq!(text.parse(), Ok(described));
    let read = |from, to| text.replace(from, to).parse::<Description>().unwrap();
    assert!(!read("26 tfrc transit", "99 tfrc transit").transit_bounds);
    // Receivers skip unknown parameters, just as receivers without `transit` skip this one.
    let unknown = read("tfrc transit", "tfrc other");
    assert_eq!(unknown.feedback, [FeedbackMode::Tfrc]);
    assert!(!unknown.transit_bounds);
}

#[test]
fn requests_for_keyframes_are_announced_and_read() {
    let described = Description {
        keyframe_requests: true,
        ..described()
    };
    let text = described.to_string();
    let lines = "a=rtcp-fb:26 nack pli\r\na=rtcp-fb:26 ccm fir\r\n";
    assert!(text.contains(lines), "{text}");
    assert_eq!(text.parse(), Ok(described));
    let of_others = text
        .replace("fb:26 nack", "fb:99 nack")
        .replace("fb:26 ccm", "fb:99 ccm");
    let read: Description = of_others.parse().unwrap();
    assert!(!read.keyframe_requests);
}

#[test]
fn repair_packets_have_a_payload_type_and_a_source_of_their_own() {
    let described = Description {
        repair: Some(Repair {
            payload_type: 97,
            window: Duration::from_millis(200),
            ssrcs: Some([1, 2]),
        }),
        ..described()
    };
    let text = described.to_string();
    let lines = "a=rtpmap:97 flexfec/90000\r\na=fmtp:97 repair-window=200000\r\n\
        a=ssrc-group:FEC-FR 1 2\r\n";
    assert!(text.contains(lines), "{text}");
    assert!(text.contains("RTP/AVPF 26 97\r\n"), "{text}");
    assert_eq!(text.parse(), Ok(described));
    // A payload type that is not in the stream's list does not belong to the stream.
    let unlisted: Description = text.replace(" 26 97", " 26").parse().unwrap();
    assert_eq!(unlisted.repair, None);
}

#[test]
fn feedback_that_tells_arrivals_is_named_as_others_name_it() {
    let text = Description {
        feedback: FeedbackMode::ALL.to_vec(),
        transport_sequence_id: Some(5),
        ..described()
    }
    .to_string();
    for line in [
        "a=rtcp-fb:* ack ccfb\r\n",
        "a=rtcp-fb:26 transport-cc\r\n",
        "a=rtcp-fb:26 tfrc sack\r\n",
        "a=rtcp-fb:26 tfrc app\r\n",
        "a=extmap:5 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01\r\n",
    ] {
        assert!(text.contains(line), "{line}");
    }
}

#[test]
fn of_several_payload_types_the_first_that_is_known_is_read() {
    // Lines about a payload type may precede the one that names its encoding.
    let text = TEXT.replace("AVPF 26", "AVPF 98 99 26").replace(
        "a=rtpmap:26 JPEG/90000\r\n",
        "a=fmtp:98 x=1\r\na=fmtp:99 packetization-mode=1\r\na=rtcp-fb:99 nack pli\r\n\
             a=rtpmap:98 VP8/90000\r\na=rtpmap:99 H264/90000\r\n",
    );
    let read = |known: &[&str]| Description::read(&text, |name| known.contains(&name)).unwrap();
    let jpeg = read(&["JPEG"]);
    assert_eq!(jpeg, described());
    let h264 = read(&["JPEG", "H264"]);
    assert_eq!((h264.payload_type, h264.encoding.as_str()), (99, "H264"));
    assert_eq!(h264.parameters.as_deref(), Some("packetization-mode=1"));
    assert!(h264.keyframe_requests && h264.feedback.is_empty());
    for (known, encoding) in [(&["AV1"][..], "VP8"), (&["VP8"], "VP8")] {
        let first = read(known);
        assert_eq!(
            (first.payload_type, first.encoding.as_str()),
            (98, encoding)
        );
    }
}

#[test]
fn the_old_profile_has_no_feedback() {
    let plain = Description {
        profile: Profile::Avp,
        ..described()
    };
    let text = plain.to_string();
    assert!(text.contains("m=video 5004 RTP/AVP 26\r\n"));
    assert!(!text.contains("rtcp-fb") && !text.contains("rsize"));
}

#[test]
fn other_media_and_unknown_lines_are_skipped() {
    let text = "v=0\no=- 1 1 IN IP6 ::1\ns=-\ni=note\nc=IN IP6 ::1\nt=0 0\n\
        m=audio 4000 RTP/AVP 0\na=recvonly\n\
        m=video 5004 RTP/AVP 33\na=extmap:3/sendonly urn:example:other\n\
        m=video 6000 RTP/AVPF 26\na=rtcp-mux\n";
    let read: Description = text.parse().unwrap();
    assert_eq!((read.port, read.encoding.as_str()), (5004, "MP2T"));
    assert_eq!(read.direction, Direction::SendReceive);
    assert!(!read.mux && read.extension_id.is_none());
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (from, to, line, field, value) in [
        ("v=0", "v=1", 1, "version", "1"),
        ("5004", "65536", 6, "port", "65536"),
        ("5004", "5004/0", 6, "port", "5004/0"),
        (" 5004 RTP/AVPF 26", "", 6, "port", ""),
        ("RTP/AVPF", "RTP/SAVPF", 6, "profile", "RTP/SAVPF"),
        ("AVPF 26", "AVPF 128", 6, "payload type", "128"),
        ("AVPF 26", "AVPF 72", 6, "payload type", "72"),
        ("AVPF 26", "AVPF 98", 6, "payload type", "98"),
        ("JPEG/90000", "JPEG", 10, "rtpmap", "JPEG"),
        ("JPEG/90000", "JPEG/0", 10, "rtpmap", "JPEG/0"),
    ] {
        let text = TEXT.replacen(from, to, 1);
        let error = text.parse::<Description>().expect_err(to);
        let SdpError::Line { value: read, .. } = &error else {
            panic!("{to}: {error}");
        };
        assert_eq!(read, value, "{to}");
        let said = error.to_string();
        let named = format!("line {line}: {field} {value:?} is invalid; ");
        assert!(said.starts_with(&named), "{to}: {said}");
    }
    for text in ["", "hello", "v=0", "v=0\r\nm=audio 4000 RTP/AVP 0"] {
        let missing = Err(SdpError::Missing("video"));
        assert_eq!(text.parse::<Description>(), missing, "{text}");
    }
    let long = "a=".repeat(MAX_LEN);
    assert_eq!(
        long.parse::<Description>(),
        Err(SdpError::TooLong(16 * 1024))
    );
}

/// Each is written by some camera, converter or telephone.
#[test]
fn unusable_values_that_nothing_needs_are_skipped() {
    let known = described();
    let unknown: IpAddr = Ipv4Addr::UNSPECIFIED.into();
    let origin = |session_id, origin| Description {
        session_id,
        origin,
        ..known.clone()
    };
    let rate = |frame_rate| Description {
        frame_rate,
        ..known.clone()
    };
    let to = |address| Description {
        address,
        ..known.clone()
    };
    let without_extension = Description {
        extension_id: None,
        ..known.clone()
    };
    let with_bandwidth = |kbps: Option<f64>| Description {
        bandwidth: kbps.map(|kbps| Rate::from_bits_per_sec(kbps * 1e3)),
        ..known.clone()
    };
    let extension = "a=extmap:1 urn:ietf:params:rtp-hdrext:rtt-sendts";
    for (from, to, read) in [
        ("o=- 7 7 IN IP4 192.0.2.1", "o=- x", origin(0, unknown)),
        ("o=- 7 7 IN IP4 192.0.2.1\r\n", "", origin(0, unknown)),
        (
            "7 7 IN IP4 192.0.2.1",
            "-220 7 IN IP4 192.0.2.1",
            origin(0, unknown),
        ),
        (
            "7 IN IP4 192.0.2.1",
            "7 IN IP4 host.example.com",
            origin(0, unknown),
        ),
        ("c=IN IP4 192.0.2.2", "c=IN", to(unknown)),
        ("c=IN IP4 192.0.2.2\r\n", "", to(unknown)),
        ("c=IN IP4 192.0.2.2", "c=IN IP4 localhost", to(unknown)),
        (
            "c=IN IP4 192.0.2.2",
            "c=IN IP4 192.0.2.2/127 ",
            known.clone(),
        ),
        (
            "c=IN IP4 192.0.2.2",
            "c= IN  IP6 ::ffff:192.0.2.2",
            known.clone(),
        ),
        ("t=0 0", "t", known.clone()),
        ("v=0", "SDP:\n v = 0", known.clone()),
        ("video 5004 ", "video 5004/2  ", known.clone()),
        ("rtpmap:26 JPEG", "rtpmap: 26\tJPEG", known.clone()),
        (
            "a=rtcp-mux",
            "a=rtpmap:98\na=fmtp:98\na=rtcp-mux",
            known.clone(),
        ),
        (
            "a=rtcp-mux",
            "a=extmap:x\na=rtcp-fb:26\na=rtcp-mux",
            known.clone(),
        ),
        ("AS:3000", "AS:-1", with_bandwidth(None)),
        ("AS:3000", "AS:inf", with_bandwidth(None)),
        ("AS:3000", "AS:3000.5", with_bandwidth(Some(3000.5))),
        ("b=AS:3000", "b=AS", with_bandwidth(None)),
        (
            extension,
            "a=extmap:15 urn:ietf:params:rtp-hdrext:rtt-sendts",
            without_extension.clone(),
        ),
        (
            extension,
            "a=extmap:300 urn:ietf:params:rtp-hdrext:rtt-sendts",
            without_extension,
        ),
        ("framerate:25", "framerate:0", rate(None)),
        ("framerate:25", "framerate:NaN", rate(None)),
        ("framerate:25", "framerate:1/0", rate(None)),
        ("framerate:25", "framerate:25,00", known.clone()),
        ("framerate:25", "framerate: 50/2", known.clone()),
    ] {
        let text = TEXT.replacen(from, to, 1);
        assert_ne!(text, TEXT, "{from}");
        assert_eq!(text.parse(), Ok(read), "{to}");
    }
}

#[test]
fn group_has_its_time_to_live() {
    let described = Description {
        address: Ipv4Addr::new(239, 1, 2, 3).into(),
        ttl: 16,
        ..described()
    };
    let text = described.to_string();
    assert!(text.contains("c=IN IP4 239.1.2.3/16\r\n"), "{text}");
    assert_eq!(text.parse(), Ok(described.clone()));
    // A stream's own address precedes the session's, and its first layer the others.
    let layers = "c=IN IP4 239.1.2.3/16/3\r\nc=IN IP4 239.1.2.9\r\nb=AS";
    let of_stream = TEXT.replace("b=AS", layers);
    assert_eq!(of_stream.parse(), Ok(described));
}

proptest! {
    #[test]
    fn parsing_undoes_writing(
        (session_id, v4, v6, port) in any::<(u64, u32, u128, u16)>(),
        (payload_type, clock_rate) in (96..128u8, 1..=u32::MAX),
        (name, encoding) in ("[a-zA-Z0-9]([a-zA-Z0-9 ]{0,18}[a-zA-Z0-9])?", "[A-Za-z0-9-]{1,12}"),
        parameters in proptest::option::of("[a-z0-9=:;]{1,30}"),
        extension_id in proptest::option::of(1..=14u8),
        transport_sequence_id in proptest::option::of(1..=14u8),
        repair in proptest::option::of((96..128u8, 0..1u64 << 40, any::<Option<[u32; 2]>>())),
        feedback in proptest::sample::subsequence(FeedbackMode::ALL.to_vec(), 0..=5).prop_shuffle(),
        profile in prop::sample::select(&Profile::ALL),
        (reduced_size, mux) in any::<(bool, bool)>(),
        frame_rate in proptest::option::of(0.01..1_000.0f64),
        direction in prop_oneof![
            Just(Direction::SendOnly), Just(Direction::ReceiveOnly), Just(Direction::SendReceive)],
        kbps in proptest::option::of(0..1u32 << 24),
    ) {
        let description = Description {
            session_id,
            origin: Ipv4Addr::from(v4).into(),
            name,
            address: Ipv6Addr::from(v6).into(),
            ttl: 1,
            sources: Vec::new(),
            port,
            profile,
            payload_type,
            encoding,
            clock_rate,
            parameters,
            extension_id,
            transport_sequence_id,
            repair: repair.filter(|repair| repair.0 != payload_type).map(|repair| Repair {
                payload_type: repair.0,
                window: Duration::from_micros(repair.1),
                ssrcs: repair.2,
            }),
            feedback: if profile.has_feedback() { feedback } else { Vec::new() },
            transit_bounds: profile.has_feedback() && port % 2 == 0,
            keyframe_requests: mux && profile.has_feedback(),
            reduced_size: reduced_size && profile.has_feedback(),
            mux,
            frame_rate,
            direction,
            bandwidth: kbps.map(|kbps| Rate::from_bits_per_sec(f64::from(kbps) * 1e3)),
            sender_reports: None,
            receiver_reports: kbps.map(|bits| Rate::from_bits_per_sec(f64::from(bits))),
        };
        prop_assert_eq!(description.to_string().parse(), Ok(description));
    }

    #[test]
    fn arbitrary_text_never_panics(
        lines in proptest::collection::vec("[vosctmba]=[ -~]{0,40}|a=(rtpmap|extmap|rtcp-fb):[ -~]{0,20}|\\PC{0,20}", 0..20)
    ) {
        drop(lines.join("\r\n").parse::<Description>());
    }
}

#[test]
fn sources_of_a_group_are_read_and_written() {
    let group = |sources: &[&str]| Description {
        address: "232.1.2.3".parse().unwrap(),
        ttl: 4,
        sources: sources.iter().map(|ip| ip.parse().unwrap()).collect(),
        ..described()
    };
    let described = group(&["192.0.2.7", "192.0.2.8"]);
    let text = described.to_string();
    let line = "a=source-filter: incl IN IP4 232.1.2.3 192.0.2.7 192.0.2.8\r\n";
    assert!(text.contains(line), "{text}");
    assert_eq!(text.parse(), Ok(described));
    for (other, sources) in [
        (
            "a=source-filter:incl IN IP4 * 192.0.2.7\r\n",
            &["192.0.2.7"][..],
        ),
        ("a=source-filter: excl IN IP4 * 192.0.2.7\r\n", &[]),
        ("a=source-filter: incl IN IP4 * host.example\r\n", &[]),
        ("a=source-filter: incl IN IP4\r\n", &[]),
    ] {
        assert_eq!(
            text.replace(line, other).parse(),
            Ok(group(sources)),
            "{other}"
        );
    }
}
