//! What observers of real traffic write.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::Pair;
use serde_json::Value;
use tresse::profile::NrSackMode;
use tresse::{
    AssociationId, Authentication, ChunkType, Event, LossCause, MtuDiscovery, ObservedEvent,
    ObservedPacket, Observer, Ppid, Reliability, ResetDirection, SendOptions, StreamId, Time,
    TraceEvent, Tsn,
};
use tresse_observe::{Capture, Observers, QlogFolder, QlogOptions, Spool};
use tresse_wire::{
    Cwr, Ecne, GapAckBlock, Mid, Packet, PacketDrop, PacketWriter, RawChunk, SackFlags,
    SkippedMessages,
};

const LONG: Duration = Duration::from_secs(60);

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The records of a file, as RFC 7464 divides them.
fn records(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    let (before, texts) = text.split_once('\u{1e}').unwrap();
    assert_eq!(before, "");
    let parse = |text: &str| {
        assert!(text.ends_with('\n'), "{text}");
        serde_json::from_str(text).unwrap()
    };
    texts.split('\u{1e}').map(parse).collect()
}

fn schema() -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/qlog.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn the_schema_has_every_cause_of_a_loss() {
    let text = include_bytes!("../../../docs/qlog.schema.json");
    let schema: Value = serde_json::from_slice(text).unwrap();
    let names = LossCause::ALL.map(|cause| Value::from(cause.name()));
    assert_eq!(schema["$defs"]["loss_cause"]["enum"], Value::from(names.to_vec()));
}

#[tokio::test]
async fn qlog_holds_what_happened_as_the_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(|line| panic!("{line}")).unwrap();
    let qlog = QlogFolder::create(&spool, folder.path(), QlogOptions::default()).unwrap();
    let pair = Pair::new(Some(Box::new(qlog))).await;
    pair.send(40, 3000).await;
    let stats = pair.theirs.stats();
    pair.end().await;
    assert!(spool.flush(LONG));

    let files = files(folder.path());
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].to_str().unwrap().ends_with("_server.sqlog"), "{files:?}");
    let records = records(&files[0]);
    let schema = schema();
    for record in &records {
        assert!(schema.is_valid(record), "{record}");
    }
    let mut number = BTreeMap::new();
    for record in &records[1..] {
        *number.entry(record["name"].as_str().unwrap()).or_insert(0u64) += 1;
    }
    // On a busy machine a tail loss probe leaves before the SACK of the tail has been read.
    let again: u64 = stats.retransmitted_chunks.iter().sum();
    assert_eq!(number["sctp:data_sent"], stats.data_chunks_sent + again);
    assert_eq!(number["sctp:association_state_updated"], 2 + number_of_shutdowns(&records));
    assert!(number["sctp:sack_processed"] > 0 && number["sctp:rtt_updated"] > 0, "{number:?}");
    // The handshake, from before the association existed, and the end.
    let chunks = |record: &Value| record["data"]["chunks"][0]["chunk_type"].clone();
    assert_eq!(chunks(&records[1]), "INIT");
    assert_eq!(chunks(&records[2]), "INIT ACK");
    // Where the congestion window begins, before anything changed it (RFC 9260 §7.2.1).
    let windows = records.iter().filter(|r| r["name"] == "sctp:congestion_window_updated");
    let first = windows.map(|r| &r["data"]).next().expect("the initial window");
    assert_eq!((&first["trigger"], &first["flight"]), (&"initial".into(), &0.into()));
    assert!(first["cwnd"].as_u64() >= Some(4380), "{first}");
    assert!(first["ssthresh"].as_u64() >= first["cwnd"].as_u64(), "{first}");
    let last = &records[records.len() - 1]["data"];
    assert_eq!((&last["new"], &last["trigger"]), (&"closed".into(), &"shutdown".into()));
    let times: Vec<f64> = records[1..].iter().map(|r| r["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted());
    assert_eq!(spool.stats().records_dropped, 0);
}

#[tokio::test]
async fn qlog_tells_what_re_config_chunks_ask_for_and_answer() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(|line| panic!("{line}")).unwrap();
    let qlog = QlogFolder::create(&spool, folder.path(), QlogOptions::default()).unwrap();
    let pair = Pair::new(Some(Box::new(qlog))).await;
    pair.send(8, 10).await;
    let streams = || (pair.ours.outbound_streams(), pair.ours.inbound_streams());
    let wanted = (streams().0 + 3, streams().1 + 2);
    pair.ours.add_streams(3, 2).unwrap();
    while streams() != wanted {
        pair.ours.next_event().await.expect("it goes on");
    }
    while pair.theirs.outbound_streams() != wanted.1 {
        pair.theirs.next_event().await.expect("it goes on");
    }
    pair.theirs.reset_streams(ResetDirection::Outgoing, &[StreamId(1), StreamId(4)]).unwrap();
    while !matches!(pair.theirs.next_event().await, Some(Event::StreamsReset { .. })) {}
    pair.end().await;
    assert!(spool.flush(LONG));
    let records = records(&files(folder.path())[0]);
    let schema = schema();
    let mut seen = Vec::new();
    for record in &records {
        assert!(schema.is_valid(record), "{record}");
        let chunks = record["data"]["chunks"].as_array().into_iter().flatten();
        for parameter in chunks.filter_map(|chunk| chunk["parameters"].as_array()).flatten() {
            seen.push(parameter.clone());
        }
    }
    let named = |name: &str| seen.iter().filter(|p| p["parameter_type"] == name).count();
    assert_eq!(
        seen.iter().find(|p| p["new_streams"] == 3).unwrap()["parameter_type"],
        "add_outgoing_streams"
    );
    assert_eq!(
        seen.iter().find(|p| p["new_streams"] == 2).unwrap()["parameter_type"],
        "add_incoming_streams"
    );
    let reset = seen.iter().find(|p| p["parameter_type"] == "outgoing_ssn_reset").unwrap();
    assert_eq!(reset["stream_ids"], serde_json::json!([1, 4]));
    assert!(named("response") >= 3, "{seen:?}");
    assert!(
        seen.iter().any(|p| p["parameter_type"] == "response" && p["request"] == reset["request"])
    );
    // What became of the requests, of either end, and what may be asked for at all.
    let told = |name: &str| &records.iter().find(|r| r["name"] == name).expect(name)["data"];
    let added = told("sctp:streams_added");
    assert_eq!(added["outcome"], "performed", "{added}");
    let reset = serde_json::json!(
        {"direction": "outgoing", "streams": [1, 4], "outcome": "performed"}
    );
    assert_eq!(*told("sctp:streams_reset"), reset);
    let both = serde_json::json!({"extensions": ["partial-reliability", "stream-reconfiguration"]});
    assert_eq!(*told("sctp:extensions_negotiated"), both);
    let mut wrong = records.iter().find(|r| r.to_string().contains("stream_ids")).unwrap().clone();
    let parameter = "/data/chunks/0/parameters/0/stream_ids/0";
    *wrong.pointer_mut(parameter).unwrap() = serde_json::json!(70_000);
    assert!(!schema.is_valid(&wrong), "{wrong}");
}

