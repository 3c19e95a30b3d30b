//! `tresse perf` as two processes on the loopback interface.

mod agreed;
mod interleaving;
mod lost;
mod mistakes;
#[path = "../processes/mod.rs"]
mod processes;
mod top;

use std::io::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use processes::{IMPATIENT, Process, Server, failure, text};
use serde_json::Value;

/// The result of a client that succeeds, as JSON.
fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn data_is_moved_and_every_byte_verified() {
    let server = Server::start(&["--once"]);
    let client = server.client(&["--bytes", "6M", "--streams", "3", "--json"]);
    let result = json(&client.end());
    assert_eq!(result["received"]["verified"], true);
    for side in ["sent", "received"] {
        assert_eq!(result[side]["messages"], 5_000);
        assert_eq!(result[side]["bytes"], 6_000_000);
        assert!(result[side]["goodput_bit_s"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(result["error"], Value::Null);
    assert_eq!(result["profile"], "tresse");
    let round_trip = &result["sent"]["rtt"];
    assert!(round_trip.is_null() || round_trip["p50_us"].as_f64().unwrap() > 0.0);
    if cfg!(target_os = "linux") {
        assert_eq!(result["delay_kind"], "one-way");
        assert_eq!(result["received"]["delay"]["samples"], 5_000);
    }
    let server = server.process.end();
    assert!(server.status.success());
    assert!(text(&server.stdout).contains("every byte verified"));
}

/// Bytes and messages of all intervals together.
fn of_all_intervals(result: &Value) -> (u64, u64) {
    let intervals = result["intervals"].as_array().expect("intervals");
    let sum = |key: &str| intervals.iter().map(|i| i[key].as_u64().expect("a number")).sum();
    for pair in intervals.windows(2) {
        assert_eq!(pair[0]["to_s"], pair[1]["from_s"]);
    }
    (sum("bytes"), sum("messages"))
}

/// The last interval, which is shorter, belongs to them as well.
#[test]
fn intervals_add_up_to_the_whole() {
    let load = ["--size", "500", "--rate", "800k", "--messages", "130", "-i", "200ms", "--json"];
    for reverse in [&[][..], &["--reverse"]] {
        let server = Server::start(&["--once", "-i", "150ms"]);
        let result = json(&server.client(&[&load[..], reverse].concat()).end());
        assert_eq!(of_all_intervals(&result), (65_000, 130), "{reverse:?}: {result}");
        let intervals = result["intervals"].as_array().unwrap();
        assert!((3..=5).contains(&intervals.len()), "0.65 s: {result}");
        // What is acknowledged is counted, of bytes and of messages.
        for interval in intervals {
            let [bytes, messages] =
                ["bytes", "messages"].map(|key| interval[key].as_u64().unwrap());
            assert_eq!(bytes, 500 * messages, "{interval}");
        }
        let printed = text(&server.process.end().stdout);
        let lines = printed.lines().filter(|line| line.starts_with('[')).count();
        assert!(lines >= 4, "{printed}");
    }
    let server = Server::start(&[]);
    let flow = ["--flow", "const50:const100:const20:const300", "-t", "500ms", "--json"];
    let result = json(&server.client(&flow).end());
    let sum = |key: &str| {
        let flows = result["flows"].as_array().unwrap().iter();
        flows.map(|flow| flow["sent"][key].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(of_all_intervals(&result), (sum("bytes"), sum("messages")), "{result}");
}

#[test]
fn the_server_sends_as_well() {
    let server = Server::start(&["--profile", "limited-transmit"]);
    let load = ["--reverse", "--messages", "700", "--size", "5k", "--unordered", "--streams", "4"];
    let output = server.client(&load).end();
    let lines = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for part in [
        "the server sends with its profile limited-transmit",
        "5000-byte unordered messages in bulk on 4 streams",
        "sent      3.50 MB",
        "received  3.50 MB",
        "every byte verified",
        "retransmitted ",
    ] {
        assert!(lines.contains(part), "{part} is not in\n{lines}");
    }
    // It goes on to serve others, at the same time.
    let clients: Vec<_> = (0..3).map(|_| server.client(&["--bytes", "1M", "--json"])).collect();
    for client in clients {
        assert_eq!(json(&client.end())["received"]["verified"], true);
    }
}

#[test]
fn messages_of_all_sizes() {
    let server = Server::start(&[]);
    for (size, messages) in [("24", "2000"), ("64Ki", "40"), ("3Mi", "3")] {
        let client = server.client(&["--size", size, "--messages", messages, "--json"]);
        assert_eq!(json(&client.end())["received"]["verified"], true, "{size}");
    }
}

#[test]
fn paced_messages_and_round_trips() {
    let server = Server::start(&[]);
    let thin = server.client(&["--thin", "100:20", "--duration", "400ms", "--json"]);
    let thin = json(&thin.end());
    assert_eq!(thin["test"]["pace"]["every-micros"], 20_000);
    let messages = thin["sent"]["messages"].as_u64().unwrap();
    assert!((15..=20).contains(&messages), "{messages}");

    let load = ["--rate", "2M", "--messages", "100", "--round-trip", "--json"];
    let rate = json(&server.client(&load).end());
    assert_eq!(rate["delay_kind"], "round-trip");
    assert_eq!(rate["received"]["delay"], Value::Null);
    assert!(rate["sent"]["round_trip"]["samples"].as_u64().unwrap() > 10);
    let goodput = rate["sent"]["goodput_bit_s"].as_f64().unwrap();
    assert!(goodput < 2_100_000.0, "{goodput}");
}

#[test]
fn a_killed_server_is_noticed_by_icmp_or_the_limit_of_the_profile() {
    let server = Server::start(&[]);
    let mut client =
        server.client(&[&["--duration", "60", "--window", "64Ki"], &IMPATIENT[..]].concat());
    let mut lines = BufReader::new(client.0.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap(); // It has begun.
    thread::sleep(Duration::from_millis(100));
    drop(server);
    let killed = Instant::now();
    let error = failure(&client.end(), 1);
    let limit = error.contains("limits.association_max_retrans = 3");
    assert!(limit || error.contains("ICMP"), "{error}");
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
}

#[test]
fn a_killed_client_is_noticed_by_its_silence_or_icmp() {
    let server = Server::start(&["--once", "--timeout", "500ms"]);
    let mut client = server.client(&["--duration", "60"]);
    let mut lines = BufReader::new(client.0.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    thread::sleep(Duration::from_millis(100));
    drop(client);
    let error = failure(&server.process.end(), 1);
    let silence = error.contains("no progress for 500 ms (--timeout)");
    assert!(silence || error.contains("ICMP"), "{error}");
}

#[test]
fn nobody_there() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let client = Process::start(&["client", &address, "--connect-timeout", "200ms"]);
    let error = failure(&client.end(), 1);
    assert!(error.contains("200 ms (--connect-timeout)"), "{error}");

    let mut arguments =
        vec!["client", &address, "--set", "limits.max_init_retransmits=2", "--json"];
    arguments.extend(IMPATIENT);
    let output = Process::start(&arguments).end();
    let error = failure(&output, 1);
    assert!(error.contains("limits.max_init_retransmits = 2"), "{error}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["error"].as_str().unwrap().contains("Max.Init.Retransmits"));
}

#[test]
fn another_sctp_port_is_named() {
    let server = Server::start(&[]);
    let client = server.client(&["--sctp-port", "77", "--connect-timeout", "300ms"]);
    let error = failure(&client.end(), 1);
    assert!(error.contains("SCTP port 77"), "{error}");
}

#[test]
fn strangers_do_not_disturb_the_server() {
    let server = Server::start(&[]);
    let address = server.address.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        use tresse::{Config, Endpoint, StreamId};
        let stranger = Endpoint::bind(Config::client("127.0.0.1:0".parse().unwrap())).unwrap();
        let association = stranger.connect((address, 5001)).await.unwrap();
        let hello = "GET / HTTP/1.1\r\n\r\n";
        association.send(StreamId(0), hello).await.unwrap();
        let closed = association.closed().await.to_string();
        assert!(closed.contains("does not speak our language"), "{closed}");

        let association = stranger.connect((address, 5001)).await.unwrap();
        let hello = r#"{"hello":{"version":99,"clock":null,"test":{"size":1,"streams":0,
            "unordered":false,"reverse":false,"pace":"bulk","messages":1,"duration_ms":null,
            "round_trip":false}}}"#;
        association.send(StreamId(0), hello).await.unwrap();
        let refusal = association.recv().await.unwrap().payload;
        assert!(text(&refusal).contains("version 99"), "{}", text(&refusal));
    });
    assert_eq!(json(&server.client(&["--bytes", "100k", "--json"]).end())["error"], Value::Null);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_gracefully_on_both_sides() {
    for interrupt_server in [false, true] {
        let server = Server::start(&["--once"]);
        let client = server.client(&["--duration", "60", "--size", "1000"]);
        thread::sleep(Duration::from_millis(400));
        if interrupt_server {
            server.process.interrupt();
        } else {
            client.interrupt();
        }
        let (client, server) = (client.end(), server.process.end());
        let lines = text(&client.stdout);
        assert!(client.status.success(), "{lines}{}", text(&client.stderr));
        assert!(lines.contains("every byte verified"), "{lines}");
        assert!(server.status.success(), "{}", text(&server.stderr));
        assert!(text(&server.stdout).contains("every byte verified"));
    }
}

#[cfg(unix)]
#[test]
fn a_second_interrupt_aborts() {
    let server = Server::start(&["--once"]);
    // The first interrupt would come to an end by itself, so the server is made unable to answer.
    let client = server.client(&["--duration", "60"]);
    thread::sleep(Duration::from_millis(300));
    let stop = format!("kill -STOP {}", server.process.0.id());
    assert!(Command::new("sh").args(["-c", &stop]).status().unwrap().success());
    thread::sleep(Duration::from_millis(100));
    client.interrupt();
    thread::sleep(Duration::from_millis(200));
    client.interrupt();
    let error = failure(&client.end(), 130);
    assert!(error.contains("interrupted"), "{error}");
    let resume = format!("kill -CONT {}", server.process.0.id());
    assert!(Command::new("sh").args(["-c", &resume]).status().unwrap().success());
    let error = failure(&server.process.end(), 1);
    assert!(error.contains("aborted") && error.contains("interrupted"), "{error}");
}

#[test]
fn captures_hold_real_packets() {
    use pcap_file::pcapng::{Block, PcapNgReader};
    use tresse_core::wire::Packet;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("client.pcapng");
    let server = Server::start(&[]);
    let load = ["--bytes", "300k", "--json", "--capture", file.to_str().unwrap()];
    let result = json(&server.client(&load).end());
    let mut reader = PcapNgReader::new(std::fs::File::open(&file).unwrap()).unwrap();
    let port: u16 = server.address.rsplit(':').next().unwrap().parse().unwrap();
    let (mut sent, mut received) = (0u64, 0u64);
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        // IPv4 and UDP headers, 28 bytes together.
        let ports: Vec<u16> =
            packet.data[20..24].chunks(2).map(|p| u16::from_be_bytes([p[0], p[1]])).collect();
        match ports[..] {
            [_, to] if to == port => sent += 1,
            [from, _] if from == port => received += 1,
            _ => panic!("{ports:?}"),
        }
        let sctp = Packet::parse(&packet.data[28..]).unwrap();
        assert!(sctp.chunks().all(|chunk| chunk.is_ok()));
    }
    let counted = result["sent"]["packets_sent"].as_u64().unwrap();
    assert!(sent > counted && received > 4, "{sent} {counted} {received}");
    dissect(&file, port);
}

/// An independent opinion on a capture: nothing malformed, every checksum good.
fn dissect(file: &Path, port: u16) {
    let output = Command::new("tshark")
        .args(["-o", "sctp.checksum:CRC 32c", "-o", "udp.check_checksum:TRUE"])
        .args(["-d", &format!("udp.port=={port},sctp"), "-T", "fields"])
        .args(["-e", "sctp.checksum.status", "-e", "udp.checksum.status", "-e", "_ws.malformed"])
        .arg("-r")
        .arg(file)
        .output();
    let Ok(output) = output else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: tshark is not installed (apt-get install tshark)"
        );
        return;
    };
    let lines = text(&output.stdout);
    assert!(lines.lines().count() > 100, "{}", text(&output.stderr));
    for line in lines.lines() {
        assert_eq!(line.trim_end(), "1\t1", "a packet that tshark finds wrong");
    }
}

