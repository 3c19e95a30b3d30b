// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command line, as that of `../options.h`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use lexopt::prelude::*;

use crate::payload::Payload;
use crate::{fail, unsupported};

/// What this side does when both directions are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    Wait,
    Shutdown,
    Abort,
}

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Options {
    pub server: bool,
    /// Our address and UDP port, 0 for none: directly on IP.
    pub local: SocketAddr,
    /// The peer's; a server learns it from what it receives.
    pub remote: Option<SocketAddr>,
    /// SCTP port.
    pub port: u16,
    /// SCTP port of the peer.
    pub peer_port: u16,
    /// What this side sends.
    pub send: Payload,
    /// What it receives.
    pub receive: Payload,
    /// Bytes of the largest SCTP packet.
    pub packet: usize,
    pub duplex: bool,
    /// From one burst to the next; zero: as fast as it goes.
    pub interval: Duration,
    /// Messages of a burst.
    pub burst: u64,
    pub close: Close,
    pub expect_abort: bool,
    pub expect_restart: bool,
    pub timeout: Duration,
    /// Outgoing streams at the beginning.
    pub initial_streams: u16,
    /// Before this message our streams begin again (RFC 6525).
    pub reset_at: Option<u64>,
    /// The other end denies that.
    pub denied: bool,
    /// When messages are given up, but for the last one of each stream (RFC 3758, RFC 7496).
    pub policy: Policy,
    /// What comes may lack messages, but for the last one of each stream.
    pub partial: bool,
    /// Messages of several streams leave and come at a time (RFC 8260).
    pub interleaving: bool,
    /// Streams share by weight: stream `n` has `n + 1` (RFC 8260 §3.6).
    pub weighted: bool,
    /// All messages of a stream are sent before those of the next one.
    pub by_stream: bool,
    /// Packets without a checksum are taken (RFC 9653).
    pub zero_checksum: bool,
}

/// When a message is given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    #[default]
    Never,
    /// When it is older.
    Lifetime(Duration),
    /// When it would be sent again more often.
    Retransmissions(u16),
}

/// Longer messages are refused.
pub const MAX_MESSAGE: usize = 8 << 20;

/// Whether streams are to share by weight, which is all that may be asked for.
fn chooses(stack: &str, scheduler: &str, interleaving: bool) -> bool {
    match (stack, interleaving, scheduler) {
        ("dcsctp", true, "weighted-fair-queueing") => true,
        ("dcsctp", true, other) => unsupported(&format!("dcsctp has no stream scheduler {other}")),
        ("dcsctp", false, _) => unsupported(
            "dcsctp has no call that chooses the stream scheduler of DATA chunks (RFC 8260 §3)",
        ),
        _ => unsupported(&format!(
            "{stack} has no call that chooses a stream scheduler (RFC 8260 §3)"
        )),
    }
}

/// One address; the stacks here have one path.
fn address(text: &str, stack: &str) -> IpAddr {
    if text.contains(',') {
        unsupported(&format!("{stack} has one path: it knows no addresses"));
    }
    text.parse().unwrap_or_else(|_| fail(&format!("not an IP address: {text}")))
}

impl Options {
    /// Reads the command line; ends the process when it is wrong, or the stack lacks what it asks for.
    pub fn parse(stack: &str) -> Options {
        Options::read(stack).unwrap_or_else(|error| {
            eprintln!("{error}");
            std::process::exit(2);
        })
    }

