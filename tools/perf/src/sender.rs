//! The sending side of a test.

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tresse::SendOptions;

use super::agreed::Probes;
use super::clock;
use super::figures::{Durations, Volume};
use super::handed::Handed;
use super::monitor::{Monitor, Role, Tally};
use super::outcome::Failure;
use super::payload::{self, Builder};
use super::protocol::{self, CONTROL, Control, DATA, ECHO};
use super::report::{ReceiverReport, SenderReport};
use super::session::{Outcome, Session};
use super::test::{DelayKind, Test};

/// Echoes are asked for this often at most.
const ECHO_INTERVAL: Duration = Duration::from_millis(1);

/// Sends what the test asks for and waits for the receiver's report.
pub(crate) async fn run(session: &Session) -> (Outcome, Result<(), Failure>) {
    let monitor = Monitor::new(session, Role::Sender);
    let before = (session.association.stats(), session.endpoint.carrier_stats(), clock::cpu_time());
    let started = Instant::now();
    let (stop, stopped) = watch::channel(false);
    let mut echoes = Durations::new();
    let work = async {
        let produce = produce(session, &monitor.tally, &monitor.handed, stopped.clone());
        let ask = async {
            session.interrupts.at_least(1).await;
            session.output.line("interrupted: coming to an end (once more to abort)");
            stop.send_replace(true);
            std::future::pending::<Infallible>().await
        };
        let listen = listen(session, &monitor.tally, &stop, &mut echoes);
        tokio::select! {
            result = async { tokio::try_join!(produce, listen) } => result.map(|((), report)| report),
            never = ask => match never {},
        }
    };
    let result = tokio::select! {
        result = work => result,
        failure = monitor.run() => Err(failure),
    };
    let elapsed = started.elapsed();
    monitor.end(result.is_ok());
    let after = session.association.stats();
    let volume = Volume::new(monitor.tally.messages(), monitor.tally.bytes(), elapsed);
    let carrier = [before.1, session.endpoint.carrier_stats()];
    let probes = Probes::of(&session.association.path_stats());
    let cpu = clock::cpu_time().saturating_sub(before.2);
    let sent = SenderReport {
        rtt: monitor.rtt(),
        round_trip: echoes.summary(),
        ..SenderReport::new(volume, &before.0, &after, carrier, probes, cpu)
    };
    let mut outcome = Outcome {
        sent: Some(sent),
        received: None,
        intervals: monitor.intervals(),
        stopped: *stopped.borrow(),
        flows: Vec::new(),
    };
    let result = result.and_then(|received| {
        let verdict = verdict(&received);
        outcome.received = Some(received);
        verdict
    });
    (outcome, result)
}

/// Whether the receiver is content.
pub(crate) fn verdict(received: &ReceiverReport) -> Result<(), Failure> {
    if received.verified {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "the data was not received as sent: {} messages damaged, {} out of order, {} received",
        received.damaged, received.out_of_order, received.volume.messages
    )))
}

/// When messages are due, and when there are enough.
struct Schedule {
    started: u64,
    interval: Option<f64>,
    messages: u64,
    end: u64,
}

impl Schedule {
    fn new(test: &Test, started: u64) -> Schedule {
        let end = test
            .duration_ms
            .map_or(u64::MAX, |ms| started.saturating_add(ms.saturating_mul(1_000_000)));
        Schedule {
            started,
            interval: test.interval().map(|i| i.as_secs_f64() * 1e9),
            messages: test.messages.unwrap_or(u64::MAX),
            end,
        }
    }

    /// When a message is due, in nanoseconds; `None` if it does not belong to the test any more.
    fn due(&self, index: u64, now: u64) -> Option<u64> {
        let due = match self.interval {
            None => now,
            Some(interval) => self.started.saturating_add((interval * index as f64) as u64),
        };
        (index < self.messages && due.max(now) < self.end).then_some(due)
    }
}

