//! `tresse perf client`

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::timeout;
use tresse::{
    Association, AssociationConfig, CloseReason, Closed, Config, ConnectError, Endpoint, Peer,
    Profile,
};

use super::agreed::{Agreed, Came};
use super::args::ClientArgs;
use super::clock;
use super::outcome::Failure;
use super::protocol::{self, Control, VERSION};
use super::report::Summary;
use super::session::{Interrupts, Outcome, Output, Session, print_json};
use super::test::{DelayKind, Pace, Test};
use super::{flow, receiver, sender, setup};
use tresse_console::units::{Si, Time};

/// What to look at first.
const NOBODY: &str = "is `tresse perf server` running there?";

/// Runs one test.
pub(crate) async fn run(args: ClientArgs) -> Result<(), Failure> {
    let profile = setup::profile(&args.common)?;
    let peer = setup::resolve(&args.common, &args.host, args.udp_port).await?;
    let carrier = setup::carrier(&args.common, &args.bind, setup::route_to(peer)).await?;
    setup::check_peer(&carrier, peer)?;
    let test = args.load.test().map_err(Failure::Usage)?;
    let mut config = Config::client_over(carrier);
    config.sctp.association = setup::association(&args.common, &profile);
    let mut observing = setup::observe(&args.common, &mut config).await?;
    let association = config.sctp.association.clone();
    let endpoint = setup::bind(&args.common, config)?;
    setup::serve_metrics(&mut observing, &endpoint);
    let interrupts = Interrupts::listen();
    let output = Output { json: args.common.json, prefix: String::new() };

    let association = tokio::select! {
        result = connect(&args, &endpoint, peer, association) => result,
        () = interrupts.at_least(1) => Err(Failure::Interrupted),
    };
    let result = match association {
        Ok(association) => {
            let agreed = Agreed::on(&association, &args.common);
            agreed.wanted_alone(&args.common).iter().for_each(|line| output.line(line));
            let session = Session {
                endpoint: endpoint.clone(),
                association,
                agreed,
                profile,
                test,
                delay: DelayKind::RoundTrip,
                output,
                interrupts,
                timeout: args.common.timeout,
                interval: args.common.interval,
                early: Mutex::default(),
            };
            run_session(session, peer, args.sctp_port).await
        }
        Err(failure) => {
            if output.json {
                print_json(&failed_before(&test, &profile, peer, &failure));
            }
            Err(failure)
        }
    };
    // Until here the driver may still have something to send.
    let _ = timeout(Duration::from_millis(500), endpoint.wait_idle()).await;
    observing.finish();
    result
}

async fn connect(
    args: &ClientArgs,
    endpoint: &Endpoint,
    peer: SocketAddr,
    config: AssociationConfig,
) -> Result<Association, Failure> {
    let profile = Arc::clone(&config.profile);
    let place = format!("{}, SCTP port {}", setup::shown(&args.common, peer), args.sctp_port);
    let mut peer = Peer::new(peer, args.sctp_port);
    peer.addresses.extend(&args.peer);
    let connecting = endpoint.connect_with(peer, config);
    match timeout(args.connect_timeout, connecting).await {
        Ok(Ok(association)) => Ok(association),
        Ok(Err(ConnectError::Closed(closed))) => {
            let text = match &closed {
                Closed::Association(CloseReason::NoSctp) => format!("{closed}: {NOBODY}"),
                // RFC 9260 §8.4: a packet out of the blue is answered like this.
                Closed::Association(CloseReason::PeerAborted { cause: 0, value })
                    if value.is_empty() =>
                {
                    format!("nobody listens at that SCTP port: {NOBODY}")
                }
                _ => Failure::closed(&closed, &profile).to_string(),
            };
            Err(Failure::Failed(format!("{place}: {text}")))
        }
        Ok(Err(error @ ConnectError::NoRoute(_))) => {
            Err(Failure::Failed(format!("{place}: {error}")))
        }
        Ok(Err(refused)) => Err(Failure::Usage(refused.to_string())),
        Err(_) => Err(Failure::Failed(format!(
            "{place}: no answer within {} (--connect-timeout): {NOBODY}",
            Time(args.connect_timeout)
        ))),
    }
}

