//! Writes the seeds that our own writers make: `cargo run --example seeds`. The others were written by
//! hand (`sdp`, `path`, `h264_payload`), copied from `experiments`, or found by the fuzzer (`found-*`: the longest of a minimal cover of its corpus).

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use evenkeel_codec::Codec;
use evenkeel_codec::dif::{BLOCK, System};
use evenkeel_codec::mjpeg::{Scale, encode, jfif};
use evenkeel_codec::picture::{CodedPicture, JpegImage, Picture, RawPicture};
use evenkeel_codec::sink::{Sink, Y4mFile};
use evenkeel_codec::source::{Format, FrameRate, Source as _};
use evenkeel_codec::test_support::{dv_frame, frame_target, scene};
use evenkeel_fuzz::h264_payload::{self, packet as packet_of};
use evenkeel_media::frame::EncodedFrame;
use evenkeel_media::packetize::Packetizer;
use evenkeel_perf::control::{self, ClientMessage, ServerMessage, Tagged};
use evenkeel_perf::{Count, Direction, Mode as PerfMode, ReportTiming, Terms};
use evenkeel_rtp::ntp::NtpTime;
use evenkeel_rtp::packet::ext::{Element, RttSendTs};
use evenkeel_rtp::packet::flexfec::Encoder;
use evenkeel_rtp::packet::rtcp::tfrc_app::Reception;
use evenkeel_rtp::packet::rtcp::{
    Bye, ReceiverReport, ReportBlock, SenderReport, TfrcApp, TfrcFeedback, ccfb, sack, sdes, twcc,
};
use evenkeel_rtp::packet::rtp::RtpHeader;
use evenkeel_rtp::session::FeedbackMode;
use evenkeel_vod::TS_LEN;
use tfrc::Ecn;
use tfrc::sent_packets::AckVector;
use tfrc::time::Instant;
use tfrc::units::{LossEventRate, Rate};

const SSRC: u32 = 0x1234_5678;

fn main() -> io::Result<()> {
    let image = image();
    let payloads = payloads(image.clone().into());
    for (index, payload) in payloads.iter().enumerate() {
        write("jpeg_payload", &format!("packet-{index}"), payload)?;
    }
    for (index, payload) in self::payloads(uncompressed()).iter().enumerate() {
        write("raw_payload", &format!("packet-{index}"), payload)?;
    }
    write("dv_payload", "packet", &dv_packet())?;
    write("rtp", "media", &packet(&payloads[0]))?;
    write("rtp", "padding-and-two-byte-extension", &foreign_packet())?;
    for (name, bytes) in control() {
        write("rtcp", name, &bytes)?;
    }
    write("h264_payload", "repaired-stream", &repaired_stream())?;
    write("flexfec", "block", &repaired_block())?;
    for (name, message) in perf_messages() {
        write("perf", name, &message)?;
    }
    write("dtls", "handshake", &handshake())?;
    write(
        "srtp",
        "rtp",
        &[&[3, 4], &packet(&payloads[0])[..]].concat(),
    )?;
    write("srtp", "rtcp", &[&[9, 1], &control()[0].1[..]].concat())?;
    for (name, record) in stun() {
        write("stun", name, &record)?;
    }
    write("files", "picture.jpg", &jfif::write(&image))?;
    write("files", "pictures.y4m", &pictures()?)?;
    write("files", "title.ts", &title())
}

fn write(target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}

/// Two ends of DTLS that hear all of each other, but for a datagram that is repeated and one that is bent.
fn handshake() -> Vec<u8> {
    let deliver = |to: u8| [to, 5, 0, 0];
    let mut steps: Vec<u8> = [deliver(1), deliver(0)].concat().repeat(12);
    steps.extend([2, 0, 0, 0, 4, 0, 0, 2, 30, 1]);
    steps.extend([deliver(1), deliver(0)].concat().repeat(12));
    steps
}

