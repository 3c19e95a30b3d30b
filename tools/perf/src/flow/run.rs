//! One side of a test with flows: sends its own, verifies those of the other side.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tresse::StreamId;

use super::check::{Check, echo_options};
use super::source::Source;
use super::{Amount, FlowReport, FlowResult};
use crate::agreed::Probes;
use crate::clock;
use crate::figures::{Durations, Volume};
use crate::handed::Handed;
use crate::monitor::{Monitor, Role, Tally};
use crate::outcome::Failure;
use crate::payload;
use crate::protocol::{self, CONTROL, Control, DATA, ECHO};
use crate::report::SenderReport;
use crate::sender::unexpected;
use crate::session::{Outcome, Session};
use crate::test::DelayKind;

/// What both sides know at the end.
struct Finished {
    ours: Vec<Amount>,
    /// What the other side received of ours.
    arrived: Vec<FlowReport>,
    theirs: Vec<Amount>,
    /// What we received of theirs.
    received: Vec<FlowReport>,
    damaged: u64,
}

/// Runs all flows to their end.
pub(crate) async fn run(session: &Session, client: bool) -> (Outcome, Result<(), Failure>) {
    let monitor = Monitor::new(session, Role::Both);
    let before = (session.association.stats(), session.endpoint.carrier_stats(), clock::cpu_time());
    let started = Instant::now();
    let (stop, stopped) = watch::channel(false);
    let (tell, told) = watch::channel(None);
    let work = async {
        let ask = async {
            session.interrupts.at_least(1).await;
            session.output.line("interrupted: coming to an end (once more to abort)");
            stop.send_replace(true);
            session.tell(&Control::Stop).await?;
            std::future::pending::<Result<Infallible, Failure>>().await
        };
        let produce = async {
            let amounts = produce(session, &monitor.handed, client, &stopped).await?;
            session.tell(&Control::FlowsSent(amounts.clone())).await?;
            monitor.tally.wait_for_peer();
            tell.send_replace(Some(amounts));
            Ok::<(), Failure>(())
        };
        let listen = listen(session, &monitor.tally, &stop, told.clone());
        let both = async { tokio::try_join!(produce, listen).map(|((), finished)| finished) };
        tokio::select! {
            result = both => result,
            result = ask => result.map(|never| match never {}),
        }
    };
    let result = tokio::select! {
        result = work => result,
        failure = monitor.run() => Err(failure),
    };
    monitor.end(result.is_ok());
    let after = session.association.stats();
    let ours = told.borrow().clone().unwrap_or_default();
    let sum = |amount: fn(&Amount) -> u64| ours.iter().map(amount).sum();
    let volume = Volume::new(sum(|a| a.messages), sum(|a| a.bytes), started.elapsed());
    let carrier = [before.1, session.endpoint.carrier_stats()];
    let probes = Probes::of(&session.association.path_stats());
    let cpu = clock::cpu_time().saturating_sub(before.2);
    let report = SenderReport::new(volume, &before.0, &after, carrier, probes, cpu);
    let mut outcome = Outcome {
        sent: Some(SenderReport { rtt: monitor.rtt(), ..report }),
        intervals: monitor.intervals(),
        stopped: *stopped.borrow(),
        ..Outcome::default()
    };
    let result = result.and_then(|finished| {
        outcome.flows = finished.results(session, client);
        finished.verdict()
    });
    (outcome, result)
}

/// Sends all flows of this side.
async fn produce(
    session: &Session,
    handed: &Arc<Handed>,
    client: bool,
    stopped: &watch::Receiver<bool>,
) -> Result<Vec<Amount>, Failure> {
    let test = &session.test;
    let mut tasks = JoinSet::new();
    for (place, flow) in (0u16..).zip(&test.flows) {
        let source = Source {
            flow: flow.clone(),
            place,
            client,
            seed: test.seed.unwrap_or_default(),
            duration: Duration::from_millis(test.duration_ms.unwrap_or_default()),
            echoing: session.delay == DelayKind::RoundTrip,
            handed: Arc::clone(handed),
        };
        let (association, stopped) = (session.association.clone(), stopped.clone());
        tasks.spawn(async move { (place, source.run(association, stopped).await) });
    }
    let mut amounts = vec![Amount::default(); test.flows.len()];
    while let Some(ended) = tasks.join_next().await {
        let (place, result) =
            ended.map_err(|error| Failure::Failed(format!("a flow broke: {error}")))?;
        amounts[usize::from(place)] = result.map_err(|error| session.send_failed(&error))?;
    }
    Ok(amounts)
}