async fn run_session(
    mut session: Session,
    peer: SocketAddr,
    sctp_port: u16,
) -> Result<(), Failure> {
    let agreed = tokio::select! {
        result = agree(&session) => result,
        () = session.interrupts.at_least(1) => Err(Failure::Interrupted),
    };
    let (mut outcome, mut result) = (Outcome::default(), Ok(()));
    match agreed {
        Ok(delay) => session.delay = delay,
        Err(failure) => result = Err(failure),
    }
    if result.is_ok() {
        session.output.line(&headline(&session, peer, sctp_port));
        (outcome, result) = if !session.test.flows.is_empty() {
            flow::run(&session, true).await
        } else if session.test.reverse {
            receiver::run(&session).await
        } else {
            sender::run(&session).await
        };
    }
    match result {
        Ok(()) => {
            session.print("client", peer.to_string(), &outcome);
            tokio::select! {
                ended = timeout(session.timeout, session.association.shutdown()) => match ended {
                    Ok(result) => result.map_err(|closed| session.failed(&closed)),
                    Err(_) => Err(Failure::Failed(format!(
                        "the shutdown did not finish within {} (--timeout)",
                        Time(session.timeout)
                    ))),
                },
                () = session.interrupts.at_least(2) => {
                    session.give_up(&Failure::Interrupted).await;
                    Err(Failure::Interrupted)
                }
            }
        }
        Err(failure) => {
            session.summary("client", peer.to_string(), &outcome, Some(&failure));
            session.give_up(&failure).await;
            Err(failure)
        }
    }
}

/// Tells the server what is wanted, and waits until it agrees.
async fn agree(session: &Session) -> Result<DelayKind, Failure> {
    let ours = clock::name();
    let hello =
        Control::Hello { version: VERSION, clock: ours.clone(), test: session.test.clone() };
    session.tell(&hello).await?;
    let answer = timeout(session.timeout, session.first_control()).await.map_err(|_| {
        Failure::Failed(format!("the server did not answer within {}", Time(session.timeout)))
    })??;
    match protocol::parse(&answer.payload).map_err(Failure::Failed)? {
        Control::Ready { version: VERSION, clock, profile } => {
            let shared = !session.test.round_trip && clock.is_some() && clock == ours;
            if session.test.reverse {
                session.output.line(&format!("the server sends with its profile {profile}"));
            }
            Ok(if shared { DelayKind::OneWay } else { DelayKind::RoundTrip })
        }
        Control::Ready { version, .. } => Err(Failure::Failed(format!(
            "the server speaks version {version} of the test protocol, not {VERSION}"
        ))),
        Control::Refused { reason } => {
            Err(Failure::Failed(format!("the server refused: {reason}")))
        }
        other => Err(sender::unexpected(&other)),
    }
}

fn headline(session: &Session, peer: SocketAddr, sctp_port: u16) -> String {
    // Raw IP has no UDP port.
    let raw = session.endpoint.local_addr().port() == 0;
    let place = if raw { format!("IP {}", peer.ip()) } else { format!("UDP {peer}") };
    let agreed = session.agreed.words();
    if let Some(seed) = session.test.seed {
        let time = Duration::from_millis(session.test.duration_ms.unwrap_or_default());
        let (flows, profile) = (session.test.flows.len(), &session.profile.name);
        let number = if flows == 1 { "1 flow".into() } else { format!("{flows} flows") };
        return format!(
            "with {place}, SCTP port {sctp_port}: {number} for {}, seed {seed}, profile {profile}{agreed}",
            Time(time)
        );
    }
    let Test { size, streams, unordered, reverse, pace, .. } = &session.test;
    let pace = match pace {
        Pace::Bulk => "in bulk".into(),
        Pace::BitsPerSecond(rate) => format!("at {}", Si(*rate as f64, "bit/s")),
        Pace::EveryMicros(micros) => {
            format!("one every {}", Time(Duration::from_micros(*micros)))
        }
    };
    format!(
        "{} {place}, SCTP port {sctp_port}: {size}-byte{} messages {pace} on {streams} stream{}, profile {}{agreed}",
        if *reverse { "from" } else { "to" },
        if *unordered { " unordered" } else { "" },
        if *streams == 1 { "" } else { "s" },
        session.profile.name,
    )
}

/// The document of a client that never reached its server.
fn failed_before<'a>(
    test: &'a Test,
    profile: &'a Arc<Profile>,
    peer: SocketAddr,
    failure: &Failure,
) -> Summary<'a> {
    Summary {
        tresse: env!("CARGO_PKG_VERSION"),
        side: "client",
        peer: peer.to_string(),
        profile: &profile.name,
        test: Some(test),
        delay_kind: None,
        interleaving: None,
        ecn: None,
        mtu_search: None,
        came: Came::default(),
        stopped: false,
        error: Some(failure.to_string()),
        sent: None,
        received: None,
        intervals: &[],
        flows: &[],
    }
}
