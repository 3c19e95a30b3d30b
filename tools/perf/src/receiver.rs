//! The receiving side of a test.

use std::time::Duration;

use tresse::{Message, SendOptions, StreamId};

use super::clock;
use super::figures::{Durations, Volume};
use super::monitor::{Monitor, Role, Tally};
use super::outcome::Failure;
use super::payload;
use super::protocol::{self, CONTROL, Control, DATA, ECHO};
use super::report::{ReceiverReport, SenderReport};
use super::sender::{unexpected, verdict};
use super::session::{Outcome, Session};
use super::test::{DelayKind, Test};

/// Receives and verifies everything, and reports to the sender.
pub(crate) async fn run(session: &Session) -> (Outcome, Result<(), Failure>) {
    let monitor = Monitor::new(session, Role::Receiver);
    let before = session.association.stats();
    let cpu = clock::cpu_time();
    let mut check = Check::new(&session.test);
    let receive = async {
        let work = receive(session, &monitor.tally, &mut check);
        let ask = async {
            session.interrupts.at_least(1).await;
            session.output.line("interrupted: coming to an end (once more to abort)");
            session.tell(&Control::Stop).await?;
            std::future::pending::<Result<Done, Failure>>().await
        };
        tokio::select! {
            result = work => result,
            result = ask => result,
        }
    };
    let received = tokio::select! {
        result = receive => result,
        failure = monitor.run() => Err(failure),
    };
    monitor.end(received.is_ok());
    let after = session.association.stats();
    let received = received.map(|done| {
        let mut report = check.report(&monitor.tally, &done);
        report.packets_received = after.packets_received - before.packets_received;
        report.duplicate_chunks = after.duplicate_chunks_received;
        report.dropped_chunks = after.data_chunks_dropped;
        report.cpu_s = clock::cpu_time().saturating_sub(cpu).as_secs_f64();
        report
    });
    let mut outcome = Outcome { intervals: monitor.intervals(), ..Outcome::default() };
    let result = match received {
        Ok(report) => {
            let told = tokio::select! {
                result = finish(session, &report) => result,
                failure = monitor.run() => Err(failure),
            };
            outcome.stopped = session.test.messages.is_some_and(|n| report.volume.messages < n);
            let verdict = verdict(&report);
            outcome.received = Some(report);
            told.map(|sent| outcome.sent = sent).and(verdict)
        }
        Err(failure) => Err(failure),
    };
    (outcome, result)
}

/// The sender's count.
struct Done {
    messages: u64,
    bytes: u64,
}

/// Takes messages until all those that the sender has counted are there.
async fn receive(session: &Session, tally: &Tally, check: &mut Check) -> Result<Done, Failure> {
    let mut done: Option<Done> = None;
    loop {
        if let Some(done) = done.take_if(|done| tally.messages() >= done.messages) {
            return Ok(done);
        }
        let received = session.recv().await?;
        let message = received.into_message();
        if message.ppid == DATA {
            tally.count(message.payload.len());
            if let Some(echo) = check.take(&message, session.delay) {
                // Round trips are sampled anyway: one less matters little when there is no room.
                let options = SendOptions { ppid: ECHO, unordered: true, ..SendOptions::default() };
                let _ = session.association.try_send_with(StreamId(0), echo, options);
            }
        } else if message.ppid == CONTROL {
            tally.hear();
            match protocol::parse(&message.payload).map_err(Failure::Failed)? {
                Control::Done { messages, bytes } => done = Some(Done { messages, bytes }),
                Control::Stop => {}
                other => return Err(unexpected(&other)),
            }
        }
    }
}

/// Sends the report; a client also waits for the one of the server.
async fn finish(
    session: &Session,
    report: &ReceiverReport,
) -> Result<Option<SenderReport>, Failure> {
    session.tell(&Control::Received(Box::new(report.clone()))).await?;
    if !session.test.reverse {
        return Ok(None);
    }
    loop {
        let received = session.recv().await?;
        match protocol::parse(&received.payload).map_err(Failure::Failed)? {
            Control::Sent(report) => return Ok(Some(*report)),
            Control::Stop => {}
            other => return Err(unexpected(&other)),
        }
    }
}

/// Verifies messages.
struct Check {
    size: usize,
    streams: u64,
    ordered: bool,
    /// Index of the next message of each stream.
    next: Vec<u64>,
    /// Sum of all indexes: it differs if one is missing and another came twice.
    index_sum: u128,
    damaged: u64,
    out_of_order: u64,
    delay: Durations,
    /// When the first and the last message were read, in nanoseconds.
    first: Option<u64>,
    last: u64,
}

