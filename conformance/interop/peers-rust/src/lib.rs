// SPDX-License-Identifier: MIT OR Apache-2.0

//! The peer of `../peer.h` for stacks that are crates, less the stack: the same command line, user
//! data and report, over UDP encapsulation (RFC 6951), or without `--udp` directly on IP, which takes root. A program for each
//! stack is in `bin/`.
//!
//! Exit code 127: the stack cannot do what was asked for.

mod options;
/// What the driver verifies with.
#[path = "../../../../lab/peers/src/payload.rs"]
mod payload;

use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;
use std::process::exit;
use std::time::{Duration, Instant};

pub use options::{Close, MAX_MESSAGE, Options, Policy};
pub use payload::Payload;
use payload::Received;

/// Packets read before timers and the application have their turn.
const BATCH: usize = 64;

/// The protocol number in an IP header.
const SCTP: i32 = 132;

/// Chunk types that end an association (RFC 9260 §3.2), behind the common header.
const COMMON_HEADER: usize = 12;
const ABORT: u8 = 6;
const SHUTDOWN_COMPLETE: u8 = 14;

/// What a stack tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The association is established.
    Up,
    /// The peer restarted.
    Restarted,
}

/// A message that has arrived.
pub struct Message {
    pub stream: u16,
    pub ppid: u32,
    pub payload: Vec<u8>,
}

/// An SCTP stack without IO, with one association.
pub trait Stack {
    /// Whether a stream whose reset was denied goes on.
    const GOES_ON: bool;

    /// Begins the handshake with the peer at an address.
    fn connect(&mut self, peer: SocketAddr);
    fn handle_packet(&mut self, now: Instant, from: SocketAddr, packet: &[u8]);
    fn handle_timeout(&mut self, now: Instant);
    fn next_timeout(&self) -> Option<Instant>;
    /// The next packet to send.
    fn transmit(&mut self, now: Instant) -> Option<Vec<u8>>;
    fn event(&mut self) -> Option<Happened>;
    fn receive(&mut self) -> Option<Message>;
    /// `false`: there is no room now.
    fn send(&mut self, message: Message, unordered: bool, policy: Policy) -> bool;
    /// These streams of ours are to begin again. `false`: something of them still waits.
    fn reset(&mut self, streams: Range<u16>) -> bool;
    /// Whether they have.
    fn is_reset(&self) -> bool;
    /// Whether the peer has denied it.
    fn is_denied(&self) -> bool;
    fn shutdown(&mut self);
    fn abort(&mut self);
    /// Whether the association has ended.
    fn is_closed(&self) -> bool;
}

/// Ends the process: the test has failed.
pub fn fail(why: &str) -> ! {
    println!("FAIL {why}");
    exit(1);
}

/// Ends the process: the stack cannot do this.
pub fn unsupported(what: &str) -> ! {
    println!("UNSUPPORTED {what}");
    exit(127);
}

/// What the packets say about the end of the association, in whichever direction they go.
#[derive(Default)]
struct Ending {
    graceful: bool,
    aborted: bool,
}

impl Ending {
    fn note(&mut self, packet: &[u8]) {
        match packet.get(COMMON_HEADER) {
            Some(&SHUTDOWN_COMPLETE) => self.graceful = true,
            Some(&ABORT) => self.aborted = true,
            _ => {}
        }
    }
}

/// How far the reset of our streams is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reset {
    Due,
    UnderWay,
    Done,
}

/// The application, and what carries its packets.
struct Peer<S> {
    options: Options,
    stack: S,
    socket: UdpSocket,
    remote: Option<SocketAddr>,
    ending: Ending,
    up: bool,
    restart_due: bool,
    reset: Reset,
    sent: u64,
    /// When the first message was due.
    sending: Option<Instant>,
    got: Received,
    closing: bool,
    start: Instant,
}

/// A UDP socket, or a raw one, which is used in the same way.
fn open(local: SocketAddr) -> io::Result<UdpSocket> {
    if local.port() != 0 {
        return UdpSocket::bind(local);
    }
    let socket = Socket::new(Domain::for_address(local), Type::RAW, Some(Protocol::from(SCTP)))?;
    socket.bind(&local.into())?;
    // What finds no room in it Linux (6.18) answers with an ICMP message: there were no such protocol.
    socket.set_recv_buffer_size(4 << 20)?;
    Ok(socket.into())
}