/// The loopback interface takes the largest packets that there are.
#[tokio::test]
async fn qlog_tells_how_the_path_mtu_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(|line| panic!("{line}")).unwrap();
    let qlog = QlogFolder::create(&spool, folder.path(), QlogOptions::default()).unwrap();
    let pair = Pair::with(Some(Box::new(qlog)), |association| {
        association.mtu_discovery = MtuDiscovery::probes(9000);
    })
    .await;
    // More than ten packets that are full: a search is worth while.
    pair.send(1, 20_000).await;
    while pair.theirs.path_stats()[0].mtu < 9000 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    pair.send(3, 10).await;
    pair.end().await;
    assert!(spool.flush(LONG));
    let records = records(&files(folder.path())[0]);
    let schema = schema();
    for record in &records {
        assert!(schema.is_valid(record), "{record}");
    }
    let of = |name: &str| {
        let named = records.iter().filter(|record| record["name"] == name);
        named.map(|record| record["data"].clone()).collect::<Vec<_>>()
    };
    let changes = of("sctp:mtu_updated");
    assert_eq!(changes[0]["old"], 1280);
    assert_eq!(changes[changes.len() - 1]["new"], 9000);
    assert!(changes.iter().all(|change| change["trigger"] == "probe"), "{changes:?}");
    let states = of("sctp:mtu_search_updated");
    assert_eq!(states[0], serde_json::json!({"new": "base", "mtu": 1280}));
    let probes = of("sctp:mtu_probe_sent");
    // IPv4 and UDP headers are no part of the SCTP packet.
    assert_eq!(probes[0], serde_json::json!({"length": 1252, "padding": "pad-chunk"}));
    assert!(probes.iter().any(|probe| probe["length"] == 8972), "{probes:?}");
    let mut wrong =
        records.iter().find(|record| record["name"] == "sctp:mtu_updated").unwrap().clone();
    wrong["data"]["trigger"] = "guess".into();
    assert!(!schema.is_valid(&wrong), "{wrong}");
}

