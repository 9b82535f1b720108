//! What an emulator tells of each packet, as files: a line an event, and a capture of every packet where it
//! enters a link and where it leaves it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use evenkeel_link::DropReason;
use evenkeel_net::{
    CapturedPacket, Clock, Direction, LinkType, PacketEvent, PacketRecord, Pcapng, Records,
};
use tfrc::time::{Duration, Instant};

/// Files that are being written.
#[derive(Debug, Default)]
pub struct PacketLog {
    lines: Option<Records<File>>,
    capture: Option<Pcapng<File>>,
}

const HEADING: &[u8] = b"time_s,direction,event,packet,size,flow,late_us,reason\n";

/// Where packets are captured.
const TAPS: [&str; 4] = ["forward-in", "forward-out", "reverse-in", "reverse-out"];

impl PacketLog {
    /// Starts the files that are wanted.
    pub fn create(
        lines: Option<&Path>,
        (capture, link_type): (Option<&Path>, LinkType),
    ) -> io::Result<Self> {
        let mut log = Self::default();
        if let Some(path) = lines {
            let mut file = Records::new(File::create(path)?);
            file.push(Duration::ZERO, HEADING)?;
            file.flush()?;
            log.lines = Some(file);
        }
        if let Some(path) = capture {
            let file = File::create(path)?;
            log.capture = Some(Pcapng::new(file, link_type, &TAPS)?);
        }
        Ok(log)
    }

    /// Writes whatever comes until nobody sends any more.
    pub fn write_all(mut self, clock: Clock, records: &Receiver<PacketRecord>) -> io::Result<()> {
        loop {
            match records.recv_timeout(Records::<File>::MAX_WAIT) {
                Ok(record) => self.write(clock, &record)?,
                Err(RecvTimeoutError::Timeout) => self.flush()?,
                Err(RecvTimeoutError::Disconnected) => return self.flush(),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.as_mut().map_or(Ok(()), Records::flush)?;
        self.capture.as_mut().map_or(Ok(()), Pcapng::flush)
    }

    fn write(&mut self, clock: Clock, record: &PacketRecord) -> io::Result<()> {
        if let Some(file) = &mut self.lines {
            let made = record.at.saturating_since(Instant::ZERO);
            file.push(made, line(record).as_bytes())?;
        }
        let (frame, is_out) = match &record.event {
            PacketEvent::Arrived { frame, .. } => (frame, false),
            PacketEvent::Departed { frame, .. } => (frame, true),
            PacketEvent::Dropped { .. } | PacketEvent::Refused => return Ok(()),
        };
        let (Some(capture), Some(frame)) = (&mut self.capture, frame) else {
            return Ok(());
        };
        let tap = 2 * record.direction as u32 + u32::from(is_out);
        capture.packet(&CapturedPacket {
            interface: tap,
            at: clock.unix_time(record.at),
            bytes: frame,
            length: frame.len(),
            comment: None,
        })
    }
}

fn line(record: &PacketRecord) -> String {
    let direction = match record.direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
    };
    let number = record.number;
    let rest = match &record.event {
        PacketEvent::Arrived { flow, size, .. } => {
            format!("enqueue,{number},{},{flow},,", size.get())
        }
        PacketEvent::Dropped { reason } => format!("drop,{number},,,,{}", name(*reason)),
        PacketEvent::Departed { due, .. } => {
            let late = record.at.saturating_since(*due).as_secs_f64() * 1e6;
            format!("depart,{number},,,{late:.1},")
        }
        PacketEvent::Refused => format!("refuse,{number},,,,"),
    };
    format!("{:.9},{direction},{rest}\n", record.at.as_secs_f64())
}

fn name(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Loss => "loss",
        DropReason::QueueFull => "queue-full",
        DropReason::Early => "early",
        DropReason::Capacity => "capacity",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_net::Flow;
    use tfrc::units::Bytes;

    fn record(event: PacketEvent) -> PacketRecord {
        PacketRecord {
            at: Instant::from_millis(1_500),
            direction: Direction::Reverse,
            number: 7,
            event,
        }
    }

    #[test]
    fn each_event_is_a_line_with_the_columns_that_it_has() {
        let flow = Flow {
            protocol: 6,
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            source_port: 80,
            destination_port: 9,
        };
        let (size, frame) = (Bytes::new(1_470), None);
        let due = Instant::from_millis(1_500) - Duration::from_micros(20);
        let reason = DropReason::QueueFull;
        let lines = [
            PacketEvent::Arrived { flow, size, frame },
            PacketEvent::Dropped { reason },
            PacketEvent::Departed { due, frame: None },
            PacketEvent::Refused,
        ]
        .map(|event| line(&record(event)));
        assert_eq!(
            lines,
            [
                "1.500000000,reverse,enqueue,7,1470,tcp 10.0.0.1:80 10.0.0.2:9,,\n",
                "1.500000000,reverse,drop,7,,,,queue-full\n",
                "1.500000000,reverse,depart,7,,,20.0,\n",
                "1.500000000,reverse,refuse,7,,,,\n",
            ]
        );
    }
}
