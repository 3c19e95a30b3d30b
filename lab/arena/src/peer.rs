//! Tresse's own peer program: the command line and report of `conformance/interop/peer.h`, as far as
//! the arena needs them, on the library that any program uses.
//!
//! Exit codes: 0 the association ended well, 1 it did not, 2 a wrong command line, 3 out of time.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio::time::{Instant, sleep_until, timeout};
use tresse::{
    Association, AssociationConfig, Carrier, Config, DEFAULT_UDP_PORT, Endpoint, EndpointConfig,
    Extensions, Peer, Ppid, Profile, Reliability, SendOptions, StreamId,
};
use tresse_peers::{Payload, Received, traffic};

/// One association with its peer, over UDP (RFC 6951).
#[derive(Clone, Debug, Args)]
pub struct PeerArgs {
    /// Who opens the association and sends, or who waits for it and receives
    role: Role,
    /// Our addresses
    #[arg(long, value_delimiter = ',', required = true)]
    address: Vec<IpAddr>,
    /// Those of the other end
    #[arg(long, value_delimiter = ',')]
    peer: Vec<IpAddr>,
    /// Our UDP port
    #[arg(long)]
    udp: u16,
    /// The peer's UDP port
    #[arg(long)]
    peer_udp: Option<u16>,
    /// Our SCTP port
    #[arg(long, default_value_t = 5000)]
    port: u16,
    /// The peer's SCTP port
    #[arg(long, default_value_t = 5000)]
    peer_port: u16,
    /// Messages that are sent
    #[arg(long, default_value_t = 0)]
    send: u64,
    /// Messages that are received
    #[arg(long, default_value_t = 0)]
    receive: u64,
    /// Bytes of each message
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(8..))]
    size: u32,
    /// Milliseconds from the start of one burst to the next; 0: no pause
    #[arg(long, default_value_t = 0)]
    interval: u64,
    /// Messages of a burst
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    burst: u64,
    /// Small messages do not wait for company
    #[arg(long)]
    no_delay: bool,
    /// Seconds after which it gives up
    #[arg(long, default_value_t = 60)]
    timeout: u64,
    /// The profile
    #[arg(long, default_value = "tresse")]
    profile: String,
    /// Send over all addresses at once
    #[arg(long)]
    concurrent: bool,
    /// Bytes of the first message, if it is a large one
    #[arg(long)]
    first: Option<usize>,
    /// Streams; message n is on stream n mod this many
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    streams: u16,
    /// Milliseconds after which messages are given up, but for the last one of each stream
    #[arg(long, conflicts_with = "retransmissions")]
    lifetime: Option<u64>,
    /// How often messages are sent again before they are given up
    #[arg(long)]
    retransmissions: Option<u32>,
    /// Messages may be missing, but for the last one of each stream
    #[arg(long)]
    partial: bool,
    /// What is used beyond the defaults
    #[arg(long, value_delimiter = ',')]
    with: Vec<Feature>,
}

/// What is used beyond the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Feature {
    /// I-DATA chunks, which take turns between streams (RFC 8260).
    Interleaving,
    /// Explicit congestion notification (RFC 3168).
    Ecn,
}

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Waits and receives.
    Server,
    /// Opens and sends.
    Client,
}