#[tokio::test]
async fn qlog_tells_which_key_authenticates() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(|line| panic!("{line}")).unwrap();
    let qlog = QlogFolder::create(&spool, folder.path(), QlogOptions::default()).unwrap();
    let pair = Pair::with(Some(Box::new(qlog)), |association| {
        let mut settings =
            Authentication { chunks: vec![ChunkType::DATA], ..Authentication::default() };
        settings.keys.set(7, b"secret").unwrap();
        settings.keys.activate(7).unwrap();
        association.extensions.authentication = true;
        association.authentication = settings.into();
    })
    .await;
    pair.send(3, 10).await;
    pair.ours.send(StreamId(0), "authenticated").await.unwrap();
    while !matches!(pair.theirs.next_event().await, Some(Event::Authentication(_))) {}
    pair.end().await;
    assert!(spool.flush(LONG));
    let records = records(&files(folder.path())[0]);
    let schema = schema();
    let chunks = |record: &Value| record["data"]["chunks"].as_array().cloned().unwrap_or_default();
    let mut seen = 0;
    for record in &records {
        assert!(schema.is_valid(record), "{record}");
        for chunk in chunks(record).iter().filter(|chunk| chunk["chunk_type"] == "AUTH") {
            assert_eq!(chunk["shared_key_identifier"], 7);
            assert_eq!(chunk["hmac_identifier"], 3);
            seen += 1;
        }
    }
    assert!(seen >= 3, "{seen}");
    let told = records.iter().find(|r| r["name"] == "sctp:authentication_updated");
    let other_key = serde_json::json!({"new": "new-key", "key": 7, "before": 0});
    assert_eq!(told.map(|record| &record["data"]), Some(&other_key));
    let of_auth = |record: &&Value| record.to_string().contains("hmac_identifier");
    let mut wrong = records.iter().find(of_auth).unwrap().clone();
    *wrong.pointer_mut("/data/chunks/0/hmac_identifier").unwrap() = serde_json::json!(70_000);
    assert!(!schema.is_valid(&wrong), "{wrong}");
}

#[tokio::test]
async fn qlog_tells_of_addresses_that_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(|line| panic!("{line}")).unwrap();
    let qlog = QlogFolder::create(&spool, folder.path(), QlogOptions::default()).unwrap();
    let pair = Pair::bound("0.0.0.0:0", Some(Box::new(qlog)), |association| {
        association.extensions.authentication = true;
        association.extensions.address_reconfiguration = true;
    })
    .await;
    let (here, there) = ([127, 0, 0, 1].into(), [127, 0, 0, 2].into());
    async fn answered(association: &tresse::Association) {
        while !matches!(association.next_event().await, Some(Event::AddressChanged { .. })) {}
    }
    pair.ours.add_address(there).unwrap();
    answered(&pair.ours).await;
    pair.ours.remove_address(there).unwrap();
    answered(&pair.ours).await;
    pair.theirs.set_peer_primary(here).unwrap();
    answered(&pair.theirs).await;
    pair.send(3, 10).await;
    pair.end().await;
    assert!(spool.flush(LONG));
    let records = records(&files(folder.path())[0]);
    let schema = schema();
    let (mut asked, mut answers, mut events) = (Vec::new(), 0, Vec::new());
    for record in &records {
        assert!(schema.is_valid(record), "{record}");
        let chunks = record["data"]["chunks"].as_array().into_iter().flatten();
        for chunk in chunks {
            for request in chunk["requests"].as_array().into_iter().flatten() {
                let kind = request["parameter_type"].as_str().unwrap().to_string();
                asked.push((kind, request["address"].as_str().unwrap().to_string()));
            }
            answers += usize::from(chunk["responses"].is_array());
        }
        let what = record["name"].as_str().unwrap_or_default();
        if what.ends_with("address_updated") {
            events.push((what.to_string(), record["data"].clone()));
        }
    }
    // On a busy machine one of them is sent again.
    asked.dedup();
    let named = |kind: &str, address: &str| (kind.to_string(), address.to_string());
    let expected = [
        named("add_ip_address", "127.0.0.2"),
        named("delete_ip_address", "127.0.0.2"),
        named("set_primary_address", "127.0.0.1"),
    ];
    assert_eq!(asked, expected);
    assert!(answers >= 3, "{answers}");
    let done =
        serde_json::json!({"change": "set-primary", "address": "127.0.0.1", "outcome": "done"});
    let expected = [
        ("sctp:peer_address_updated", serde_json::json!({"remote": "127.0.0.2", "new": "added"})),
        ("sctp:peer_address_updated", serde_json::json!({"remote": "127.0.0.2", "new": "removed"})),
        ("sctp:local_address_updated", done),
    ];
    assert_eq!(events, expected.map(|(name, data)| (name.to_string(), data)));
}