/// Takes messages until both sides have said all.
async fn listen(
    session: &Session,
    tally: &Tally,
    stop: &watch::Sender<bool>,
    mut ours: watch::Receiver<Option<Vec<Amount>>>,
) -> Result<Finished, Failure> {
    let flows = &session.test.flows;
    let mut check = Check::new(flows, session.delay);
    let mut echoes: Vec<Durations> = flows.iter().map(|_| Durations::new()).collect();
    let mut theirs: Option<Vec<Amount>> = None;
    let mut arrived: Option<Vec<FlowReport>> = None;
    let mut received: Option<Vec<FlowReport>> = None;
    loop {
        if received.is_none()
            && let Some(theirs) = theirs.as_ref().filter(|theirs| check.is_complete(theirs))
        {
            let reports = check.reports(theirs);
            session.tell(&Control::FlowsReceived(reports.clone())).await?;
            received = Some(reports);
        }
        if arrived.is_some() && received.is_some() {
            break;
        }
        let message = session.recv().await?;

        let message = message.into_message();
        match message.ppid {
            DATA => {
                tally.count(message.payload.len());
                if let Some(echo) = check.take(&message, clock::monotonic_nanos()) {
                    let _ = session.association.try_send_with(StreamId(0), echo, echo_options());
                }
            }
            ECHO => {
                tally.hear();
                if let Some(header) = payload::verify(&message.payload)
                    && let Some(echoes) = echoes.get_mut(usize::from(header.flow))
                {
                    echoes.record(clock::monotonic_nanos().saturating_sub(header.sent_at));
                }
            }
            CONTROL => {
                tally.hear();
                match protocol::parse(&message.payload).map_err(Failure::Failed)? {
                    Control::FlowsSent(amounts) if amounts.len() == flows.len() => {
                        theirs = Some(amounts);
                    }
                    Control::FlowsReceived(reports) if reports.len() == flows.len() => {
                        arrived = Some(reports);
                    }
                    Control::Stop => {
                        session.output.line("the peer asks to come to an end");
                        stop.send_replace(true);
                    }
                    other => return Err(unexpected(&other)),
                }
            }
            _ => {}
        }
    }
    // It has sent all, for the other side has counted it.
    let counted = ours.wait_for(Option::is_some).await.map(|ours| ours.clone());
    let mut arrived = arrived.unwrap_or_default();
    for (report, echoes) in arrived.iter_mut().zip(&echoes) {
        report.round_trip = echoes.summary();
    }
    Ok(Finished {
        ours: counted.ok().flatten().unwrap_or_default(),
        arrived,
        theirs: theirs.unwrap_or_default(),
        received: received.unwrap_or_default(),
        damaged: check.damaged,
    })
}

impl Finished {
    /// Both directions of every flow that has them.
    fn results(&self, session: &Session, client: bool) -> Vec<FlowResult> {
        let directions = if client { ["outgoing", "incoming"] } else { ["incoming", "outgoing"] };
        let mut results = Vec::new();
        for (place, flow) in session.test.flows.iter().enumerate() {
            let sides = [
                (client, &self.ours, &self.arrived, directions[0]),
                (!client, &self.theirs, &self.received, directions[1]),
            ];
            for (from_client, sent, received, direction) in sides {
                if flow.load(from_client).is_active() {
                    results.push(FlowResult {
                        flow: flow.id,
                        description: flow.description.clone(),
                        direction,
                        stream: flow.stream,
                        sent: sent[place],
                        received: received[place].clone(),
                    });
                }
            }
        }
        results
    }

    fn verdict(&self) -> Result<(), Failure> {
        let wrong = self.arrived.iter().chain(&self.received).filter(|report| !report.verified);
        match (wrong.count(), self.damaged) {
            (0, 0) => Ok(()),
            (flows, damaged) => Err(Failure::Failed(format!(
                "the data was not received as sent: {flows} flows differ, {damaged} messages damaged"
            ))),
        }
    }
}
