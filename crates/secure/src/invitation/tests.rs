//! Tests of invitations.

use std::time::{Duration, SystemTime};

use super::*;

const NOW: Duration = Duration::from_secs(1_800_000_000);

fn identity() -> Identity {
    Identity::generate(SystemTime::UNIX_EPOCH + NOW).unwrap()
}

fn candidates() -> Vec<Candidate> {
    let [v4, v6, public] = ["192.0.2.7:5004", "[2001:db8::7]:5004", "198.51.100.1:40000"]
        .map(|text| text.parse().unwrap());
    vec![
        Candidate::host(v4, "udp").unwrap(),
        Candidate::host(v6, "udp").unwrap(),
        Candidate::server_reflexive(public, v4, "udp").unwrap(),
        Candidate::relayed(public, v4, "udp").unwrap(),
    ]
}

#[test]
fn invitation_is_read_as_it_is_written_and_fits_a_line() {
    for purpose in [Purpose::Call, Purpose::Send, Purpose::Receive] {
        let made = Invitation::new(purpose, &identity())
            .unwrap()
            .at(&candidates());
        let text = made.to_string();
        assert!(text.len() <= 160, "{}", text.len());
        let read: Invitation = format!(" {text}\n").parse().unwrap();
        assert_eq!(read.to_string(), text);
        assert_eq!(read.purpose(), purpose);
        assert!(read.addresses().eq(made.addresses()));
        let kinds = read.candidates.iter().map(Candidate::kind);
        assert!(kinds.eq(candidates().iter().map(Candidate::kind)));
    }
}

#[test]
fn each_end_knows_the_other() {
    let own = identity();
    let made = Invitation::new(Purpose::Call, &own)
        .unwrap()
        .at(&candidates());
    let inviter = made.for_inviter(own.clone(), candidates()).unwrap();
    let read: Invitation = made.to_string().parse().unwrap();
    let joiner = read.for_joiner(vec![]).unwrap();
    assert_eq!(joiner.peer_fingerprint, own.fingerprint());
    assert_eq!(inviter.peer_fingerprint, joiner.identity.fingerprint());
    assert_eq!(inviter.credentials, joiner.peer_credentials);
    assert_eq!(joiner.credentials, inviter.peer_credentials);
    assert_ne!(joiner.credentials, inviter.credentials);
    assert_eq!([inviter.role, joiner.role], [Role::Server, Role::Client]);
    // Another secret gives another joiner.
    let another = Invitation::new(Purpose::Call, &own)
        .unwrap()
        .at(&candidates());
    let another = another.for_joiner(vec![]).unwrap();
    assert_ne!(another.identity.fingerprint(), inviter.peer_fingerprint);
    assert_ne!(another.credentials, joiner.credentials);
}

/// Two versions of this program must derive one certificate, or they do not know each other.
#[test]
fn joiner_of_a_secret_is_known_in_each_version() {
    let invitation = Invitation {
        purpose: Purpose::Call,
        candidates: vec![],
        fingerprint: [1; 32].into(),
        secret: Zeroizing::new(*b"sixteen unguessd"),
        rendezvous: None,
    };
    let joiner = invitation.for_joiner(vec![]).unwrap();
    let derived = [
        joiner.identity.fingerprint().to_string(),
        joiner.credentials.ufrag,
        joiner.credentials.pass,
        invitation.to_string(),
    ];
    let expected = [
        "AE:8D:A0:48:7B:B1:FF:8C:94:94:4A:9F:61:60:A5:AF:38:03:69:DB:42:B8:8B:A0:14:2F:12:72:B5:12:B0:17",
        "hKC6Ome7",
        "P7r1GIdq8KsKcPjXjnZFn7LgQL2ba7vf",
        "evenkeel:AQBzaXh0ZWVuIHVuZ3Vlc3NkAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQHdyTv1",
    ];
    assert_eq!(derived, expected);
}

#[test]
fn damaged_invitation_is_refused() {
    let made = Invitation::new(Purpose::Call, &identity())
        .unwrap()
        .at(&candidates());
    let text = made.to_string();
    let parse = |text: &str| text.parse::<Invitation>().map(drop);
    for cut in SCHEME.len()..text.len() {
        assert_eq!(parse(&text[..cut]), Err(InvitationError::Damaged), "{cut}");
    }
    for at in SCHEME.len()..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert_eq!(parse(&changed), Err(InvitationError::Damaged), "{at}");
    }
    for text in ["", "192.0.2.7:5004", "https://example.org"] {
        assert_eq!(parse(text), Err(InvitationError::NoScheme));
    }
    for text in [
        format!("{text}{text}"),
        "evenkeel:é".into(),
        "A".repeat(1 << 20),
    ] {
        assert!(parse(&text).is_err());
    }
}

#[test]
fn well_summed_nonsense_is_refused() {
    let encode = |mut bytes: Vec<u8>| {
        bytes.extend(checksum(&bytes));
        let text = format!("{SCHEME}{}", Base64UrlUnpadded::encode_string(&bytes));
        text.parse::<Invitation>().map(drop)
    };
    let mut body = vec![VERSION, 0];
    body.extend([7; SECRET_LEN + FINGERPRINT_LEN]);
    assert_eq!(encode(body.clone()), Ok(()));
    let with = |at: usize, value: u8| {
        let mut body = body.clone();
        body[at] = value;
        body
    };
    assert_eq!(encode(with(0, 2)), Err(InvitationError::Version(2)));
    assert_eq!(encode(with(1, 9)), Err(InvitationError::Damaged));
    for tail in [
        &[4, 1, 2, 3, 4, 5][..],
        &[5; 7],
        &[0x34, 1, 2, 3, 4, 5, 6],
        &[6; 18],
        &[RENDEZVOUS_TAG],
        &[RENDEZVOUS_TAG, b'x'],
        &[RENDEZVOUS_TAG, 0xff],
        &[9; 7],
    ] {
        let body = [&body[..], tail].concat();
        assert_eq!(encode(body), Err(InvitationError::Damaged), "{tail:?}");
    }
    assert_eq!(encode(vec![]), Err(InvitationError::Damaged));
}

#[test]
fn reply_is_read_as_it_is_written() {
    let reply = Reply(candidates());
    let text = reply.to_string();
    let read: Reply = text.parse().unwrap();
    assert_eq!(read.to_string(), text);
    assert_eq!(read.0.len(), reply.0.len());
    let many = Reply(vec![reply.0[0].clone(); 100]);
    assert_eq!(
        many.to_string().parse::<Reply>().unwrap().0.len(),
        MAX_ADDRESSES
    );
    assert!(text[..text.len() - 1].parse::<Reply>().is_err());
    let invitation = Invitation::new(Purpose::Call, &identity()).unwrap();
    assert!(invitation.to_string().parse::<Reply>().is_err());
}

#[test]
fn longest_invitation_with_rendezvous_is_read() {
    let host = "a".repeat(RendezvousUrl::MAX_LEN - "https://".len());
    let url: RendezvousUrl = format!("https://{host}").parse().unwrap();
    let v6 = candidates()[1].clone();
    let made = Invitation::new(Purpose::Call, &identity()).unwrap();
    let made = made.at(&vec![v6; MAX_ADDRESSES]).by(url.clone());
    let read: Invitation = made.to_string().parse().unwrap();
    assert_eq!(read.rendezvous(), Some(&url));
    assert_eq!(read.addresses().count(), MAX_ADDRESSES);
    assert_eq!(read.mailbox().name(), made.mailbox().name());
}
