//! Nodes and packets that several tests use.

#![allow(dead_code)] // Each test uses its part.

pub(crate) mod hosts;
pub(crate) mod many;

use std::net::IpAddr;

use tresse_core::wire::{
    CommonHeader, DataFlags, PacketWriter, Ppid, Ssn, StreamId, Tsn, VerificationTag,
};
use tresse_core::{Bytes, Time};
use tresse_sim::{Node, NodeContext, Packet, UdpPorts};

pub(crate) const fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().expect(text)
}

/// An SCTP packet with a valid checksum that carries one DATA chunk.
pub(crate) fn data(tsn: u32, payload: &[u8]) -> Bytes {
    let header = CommonHeader {
        source_port: 5000,
        destination_port: 5001,
        verification_tag: VerificationTag(0x0102_0304),
    };
    let mut buffer = Vec::new();
    let mut writer = PacketWriter::new(&mut buffer, header);
    writer.data(Tsn(tsn), StreamId(1), Ssn(0), Ppid(0), DataFlags::UNFRAGMENTED, payload);
    let length = writer.finish();
    assert_eq!(length, buffer.len());
    Bytes::from(buffer)
}

pub(crate) fn packet(source: IpAddr, destination: IpAddr, payload: Bytes) -> Packet {
    Packet::sctp(source, destination, payload)
}

pub(crate) fn in_udp(packet: Packet) -> Packet {
    Packet { udp: Some(UdpPorts { source: 9899, destination: 9899 }), ..packet }
}

/// Sends given packets at given moments, and records what arrives.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) plan: Vec<(Time, Packet)>,
    pub(crate) starts: Vec<Time>,
    pub(crate) received: Vec<(Time, Packet)>,
}

impl Script {
    pub(crate) fn new(plan: Vec<(Time, Packet)>) -> Box<Script> {
        Box::new(Script { plan, ..Script::default() })
    }

    /// Only records.
    pub(crate) fn silent() -> Box<Script> {
        Script::new(Vec::new())
    }

    /// When packets arrived, in milliseconds.
    pub(crate) fn arrivals(&self) -> Vec<u64> {
        self.received.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect()
    }
}

impl Node for Script {
    fn on_start(&mut self, cx: &mut NodeContext<'_>) {
        self.starts.push(cx.now());
        for (token, (at, _)) in self.plan.iter().enumerate() {
            if *at >= cx.now() {
                cx.set_timer(*at, token as u64);
            }
        }
    }

    fn on_packet(&mut self, cx: &mut NodeContext<'_>, packet: Packet) {
        self.received.push((cx.now(), packet));
    }

    fn on_timer(&mut self, cx: &mut NodeContext<'_>, token: u64) {
        cx.send(self.plan[token as usize].1.clone());
    }
}
