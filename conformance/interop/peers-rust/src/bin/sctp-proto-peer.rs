// SPDX-License-Identifier: MIT OR Apache-2.0

//! The peer on sctp-proto, the stack of str0m.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Error,
    Event, Payload, PayloadProtocolIdentifier, ReliabilityType, ServerConfig, StreamEvent,
    StreamResetError, TransportConfig,
};
use tresse_peers::{
    Close, Happened, MAX_MESSAGE, Message, Options, Policy, Stack, fail, run, unsupported,
};

/// Bytes that may wait on a stream.
const ROOM: usize = 256 << 10;

struct SctpProto {
    endpoint: Endpoint,
    transport: Arc<TransportConfig>,
    association: Option<(AssociationHandle, Association)>,
    packets: VecDeque<Vec<u8>>,
    events: VecDeque<Happened>,
    readable: VecDeque<u16>,
    /// Streams that are being reset.
    resetting: BTreeSet<u16>,
    /// That was denied.
    denied: bool,
    closing: bool,
}

impl SctpProto {
    /// Sorts what the association has to say.
    fn pump(&mut self, now: Instant) {
        let Some((_, association)) = &mut self.association else { return };
        // What still waits when `shutdown` is called is lost, so wait for it.
        let waits = |association: &mut Association| {
            let mut streams = association.stream_ids().into_iter();
            streams.any(|id| association.stream(id).and_then(|s| s.buffered_amount()) != Ok(0))
        };
        if self.closing && !waits(association) {
            self.closing = false;
            // Not established any more: the peer's shutdown came first.
            let _ = association.shutdown();
        }
        while let Some(event) = association.poll() {
            match event {
                Event::Connected => self.events.push_back(Happened::Up),
                Event::Stream(StreamEvent::Opened { id } | StreamEvent::Readable { id }) => {
                    self.readable.push_back(id);
                }
                Event::Stream(StreamEvent::ResetComplete { id }) => {
                    self.resetting.remove(&id);
                }
                Event::Stream(StreamEvent::ResetFailed {
                    id,
                    reason: StreamResetError::Denied,
                }) => {
                    self.denied |= self.resetting.contains(&id);
                }
                Event::Stream(StreamEvent::ResetFailed { id, reason }) => {
                    fail(&format!("the reset of stream {id}: {reason:?}"));
                }
                Event::HandshakeFailed { reason } => fail(&format!("handshake: {reason}")),
                Event::AssociationLost { reason } => println!("LOST {reason}"),
                _ => {}
            }
        }
        // What it tells its endpoint is that it may be forgotten, and it does so as soon as a shutdown
        // is asked for; the packets of the shutdown would then reach nobody.
        let packets = std::iter::from_fn(|| association.poll_transmit(now))
            .chain(std::iter::from_fn(|| self.endpoint.poll_transmit()));
        for transmit in packets {
            if let Payload::RawEncode(contents) = transmit.payload {
                self.packets.extend(contents.into_iter().map(|packet| packet.to_vec()));
            }
        }
    }
}

impl Stack for SctpProto {
    // It keeps its number to itself.
    const GOES_ON: bool = false;

    fn connect(&mut self, peer: SocketAddr) {
        let mut config = ClientConfig::new();
        config.transport = Arc::clone(&self.transport);
        let connected = self.endpoint.connect(config, peer);
        self.association = Some(connected.unwrap_or_else(|e| fail(&format!("connect: {e}"))));
        self.pump(Instant::now());
    }