/// After the first packet with user data it shows another one, with an I-FORWARD-TSN, which nobody sends on a path that loses
/// nothing; and with each RTT, what peers without losses and damage do not bring about.
struct Forwards {
    qlog: QlogFolder,
    done: bool,
}

impl Observer for Forwards {
    fn packet(&mut self, observed: &ObservedPacket<'_>) {
        self.qlog.packet(observed);
        let packet = Packet::parse(observed.packet).expect("one of ours");
        let data = |raw: RawChunk<'_>| raw.chunk_type == ChunkType::I_DATA;
        if self.done || !packet.chunks().any(|raw| raw.is_ok_and(data)) {
            return;
        }
        self.done = true;
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, packet.header());
        let skipped = [(1, false, 70_000), (2, true, 3)].map(|(stream, unordered, mid)| {
            SkippedMessages { stream: StreamId(stream), unordered, mid: Mid(mid) }
        });
        writer.i_forward_tsn(Tsn(5), skipped.into_iter());
        writer.ecne(Ecne { lowest_tsn: Tsn(7), packets: Some(2) });
        writer.cwr(Cwr { lowest_tsn: Tsn(7), any_path: false, same_window: true });
        let block = |start, end| std::iter::once(GapAckBlock { start, end });
        let flags = SackFlags::default();
        let repeated = std::iter::once(Tsn(4));
        writer.nr_sack(flags, Tsn(3), 9000, block(2, 3), block(5, 8), repeated);
        writer.packet_drop(&PacketDrop {
            from_middle_box: false,
            bad_checksum: true,
            truncated_from: Some(1500),
            bandwidth: 65_536,
            queued: 512,
            packet: &[7; 30],
        });
        writer.finish();
        self.qlog.packet(&ObservedPacket { packet: &bytes, ..*observed });
    }

    fn event(&mut self, observed: &ObservedEvent<'_>) {
        self.qlog.event(observed);
    }

    fn trace(&mut self, association: AssociationId, at: Time, event: &TraceEvent) {
        self.qlog.trace(association, at, event);
        if let TraceEvent::Rtt { path, .. } = event {
            for event in [
                TraceEvent::EcnGivenUp { path: *path },
                TraceEvent::PassedOver { tsn: Tsn(7), streams: 2, dropped: 1, advanced: true },
                TraceEvent::PartialDeliveryAborted { tsn: Tsn(6), stream: StreamId(3) },
                TraceEvent::DropReport { quoted: 1200, helped: false },
            ] {
                self.qlog.trace(association, at, &event);
            }
        }
    }
}

