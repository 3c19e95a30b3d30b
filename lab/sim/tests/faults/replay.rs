//! One seed for people: the scenario, every packet and every event.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::net::IpAddr;

use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use tresse_core::Time;
use tresse_core::wire::{Chunk, DataFlags, Packet};

use crate::run::Options;
use crate::scenario::Scenario;
use crate::seeds;

/// Replays a seed and prints all about it. `TRESSE_PCAP=file` also writes its packets.
///
/// # Panics
/// If it violates something.
pub(crate) fn replay(seed: u64) {
    let options = Options { verbose: true, partial: seeds::is_partial(), ..Options::default() };
    let (scenario, report) = seeds::run_seed(seed, &options);
    println!("{}", describe(&scenario));
    if let Ok(file) = env::var("TRESSE_PCAP") {
        fs::write(&file, &report.capture).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    let mut lines = report.log;
    lines.extend(packets(&report.capture));
    lines.sort_by_key(|(at, _)| *at);
    for (at, text) in lines {
        println!("{:14.6} {text}", at.as_secs_f64());
    }
    println!("seen: {:?}", report.seen);
    for violation in &report.violations {
        println!("{violation}");
    }
    assert!(report.violations.is_empty(), "seed {seed} fails");
}

/// The scenario, without what is as usual.
fn describe(scenario: &Scenario) -> String {
    let mut text = format!("seed {}, curfew {:?}\n", scenario.seed, scenario.curfew);
    let _ = writeln!(text, "features: {:?}", scenario.features);
    for (host, plan) in scenario.hosts.iter().enumerate() {
        let config = &plan.config;
        let _ = writeln!(
            text,
            "host {host}: {:?} (wildcard {}), accepts {}, connects {:?} to {:?}, epoch {}",
            plan.addresses, plan.wildcard, plan.accept, plan.connect_at, plan.remotes, plan.epoch
        );
        if let Some(stack) = &plan.stack {
            let _ = writeln!(text, "  {:?}", stack.model);
            for i in &stack.interfaces {
                let _ = writeln!(text, "  {} mtu {}: {:?}", i.name, i.mtu, i.addresses);
            }
            for route in &stack.routes {
                let _ = writeln!(text, "  {route:?}");
            }
        }
        let _ = writeln!(
            text,
            "  early {}, reconnects {}, ending {:?}, reading {:?}, calls {:?}",
            plan.early, plan.reconnects, plan.ending, plan.reading, plan.calls
        );
        let _ = writeln!(text, "  profile {} with {:?}", plan.profile, plan.overrides);
        let _ = writeln!(
            text,
            "  streams {}/{}, buffers {}/{}, parts {:?}, message <= {}, mtu {}, no_delay {}, \
             fragmentation {}, bundling {}, encapsulation {:?}",
            config.outbound_streams,
            config.inbound_streams,
            config.send_buffer,
            config.receive_buffer,
            config.partial_delivery_point,
            config.max_message_size,
            config.mtu,
            config.no_delay,
            config.fragmentation,
            config.bundling,
            config.encapsulation
        );
        let bytes: usize = plan.traffic.iter().map(|m| m.size).sum();
        let last = plan.traffic.last().map(|m| m.at);
        let _ = writeln!(
            text,
            "  {} messages, {bytes} bytes, the last one at {last:?}",
            plan.traffic.len()
        );
    }
    for (i, link) in scenario.links.iter().enumerate() {
        let config = format!("{:?}", link.config);
        let _ = writeln!(text, "link {i}: host {} by {:?}: {config}", link.from, link.place);
    }
    for (at, fault) in &scenario.faults {
        let _ = writeln!(text, "fault at {at:?}: {fault:?}");
    }
    text
}

/// The packets of a capture, a line for each.
fn packets(capture: &[u8]) -> Vec<(Time, String)> {
    let Ok(mut reader) = PcapNgReader::new(capture) else { return Vec::new() };
    let (mut names, mut lines) = (Vec::new(), Vec::new());
    while let Some(Ok(block)) = reader.next_block() {
        match block {
            Block::InterfaceDescription(interface) => {
                for option in &interface.options {
                    if let InterfaceDescriptionOption::IfName(name) = option {
                        names.push(name.to_string());
                    }
                }
            }
            Block::EnhancedPacket(packet) => {
                let comment = packet.options.iter().find_map(|option| match option {
                    EnhancedPacketOption::Comment(text) => Some(text.to_string()),
                    _ => None,
                });
                let name = &names[packet.interface_id as usize];
                let fate = comment.unwrap_or_default();
                let text = format!("{name:8} {} {fate}", summary(&packet.data));
                lines.push((Time::from_nanos(packet.timestamp.as_nanos() as u64), text));
            }
            _ => {}
        }
    }
    lines
}

/// An IP packet in one line.
fn summary(ip: &[u8]) -> String {
    let ipv6 = ip[0] >> 4 == 6;
    let (protocol, header) = if ipv6 { (ip[6], 40) } else { (ip[9], 20) };
    let sctp = &ip[if protocol == 17 { header + 8 } else { header }..];
    let Ok(packet) = Packet::parse_unverified(sctp) else { return "not SCTP".into() };
    let address = |from: usize| -> IpAddr {
        let bytes = &ip[from..];
        if ipv6 {
            IpAddr::from(*bytes.first_chunk::<16>().expect("a whole header"))
        } else {
            IpAddr::from(*bytes.first_chunk::<4>().expect("a whole header"))
        }
    };
    let (from, to) = if ipv6 { (address(8), address(24)) } else { (address(12), address(16)) };
    let mut text = format!("{from} > {to} {:08x}", packet.header().verification_tag.0);
    for raw in packet.chunks().map_while(Result::ok) {
        let _ = match Chunk::parse(raw) {
            Ok(Chunk::Data(data)) => {
                let DataFlags { retransmission, immediate, unordered, beginning, ending } =
                    data.flags;
                let flag = |set: bool, letter| if set { letter } else { '-' };
                write!(
                    text,
                    " DATA({} s{}:{} {}{}{}{}{} {}B m{})",
                    data.tsn.0,
                    data.stream.0,
                    data.ssn.0,
                    flag(retransmission, 'R'),
                    flag(immediate, 'I'),
                    flag(unordered, 'U'),
                    flag(beginning, 'B'),
                    flag(ending, 'E'),
                    data.payload.len(),
                    data.ppid.0
                )
            }
            Ok(Chunk::IData(data)) => {
                let (flags, payload) = (data.flags.bits(), data.payload.len());
                let (tsn, stream, mid, fsn) = (data.tsn, data.stream, data.mid, data.fsn);
                write!(text, " I-DATA({tsn} s{stream}:{mid}.{fsn} {flags:05b} {payload}B)")
            }
            Ok(Chunk::Sack(sack)) => {
                let gaps: Vec<String> =
                    sack.gap_blocks().map(|b| format!("{}-{}", b.start, b.end)).collect();
                let (cumulative, window) = (sack.cumulative_tsn_ack.0, sack.a_rwnd);
                let duplicates = sack.duplicates().len();
                write!(text, " SACK({cumulative} {gaps:?} w{window} d{duplicates})")
            }
            Ok(Chunk::Init(init)) => write!(text, " INIT({:?})", init.fields()),
            Ok(Chunk::InitAck(init)) => write!(text, " INIT_ACK({:?})", init.fields()),
            Ok(Chunk::CookieEcho(_)) => write!(text, " COOKIE_ECHO"),
            Ok(Chunk::Heartbeat(_)) => write!(text, " HEARTBEAT"),
            Ok(Chunk::HeartbeatAck(_)) => write!(text, " HEARTBEAT_ACK"),
            Ok(chunk) => write!(text, " {chunk:?}"),
            Err(error) => write!(text, " {error}"),
        };
    }
    text
}