impl Check {
    fn new(test: &Test) -> Check {
        Check {
            size: test.size,
            streams: u64::from(test.streams),
            ordered: !test.unordered,
            next: (0..u64::from(test.streams)).collect(),
            index_sum: 0,
            damaged: 0,
            out_of_order: 0,
            delay: Durations::new(),
            first: None,
            last: 0,
        }
    }

    /// Verifies one message; gives the echo if one is asked for.
    fn take(&mut self, message: &Message, delay: DelayKind) -> Option<Vec<u8>> {
        let now = clock::monotonic_nanos();
        self.first.get_or_insert(now);
        self.last = now;
        let header =
            payload::verify(&message.payload).filter(|_| message.payload.len() == self.size);
        let Some(header) = header else {
            self.damaged += 1;
            return None;
        };
        self.index_sum += u128::from(header.index);
        let stream = (header.index % self.streams) as usize;
        let next = &mut self.next[stream];
        if self.ordered && (usize::from(message.stream.0) != stream + 1 || *next != header.index) {
            self.out_of_order += 1;
        }
        *next = header.index + self.streams;
        if delay == DelayKind::OneWay {
            self.delay.record(now.saturating_sub(header.sent_at));
        }
        let echo = || {
            payload::Builder::new(payload::HEADER_LEN).build(header.index, header.sent_at, false)
        };
        header.echo.then(|| echo().to_vec())
    }

    fn report(&self, tally: &Tally, done: &Done) -> ReceiverReport {
        let n = u128::from(tally.messages());
        let complete = tally.messages() == done.messages
            && tally.bytes() == done.bytes
            && self.index_sum == n * n.saturating_sub(1) / 2;
        let time = Duration::from_nanos(self.last.saturating_sub(self.first.unwrap_or(self.last)));
        ReceiverReport {
            volume: Volume::new(tally.messages(), tally.bytes(), time),
            verified: complete && self.damaged == 0 && self.out_of_order == 0,
            damaged: self.damaged,
            out_of_order: self.out_of_order,
            delay: self.delay.summary(),
            packets_received: 0,
            duplicate_chunks: 0,
            dropped_chunks: 0,
            cpu_s: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::payload::Builder;
    use super::*;
    use crate::test::Pace;
    use tresse::Bytes;

    fn test(unordered: bool) -> Test {
        Test {
            size: 40,
            streams: 2,
            unordered,
            reverse: false,
            pace: Pace::Bulk,
            messages: Some(4),
            duration_ms: None,
            round_trip: false,
            flows: Vec::new(),
            seed: None,
        }
    }

    fn message(index: u64, payload: Bytes) -> Message {
        let stream = StreamId(1 + (index % 2) as u16);
        Message { stream, ppid: DATA, unordered: false, payload }
    }

    /// Feeds these indexes and gives the report on the sender's claim of 4 messages.
    fn check(indexes: &[u64], unordered: bool) -> ReceiverReport {
        let test = test(unordered);
        let mut builder = Builder::new(test.size);
        let mut check = Check::new(&test);
        let tally = Tally::default();
        for index in indexes {
            let message = message(*index, builder.build(*index, 0, false));
            check.take(&message, DelayKind::RoundTrip);
            tally.count(message.payload.len());
        }
        check.report(&tally, &Done { messages: 4, bytes: 160 })
    }

    #[test]
    fn only_the_right_messages_in_the_right_order_pass() {
        assert!(check(&[0, 1, 2, 3], false).verified);
        assert!(check(&[1, 0, 3, 2], false).verified, "streams have no order among them");
        assert!(!check(&[2, 1, 0, 3], false).verified);
        assert!(check(&[2, 1, 0, 3], true).verified);
        assert!(!check(&[0, 1, 1, 3], true).verified);
        assert!(!check(&[0, 1, 2], true).verified);
    }

    #[test]
    fn a_damaged_message_is_counted() {
        let mut builder = Builder::new(40);
        let mut damaged = builder.build(0, 0, false).to_vec();
        damaged[30] ^= 1;
        let mut check = Check::new(&test(false));
        assert_eq!(check.take(&message(0, damaged.into()), DelayKind::OneWay), None);
        assert_eq!(check.damaged, 1);
        let short = Builder::new(39).build(0, 0, false);
        check.take(&message(0, short), DelayKind::OneWay);
        assert_eq!(check.damaged, 2);
        let echo = check.take(&message(0, builder.build(0, 77, true)), DelayKind::RoundTrip);
        assert_eq!(payload::verify(&echo.unwrap()).unwrap().sent_at, 77);
    }
}