/// What the stack is told of an address: sctp-proto takes none without a port.
fn named(mut address: SocketAddr) -> SocketAddr {
    if address.port() == 0 {
        address.set_port(9_899);
    }
    address
}

/// Runs one association as the options say, and ends the process.
pub fn run(options: Options, stack: impl Stack) -> ! {
    let socket = open(options.local)
        .unwrap_or_else(|e| fail(&format!("UDP port {}: {e}", options.local.port())));
    let mut peer = Peer {
        remote: options.remote,
        got: if options.partial {
            Received::partial(options.receive)
        } else {
            Received::new(options.receive)
        },
        reset: if options.reset_at.is_some() { Reset::Due } else { Reset::Done },
        restart_due: options.expect_restart,
        options,
        stack,
        socket,
        ending: Ending::default(),
        up: false,
        sent: 0,
        sending: None,
        closing: false,
        start: Instant::now(),
    };
    if let Some(server) = peer.remote {
        peer.stack.connect(named(server));
    } else {
        println!("READY udp={} sctp={}", peer.options.local.port(), peer.options.port);
    }
    loop {
        peer.application();
        peer.flush().unwrap_or_else(|e| fail(&format!("UDP: {e}")));
        // SHUTDOWN COMPLETE is the last packet, whichever way it goes.
        if peer.up && (peer.stack.is_closed() || peer.ending.graceful) {
            peer.report();
        }
        peer.wait().unwrap_or_else(|e| fail(&format!("UDP: {e}")));
    }
}

impl<S: Stack> Peer<S> {
    /// Waits for packets or a timer, and hands them to the stack.
    fn wait(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let end = self.start + self.options.timeout;
        if now >= end {
            println!("FAIL timeout");
            exit(3);
        }
        let wakeups = [self.stack.next_timeout(), self.due().filter(|due| *due > now)];
        let until = wakeups.into_iter().flatten().fold(end, Instant::min);
        let pause = until.saturating_duration_since(now);
        let mut buffer = [0; 65_535];
        // A pause of zero would mean for ever.
        self.socket.set_read_timeout(Some(pause.max(Duration::from_micros(100))))?;
        for n in 0..BATCH {
            match self.socket.recv_from(&mut buffer) {
                Ok((length, from)) => {
                    self.remote = Some(from);
                    let packet = &buffer[self.ip_header(&buffer)..length];
                    self.ending.note(packet);
                    self.stack.handle_packet(Instant::now(), named(from), packet);
                }
                Err(e)
                    if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
                {
                    break;
                }
                // The peer is not there yet, or not any more: that is for the timers.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(e) => return Err(e),
            }
            if n == 0 {
                self.socket.set_nonblocking(true)?;
            }
        }
        self.socket.set_nonblocking(false)?;
        self.stack.handle_timeout(Instant::now());
        Ok(())
    }

    /// Bytes of the IP header before a packet: a raw socket has that of IPv4.
    fn ip_header(&self, packet: &[u8]) -> usize {
        let is_there = self.options.local.port() == 0 && self.options.local.is_ipv4();
        if is_there { usize::from(packet[0] & 0x0f) * 4 } else { 0 }
    }