/// Runs it, on this thread, and prints what the arena reads.
#[must_use]
pub fn run(args: &PeerArgs) -> ExitCode {
    let [interleaving, ecn] =
        [Feature::Interleaving, Feature::Ecn].map(|feature| args.with.contains(&feature));
    let name = match interleaving {
        // The peers do so as well.
        true => format!("{}+stream-round-robin", args.profile),
        false => args.profile.clone(),
    };
    let profile = match Profile::named(&name) {
        Ok(profile) => profile,
        Err(error) => {
            eprintln!("tresse: {error}");
            return ExitCode::from(2);
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            println!("FAIL {error}");
            return ExitCode::FAILURE;
        }
    };
    let defaults = AssociationConfig::default();
    // Whoever sends a large message has room for it, and for those behind it.
    let send_buffer = defaults.send_buffer + 2 * args.first.unwrap_or(0);
    let extensions = Extensions { interleaving, ecn, ..Extensions::default() };
    let association = AssociationConfig {
        profile: profile.into(),
        no_delay: args.no_delay,
        concurrent_transfer: args.concurrent,
        outbound_streams: args.streams.max(defaults.outbound_streams),
        send_buffer,
        extensions,
        ..defaults
    };
    let limit = Duration::from_secs(args.timeout);
    match runtime.block_on(async { timeout(limit, play(args, association)).await }) {
        Ok(Ok(messages)) => {
            println!("OK messages={messages} end=shutdown");
            ExitCode::SUCCESS
        }
        Ok(Err(why)) => {
            println!("FAIL {why}");
            ExitCode::FAILURE
        }
        Err(_) => {
            println!("FAIL timeout");
            ExitCode::from(3)
        }
    }
}

/// The whole life of the association; gives the number of messages.
async fn play(args: &PeerArgs, association: AssociationConfig) -> Result<u64, String> {
    let local = args.address.iter().map(|ip| SocketAddr::new(*ip, args.udp)).collect();
    let sctp = EndpointConfig {
        local_port: args.port,
        accept: args.role == Role::Server,
        association: association.clone(),
        ..EndpointConfig::default()
    };
    let config = Config { carrier: Carrier::Udp { local }, sctp, ..Config::default() };
    let endpoint = Endpoint::bind(config).map_err(|e| format!("UDP port {}: {e}", args.udp))?;
    match args.role {
        Role::Server => {
            println!("READY udp={} sctp={}", args.udp, args.port);
            let association = endpoint.accept().await.map_err(|e| e.to_string())?;
            println!("UP");
            let received = receive(args, &association).await?;
            association.closed().await;
            endpoint.wait_idle().await;
            Ok(received)
        }
        Role::Client => {
            let peer = Peer::multihomed(args.peer.iter().copied(), args.peer_port);
            let peer = peer.on_udp_port(args.peer_udp.unwrap_or(DEFAULT_UDP_PORT));
            let association = endpoint
                .connect_with(peer, association)
                .await
                .map_err(|e| format!("connect: {e}"))?;
            println!("UP");
            send(args, &association).await?;
            association.shutdown().await.map_err(|e| format!("shutdown: {e}"))?;
            endpoint.wait_idle().await;
            Ok(args.send)
        }
    }
}

fn payload(args: &PeerArgs, messages: u64) -> Payload {
    Payload {
        messages,
        size: args.size as usize,
        streams: args.streams,
        first: args.first,
        ..Payload::PLAIN
    }
}

/// When messages are given up.
fn reliability(args: &PeerArgs) -> Option<Reliability> {
    let timed = args.lifetime.map(|ms| Reliability::Timed(Duration::from_millis(ms)));
    timed.or(args.retransmissions.map(Reliability::Retransmissions))
}

/// Sends on the schedule that the arguments give.
async fn send(args: &PeerArgs, association: &Association) -> Result<(), String> {
    let payload = payload(args, args.send);
    let start = Instant::now();
    for index in 0..args.send {
        if args.interval != 0 && index % args.burst == 0 {
            let after = (index / args.burst).saturating_mul(args.interval);
            sleep_until(start + Duration::from_millis(after)).await;
        }
        // The last one of each stream shows that all has come.
        let last = index + u64::from(args.streams) >= args.send;
        let options = SendOptions {
            ppid: Ppid(payload.ppid(index)),
            reliability: reliability(args).filter(|_| !last),
            ..SendOptions::default()
        };
        let stream = StreamId(payload.stream(index));
        let sent = association.send_with(stream, payload.message(index), options).await;
        sent.map_err(|e| format!("message {index}: {e}"))?;
    }
    Ok(())
}

/// Receives and verifies everything.
async fn receive(args: &PeerArgs, association: &Association) -> Result<u64, String> {
    let payload = payload(args, args.receive);
    let received = if args.partial { Received::partial(payload) } else { Received::new(payload) };
    traffic::receive(association, received, |_| ()).await
}