#[test]
fn flows_run_in_both_directions_and_every_byte_is_verified() {
    let server = Server::start(&["--once"]);
    let flows = [
        "--flow",
        "const200:const1000:const100:const50:description=Alpha:maxmsgsize=300",
        "--flow",
        "exp300:exp2000:unordered=0.5:id=7",
        "--flow",
        "const0:const0:const0:const1400:onoff=+0.1,+0.1,repeat",
    ];
    let mut arguments = vec!["--duration", "700ms", "--seed", "42", "--json"];
    arguments.extend(flows);
    let result = json(&server.client(&arguments).end());
    assert!(server.process.end().status.success());
    let flows = result["flows"].as_array().unwrap();
    let named: Vec<_> = flows
        .iter()
        .map(|f| (f["flow"].as_u64().unwrap(), f["direction"].as_str().unwrap()))
        .collect();
    assert_eq!(named, [(0, "outgoing"), (0, "incoming"), (7, "outgoing"), (2, "incoming")]);
    for flow in flows {
        assert_eq!(flow["received"]["verified"], true, "{flow}");
        for count in ["messages", "bytes", "frames"] {
            assert_eq!(flow["received"][count], flow["sent"][count], "{flow}");
        }
        assert!(flow["received"]["bytes"].as_u64().unwrap() > 0, "{flow}");
        if cfg!(target_os = "linux") {
            assert!(flow["received"]["delay"]["p50_us"].as_f64().unwrap() > 0.0, "{flow}");
        }
        assert!(flow["received"]["jitter_us"].as_f64().unwrap() >= 0.0, "{flow}");
    }
    // A constant rate for a known time: up to 0.7 s of 200 frames, each 300 + 300 + 300 + 100 bytes.
    let count = |name: &str| flows[0]["sent"][name].as_u64().unwrap();
    assert!((1..=140).contains(&count("frames")), "{}", flows[0]);
    assert_eq!((count("messages"), count("bytes")), (4 * count("frames"), 1000 * count("frames")));
    assert_eq!(flows[0]["description"], "Alpha");
    assert_eq!(result["test"]["seed"], 42);
}