/// Sends messages until there are enough or a stop is asked for, and says so.
async fn produce(
    session: &Session,
    tally: &Tally,
    handed: &Handed,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), Failure> {
    let test = &session.test;
    let mut builder = Builder::new(test.size);
    let schedule = Schedule::new(test, clock::monotonic_nanos());
    let options = SendOptions { ppid: DATA, unordered: test.unordered, ..SendOptions::default() };
    let echoing = session.delay == DelayKind::RoundTrip;
    let mut last_echo = 0;
    for index in 0.. {
        let mut now = clock::monotonic_nanos();
        let Some(due) = schedule.due(index, now) else { break };
        if due > now {
            let wake = Instant::now() + Duration::from_nanos(due - now);
            tokio::select! {
                () = sleep_until(wake) => {}
                _ = stopped.wait_for(|stop| *stop) => break,
            }
            now = clock::monotonic_nanos();
        }
        let echo = echoing && now - last_echo >= ECHO_INTERVAL.as_nanos() as u64;
        if echo {
            last_echo = now;
        }
        let message = builder.build(index, now, echo);
        tokio::select! {
            biased;
            sent = session.association.send_with(test.stream(index), message, options) => {
                sent.map_err(|e| session.send_failed(&e))?;
            }
            _ = stopped.wait_for(|stop| *stop) => break,
        }
        tally.count(test.size);
        handed.add(test.size);
        // The branch above is looked at only while sending has to wait.
        if *stopped.borrow() {
            break;
        }
    }
    session.tell(&Control::Done { messages: tally.messages(), bytes: tally.bytes() }).await?;
    tally.wait_for_peer();
    Ok(())
}

/// Listens to the receiver until its report comes.
async fn listen(
    session: &Session,
    tally: &Tally,
    stop: &watch::Sender<bool>,
    echoes: &mut Durations,
) -> Result<ReceiverReport, Failure> {
    loop {
        let message = session.recv().await?;
        tally.hear();
        if message.ppid == ECHO {
            if let Some(header) = payload::verify(&message.payload) {
                echoes.record(clock::monotonic_nanos().saturating_sub(header.sent_at));
            }
        } else if message.ppid == CONTROL {
            match protocol::parse(&message.payload).map_err(Failure::Failed)? {
                Control::Received(report) => return Ok(*report),
                Control::Stop => {
                    session.output.line("the receiver asks to come to an end");
                    stop.send_replace(true);
                }
                other => return Err(unexpected(&other)),
            }
        }
    }
}

/// A control message at the wrong time.
pub(crate) fn unexpected(control: &Control) -> Failure {
    let text = format!("{control:?}");
    let name = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    Failure::Failed(format!("the peer sent {name} when it should not"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::Pace;

    fn schedule(pace: Pace, messages: Option<u64>, duration_ms: Option<u64>) -> Schedule {
        let test = Test {
            size: 1_000,
            streams: 1,
            unordered: false,
            reverse: false,
            pace,
            messages,
            duration_ms,
            round_trip: false,
            flows: Vec::new(),
            seed: None,
        };
        Schedule::new(&test, 5_000_000)
    }

    #[test]
    fn bulk_is_always_due_until_the_end() {
        let bulk = schedule(Pace::Bulk, Some(3), Some(2));
        assert_eq!(bulk.due(0, 5_000_000), Some(5_000_000));
        assert_eq!(bulk.due(2, 6_999_999), Some(6_999_999));
        assert_eq!(bulk.due(3, 5_000_001), None);
        assert_eq!(bulk.due(1, 7_000_000), None);
    }

    #[test]
    fn paced_messages_are_due_at_their_time_and_late_ones_at_once() {
        let paced = schedule(Pace::BitsPerSecond(8_000_000), None, Some(10));
        assert_eq!(paced.due(4, 5_100_000), Some(9_000_000));
        assert_eq!(paced.due(4, 9_500_000), Some(9_000_000));
        assert_eq!(paced.due(10, 5_000_000), None, "it would be due when the time is over");
        assert_eq!(paced.due(4, 15_000_000), None);
    }
}