/// STUN to an end: from its servers a mapped address and a demand for credentials, from a peer a request without keys.
fn stun() -> [(&'static str, Vec<u8>); 3] {
    const HEADER: [u8; 16] = [
        0x21, 0x12, 0xA4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
    ];
    let message = |kind: [u8; 2], attributes: &[u8]| {
        let len = u16::try_from(attributes.len()).expect("a short message");
        [&kind, &len.to_be_bytes(), &HEADER[..], attributes].concat()
    };
    let record = |from: u8, message: &[u8]| {
        let len = u16::try_from(message.len()).expect("a short message");
        [&[from, 4], &len.to_be_bytes(), message].concat()
    };
    let mapped = [0, 0x20, 0, 8, 0, 1, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66];
    let mut unauthorized = vec![0, 9, 0, 4, 0, 0, 4, 1];
    unauthorized.extend(*b"\x00\x14\x00\x04test\x00\x15\x00\x08nonce-01");
    let request = *b"\x00\x06\x00\x09here:peer\0\0\0\x00\x24\x00\x04\x01\x02\x03\x04";
    let integrity = [&[0, 8, 0, 20][..], &[7; 20]].concat();
    [
        ("mapped", record(1, &message([1, 1], &mapped))),
        (
            "unauthorized",
            record(1, &message([1, 0x13], &unauthorized)).repeat(2),
        ),
        (
            "request",
            record(0, &message([0, 1], &[&request[..], &integrity].concat())),
        ),
    ]
}

/// MPEG-TS of a second: a clock reference every tenth, and four tables with pictures that depend on none before.
fn title() -> Vec<u8> {
    const PICTURES: u16 = 0x100;
    let mut packets: Vec<[u8; TS_LEN]> = Vec::new();
    let mut add = |pid: u16, field: &[u8]| {
        let counter = packets
            .iter()
            .filter(|packet| packet[1..3] == pid.to_be_bytes())
            .count();
        let mut packet = [0xff; TS_LEN];
        packet[0] = 0x47;
        packet[1..3].copy_from_slice(&pid.to_be_bytes());
        // With a payload, and with an adaptation field if there is one.
        packet[3] = 0x10 | (u8::from(!field.is_empty()) << 5) | (counter % 16) as u8;
        packet[4..4 + field.len()].copy_from_slice(field);
        packets.push(packet);
    };
    for tenth in 0..11_u64 {
        let is_entry = tenth % 3 == 0;
        if is_entry {
            add(0, &[]);
        }
        // Its length, the flags, 33 bits of 90 kHz, six that are reserved and nine of 27 MHz.
        let clock = ((9_000 * (tenth + 7)) << 15).to_be_bytes();
        let flags = if is_entry { 0x50 } else { 0x10 };
        add(PICTURES, &[&[7, flags], &clock[2..]].concat());
        add(PICTURES, &[]);
    }
    packets.concat()
}

/// Steps of `h264_payload`: three pictures, one packet of each of which a repair packet gives back.
fn repaired_stream() -> Vec<u8> {
    let mut coder = Codec::H264.encoder(Duration::from_millis(40));
    let mut packetizer = Packetizer::new(100);
    let mut scene = scene((64, 48), 25);
    let mut steps = Vec::new();
    let mut step = |what: u8, bytes: &[u8]| {
        steps.push(what);
        steps.extend((bytes.len() as u16).to_be_bytes());
        steps.extend(bytes);
    };
    let mut sequence = 0;
    for timestamp in 0..3 {
        let picture = scene.next().expect("endless").expect("endless");
        let coded = coder
            .encode(&picture, &frame_target(400, 25.0))
            .expect("a possible size");
        let frame = EncodedFrame {
            captured: Instant::ZERO,
            timestamp,
            picture: coded.expect("room for it").picture,
        };
        let frame = packetizer.packetize(frame).expect("well formed");
        let mut encoder = Encoder::default();
        for index in 0..frame.packets() {
            let mut payload = Vec::new();
            frame.write(index, 0, &mut payload);
            let marker = index + 1 == frame.packets();
            encoder.push(sequence, &packet_of(sequence, timestamp, marker, &payload));
            let lost = u8::from(index == 1) * h264_payload::LOST;
            step((u8::from(marker) * h264_payload::MARKER) | lost, &payload);
            sequence += 1;
        }
        encoder.plan(1);
        let mut repair = Vec::new();
        encoder.write(&mut repair);
        step(h264_payload::REPAIR | h264_payload::TAKE, &repair);
    }
    steps
}

/// Steps of `flexfec`: a block of which one packet is lost, and its repair packet.
fn repaired_block() -> Vec<u8> {
    let mut encoder = Encoder::default();
    let mut steps = Vec::new();
    for sequence in 0..4u16 {
        let header = RtpHeader {
            payload_type: 26,
            marker: sequence == 3,
            sequence,
            timestamp: 3_600,
            ssrc: SSRC,
        };
        let mut packet = [0x5a; 40];
        header.emit(&[], &mut packet).expect("it fits");
        encoder.push(sequence, &packet);
        if sequence != 2 {
            steps.extend([
                u8::from(sequence > 0) * 2 * (1 + u8::from(sequence == 3)),
                40,
            ]);
            steps.extend(packet);
        }
    }
    encoder.plan(1);
    let mut repair = Vec::new();
    encoder.write(&mut repair);
    steps.extend([1, repair.len() as u8]);
    steps.extend(repair);
    steps
}

/// What a client and a server of the traffic generator say.
fn perf_messages() -> Vec<(&'static str, Vec<u8>)> {
    let terms = Terms {
        direction: Direction::Reverse,
        flows: 2,
        rate: Some(Rate::from_bits_per_sec(1e5)),
        duration: Duration::from_secs(5),
        length: 1_400,
        segment_size: 1_400,
        mode: PerfMode::Rfc5348,
        feedback: FeedbackMode::Tfrc,
        ecn: true,
        burst: Duration::from_micros(250),
        min_nofeedback: Duration::from_millis(20),
        reports: ReportTiming::default(),
    };
    let mut buf = [0; control::MAX_LEN];
    let request = Tagged {
        nonce: 1,
        message: ClientMessage::Request { token: 2, terms },
    };
    let asked = request
        .emit(&mut buf)
        .expect("the buffer takes every message");
    let request = buf[..asked].to_vec();
    let results = Tagged {
        nonce: 1,
        message: ServerMessage::Results {
            test: 1,
            flow: 0,
            counts: vec![Count::default(); 2],
        },
    };
    let told = results
        .emit(&mut buf)
        .expect("the buffer takes every message");
    vec![("request", request), ("results", buf[..told].to_vec())]
}

/// 32 x 32 with something in every block.
fn picture() -> Picture {
    let samples = Picture::samples(32, 32);
    let data = (0..samples).map(|i| (i * i / 7) as u8).collect();
    Picture::from_data(32, 32, data).expect("it has as many samples as it should")
}

fn image() -> JpegImage {
    encode(&picture(), Scale::from_quality(30.0)).expect("the size is allowed")
}

/// 16 x 6, the size that the target expects.
fn uncompressed() -> CodedPicture {
    CodedPicture::Raw(RawPicture {
        width: 16,
        height: 6,
        data: (0..192).collect(),
        missing: Vec::new(),
    })
}

/// A packet of the first blocks of a frame, as a payload.
fn dv_packet() -> Vec<u8> {
    dv_frame(System::Lines525, 0).data[..14 * BLOCK].to_vec()
}

fn payloads(picture: CodedPicture) -> Vec<Vec<u8>> {
    let frame = EncodedFrame {
        captured: Instant::ZERO,
        timestamp: 0,
        picture,
    };
    let packets = Packetizer::new(300)
        .packetize(frame)
        .expect("the frame can be cut");
    let payload = |index| {
        let mut payload = Vec::new();
        packets.write(index, 0, &mut payload);
        payload
    };
    (0..packets.packets()).map(payload).collect()
}

fn packet(payload: &[u8]) -> Vec<u8> {
    let timing = RttSendTs::new(Some(Duration::from_millis(60)), 123_456).to_bytes();
    let header = RtpHeader {
        payload_type: 26,
        marker: true,
        sequence: 65_535,
        timestamp: 90_000,
        ssrc: SSRC,
    };
    let mut buf = vec![0; 64];
    let element = Element {
        id: 1,
        data: &timing,
    };
    let len = header
        .emit(&[element], &mut buf)
        .expect("the buffer is large enough");
    buf.truncate(len);
    buf.extend(payload);
    buf
}

/// A CSRC, an extension of the two-byte form and padding: what we read, but never write.
fn foreign_packet() -> Vec<u8> {
    let mut packet = vec![0xb1, 26, 0, 1];
    packet.extend([0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4]);
    packet.extend([0x10, 0, 0, 2, 1, 3, b'a', b'b', b'c', 2, 0, 0]);
    packet.extend([1, 2, 3, 0, 0, 3]);
    packet
}

/// Something that writes a packet into a buffer and gives its length.
type Write<'a> = &'a dyn Fn(&mut [u8]) -> Option<usize>;

fn control() -> [(&'static str, Vec<u8>); 8] {
    let mut buf = [0; 512];
    let block = ReportBlock {
        ssrc: SSRC,
        fraction_lost: 12,
        cumulative_lost: -3,
        highest_sequence: 0x0001_0002,
        jitter: 90,
        last_sender_report: 0x8000_0000,
        delay_since: 65_536,
    };
    let zero = NtpTime::from_unix(Duration::from_secs(1));
    let report = SenderReport {
        ssrc: SSRC,
        ntp: zero,
        timestamp: 90_000,
        packets: 100,
        bytes: 100_000,
    };
    let p = LossEventRate::new(0.01);
    let rate = Rate::from_bits_per_sec(2e6);
    let tfrc = TfrcFeedback::new(123_456, Duration::from_millis(2), rate, p);
    let mut join = |parts: &[Write<'_>]| {
        let mut datagram = Vec::new();
        for part in parts {
            let len = part(&mut buf).expect("the buffer is large enough");
            datagram.extend_from_slice(&buf[..len]);
        }
        datagram
    };
    let sender: Write<'_> = &|buf: &mut [u8]| report.emit(&[block], buf);
    let receiver: Write<'_> = &|buf: &mut [u8]| ReceiverReport { ssrc: SSRC }.emit(&[block], buf);
    let name: Write<'_> = &|buf: &mut [u8]| sdes::emit_cname(SSRC, "someone@example.org", buf);
    let feedback: Write<'_> = &|buf: &mut [u8]| tfrc.emit(2, SSRC, SSRC + 1, buf);
    let bye: Write<'_> = &|buf: &mut [u8]| Bye::emit(SSRC, buf);
    let ssrcs = (SSRC, SSRC + 1);
    let arrivals = (0..20u32).map(|n| (n % 7 != 3).then(|| Instant::from_millis((n * n).into())));
    let times = arrivals
        .clone()
        .map(|at| at.map(|at| (zero.at(at), Ecn::Ect0)));
    let made_at = zero.at(Instant::from_millis(500));
    let block: Write<'_> = &|buf: &mut [u8]| ccfb::emit(ssrcs, 65_530, times.clone(), made_at, buf);
    let transport: Write<'_> =
        &|buf: &mut [u8]| twcc::emit(ssrcs, 65_530, arrivals.clone(), 3, buf);
    let vector = AckVector {
        first: 65_530,
        receive_rate: rate,
        delay: Duration::from_millis(2),
    };
    let received = arrivals.clone().map(|at| at.is_some());
    let sack: Write<'_> = &|buf: &mut [u8]| {
        let bits = sack::bits_of(received.clone());
        sack::emit(ssrcs, &vector, received.len(), bits, buf)
    };
    let round_trip = TfrcApp::round_trip(Some(Duration::from_millis(132)));
    let round_trip: Write<'_> = &|buf: &mut [u8]| round_trip.emit(SSRC, buf);
    let told = TfrcApp::Reception(Reception::new(ssrcs.1, Duration::from_millis(2), rate, p));
    let told: Write<'_> = &|buf: &mut [u8]| told.emit(SSRC, buf);
    [
        ("sender-report", join(&[sender, name])),
        ("receiver-report", join(&[receiver, name, feedback])),
        ("feedback", join(&[feedback])),
        ("bye", join(&[receiver, name, bye])),
        ("ccfb", join(&[receiver, name, block])),
        ("twcc", join(&[transport])),
        ("sack", join(&[sack])),
        ("app", join(&[sender, name, round_trip, told])),
    ]
}

fn pictures() -> io::Result<Vec<u8>> {
    let format = Format {
        width: 32,
        height: 32,
        frame_rate: FrameRate::new(25, 1).expect("25 is a rate"),
    };
    let mut file = Vec::new();
    let mut sink = Y4mFile::new(&mut file, format)?;
    sink.show(&picture())?;
    sink.finish()?;
    drop(sink);
    Ok(file)
}
