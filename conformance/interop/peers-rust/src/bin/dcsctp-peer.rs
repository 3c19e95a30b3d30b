// SPDX-License-Identifier: MIT OR Apache-2.0

//! The peer on dcsctp, Google's stack for WebRTC.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Instant;

use dcsctp::api::{
    DcSctpSocket, ErrorKind, Message as DcMessage, PpId, SendOptions, SocketEvent, SocketState,
    SocketTime, StreamId, ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS,
    ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_NONE,
};
use tresse_peers::{Happened, MAX_MESSAGE, Message, Options, Policy, Stack, run, unsupported};

struct Dcsctp {
    socket: Box<dyn DcSctpSocket>,
    start: Instant,
    packets: VecDeque<Vec<u8>>,
    events: VecDeque<Happened>,
    reset: bool,
    denied: bool,
}

impl Dcsctp {
    /// Sorts what the socket has to say.
    fn pump(&mut self) {
        while let Some(event) = self.socket.poll_event() {
            match event {
                SocketEvent::SendPacket(packet) => self.packets.push_back(packet),
                SocketEvent::OnConnected() => self.events.push_back(Happened::Up),
                SocketEvent::OnConnectionRestarted() => self.events.push_back(Happened::Restarted),
                SocketEvent::OnAborted(kind, text) => println!("ABORTED {kind:?} {text}"),
                SocketEvent::OnStreamsResetPerformed(_) => self.reset = true,
                SocketEvent::OnStreamsResetFailed(_) => self.denied = true,
                // No room, as `send` says, too.
                SocketEvent::OnError(ErrorKind::ResourceExhaustion, _) => {}
                SocketEvent::OnError(kind, text) => println!("ERROR {kind:?} {text}"),
                _ => {}
            }
        }
    }

    fn advance(&mut self, now: Instant) {
        self.socket.advance_time(SocketTime::zero() + (now - self.start));
    }
}

impl Stack for Dcsctp {
    const GOES_ON: bool = true;

    fn connect(&mut self, _peer: SocketAddr) {
        self.socket.connect();
        self.pump();
    }

    fn handle_packet(&mut self, now: Instant, _from: SocketAddr, packet: &[u8]) {
        self.advance(now);
        self.socket.handle_input(packet);
        self.pump();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
        self.pump();
    }

    fn next_timeout(&self) -> Option<Instant> {
        let at = self.socket.poll_timeout();
        (at != SocketTime::infinite_future()).then(|| self.start + (at - SocketTime::zero()))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Vec<u8>> {
        self.packets.pop_front()
    }

    fn event(&mut self) -> Option<Happened> {
        self.events.pop_front()
    }

    fn receive(&mut self) -> Option<Message> {
        let message = self.socket.get_next_message()?;
        let (stream, ppid) = (message.stream_id.0, message.ppid.0);
        Some(Message { stream, ppid, payload: message.payload })
    }

    fn send(&mut self, message: Message, unordered: bool, policy: Policy) -> bool {
        let Message { stream, ppid, payload } = message;
        let (lifetime, max_retransmissions) = match policy {
            Policy::Never => (None, None),
            Policy::Lifetime(lifetime) => (Some(lifetime), None),
            Policy::Retransmissions(most) => (None, Some(most)),
        };
        let options =
            SendOptions { unordered, lifetime, max_retransmissions, ..SendOptions::default() };
        let accepted =
            self.socket.send(DcMessage::new(StreamId(stream), PpId(ppid), payload), &options);
        self.pump();
        accepted.is_ok()
    }

    fn reset(&mut self, streams: Range<u16>) -> bool {
        let streams: Vec<StreamId> = streams.map(StreamId).collect();
        // What still waits when a reset is asked for is thrown away.
        if streams.iter().any(|stream| self.socket.buffered_amount(*stream) > 0) {
            return false;
        }
        let asked = self.socket.reset_streams(&streams);
        asked.unwrap_or_else(|e| unsupported(&format!("dcsctp does not reset its streams: {e}")));
        self.pump();
        true
    }

    fn is_reset(&self) -> bool {
        self.reset
    }

    fn is_denied(&self) -> bool {
        self.denied
    }

    fn shutdown(&mut self) {
        self.socket.shutdown();
        self.pump();
    }

    fn abort(&mut self) {
        self.socket.close();
        self.pump();
    }

    fn is_closed(&self) -> bool {
        self.socket.state() == SocketState::Closed
    }
}

fn main() {
    let options = Options::parse("dcsctp");
    let zero_checksum_alternate_error_detection_method = if options.zero_checksum {
        ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS
    } else {
        ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_NONE
    };
    let usual = dcsctp::api::Options {
        zero_checksum_alternate_error_detection_method,
        local_port: options.port,
        remote_port: options.peer_port,
        announced_maximum_incoming_streams: options.receive.streams,
        announced_maximum_outgoing_streams: options.initial_streams,
        mtu: options.packet,
        max_message_size: MAX_MESSAGE,
        ..dcsctp::api::Options::default()
    };
    let settings = if options.interleaving {
        dcsctp::api::Options {
            enable_message_interleaving: true,
            // "This should be a bit larger than the largest sized message".
            max_receiver_window_buffer_size: 2 * MAX_MESSAGE,
            max_send_buffer_size: 2 * MAX_MESSAGE,
            per_stream_send_queue_limit: 2 * MAX_MESSAGE,
            ..usual
        }
    } else {
        usual
    };
    let mut socket = dcsctp::new_socket("peer", &settings);
    if options.weighted {
        for stream in 0..options.send.streams {
            socket.set_stream_priority(StreamId(stream), stream + 1);
        }
    }
    let (packets, events) = (VecDeque::new(), VecDeque::new());
    let start = Instant::now();
    run(options, Dcsctp { socket, start, packets, events, reset: false, denied: false });
}
