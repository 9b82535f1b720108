//! RTCP: compounds, reduced-size packets, and what they hold.

use evenkeel_rtp::packet::rtcp::sack::{self, Sack};
use evenkeel_rtp::packet::rtcp::twcc::Twcc;
use evenkeel_rtp::packet::rtcp::{
    App, Bye, Feedback, KeyframeRequest, Packet, Packets, ReportBlock, TfrcApp, TfrcFeedback, ccfb,
    sdes,
};

/// Reads every packet of a datagram; what reads well must survive being written and read.
pub fn check(data: &[u8]) {
    let Ok(packets) = Packets::parse(data) else {
        return;
    };
    let _ = packets.is_compound();
    let mut buf = vec![0; data.len() + 512];
    for packet in packets {
        match packet {
            Ok(Packet::SenderReport(report, blocks)) => {
                let blocks: Vec<ReportBlock> = blocks.collect();
                let len = report
                    .emit(&blocks, &mut buf)
                    .expect("it was read from less");
                let Packet::SenderReport(again, read) = only(&buf[..len]) else {
                    panic!("a sender report reads as another packet");
                };
                assert_eq!((again, read.collect::<Vec<_>>()), (report, blocks));
            }
            Ok(Packet::ReceiverReport(report, blocks)) => {
                let blocks: Vec<ReportBlock> = blocks.collect();
                let len = report
                    .emit(&blocks, &mut buf)
                    .expect("it was read from less");
                let Packet::ReceiverReport(again, read) = only(&buf[..len]) else {
                    panic!("a receiver report reads as another packet");
                };
                assert_eq!((again, read.collect::<Vec<_>>()), (report, blocks));
            }
            Ok(Packet::Sdes(sdes)) => check_names(&sdes, &mut buf),
            Ok(Packet::Bye(bye)) => {
                for ssrc in bye.sources() {
                    let len = Bye::emit(ssrc, &mut buf).expect("a BYE has eight bytes");
                    let Packet::Bye(again) = only(&buf[..len]) else {
                        panic!("a BYE reads as another packet");
                    };
                    assert!(again.sources().eq([ssrc]) && again.reason.is_none());
                }
            }
            Ok(Packet::Application(app)) => {
                check_vector(&app, &mut buf);
                check_told(&app, &mut buf);
            }
            Ok(Packet::Feedback(feedback)) => {
                check_arrivals(&feedback);
                let Ok(tfrc) = TfrcFeedback::parse(feedback.fci) else {
                    continue;
                };
                check_units(&tfrc);
                let (sender, media) = (feedback.sender_ssrc, feedback.media_ssrc);
                let len = tfrc.emit(feedback.format, sender, media, &mut buf);
                let len = len.expect("it was read from as much");
                let Packet::Feedback(again) = only(&buf[..len]) else {
                    panic!("feedback reads as another packet");
                };
                assert_eq!(again, feedback);
            }
            Ok(Packet::PayloadFeedback(feedback)) => {
                let found = KeyframeRequest::find(&feedback, feedback.media_ssrc);
                if let Some(request) = found {
                    let again = request.emit(feedback.sender_ssrc, feedback.media_ssrc, &mut buf);
                    assert!(again.is_some());
                }
            }
            Ok(Packet::Unknown(_)) | Err(_) => {}
        }
    }
}

/// Whatever its format is said to be, it is read as both that tell arrivals.
fn check_arrivals(feedback: &Feedback<'_>) {
    let bytes = feedback.fci.len();
    if let Ok(Some(block)) = ccfb::parse(feedback, feedback.media_ssrc) {
        assert!(block.statuses().count() * 2 <= bytes);
    }
    if let Ok(twcc) = Twcc::parse(feedback.fci) {
        assert_eq!(twcc.statuses().count(), usize::from(twcc.count));
        let _ = twcc.header();
    }
}

fn check_vector(app: &App<'_>, buf: &mut [u8]) {
    let Ok(sack) = Sack::parse(app) else {
        return;
    };
    let received: Vec<bool> = sack.received().collect();
    let ssrcs = (app.ssrc, sack.media_ssrc);
    let bits = sack::bits_of(received.iter().copied());
    let len = sack::emit(ssrcs, &sack.vector, received.len(), bits, buf);
    let len = len.expect("it was read from as much");
    let Packet::Application(again) = only(&buf[..len]) else {
        panic!("a vector reads as another packet");
    };
    let again = Sack::parse(&again).expect("what we write, we read");
    assert_eq!(
        (again.media_ssrc, again.vector),
        (sack.media_ssrc, sack.vector)
    );
    assert!(again.received().eq(received));
}

fn check_told(app: &App<'_>, buf: &mut [u8]) {
    let Ok(Some(told)) = TfrcApp::parse(app) else {
        return;
    };
    if let TfrcApp::Reception(told) = told {
        let own = told.about(0);
        assert!((0.0..=1.0).contains(&own.p().get()) && own.rate().is_finite());
    }
    let len = told.emit(app.ssrc, buf).expect("it was read from as much");
    let Packet::Application(again) = only(&buf[..len]) else {
        panic!("an APP packet reads as another");
    };
    assert_eq!((again.ssrc, again.data), (app.ssrc, app.data));
    assert_eq!(TfrcApp::parse(&again), Ok(Some(told)));
}

/// What was written, which is one packet.
fn only(datagram: &[u8]) -> Packet<'_> {
    let mut packets = Packets::parse(datagram).expect("what we write, we read");
    let packet = packets
        .next()
        .expect("it was not empty")
        .expect("what we write, we read");
    assert!(packets.next().is_none(), "one packet reads as two");
    packet
}

fn check_names(sdes: &sdes::Sdes<'_>, buf: &mut [u8]) {
    for chunk in sdes.chunks() {
        for item in chunk.items() {
            let Ok(name) = str::from_utf8(item.text) else {
                continue;
            };
            let len = sdes::emit_cname(chunk.ssrc, name, buf).expect("names have 255 bytes");
            assert_eq!(len, sdes::cname_len(name));
            let Packet::Sdes(again) = only(&buf[..len]) else {
                panic!("a source description reads as another packet");
            };
            let chunk = again.chunks().next().expect("one chunk was written");
            assert!(chunk.items().eq([sdes::Item {
                kind: sdes::CNAME,
                text: item.text
            }]));
        }
    }
}

/// The wire's units become ours and the same again; p may rise by the last bit, never fall.
fn check_units(tfrc: &TfrcFeedback) {
    assert!((0.0..=1.0).contains(&tfrc.p().get()) && tfrc.rate().is_finite());
    let again = TfrcFeedback::new(tfrc.timestamp, tfrc.delay(), tfrc.rate(), tfrc.p());
    assert_eq!(
        (again.timestamp, again.delay_micros, again.receive_rate),
        (tfrc.timestamp, tfrc.delay_micros, tfrc.receive_rate)
    );
    assert!(again.loss_event_rate.abs_diff(tfrc.loss_event_rate) <= 1);
}
