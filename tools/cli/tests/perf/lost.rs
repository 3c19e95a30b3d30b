//! What is lost between the two.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use super::processes::{Process, Server};
use super::{analysed, json, only};

/// Whether an SCTP packet bears user data of a stream.
fn bears(packet: &[u8], stream: u16) -> bool {
    let mut chunks = packet.get(12..).unwrap_or_default();
    while let [kind, _, high, low, ..] = *chunks {
        let len = usize::from(u16::from_be_bytes([high, low]));
        if kind == 0 && chunks.get(8..10) == Some(&stream.to_be_bytes()) {
            return true;
        }
        chunks = chunks.get(len.max(4).next_multiple_of(4)..).unwrap_or_default();
    }
    false
}

/// A way to a server on which packets are lost, there and back, as these two decide; its address.
fn way_to(
    server: SocketAddr,
    mut there: impl FnMut(&[u8]) -> bool + Send + 'static,
    mut back: impl FnMut(&[u8]) -> bool + Send + 'static,
) -> SocketAddr {
    let [front, behind] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    behind.connect(server).unwrap();
    let address = front.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 65536];
        let (len, client) = front.recv_from(&mut buffer).unwrap();
        front.connect(client).unwrap();
        behind.send(&buffer[..len]).unwrap();
        let (out, here) = (behind.try_clone().unwrap(), front.try_clone().unwrap());
        thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(len) = here.recv(&mut buffer) {
                if !there(&buffer[..len]) {
                    let _ = out.send(&buffer[..len]);
                }
            }
        });
        while let Ok(len) = behind.recv(&mut buffer) {
            if !back(&buffer[..len]) {
                let _ = front.send(&buffer[..len]);
            }
        }
    });
    address
}

/// Says that the first packet is lost that has user data of that stream; and how many were.
fn first_of(stream: u16) -> (impl FnMut(&[u8]) -> bool + Send + 'static, Arc<AtomicUsize>) {
    let lost = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&lost);
    let decide = move |packet: &[u8]| {
        let lost = bears(packet, stream) && counter.load(Ordering::Relaxed) == 0;
        counter.fetch_add(usize::from(lost), Ordering::Relaxed);
        lost
    };
    (decide, lost)
}

/// The server's data may come before its answer, since they are on different streams.
#[test]
fn a_server_whose_answer_is_lost_may_send_already() {
    let server = Server::start(&[]);
    for load in [
        &["--reverse", "--messages", "3000"][..],
        &["--flow", "const0:const0:const100:const500", "-t", "1"],
    ] {
        let (decide, lost) = first_of(0);
        let address = way_to(server.address.parse().unwrap(), |_| false, decide).to_string();
        let all: Vec<&str> = ["client", &address, "--json"].iter().chain(load).copied().collect();
        let result = json(&Process::start(&all).end());
        assert_eq!(result["error"], Value::Null);
        assert_eq!(lost.load(Ordering::Relaxed), 1, "nothing was lost");
    }
}

/// How often chunks were sent again, by cause or class.
fn counts(of: &Value) -> BTreeMap<String, u64> {
    let counts = of.as_object().expect("counts").iter();
    counts.map(|(name, count)| (name.clone(), count.as_u64().expect("a count"))).collect()
}

/// The same of all retransmissions that an analysis found, by class.
fn classes(direction: &Value) -> BTreeMap<String, u64> {
    let rows = direction["retransmissions"].as_array().expect("rows").iter();
    rows.filter(|row| row["number"] == 0 && row["class"] != "timeout-or-fast")
        .map(|row| {
            let class = row["class"].as_str().expect("a name");
            (class.to_owned(), row["count"].as_u64().expect("a count"))
        })
        .collect()
}

/// What `perf` counts, the capture and the log tell of the same transfer.
#[test]
fn perf_and_trace_count_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let [capture, logs] = ["sender.pcapng", "logs"].map(|name| folder.path().join(name));
    let server = Server::start(&["--once"]);
    // Again and again a packet, and once six in a row, so that more than one mechanism has something to do.
    let mut packets = 0;
    let there = move |packet: &[u8]| {
        packets += usize::from(bears(packet, 1));
        bears(packet, 1) && (packets.is_multiple_of(29) || (400..406).contains(&packets))
    };
    let address = way_to(server.address.parse().unwrap(), there, |_| false);
    let (capture_name, logs_name) = (capture.display().to_string(), logs.display().to_string());
    let client = Process::start(&[
        "client",
        &address.to_string(),
        "--json",
        "--bytes",
        "1500k",
        "--capture",
        &capture_name,
        "--qlog",
        &logs_name,
    ]);
    let result = json(&client.end());
    assert!(server.process.end().status.success());
    let sent = &result["sent"];
    let by_cause = counts(&sent["retransmitted_chunks"]);
    let total: u64 = by_cause.values().sum();
    assert!(total > 40 && by_cause.len() > 1, "{by_cause:?}");

    let port = address.port().to_string();
    let log = only(&logs, "_client.sqlog");
    let both = analysed(&["--udp-port", &port, log.to_str().unwrap()], &capture);
    let from_log = analysed(&[], &log);
    for analysis in [&both, &from_log] {
        assert_eq!(analysis["associations"].as_array().map(Vec::len), Some(1));
        let direction = &analysis["associations"][0]["directions"][0];
        let sender = &direction["sender"];
        assert_eq!(counts(&sender["retransmitted"]), by_cause);
        assert_eq!(sender["timeouts"], sent["timeouts"]);
        assert_eq!(direction["retransmitted"], total, "{by_cause:?}");
        let of_class = |class: &str| match class {
            "early" => ["rack", "thin-fast-retransmit"].map(|c| by_cause.get(c)),
            "fast" => [by_cause.get("fast-retransmit"), None],
            "probe" => [by_cause.get("tail-loss-probe"), None],
            "timeout" => [by_cause.get("timeout"), None],
            _ => [None, None],
        };
        let classes = classes(direction);
        for class in ["early", "fast", "probe", "timeout"] {
            let theirs: u64 = of_class(class).into_iter().flatten().sum();
            assert_eq!(classes.get(class).copied().unwrap_or(0), theirs, "{class} in {by_cause:?}");
        }
        // It began with RFC 9260 §7.2.1's window, before anything was lost.
        assert!(sender["cwnd_max"].as_u64() >= Some(4380), "{sender}");
    }

    // Without the log, what is sent again upon fewer reports than three is no timeout.
    let alone = analysed(&["--udp-port", &port, "--rto-min", "200"], &capture);
    let direction = &alone["associations"][0]["directions"][0];
    assert_eq!((&direction["retransmitted"], &direction["sender"]), (&total.into(), &Value::Null));
    let alone = classes(direction);
    let timed =
        by_cause.get("timeout").unwrap_or(&0) + by_cause.get("tail-loss-probe").unwrap_or(&0);
    let timeouts = alone.get("timeout").copied().unwrap_or(0);
    assert!(timeouts <= timed, "{alone:?}, and truly {by_cause:?}");
}