    /// Sends what the stack has to send.
    fn flush(&mut self) -> io::Result<()> {
        while let Some(packet) = self.stack.transmit(Instant::now()) {
            self.ending.note(&packet);
            if let Some(remote) = self.remote {
                match self.socket.send_to(&packet, remote) {
                    Err(e) if e.kind() != io::ErrorKind::ConnectionRefused => return Err(e),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn application(&mut self) {
        while let Some(event) = self.stack.event() {
            match event {
                Happened::Up => {
                    self.up = true;
                    println!("UP");
                }
                Happened::Restarted if self.restart_due => {
                    self.restart_due = false;
                    self.got = Received::new(self.options.receive);
                    println!("RESTART");
                }
                Happened::Restarted => fail("the association was restarted"),
            }
        }
        while let Some(message) = self.stack.receive() {
            // The stacks do not tell the U flag.
            let unordered = self.options.receive.unordered;
            let verdict =
                self.got.accept(message.stream, message.ppid, unordered, &message.payload);
            verdict.unwrap_or_else(|error| fail(&error.to_string()));
        }
        if !self.up || self.closing || self.stack.is_closed() {
            return;
        }
        let received = self.got.is_complete() && !self.restart_due;
        if received || !self.options.server || self.options.duplex {
            self.send();
        }
        if received && self.sent == self.options.send.messages {
            self.closing = true;
            match self.options.close {
                Close::Wait => {}
                Close::Shutdown => self.stack.shutdown(),
                Close::Abort => self.stack.abort(),
            }
        }
    }

    /// When the next message is to be sent, once sending has begun.
    fn due(&self) -> Option<Instant> {
        let Options { interval, burst, send, .. } = &self.options;
        let bursts = u32::try_from(self.sent / burst).ok()?;
        let start = self.sending.filter(|_| self.sent < send.messages)?;
        start.checked_add(interval.checked_mul(bursts)?)
    }

    /// Hands messages that are due to the stack as long as there is room.
    fn send(&mut self) {
        let payload = self.options.send;
        self.sending.get_or_insert_with(Instant::now);
        while self.due().is_some_and(|due| due <= Instant::now()) {
            if Some(self.sent) == self.options.reset_at && !self.has_reset() {
                break;
            }
            let index =
                if self.options.by_stream { payload.by_stream(self.sent) } else { self.sent };
            // RFC 9260 §6.5: the other streams do not exist before they were added.
            if payload.stream(index) >= self.options.initial_streams {
                break;
            }
            let message = Message {
                stream: payload.stream(index),
                ppid: payload.ppid(index),
                payload: payload.message(index),
            };
            // The last one of each stream shows that all has come.
            let last = index + u64::from(payload.streams) >= payload.messages;
            let policy = if last { Policy::Never } else { self.options.policy };
            if !self.stack.send(message, payload.unordered, policy) {
                break;
            }
            self.sent += 1;
            if self.options.by_stream && self.sent == payload.messages {
                println!("QUEUED");
            }
        }
    }

    /// Whether our streams have begun again, as is due.
    fn has_reset(&mut self) -> bool {
        let count = self.options.send.streams;
        // One without data, if a stream that was not reset carries no more.
        let streams = if self.options.denied && !S::GOES_ON { count..count + 1 } else { 0..count };
        if self.reset == Reset::Due && self.stack.reset(streams) {
            self.reset = Reset::UnderWay;
        }
        if self.reset == Reset::UnderWay {
            match (self.stack.is_reset(), self.stack.is_denied()) {
                (true, _) if self.options.denied => fail("the reset was not denied"),
                (_, true) if !self.options.denied => fail("the reset was denied"),
                (_, true) => {
                    println!("DENIED a reset");
                    self.reset = Reset::Done;
                }
                (true, _) => self.reset = Reset::Done,
                (false, false) => {}
            }
        }
        self.reset == Reset::Done
    }

    /// Judges the end of the association, and ends the process.
    fn report(&self) -> ! {
        let end = match self.ending {
            Ending { aborted: true, .. } => "aborted",
            Ending { graceful: true, .. } => "shutdown",
            _ => fail("the association ended without SHUTDOWN COMPLETE or ABORT"),
        };
        let abort_wanted = self.options.close == Close::Abort || self.options.expect_abort;
        if abort_wanted != (end == "aborted") {
            fail(&format!("the association ended: {end}"));
        }
        if self.restart_due {
            fail("the peer did not restart");
        }
        if end == "shutdown" && !self.got.is_complete() {
            fail(&format!("shut down after {} messages", self.got.messages()));
        }
        for index in self.got.missing() {
            println!("MISSING {index}");
        }
        println!(
            "OK received={} messages={} sum={:016x} sent={} end={end}",
            self.got.bytes(),
            self.got.messages(),
            self.got.sum(),
            self.options.send.bytes_of(self.sent),
        );
        exit(0);
    }
}
