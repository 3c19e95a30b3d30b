//! `tresse perf server`

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tresse::{Association, Config, DEFAULT_UDP_PORT, Endpoint, Profile};

use super::agreed::Agreed;
use super::args::{CarrierKind, Common, ServerArgs};
use super::clock;
use super::outcome::Failure;
use super::protocol::{self, Control, VERSION};
use super::session::{Interrupts, Outcome, Output, Session};
use super::test::{DelayKind, Test};
use super::{flow, receiver, sender, setup};

use tresse_console::say::{complain, say};

/// How long the client may take to say what it wants, and to end when all is done.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Serves until it is interrupted.
pub(crate) async fn run(args: ServerArgs) -> Result<(), Failure> {
    let common = Arc::new(args.common);
    let profile = setup::profile(&common)?;
    let everywhere = match common.carrier {
        CarrierKind::Udp => setup::all_addresses(DEFAULT_UDP_PORT),
        CarrierKind::Raw => (Ipv4Addr::UNSPECIFIED, DEFAULT_UDP_PORT).into(),
    };
    let carrier = setup::carrier(&common, &args.listen, everywhere).await?;
    let mut config = Config::server_over(carrier, args.sctp_port);
    config.sctp.association = setup::association(&common, &profile);
    let mut observing = setup::observe(&common, &mut config).await?;
    let endpoint = setup::bind(&common, config)?;
    setup::serve_metrics(&mut observing, &endpoint);
    let interrupts = Interrupts::listen();
    let local: Vec<String> =
        endpoint.local_addrs().iter().map(|address| setup::shown(&common, *address)).collect();
    let waiting = format!(
        "waiting on {}, SCTP port {}, profile {}",
        local.join(", "),
        args.sctp_port,
        profile.name
    );
    if common.json {
        say(&waiting); // Documents alone go to standard output.
    } else {
        Output { json: false, prefix: String::new() }.line(&waiting);
    }

    let mut tests = JoinSet::new();
    let mut number = 0u64;
    let mut result = Ok(());
    loop {
        tokio::select! {
            biased;
            () = interrupts.at_least(1) => break,
            Some(ended) = tests.join_next() => {
                result = ended.unwrap_or_else(|e| Err(Failure::Failed(format!("a test broke: {e}"))));
                if args.once {
                    break;
                }
                if let Err(failure) = &result {
                    complain(failure);
                }
                result = Ok(());
            }
            // One test at a time is all that is wanted with --once.
            association = endpoint.accept(), if !args.once || tests.is_empty() => {
                let association = match association {
                    Ok(association) => association,
                    Err(error) => {
                        result = Err(Failure::Failed(error.to_string()));
                        break;
                    }
                };
                number += 1;
                let prefix = if args.once { String::new() } else { format!("[{number}] ") };
                let output = Output { json: common.json, prefix };
                tests.spawn(serve(
                    endpoint.clone(),
                    association,
                    Arc::clone(&profile),
                    Arc::clone(&common),
                    output,
                    interrupts.clone(),
                ));
            }
        }
    }
    // Interrupted: what runs is told to come to its end, and may.
    while let Some(ended) = tests.join_next().await {
        result = result.and(ended.unwrap_or(Ok(())));
    }
    let _ = timeout(Duration::from_millis(500), endpoint.wait_idle()).await;
    observing.finish();
    result
}

/// One test.
async fn serve(
    endpoint: Endpoint,
    association: Association,
    profile: Arc<Profile>,
    common: Arc<Common>,
    output: Output,
    interrupts: Interrupts,
) -> Result<(), Failure> {
    let peer = association
        .path_stats()
        .iter()
        .find(|path| path.primary)
        .map_or("?".into(), |path| path.remote.to_string());
    let asked = tokio::select! {
        asked = request(&association, &profile) => asked,
        () = interrupts.at_least(1) => Err(Failure::Failed("the server is ending".into())),
    };
    let (test, delay) = match asked {
        Ok(asked) => asked,
        Err(failure) => {
            association.abort(failure.to_string());
            return Err(Failure::Failed(format!("{peer}: {failure}")));
        }
    };
    let what = match (test.flows.len(), test.reverse) {
        (0, true) => format!("sending {}-byte messages", test.size),
        (0, false) => format!("receiving {}-byte messages", test.size),
        (1, _) => "1 flow".into(),
        (flows, _) => format!("{flows} flows"),
    };
    let agreed = Agreed::on(&association, &common);
    output.line(&format!("{peer}: {what}{}", agreed.words()));
    agreed.wanted_alone(&common).iter().for_each(|line| output.line(line));
    let session = Session {
        endpoint,
        association,
        agreed,
        profile,
        test,
        delay,
        output,
        interrupts,
        timeout: common.timeout,
        interval: common.interval,
        early: Mutex::default(),
    };
    let (outcome, result) = run_session(&session).await;
    match &result {
        Ok(()) => session.print("server", peer.clone(), &outcome),
        Err(failure) => {
            session.summary("server", peer.clone(), &outcome, Some(failure));
            session.give_up(failure).await;
        }
    }
    result.map_err(|failure| match failure {
        Failure::Failed(text) => Failure::Failed(format!("{peer}: {text}")),
        other => other,
    })
}

async fn run_session(session: &Session) -> (Outcome, Result<(), Failure>) {
    let ready = Control::Ready {
        version: VERSION,
        clock: clock::name(),
        profile: session.profile.name.clone(),
    };
    if let Err(failure) = session.tell(&ready).await {
        return (Outcome::default(), Err(failure));
    }
    let (outcome, mut result) = if !session.test.flows.is_empty() {
        flow::run(session, false).await
    } else if session.test.reverse {
        sender::run(session).await
    } else {
        receiver::run(session).await
    };
    if result.is_ok()
        && session.test.reverse
        && let Some(sent) = &outcome.sent
    {
        result = session.tell(&Control::Sent(Box::new(sent.clone()))).await;
    }
    if result.is_ok() {
        // The client ends the association. Its result stands already, so how it does is its
        // own matter, but a client that forgets must not stay for ever.
        if timeout(TIMEOUT, session.association.closed()).await.is_err() {
            session.association.abort("the test is over");
        }
    }
    (outcome, result)
}

/// What the client asks for.
async fn request(
    association: &Association,
    profile: &Profile,
) -> Result<(Test, DelayKind), Failure> {
    let hello = timeout(TIMEOUT, association.recv())
        .await
        .map_err(|_| Failure::Failed("it asked for nothing".into()))?;
    let hello = hello.map_err(|closed| Failure::closed(&closed, profile))?;
    let (version, theirs, test) = match protocol::parse(&hello.payload).map_err(Failure::Failed)? {
        Control::Hello { version, clock, test } => (version, clock, test),
        other => return Err(sender::unexpected(&other)),
    };
    let reason = if version == VERSION {
        test.check().err()
    } else {
        Some(format!("version {version} of the test protocol is not spoken here, but {VERSION}"))
    };
    if let Some(reason) = reason {
        let _ = protocol::send(association, &Control::Refused { reason: reason.clone() }).await;
        let _ = timeout(TIMEOUT, association.shutdown()).await;
        return Err(Failure::Failed(format!("refused: {reason}")));
    }
    let shared = theirs.is_some() && theirs == clock::name() && !test.round_trip;
    Ok((test, if shared { DelayKind::OneWay } else { DelayKind::RoundTrip }))
}