#[test]
fn flows_stop_when_asked_and_measure_round_trips_without_a_common_clock() {
    let server = Server::start(&["--once"]);
    let flow = "const0:const1400:const0:const1400";
    let arguments = ["--duration", "60", "--flow", flow, "--round-trip", "--json"];
    let client = server.client(&arguments);
    thread::sleep(Duration::from_millis(400));
    server.process.interrupt();
    let result = json(&client.end());
    assert!(server.process.end().status.success());
    assert_eq!(result["stopped"], true);
    for flow in result["flows"].as_array().unwrap() {
        assert_eq!(flow["received"]["verified"], true, "{flow}");
        assert_eq!(flow["received"]["delay"], Value::Null);
    }
    let round_trip = &result["flows"][0]["received"]["round_trip"];
    assert!(round_trip["p50_us"].as_f64().unwrap() > 0.0, "{result}");
}

#[test]
fn logs_and_qlog_say_what_happened() {
    let folder = tempfile::tempdir().unwrap();
    let qlog = folder.path().join("qlog");
    let server = Server::start(&["--once", "--qlog", qlog.to_str().unwrap()]);
    let client = server.client(&["--bytes", "100k", "--log", "tresse::data=trace,info"]);
    let output = client.end();
    let log = text(&output.stderr);
    assert!(output.status.success(), "{log}");
    for part in ["INFO tresse::association: established", "closed", "TRACE tresse::data: DATA sent"]
    {
        assert!(log.contains(part), "{part} is not in\n{log}");
    }
    assert!(server.process.end().status.success());
    let files: Vec<_> = std::fs::read_dir(qlog).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    let records = std::fs::read_to_string(&files[0]).unwrap();
    assert!(records.contains("\"sctp:packet_received\"") && records.ends_with('\n'));
}

