//! `tresse perf --ecn --mtu-search`: what is on is named, and what came of it.

use super::json;
use super::processes::{Server, text};

const LOAD: [&str; 4] = ["-t", "1s", "--rate", "20M"];

#[test]
fn what_is_agreed_on_is_told_and_what_came_of_it() {
    let all = ["--ecn", "--mtu-search", "9000"];
    let server = Server::start(&[&["--once"], &all[..]].concat());
    let result = json(&server.client(&[&LOAD[..], &all, &["--json"]].concat()).end());
    assert_eq!((&result["ecn"], &result["interleaving"]), (&true.into(), &false.into()));
    assert_eq!(result["mtu_search"], 9000);
    // The loopback interface takes them all.
    assert_eq!(result["path_mtu"], 9000);
    assert!(result["mtu_probes"]["answered"].as_u64().unwrap() > 0, "{result}");
    assert_eq!(result["sent"]["datagrams_failed"], 0);
    assert!(result["marks"]["ect_packets_sent"].as_u64().unwrap() > 100, "{result}");
    assert_eq!(result["marks"]["congestion_marks"], 0);
    let printed = text(&server.process.end().stdout);
    assert!(printed.contains(" messages, ECN, path MTU searched up to 9000 bytes\n"), "{printed}");
    assert!(printed.contains("\nmarks (ECN): 0 of "), "{printed}");
}

#[test]
fn what_one_side_wants_alone_is_told() {
    let server = Server::start(&["--once"]);
    let output = server.client(&[&LOAD[..], &["--ecn", "--mtu-search", "9000"]].concat()).end();
    let printed = text(&output.stdout);
    assert!(printed.contains("packets are not marked: the other side has to say --ecn as well"));
    assert!(printed.contains("profile tresse, path MTU searched up to 9000 bytes\n"), "{printed}");
    assert!(printed.contains("\npath MTU 9000 bytes: "), "{printed}");
    assert!(!printed.contains("marks (ECN)") && !printed.contains("refused"), "{printed}");
}