    fn handle_packet(&mut self, now: Instant, from: SocketAddr, packet: &[u8]) {
        let packet = Bytes::copy_from_slice(packet);
        match self.endpoint.handle(now, from, None, None, packet) {
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                // A peer that restarts gets another association beside the one that it had.
                if self.association.is_some() {
                    self.events.push_back(Happened::Restarted);
                    self.readable.clear();
                }
                self.association = Some((handle, association));
            }
            Some((handle, DatagramEvent::AssociationEvent(event))) => {
                if let Some((known, association)) = &mut self.association
                    && *known == handle
                {
                    association.handle_event(event);
                }
            }
            None => {}
        }
        self.pump(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(now);
        }
        self.pump(now);
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.association.as_ref()?.1.poll_timeout()
    }

    fn transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.packets.is_empty() {
            self.pump(now);
        }
        self.packets.pop_front()
    }

    fn event(&mut self) -> Option<Happened> {
        self.events.pop_front()
    }

    fn receive(&mut self) -> Option<Message> {
        let (_, association) = self.association.as_mut()?;
        while let Some(&id) = self.readable.front() {
            let read = association.stream(id).ok().and_then(|mut s| s.read_sctp().ok().flatten());
            if let Some(chunks) = read {
                let mut payload = vec![0; chunks.len()];
                let length = chunks.read(&mut payload).unwrap_or_else(|e| fail(&format!("{e}")));
                payload.truncate(length);
                let ppid: PayloadProtocolIdentifier = chunks.ppi;
                return Some(Message { stream: id, ppid: ppid as u32, payload });
            }
            self.readable.pop_front();
        }
        None
    }

    fn send(&mut self, message: Message, unordered: bool, policy: Policy) -> bool {
        let Some((_, association)) = &mut self.association else { return false };
        let Message { stream: id, ppid, payload } = message;
        let ppid = PayloadProtocolIdentifier::from(ppid);
        if association.stream(id).is_err() {
            let opened = association.open_stream(id, ppid);
            // The other end has reset its half, and then our half of the new stream is reset in turn.
            if matches!(opened, Err(Error::ErrStreamResetPending)) {
                return false;
            }
            opened.unwrap_or_else(|e| fail(&format!("stream {id}: {e}")));
        }
        let mut stream = association.stream(id).unwrap_or_else(|e| fail(&format!("{e}")));
        if stream.buffered_amount().is_ok_and(|waiting| waiting > ROOM) {
            return false;
        }
        let (kind, value) = match policy {
            Policy::Never => (ReliabilityType::Reliable, 0),
            Policy::Lifetime(lifetime) => (ReliabilityType::Timed, lifetime.as_millis() as u32),
            Policy::Retransmissions(most) => (ReliabilityType::Rexmit, most.into()),
        };
        let reliable = stream.set_reliability_params(unordered, kind, value);
        match reliable.and_then(|()| stream.write_with_ppi(&payload, ppid)) {
            Ok(_) => true,
            // The other end has yet to reset its half.
            Err(Error::ErrStreamClosed) => false,
            Err(e) => fail(&format!("write: {e}")),
        }
    }

    fn reset(&mut self, streams: Range<u16>) -> bool {
        let Some((_, association)) = &mut self.association else { return false };
        for id in streams.clone() {
            if association.stream(id).is_err() {
                let opened = association.open_stream(id, PayloadProtocolIdentifier::Binary);
                opened.unwrap_or_else(|e| fail(&format!("stream {id}: {e}")));
            }
        }
        let waits = |id| association.stream(id).and_then(|s| s.buffered_amount()) != Ok(0);
        if streams.clone().any(waits) {
            return false;
        }
        for id in streams {
            let closed = association.stream(id).and_then(|mut stream| stream.close());
            closed.unwrap_or_else(|e| fail(&format!("the reset of stream {id}: {e}")));
            self.resetting.insert(id);
        }
        true
    }

    fn is_reset(&self) -> bool {
        self.resetting.is_empty()
    }

    fn is_denied(&self) -> bool {
        self.denied
    }

    fn shutdown(&mut self) {
        self.closing = true;
    }

    fn abort(&mut self) {
        // Refused at the start.
    }

    fn is_closed(&self) -> bool {
        // One that is being set up is closed, too.
        let ended = |a: &Association| a.is_closed() && !a.is_handshaking();
        self.association.as_ref().is_some_and(|(_, association)| ended(association))
    }
}

fn main() {
    let mut options = Options::parse("sctp-proto");
    // It knows the identifiers of WebRTC only, and makes one number of all others.
    options.send.ppid = Some(PayloadProtocolIdentifier::Binary as u32);
    options.receive.ppid = options.send.ppid;
    if options.close == Close::Abort {
        unsupported("sctp-proto has no call that sends ABORT");
    }
    let transport = TransportConfig::default()
        .with_max_send_message_size(MAX_MESSAGE as u32)
        .with_max_receive_message_size(MAX_MESSAGE as u32)
        .with_max_num_inbound_streams(options.receive.streams)
        .with_max_num_outbound_streams(options.initial_streams)
        .with_local_port(options.port)
        .with_remote_port(options.peer_port);
    let transport = Arc::new(transport);
    let server = options.server.then(|| {
        let mut config = ServerConfig::new();
        config.transport = Arc::clone(&transport);
        Arc::new(config)
    });
    let endpoint = Endpoint::new(Arc::new(EndpointConfig::new()), server);
    let stack = SctpProto {
        endpoint,
        transport,
        association: None,
        packets: VecDeque::new(),
        events: VecDeque::new(),
        readable: VecDeque::new(),
        resetting: BTreeSet::new(),
        denied: false,
        closing: false,
    };
    run(options, stack);
}