#[tokio::test]
async fn qlog_tells_which_fragment_of_which_message_travels() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(|line| panic!("{line}")).unwrap();
    let qlog = QlogFolder::create(&spool, folder.path(), QlogOptions::default()).unwrap();
    let observer = Forwards { qlog, done: false };
    let pair = Pair::with(Some(Box::new(observer)), |association| {
        association.extensions.interleaving = true;
        Arc::make_mut(&mut association.profile).sack.nr_sack = NrSackMode::Delivered;
    })
    .await;
    for (stream, ppid) in [(1, 7), (1, 8), (2, 9)] {
        let options = SendOptions { ppid: Ppid(ppid), ..SendOptions::default() };
        pair.theirs.send_with(StreamId(stream), vec![0; 3000], options).await.unwrap();
        pair.ours.recv().await.unwrap();
    }
    pair.send(1, 1).await;
    pair.end().await;
    assert!(spool.flush(LONG));
    let records = records(&files(folder.path())[0]);
    let schema = schema();
    let mut seen = Vec::new();
    for record in &records {
        assert!(schema.is_valid(record), "{record}");
        let chunks = record["data"]["chunks"].as_array().into_iter().flatten();
        seen.extend(chunks.filter(|chunk| chunk["chunk_type"] == "I-DATA").cloned());
    }
    let told = |name: &str| records.iter().find(|record| record["name"] == name).expect(name);
    assert_eq!(told("sctp:ecn_given_up")["tuple"], "0");
    let passed_over = serde_json::json!(
        {"new_cumulative_tsn": 7, "skipped_streams": 2, "dropped_chunks": 1, "advanced": true}
    );
    assert_eq!(told("sctp:forward_tsn_processed")["data"], passed_over);
    let cut_short = serde_json::json!({"tsn": 6, "stream_id": 3});
    assert_eq!(told("sctp:partial_delivery_aborted")["data"], cut_short);
    let report = serde_json::json!({"quoted_length": 1200, "acted_on": false});
    assert_eq!(told("sctp:packet_drop_report_processed")["data"], report);
    let agreed = &told("sctp:extensions_negotiated")["data"]["extensions"];
    assert!(agreed.as_array().unwrap().contains(&"nr-sack".into()), "{agreed}");
    let forward = records.iter().map(|record| &record["data"]["chunks"][0]);
    let forward = forward.filter(|chunk| chunk["chunk_type"] == "I-FORWARD-TSN");
    let expected = serde_json::json!({
        "chunk_type": "I-FORWARD-TSN", "length": 24, "new_cumulative_tsn": 5,
        "skipped_messages": [[1, false, 70_000], [2, true, 3]],
    });
    assert_eq!(forward.collect::<Vec<_>>(), [&expected]);
    let echoes = records.iter().filter_map(|record| record["data"]["chunks"].as_array());
    let echoes: Vec<_> = echoes.filter(|chunks| chunks.len() > 2).map(|c| &c[1..]).collect();
    let expected = serde_json::json!([
        { "chunk_type": "ECNE", "length": 12, "lowest_tsn": 7, "packets": 2 },
        {
            "chunk_type": "CWR", "length": 8, "lowest_tsn": 7,
            "any_path": false, "same_window": true,
        },
        {
            "chunk_type": "NR-SACK", "length": 32, "cumulative_tsn_ack": 3, "a_rwnd": 9000,
            "gap_ack_blocks": [[2, 3]], "nr_gap_ack_blocks": [[5, 8]], "duplicate_tsns": [4],
        },
        {
            "chunk_type": "PKTDROP", "length": 46, "from_middle_box": false,
            "bad_checksum": true, "bandwidth": 65_536, "queued": 512,
            "truncated_length": 1500, "quoted_length": 30,
        },
    ]);
    assert!(echoes.contains(&&expected.as_array().unwrap()[..]), "{echoes:?}");
    let of = |stream: u16, mid: u32| {
        let key = (serde_json::json!(stream), serde_json::json!(mid));
        let mut first = BTreeMap::new();
        for chunk in
            seen.iter().filter(|c| (&c["stream_id"], &c["message_identifier"]) == (&key.0, &key.1))
        {
            let place = (chunk["ppid"].as_u64(), chunk["fragment_sequence_number"].as_u64());
            first.entry(chunk["tsn"].as_u64().unwrap()).or_insert(place);
        }
        first.into_values().collect::<Vec<_>>()
    };
    for (stream, mid, ppid) in [(1, 0, 7), (1, 1, 8), (2, 0, 9)] {
        let places = of(stream, mid);
        let expected = |n: u64| if n == 0 { (Some(ppid), None) } else { (None, Some(n)) };
        let all: Vec<_> = (0..places.len() as u64).map(expected).collect();
        assert!(places.len() > 1, "stream {stream}, message {mid}: {places:?}");
        assert_eq!(places, all, "stream {stream}, message {mid}");
    }
    let mut wrong =
        records.iter().find(|r| r.to_string().contains("message_identifier")).unwrap().clone();
    let chunks = wrong["data"]["chunks"].as_array_mut().unwrap();
    let chunk = chunks.iter_mut().find(|chunk| chunk["chunk_type"] == "I-DATA").unwrap();
    chunk["message_identifier"] = (-1).into();
    assert!(!schema.is_valid(&wrong), "{wrong}");
}