    fn read(stack: &str) -> Result<Options, lexopt::Error> {
        let mut words = lexopt::Parser::from_env();
        let server = match words.next()? {
            Some(Value(word)) if word == "server" => true,
            Some(Value(word)) if word == "client" => false,
            _ => return Err("server or client?".into()),
        };
        let (mut ours, mut theirs) = (IpAddr::from(Ipv4Addr::LOCALHOST), None);
        let (mut udp, mut peer_udp, mut port, mut peer_port) = (0, 0, 5000, 5000);
        let (mut messages, mut send, mut receive) = (10_000, None, None);
        let mut payload = Payload { messages: 0, size: 1_000, ..Payload::PLAIN };
        let (mut mtu, mut duplex, mut timeout, mut close) = (1_500, false, 60, None);
        let (mut expect_abort, mut expect_restart) = (false, false);
        let (mut interval, mut burst) = (0, 1);
        let (mut initial_streams, mut reset_at, mut partial) = (None, None, false);
        let (mut interleaving, mut zero_checksum) = (false, false);
        let mut denied = false;
        let (mut scheduler, mut by_stream) = (None, false);
        let mut policy = Policy::Never;
        while let Some(word) = words.next()? {
            match word {
                Long("udp") => udp = words.value()?.parse()?,
                Long("peer-udp") => peer_udp = words.value()?.parse()?,
                Long("port") => port = words.value()?.parse()?,
                Long("peer-port") => peer_port = words.value()?.parse()?,
                Long("address") => ours = address(&words.value()?.string()?, stack),
                Long("peer") => theirs = Some(address(&words.value()?.string()?, stack)),
                Long("messages") => messages = words.value()?.parse()?,
                Long("send") => send = Some(words.value()?.parse()?),
                Long("receive") => receive = Some(words.value()?.parse()?),
                Long("size") => payload.size = words.value()?.parse()?,
                Long("first") => payload.first = Some(words.value()?.parse()?),
                Long("uneven") => payload.uneven = true,
                Long("by-stream") => by_stream = true,
                Long("scheduler") => scheduler = Some(words.value()?.string()?),
                Long("streams") => payload.streams = words.value()?.parse()?,
                Long("mtu") => mtu = words.value()?.parse()?,
                Long("timeout") => timeout = words.value()?.parse()?,
                Long("interval") => interval = words.value()?.parse()?,
                Long("burst") => burst = words.value()?.parse()?,
                // They have no limit here that messages of the cells would meet.
                Long("send-buffer") => drop(words.value()?),
                // The stacks here never let small messages wait for company.
                Long("no-delay") => {}
                Long("unordered") => payload.unordered = true,
                Long("duplex") => duplex = true,
                Long("expect-abort") => expect_abort = true,
                Long("expect-restart") => expect_restart = true,
                Long("initial-streams") => initial_streams = Some(words.value()?.parse()?),
                Long("reset-at") => reset_at = Some(words.value()?.parse()?),
                Long("denied-at") => {
                    reset_at = Some(words.value()?.parse()?);
                    denied = true;
                }
                Long("lifetime") => {
                    policy = Policy::Lifetime(Duration::from_millis(words.value()?.parse()?));
                }
                Long("retransmissions") => {
                    policy = Policy::Retransmissions(words.value()?.parse()?);
                }
                Long("partial") => partial = true,
                Long("ask-reset-at") => unsupported(&format!(
                    "{stack} has no call that asks the other end to reset its streams (RFC 6525 §6.3.2)"
                )),
                Long("reset-all-at") => unsupported(&format!(
                    "{stack} has no call that resets the whole association (RFC 6525 §6.3.3)"
                )),
                Long("priorities") => unsupported(&format!(
                    "{stack} has no call for messages that make room for more important ones (RFC 7496 §3.2)"
                )),
                Long("partial-delivery") => {
                    unsupported(&format!("{stack} has no call that reads a part of a message"))
                }
                Long("add-streams") => {
                    unsupported(&format!(
                        "{stack} has no call that adds streams (RFC 6525 §6.3.4)"
                    ));
                }
                Long("fast-failover") => unsupported(&format!("{stack} has no failover")),
                Long("with") => match words.value()?.string()?.as_str() {
                    "auth" | "auth,sha-1" => unsupported(&format!(
                        "{stack} has no call that authenticates chunks (RFC 4895)"
                    )),
                    "interleaving" if stack == "dcsctp" => interleaving = true,
                    "interleaving" => {
                        unsupported(&format!("{stack} has no I-DATA chunks (RFC 8260)"))
                    }
                    "zero-checksum" if stack == "dcsctp" => zero_checksum = true,
                    "zero-checksum" => unsupported(&format!(
                        "{stack} has no packets without a checksum (RFC 9653)"
                    )),
                    "mtu-search" => unsupported(&format!(
                        "{stack} has no call that searches the path MTU with probes (RFC 8899)"
                    )),
                    "nr-sack" => unsupported(&format!("{stack} has no NR-SACK chunks")),
                    "packet-drop-reports" => {
                        unsupported(&format!("{stack} has no packet drop reports"));
                    }
                    "deny-changes" => unsupported(&format!(
                        "{stack} has no call that denies changes of streams (RFC 6525 §6.3.1)"
                    )),
                    asconf if asconf.starts_with("asconf") => {
                        unsupported(&format!("{stack} has no ASCONF chunks (RFC 5061)"))
                    }
                    "ecn" => unsupported(&format!("{stack} has no ECN")),
                    other => unsupported(&format!("{stack} has no {other}")),
                },
                Long("close") => {
                    close = Some(match words.value()?.string()?.as_str() {
                        "wait" => Close::Wait,
                        "shutdown" => Close::Shutdown,
                        "abort" => Close::Abort,
                        _ => return Err("--close shutdown, abort or wait?".into()),
                    });
                }
                other => return Err(other.unexpected()),
            }
        }
        if !server && (udp == 0) != (peer_udp == 0) {
            return Err("a port is missing".into());
        }
        if !(8..=MAX_MESSAGE).contains(&payload.size)
            || payload.first.is_some_and(|first| !(8..=MAX_MESSAGE).contains(&first))
            || !(1..=2_048).contains(&payload.streams)
            || !(576..=9_000).contains(&mtu)
            || burst == 0
        {
            return Err("a number is out of range".into());
        }
        let weighted = scheduler.is_some_and(|name| chooses(stack, &name, interleaving));
        let headers = if ours.is_ipv4() { 20 } else { 40 } + if udp == 0 { 0 } else { 8 };
        Ok(Options {
            server,
            local: (ours, udp).into(),
            remote: (!server).then(|| (theirs.unwrap_or(ours), peer_udp).into()),
            port,
            peer_port,
            send: Payload { messages: send.unwrap_or(messages), ..payload },
            receive: Payload { messages: receive.unwrap_or(messages), ..payload },
            packet: mtu - headers,
            duplex,
            interval: Duration::from_millis(interval),
            burst,
            close: close.unwrap_or(if server { Close::Wait } else { Close::Shutdown }),
            expect_abort,
            expect_restart,
            timeout: Duration::from_secs(timeout),
            initial_streams: initial_streams.unwrap_or(payload.streams),
            reset_at,
            denied,
            policy,
            partial,
            interleaving,
            weighted,
            by_stream,
            zero_checksum,
        })
    }
}
