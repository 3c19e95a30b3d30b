//! No allocation per chunk in steady state: neither in the sender nor in the receiver.

use std::net::{IpAddr, Ipv4Addr};

use tresse_core::wire::{ChunkType, StreamId};
use tresse_core::{
    AssociationConfig, AssociationId, Authentication, Bytes, Datagram, Endpoint, EndpointConfig,
    SendOptions, Time,
};

const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];

struct Pair {
    ends: [Endpoint; 2],
    now: Time,
    buffer: Vec<u8>,
    packets: usize,
}

impl Pair {
    /// Carries packets until both sides are silent; the receiver reads at once. (Messages that wait
    /// in great numbers are copied out of their packets, to free those.)
    fn exchange(&mut self, reader: Option<AssociationId>) -> usize {
        let mut received = 0;
        let mut quiet = false;
        while !quiet {
            quiet = true;
            for (from, source) in ADDRESSES.into_iter().enumerate() {
                while let Some(t) = self.ends[from].poll_transmit(self.now, &mut self.buffer) {
                    quiet = false;
                    self.packets += 1;
                    let datagram = Datagram {
                        source,
                        destination: t.destination,
                        encapsulation: None,
                        ecn: tresse_core::Ecn::NotEct,
                        packet: Bytes::copy_from_slice(&self.buffer),
                    };
                    self.ends[1 - from].handle_datagram(self.now, datagram);
                    while reader.is_some_and(|id| self.ends[1].recv(self.now, id).is_some()) {
                        received += 1;
                    }
                }
            }
        }
        received
    }

    /// Sends `count` messages and reads them; returns how many arrived.
    fn transfer(&mut self, ids: [AssociationId; 2], message: &Bytes, count: usize) -> usize {
        let mut received = 0;
        let mut sent = 0;
        while received < count {
            while sent < count {
                let (stream, options) = (StreamId(sent as u16 % 3), SendOptions::default());
                if self.ends[0].send(self.now, ids[0], stream, message.clone(), options).is_err() {
                    break;
                }
                sent += 1;
            }
            received += self.exchange(Some(ids[1]));
            while self.ends.iter_mut().any(|e| e.poll_event().is_some()) {}
            // Only a delayed SACK can hold things up.
            self.now =
                self.ends.iter().filter_map(Endpoint::poll_timeout).fold(self.now, Time::max);
            let now = self.now;
            self.ends.iter_mut().for_each(|e| e.handle_timeout(now));
        }
        received
    }
}

#[test]
fn chunks_cost_no_allocation_once_buffers_have_grown() {
    measure(AssociationConfig { send_buffer: 64 << 10, ..AssociationConfig::default() });
}

/// Nor do AUTH chunks.
#[test]
fn nor_if_they_are_authenticated() {
    let mut association =
        AssociationConfig { send_buffer: 64 << 10, ..AssociationConfig::default() };
    association.extensions.authentication = true;
    let chunks = vec![ChunkType::DATA, ChunkType::SACK];
    association.authentication = Authentication { chunks, ..Authentication::default() }.into();
    measure(association);
}

fn measure(association: AssociationConfig) {
    let ends = [0, 1].map(|i: usize| {
        let config = EndpointConfig {
            local_addresses: vec![ADDRESSES[i]],
            accept: true,
            association: association.clone(),
            ..EndpointConfig::default()
        };
        Endpoint::new(config, [i as u8; 32])
    });
    let mut pair = Pair { ends, now: Time::from_millis(1), buffer: Vec::new(), packets: 0 };
    let a = pair.ends[0].connect(pair.now, &[ADDRESSES[1]], 5000, association).unwrap();
    pair.exchange(None);
    let ids = [a, pair.ends[1].associations()[0]];
    let message = Bytes::from(vec![1; 50]);
    pair.transfer(ids, &message, 20_000);

    pair.packets = 0;
    let count = 20_000;
    let info = allocation_counter::measure(|| {
        assert_eq!(pair.transfer(ids, &message, count), count);
    });
    // A datagram is one buffer and its reference count; nothing else is left.
    let allowed = 2 * pair.packets as u64 + 200;
    assert!(
        info.count_total <= allowed,
        "{} allocations for {count} chunks in {} packets",
        info.count_total,
        pair.packets
    );
    assert!(pair.packets * 4 < count, "chunks were not bundled: {} packets", pair.packets);
}
