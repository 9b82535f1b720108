//! Offers that are wrong, absurd or made to cost much: one clear line, and nothing else.

use proptest::prelude::*;

use super::*;

#[test]
fn refusals_name_line_value_and_remedy() {
    struct Row {
        from: &'static str,
        to: &'static str,
        says: &'static str,
    }
    let row = |from, to, says| Row { from, to, says };
    let rows = [
        row("v=0", "v=1", "line 1: version \"1\" is invalid; write v=0"),
        row(
            "m=video 9",
            "m=video 70000",
            "line 35: port \"70000\" is invalid",
        ),
        row(
            "m=video 9 UDP/TLS/RTP/SAVPF",
            "m=video",
            "line 35: profile \"97\" is invalid",
        ),
        row(
            "m=video 9 UDP/TLS/RTP/SAVPF",
            "m=video 9 RTP/AVP",
            "write UDP/TLS/RTP/SAVPF",
        ),
        row("a=mid:1", "a=mid:0", "line 44: mid \"0\" is invalid"),
        row(
            "a=setup:actpass",
            "a=setup:passive",
            "setup \"passive\" is invalid",
        ),
        row(
            "a=setup:actpass",
            "a=setup:holdconn",
            "line 15: setup \"holdconn\"",
        ),
        row("a=rtcp-mux", "", "add a=rtcp-mux"),
        row("H264/90000", "H265/90000", "packetization-mode=1"),
        row(
            "packetization-mode=1",
            "packetization-mode=0",
            "packetization-mode=1",
        ),
        row("a=sendrecv", "a=inactive", "let video be active"),
        row(
            "a=ice-ufrag:Cx8p",
            "a=ice-ufrag:Cx8",
            "line 11: ice-ufrag \"of 3 bytes\"",
        ),
        row("a=ice-ufrag:Cx8p", "", "no a=ice-ufrag"),
        row("a=ice-pwd:Zk0wHqSxvP7uV2n4bQmR3tYd", "", "no a=ice-pwd"),
        row(
            "a=fingerprint:sha-256",
            "a=fingerprint:sha-1",
            "no a=fingerprint of sha-256",
        ),
        row("m=video", "m=image", "no video stream"),
        row("a=rtcp-mux", "a=ice-lite\na=rtcp-mux", "offer full ICE"),
    ];
    for row in rows {
        let said = refusal(&CHROMIUM.replace(row.from, row.to));
        assert!(said.contains(row.says), "{}: {said}", row.to);
        assert!(!said.contains('\n') && said.len() < 300);
    }
    assert_eq!(refusal(""), "the description has no m= line");
}

#[test]
fn password_is_in_no_debug_text() {
    let shown = format!(
        "{:?} {:?} {:?}",
        parsed(CHROMIUM),
        answer(CHROMIUM),
        local()
    );
    assert!(shown.contains("Cx8p"));
    assert!(!shown.contains("Zk0wHqSxvP7uV2n4bQmR3tYd") && !shown.contains("0123456789abcd"));
}

#[test]
fn numbers_of_everything_are_bounded() {
    let long = "a=x\n".repeat(MAX_SESSION_LEN / 4 + 1);
    assert_eq!(
        RemoteDescription::parse(&long),
        Err(SdpError::TooLong(MAX_SESSION_LEN))
    );
    let many = CHROMIUM.to_owned() + &"m=video 0 UDP/TLS/RTP/SAVPF 96\n".repeat(30);
    assert_eq!(answer(&many).text.matches("\r\nm=").count(), 32);
    assert!(refusal(&(many + "m=video 0 UDP/TLS/RTP/SAVPF 96\n")).contains("at most 32"));
    let candidates: Vec<_> = (0..1_000)
        .map(|n| format!("a=candidate:{n} 1 udp 1 192.0.2.1 9 typ host"))
        .collect();
    let many = CHROMIUM.to_owned() + &candidates.join("\n");
    assert_eq!(answer(&many).peer.candidates.len(), MAX_CANDIDATES);
    let all: Vec<_> = (0..256).map(|n| n.to_string()).collect();
    let many = CHROMIUM.replace("SAVPF 96", &format!("SAVPF {0} {0} 96", all.join(" ")));
    assert_eq!(parsed(&many).sections[1].formats.len(), 96);
}

#[test]
fn answer_repeats_nothing_that_breaks_a_line() {
    for evil in ["a=mid:1\rX", "a=mid:1 2", "a=mid:", "a=mid:1\u{85}X"] {
        assert!(
            refusal(&CHROMIUM.replace("a=mid:1", evil)).contains("mid"),
            "{evil:?}"
        );
    }
    let evil = CHROMIUM.to_owned() + "m=x\u{b}y 9 UDP/DTLS/SCTP z\n";
    assert!(refusal(&evil).contains("m="));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,400}") {
        let _ = RemoteDescription::parse(&text);
        let _ = IceFragment::parse(&text);
    }

    /// Lines of a real offer left out, doubled and in another order.
    #[test]
    fn any_lines_of_an_offer_are_answered_or_refused(
        lines in prop::collection::vec(prop::sample::select(CHROMIUM.lines().collect::<Vec<_>>()), 0..120),
    ) {
        let Ok(offer) = RemoteDescription::parse(&lines.join("\n")) else { return Ok(()) };
        if let Ok(answer) = Answer::new(&offer, &local()) {
            let own = RemoteDescription::parse(&answer.text);
            prop_assert_eq!(own.map(|own| own.sections.len()), Ok(offer.sections.len()));
        }
    }
}