/// What `tresse trace` prints of a capture or log.
fn trace(arguments: &[&str], file: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tresse"));
    let output = command.arg("trace").args(arguments).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn analysed(arguments: &[&str], file: &Path) -> Value {
    serde_json::from_str(&trace(&[&["--json"], arguments].concat(), file)).unwrap()
}

/// The only file in a folder with this ending.
fn only(folder: &Path, ending: &str) -> std::path::PathBuf {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<std::path::PathBuf> =
        entries.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn logs_tell_what_captures_tell_and_more() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let [pcap, logs, receiver_pcap, receiver_logs] =
        ["sender.pcapng", "logs", "receiver.pcapng", "receiver-logs"].map(at);
    let options = |pcap: &Path, logs: &Path| {
        [
            "--capture".into(),
            pcap.display().to_string(),
            "--qlog".into(),
            logs.display().to_string(),
        ]
    };
    let server_options = options(&receiver_pcap, &receiver_logs);
    let server_options: Vec<&str> =
        server_options.iter().map(String::as_str).chain(["--once"]).collect();
    let server = Server::start(&server_options);
    let address = server.address.clone();
    let client_options = options(&pcap, &logs);
    let client_options: Vec<&str> =
        client_options.iter().map(String::as_str).chain(["--bytes", "300k"]).collect();
    let client = server.client(&client_options).end();
    assert!(client.status.success(), "{}", text(&client.stderr));
    assert!(server.process.end().status.success());
    let log = only(&logs, "_client.sqlog");
    let ports = ["--udp-port", address.rsplit(':').next().unwrap()];

    let (own, theirs) = (analysed(&[], &log), analysed(&ports, &pcap));
    let (own, theirs) = (&own["associations"][0], &theirs["associations"][0]);
    assert_eq!(own["from_the_beginning"], true);
    for key in ["packets", "ending"] {
        assert_eq!(own[key], theirs[key], "{key}");
    }
    for side in 0..2 {
        let (own, theirs) = (&own["directions"][side], &theirs["directions"][side]);
        for key in ["first_number", "data", "data_bytes", "retransmitted", "sacks", "messages"] {
            assert_eq!(own[key], theirs[key], "{key} of side {side}");
        }
    }
    let sender = &own["directions"][0]["sender"];
    assert!(sender["cwnd_max"].as_u64() > Some(4000), "{sender}");
    assert!(sender["rto"]["min_ms"].as_f64() >= Some(1.0), "{sender}");
    assert!(trace(&[], &log).contains("the sender says cwnd"));
    assert!(trace(&["--list"], &log).contains("cwnd "));

    // Both ends, from captures and from logs.
    let other = only(&receiver_logs, "_server.sqlog");
    let from_logs = analysed(&["--receiver", other.to_str().unwrap()], &log);
    let receiver = ["--receiver", receiver_pcap.to_str().unwrap()];
    let from_captures = analysed(&[&ports[..], &receiver].concat(), &pcap);
    for whole in [from_logs, from_captures] {
        let sent = &whole["associations"][0]["directions"][0];
        let arrivals = &sent["arrivals"];
        assert_eq!(arrivals["sent"], sent["data"], "{arrivals}");
        assert_eq!((&arrivals["lost"], &arrivals["arrived"]), (&0.into(), &sent["data"]));
        assert_eq!(sent["transfer_until"], "delivery");
        assert_eq!(sent["transfer"]["count"], sent["messages"]);
    }
}
