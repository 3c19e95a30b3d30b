//! One endpoint, and a peer that the test plays by hand.

use super::*;

/// The window that the peer advertises.
pub(super) const RWND: u32 = 1 << 20;
/// The peer's tag, and its first TSN: the next ones wrap around.
pub(super) const PEER_TAG: VerificationTag = VerificationTag(0x5ca1_ab1e);
pub(super) const PEER_TSN: Tsn = Tsn(u32::MAX - 2);

/// Bytes of chunks that fit a packet of 1500 bytes over IPv4, and of user data in one chunk.
pub(super) const PMDCS: usize = 1500 - 20 - 12;
pub(super) const FULL: usize = PMDCS - 16;

/// The endpoint is A, the peer is Z.
pub(super) struct Script {
    pub(super) now: Time,
    pub(super) end: Endpoint,
    pub(super) id: AssociationId,
    /// The endpoint's tag: what the peer puts into its packets.
    pub(super) tag: VerificationTag,
    /// The endpoint's first TSN.
    pub(super) first: Tsn,
    /// TSN of the next DATA from the peer.
    pub(super) next: Tsn,
    pub(super) events: Vec<Event>,
    /// The UDP port that the peer sends from.
    pub(super) encapsulation: Option<u16>,
    counts: u64,
}

/// What the peer says of itself.
pub(super) fn peer_fields() -> InitFields {
    InitFields {
        initiate_tag: PEER_TAG,
        a_rwnd: RWND,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: PEER_TSN,
    }
}

/// A packet to the endpoint.
pub(super) fn packet(tag: VerificationTag, write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
    packet_from(PORT, tag, write)
}

