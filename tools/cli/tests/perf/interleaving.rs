//! `tresse perf --interleaving`: a large flow and a thin one at the same time.

use std::collections::BTreeMap;
use std::path::Path;

use pcap_file::pcapng::{Block, PcapNgReader};
use tresse_core::wire::{Chunk, Packet, StreamId, Tsn};

use super::processes::{Server, text};
use super::{analysed, json, only};

const LOAD: [&str; 11] = [
    "--json",
    "-t",
    "1s",
    "--seed",
    "1",
    "--window",
    "32M",
    "--flow",
    "const2:const4000000:maxmsgsize=4000000",
    "--flow",
    "const200:const100",
];

#[test]
fn messages_are_interleaved_if_both_sides_say_so() {
    for (server_says, client_says) in [(false, false), (true, false), (false, true), (true, true)] {
        let said = |says| if says { &["--interleaving"][..] } else { &[] };
        let folder = tempfile::tempdir().unwrap();
        let [capture, logs] = ["client.pcapng", "logs"].map(|name| folder.path().join(name));
        let server = Server::start(&[&["--once", "--window", "32M"], said(server_says)].concat());
        let port = server.address.rsplit(':').next().unwrap().to_owned();
        let files = ["--capture", capture.to_str().unwrap(), "--qlog", logs.to_str().unwrap()];
        let result = json(&server.client(&[&LOAD[..], &files, said(client_says)].concat()).end());
        let agreed = server_says && client_says;
        assert_eq!(result["interleaving"], agreed);
        for flow in result["flows"].as_array().unwrap() {
            assert_eq!(flow["received"]["verified"], true, "{flow}");
        }
        let printed = text(&server.process.end().stdout);
        let alone = printed.contains("the other side has to say --interleaving as well");
        assert_eq!(alone, server_says && !client_says, "{printed}");
        let seen = Seen::of(&capture);
        assert!(seen.chunks[usize::from(agreed)] > 1000, "{:?}", seen.chunks);
        assert_eq!(seen.chunks[usize::from(!agreed)], 0);
        assert_eq!(seen.between > 0, agreed, "{} times", seen.between);

        // `tresse trace` follows it, by the capture as by the log.
        let log = only(&logs, "_client.sqlog");
        let [by_capture, by_log] =
            [analysed(&["--udp-port", &port], &capture), analysed(&[], &log)]
                .map(|whole| whole["associations"][0]["directions"][0].clone());
        let chunks = seen.chunks.iter().sum::<u64>();
        assert!(by_capture["data"].as_u64().unwrap() <= chunks);
        for key in ["data", "data_bytes", "retransmitted", "messages"] {
            assert_eq!(by_capture[key], by_log[key], "{key}");
        }
        // Those of the flows, and one for each thing that the client tells the server.
        let sent = |flow: &serde_json::Value| flow["sent"]["messages"].as_u64();
        let messages: u64 = result["flows"].as_array().unwrap().iter().filter_map(sent).sum();
        let followed = by_capture["messages"].as_u64().unwrap();
        assert!((messages..messages + 10).contains(&followed), "{followed} of {messages}");
    }
}

/// What a capture of the loopback interface shows.
#[derive(Default)]
struct Seen {
    /// DATA and I-DATA chunks.
    chunks: [u64; 2],
    /// How often one of another stream stands between two fragments of a message.
    between: u64,
}

impl Seen {
    fn of(capture: &Path) -> Seen {
        let mut reader = PcapNgReader::new(std::fs::File::open(capture).unwrap()).unwrap();
        let mut seen = Seen::default();
        // Of each side the highest TSN, and the stream of the fragment with it, if its message goes on.
        let mut last: BTreeMap<u32, (Tsn, Option<StreamId>)> = BTreeMap::new();
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(frame) = block.unwrap() else { continue };
            // IPv4 and UDP.
            let Ok(packet) = Packet::parse_unverified(&frame.data[28..]) else { continue };
            let side = packet.header().verification_tag.0;
            for raw in packet.chunks().map_while(Result::ok) {
                let (kind, tsn, stream, ends) = match Chunk::parse(raw) {
                    Ok(Chunk::Data(d)) => (0, d.tsn, d.stream, d.flags.ending),
                    Ok(Chunk::IData(d)) => (1, d.tsn, d.stream, d.flags.ending),
                    _ => continue,
                };
                seen.chunks[kind] += 1;
                let before = last.get(&side).copied();
                // What is sent again has no order.
                if before.is_none_or(|(highest, _)| tsn.follows(highest)) {
                    let open = before.and_then(|(_, open)| open);
                    seen.between += u64::from(open.is_some_and(|open| open != stream));
                    last.insert(side, (tsn, (!ends).then_some(stream)));
                }
            }
        }
        seen
    }
}