/// The peer reads nothing, until what waits behind a closed window is given up.
#[tokio::test]
async fn qlog_tells_of_messages_that_never_left() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::start(|line| panic!("{line}")).unwrap();
    let qlog = QlogFolder::create(&spool, folder.path(), QlogOptions::default()).unwrap();
    let pair = Pair::with(Some(Box::new(qlog)), |association| {
        association.receive_buffer = 20_000;
    })
    .await;
    for _ in 0..10 {
        pair.theirs.send(StreamId(0), vec![0; 15_000]).await.unwrap();
    }
    // The window closes in the middle of the second one.
    while pair.theirs.stats().peer_rwnd > 3000 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (time, none) = (Duration::from_millis(5), SendOptions::default());
    let lifetime = SendOptions { lifetime: Some(time), ..none };
    let policy = SendOptions { reliability: Some(Reliability::Timed(time)), ..none };
    pair.theirs.send_with(StreamId(1), vec![0; 100], lifetime).await.unwrap();
    pair.theirs.send_with(StreamId(2), vec![0; 200], policy).await.unwrap();
    let mut told = 0;
    while told < 2 {
        let event = pair.theirs.next_event().await.expect("it goes on");
        told += usize::from(matches!(event, Event::Expired(_) | Event::Abandoned(_)));
    }
    for _ in 0..10 {
        pair.ours.recv().await.unwrap();
    }
    pair.send(1, 1).await;
    pair.end().await;
    assert!(spool.flush(LONG));
    let records = records(&files(folder.path())[0]);
    let schema = schema();
    assert!(records.iter().all(|record| schema.is_valid(record)));
    let given_up = records.iter().filter(|r| r["name"] == "sctp:unsent_message_abandoned");
    let given_up: Vec<_> = given_up.map(|record| record["data"].clone()).collect();
    let expected = serde_json::json!([
        {"stream_id": 1, "length": 100, "trigger": "lifetime"},
        {"stream_id": 2, "length": 200, "trigger": "policy"},
    ]);
    assert_eq!(Value::from(given_up), expected);
}

fn number_of_shutdowns(records: &[Value]) -> u64 {
    records.iter().filter(|r| r["data"]["trigger"] == "peer_shutdown").count() as u64
}

#[test]
fn the_schema_refuses_what_is_not_an_event() {
    let schema = schema();
    let good = serde_json::json!({
        "time": 1.5, "name": "sctp:chunk_lost", "tuple": "0",
        "data": { "tsn": 7, "trigger": "rack", "miss_indications": 1 },
    });
    assert!(schema.is_valid(&good));
    for (pointer, value) in [
        ("/name", "sctp:chunk_found".into()),
        ("/tuple", "left".into()),
        ("/time", "now".into()),
        ("/data/tsn", (-1).into()),
        ("/data/trigger", "magic".into()),
    ] {
        let mut wrong = good.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert!(!schema.is_valid(&wrong), "{wrong}");
    }
}

#[tokio::test]
async fn associations_beyond_the_limit_are_not_logged_and_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let spool = Spool::start(move |line| drop(tell.send(line.to_owned()))).unwrap();
    let options = QlogOptions { associations: 0, ..QlogOptions::default() };
    let qlog = QlogFolder::create(&spool, folder.path(), options).unwrap();
    let pair = Pair::new(Some(Box::new(qlog))).await;
    pair.send(3, 100).await;
    pair.end().await;
    assert!(spool.flush(LONG));
    assert_eq!(files(folder.path()), Vec::<std::path::PathBuf>::new());
    assert_eq!(told.try_iter().count(), 1);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_does_not_stop_an_association() {
    let (tell, told) = std::sync::mpsc::channel();
    let spool = Spool::start(move |line| drop(tell.send(line.to_owned()))).unwrap();
    let mut observers = Observers::default();
    observers.add(Capture::create(&spool, Path::new("/dev/full"), 0).unwrap());
    let pair = Pair::new(Some(Box::new(observers))).await;
    pair.send(100, 1000).await;
    pair.end().await;
    assert!(spool.flush(LONG));
    assert_eq!(spool.stats().streams_failed, 1);
    let lines: Vec<String> = told.try_iter().collect();
    assert!(lines.len() == 1 && lines[0].contains("/dev/full"), "{lines:?}");
}