/// The same from another SCTP port.
pub(super) fn packet_from(
    source_port: u16,
    tag: VerificationTag,
    write: impl FnOnce(&mut PacketWriter<'_>),
) -> Vec<u8> {
    let header = CommonHeader { source_port, destination_port: PORT, verification_tag: tag };
    let mut bytes = Vec::new();
    let mut writer = PacketWriter::new(&mut bytes, header);
    write(&mut writer);
    writer.finish();
    bytes
}

/// Lists addresses as INIT and INIT ACK do.
pub(super) fn write_addresses(parameters: &mut ParameterWriter, addresses: &[IpAddr]) {
    for address in addresses {
        match address {
            IpAddr::V4(a) => parameters.ipv4(*a),
            IpAddr::V6(a) => parameters.ipv6(*a),
        };
    }
}

pub(super) fn init_packet(fields: &InitFields, parameters: &[u8]) -> Vec<u8> {
    packet(VerificationTag(0), |w| w.init(fields, parameters))
}

impl Script {
    /// An endpoint that accepts associations at these addresses.
    pub(super) fn listening_at(ours: &[IpAddr]) -> Script {
        let config = EndpointConfig {
            local_port: PORT,
            local_addresses: ours.to_vec(),
            accept: true,
            association: standard(),
            ..EndpointConfig::default()
        };
        Script::with_end(Endpoint::new(config, [1; 32]))
    }

    pub(super) fn with_end(end: Endpoint) -> Script {
        Script {
            now: Time::from_millis(1000),
            end,
            id: AssociationId::default(),
            tag: VerificationTag(0),
            first: Tsn(0),
            next: PEER_TSN,
            events: Vec::new(),
            encapsulation: None,
            counts: 0,
        }
    }

    /// The endpoint waits for peers.
    pub(super) fn listening(config: &AssociationConfig) -> Script {
        Script::with_end(pair::endpoint(Side::A, 1, config))
    }

    /// The endpoint has sent INIT, and is in COOKIE-WAIT.
    pub(super) fn connecting(config: &AssociationConfig) -> Script {
        Script::connecting_to(config, &addresses(Side::Z, 1))
    }

    pub(super) fn connecting_to(config: &AssociationConfig, remotes: &[IpAddr]) -> Script {
        let mut script = Script::listening(config);
        script.connect(config, remotes);
        script
    }

    pub(super) fn connect(&mut self, config: &AssociationConfig, remotes: &[IpAddr]) -> Vec<Sent> {
        self.id = self.end.connect(self.now, remotes, PORT, config.clone()).unwrap();
        self.encapsulation = config.encapsulation;
        let sent = self.poll();
        self.learn(&sent[0].init().0);
        sent
    }

    fn learn(&mut self, fields: &InitFields) {
        (self.tag, self.first) = (fields.initiate_tag, fields.initial_tsn);
    }

    /// Answers the INIT; the endpoint is then in COOKIE-ECHOED.
    pub(super) fn init_ack(&mut self) -> Vec<Sent> {
        // The peer has the addresses that were called.
        let remotes: Vec<IpAddr> =
            self.end.path_stats(self.id).iter().map(|path| path.remote).collect();
        let mut parameters = ParameterWriter::new();
        parameters.state_cookie(b"cookie");
        write_addresses(&mut parameters, &remotes);
        self.init_ack_with(&peer_fields(), &mut parameters)
    }

    pub(super) fn init_ack_with(
        &mut self,
        fields: &InitFields,
        parameters: &mut ParameterWriter,
    ) -> Vec<Sent> {
        let parameters = parameters.finish();
        self.give(|w| w.init_ack(fields, &parameters))
    }

    pub(super) fn cookie_ack(&mut self) -> Vec<Sent> {
        self.give(|w| w.cookie_ack())
    }

    /// An association that the endpoint opened, established.
    pub(super) fn connected(config: &AssociationConfig) -> Script {
        let mut script = Script::connecting(config);
        script.init_ack();
        script.cookie_ack();
        script
    }

    /// Goes through INIT and COOKIE ECHO as a client; the association is then established.
    pub(super) fn join(&mut self, fields: &InitFields, parameters: &[u8]) -> Vec<Sent> {
        let ack = self.give_bytes(init_packet(fields, parameters));
        let ack = sent::only(&ack).clone();
        self.learn(&ack.init().0);
        let sent = self.give(|w| w.cookie_echo(&ack.cookie()));
        self.id = self.end.associations().last().copied().unwrap();
        sent
    }

    /// The same with `remotes` given by the application, so that all of them are confirmed.
    pub(super) fn multihomed(config: &AssociationConfig, addresses_each: u8) -> Script {
        let mut script = Script::connecting_to(config, &addresses(Side::Z, addresses_each));
        script.init_ack();
        script.cookie_ack();
        script
    }

    /// An association whose cwnd has grown to this many full packets at least, with nothing
    /// outstanding. Chunks are numbered from 0 again.
    pub(super) fn grown(config: &AssociationConfig, packets: usize) -> Script {
        let mut script = Script::connected(config);
        script.grow(packets);
        script
    }

    /// Has cwnd grow so.
    pub(super) fn grow(&mut self, packets: usize) {
        let (mut sent, mut acked) = (0, 0);
        while acked < sent || self.path(0).cwnd < packets * PMDCS {
            if self.path(0).cwnd < packets * PMDCS {
                for _ in 0..2 {
                    self.try_send(0, FULL, SendOptions::default()).unwrap();
                }
                sent += 2;
            }
            self.poll();
            acked += 1;
            self.sack(acked, &[]);
        }
        self.first = self.tsn(acked);
    }

    /// Such an association with `n` full packets in flight, all sent now.
    pub(super) fn flying(config: &AssociationConfig, n: usize) -> Script {
        let mut script = Script::grown(config, n);
        for _ in 0..n {
            script.try_send(0, FULL, SendOptions::default()).unwrap();
        }
        assert_eq!(script.poll().len(), n);
        script
    }

    /// An association that the peer opened, established.
    pub(super) fn accepted(config: &AssociationConfig) -> Script {
        let mut script = Script::listening(config);
        script.join(&peer_fields(), &[]);
        script
    }

    /// An association in `state`; with data outstanding where the state allows it.
    pub(super) fn in_state(state: State) -> Script {
        let config = standard();
        let mut script = match state {
            State::Closed => return Script::listening(&config),
            State::CookieWait | State::CookieEchoed => Script::connecting(&config),
            _ => Script::connected(&config),
        };
        let cumulative = script.first.wrapping_sub(1);
        match state {
            State::CookieEchoed => drop(script.init_ack()),
            State::ShutdownPending => {
                script.send(100);
                script.shutdown();
            }
            State::ShutdownSent => drop(script.shutdown()),
            State::ShutdownReceived => {
                script.send(100);
                script.give(|w| w.shutdown(cumulative));
            }
            State::ShutdownAckSent => drop(script.give(|w| w.shutdown(cumulative))),
            _ => {}
        }
        assert_eq!(script.state(), state);
        script
    }

    /// All states but CLOSED.
    pub(super) const STATES: [State; State::ALL.len() - 1] = {
        let [open @ .., State::Closed] = State::ALL else { panic!("CLOSED is the last one") };
        open
    };

    pub(super) fn state(&self) -> State {
        self.end.roll.get(self.id).map_or(State::Closed, |a| a.state())
    }

    /// What the endpoint sends now.
    pub(super) fn poll(&mut self) -> Vec<Sent> {
        let mut sent = Vec::new();
        let mut buffer = Vec::new();
        while let Some(to) = self.end.poll_transmit(self.now, &mut buffer) {
            self.counts += 1;
            let bytes = Bytes::copy_from_slice(&buffer);
            sent.push(Sent { from: Side::A, at: self.now, to, number: self.counts, bytes });
            assert!(sent.len() < 10_000, "it never stops sending");
        }
        self.events.extend(std::iter::from_fn(|| self.end.poll_event()).map(|(_, event)| event));
        sent
    }

    /// Lets time pass, and returns what the endpoint sends meanwhile.
    pub(super) fn wait(&mut self, span: Duration) -> Vec<Sent> {
        let end = self.now + span;
        let mut sent = self.poll();
        while let Some(next) = self.end.poll_timeout().filter(|t| *t <= end) {
            self.now = self.now.max(next);
            self.end.handle_timeout(self.now);
            sent.extend(self.poll());
        }
        self.now = end;
        sent
    }

    /// Lets time pass until the endpoint sends DATA by itself.
    pub(super) fn wait_for_data(&mut self) -> Vec<Sent> {
        for _ in 0..1000 {
            let sent = self.wait(ms(100));
            if sent.iter().any(|p| p.carries(ChunkType::DATA)) {
                return sent;
            }
        }
        panic!("no DATA for 100 seconds");
    }

    /// A packet of the peer, with the right tag and from its first address.
    pub(super) fn give(&mut self, write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<Sent> {
        self.give_bytes(packet(self.tag, write))
    }

    pub(super) fn give_bytes(&mut self, packet: Vec<u8>) -> Vec<Sent> {
        self.give_from(addresses(Side::Z, 1)[0], packet)
    }

    pub(super) fn give_from(&mut self, source: IpAddr, packet: Vec<u8>) -> Vec<Sent> {
        self.give_datagram(Datagram {
            source,
            destination: addresses(Side::A, 1)[0],
            encapsulation: self.encapsulation,
            ecn: Ecn::NotEct,
            packet: packet.into(),
        })
    }

    pub(super) fn give_datagram(&mut self, datagram: Datagram) -> Vec<Sent> {
        self.end.handle_datagram(self.now, datagram);
        self.poll()
    }

    /// One whole message of the peer on stream 0, with the next TSN.
    pub(super) fn data(&mut self, len: usize) -> Vec<Sent> {
        let tsn = self.next;
        self.next = tsn.wrapping_add(1);
        self.data_at(tsn, len)
    }

    /// The same with any TSN; unordered, so that SSNs do not matter.
    pub(super) fn data_at(&mut self, tsn: Tsn, len: usize) -> Vec<Sent> {
        self.give(|w| write_data(w, tsn, len))
    }

    /// A SACK of the peer for the first `count` chunks of the endpoint, and gap blocks.
    pub(super) fn sack(&mut self, count: u32, gaps: &[(u16, u16)]) -> Vec<Sent> {
        self.sack_with(count, gaps, RWND)
    }

    pub(super) fn sack_with(&mut self, count: u32, gaps: &[(u16, u16)], rwnd: u32) -> Vec<Sent> {
        let cumulative = self.tsn(count).wrapping_sub(1);
        self.give(|w| write_sack(w, cumulative, gaps, rwnd))
    }

    /// The TSN of the endpoint's chunk number `n`, from 0.
    pub(super) fn tsn(&self, n: u32) -> Tsn {
        self.first.wrapping_add(n)
    }

    /// Numbers of the endpoint's chunks in packets, from 0.
    pub(super) fn numbers(&self, packets: &[Sent]) -> Vec<Vec<u32>> {
        let number = |tsn: u32| tsn.wrapping_sub(self.first.0);
        packets
            .iter()
            .map(|p| p.tsns().into_iter().map(number).collect::<Vec<_>>())
            .filter(|numbers| !numbers.is_empty())
            .collect()
    }

    /// The application of the endpoint sends one message on stream 0.
    pub(super) fn send(&mut self, len: usize) -> Vec<Sent> {
        self.try_send(0, len, SendOptions::default()).unwrap();
        self.poll()
    }

    pub(super) fn try_send(
        &mut self,
        stream: u16,
        len: usize,
        options: SendOptions,
    ) -> Result<(), crate::error::SendError> {
        let payload = Bytes::from(vec![7; len]);
        self.end.send(self.now, self.id, StreamId(stream), payload, options)
    }

    pub(super) fn recv(&mut self) -> Option<ReceivedMessage> {
        let told = self.end.next_message(self.id);
        let received = self.end.recv(self.now, self.id);
        assert_eq!(told, received.as_ref().map(NextMessage::from));
        received
    }

    pub(super) fn shutdown(&mut self) -> Vec<Sent> {
        self.end.shutdown(self.now, self.id).unwrap();
        self.poll()
    }

    pub(super) fn stats(&self) -> crate::stats::AssociationStats {
        self.end.stats(self.id).unwrap()
    }

    pub(super) fn path(&self, path: u8) -> crate::stats::PathStats {
        self.end.path_stats(self.id).swap_remove(usize::from(path))
    }

    /// Numbers of the chunks declared lost since the last call.
    pub(super) fn lost(&mut self) -> Vec<u32> {
        let first = self.first;
        let lost = |event| match event {
            TraceEvent::Lost { tsn, .. } => Some(tsn.0.wrapping_sub(first.0)),
            _ => None,
        };
        std::iter::from_fn(|| self.end.poll_trace()).filter_map(|(_, _, e)| lost(e)).collect()
    }

    /// How the association ended.
    pub(super) fn closed(&self) -> Option<&CloseReason> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Closed(reason) => Some(reason),
            _ => None,
        })
    }
}

/// One whole unordered message on stream 0.
pub(super) fn write_data(w: &mut PacketWriter<'_>, tsn: Tsn, len: usize) {
    let flags = DataFlags { unordered: true, ..DataFlags::UNFRAGMENTED };
    w.data(tsn, StreamId(0), Ssn(0), Ppid(0), flags, &vec![9; len]);
}

pub(super) fn write_sack(
    w: &mut PacketWriter<'_>,
    cumulative: Tsn,
    gaps: &[(u16, u16)],
    rwnd: u32,
) {
    let gaps = gaps.iter().map(|(start, end)| GapAckBlock { start: *start, end: *end });
    w.sack(cumulative, rwnd, gaps, [].into_iter());
}
