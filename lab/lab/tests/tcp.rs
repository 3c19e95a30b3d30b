//! Experiments whose senders are TCP (Pedersen 2006, §3.3).

use std::fs;
use std::path::Path;

use tresse_lab::runner::{Execution, ProgressMode};
use tresse_lab::{LabError, Overrides, Session, experiment};

/// Both kinds of senders on a short thin stream.
const SMALL: &str = r#"
kind = "flow"
id = "test/tcp"
title = "TCP"
summary = "For tests."

[topology]
clocks_apart_ms = 4
forward = { bandwidth_kbps = 10000, delay_ms = 50, loss = 0.1 }
backward = { bandwidth_kbps = 10000, delay_ms = 50, loss = 0.1 }

[association]
no_delay = false

[[profile]]
name = "tcp-2.6.15"
label = "plain"

[[profile]]
name = "tcp-2.6.15+sack"
label = "SACK"
parameters = { dsack = true }

[[profile]]
name = "rfc9260"
label = "SCTP"

[workload.periodic]
message_bytes = 100
every_ms = 256
duration_s = 120

[observe]
retransmissions = true

[replications]
count = 3

[[table]]
title = "Delays"
metrics = ["resend_ms.min", "resend_ms.max", "resend_ms.avg", "resend_ms.sd", "resend.count"]

[[printed]]
where = "Table 1"
series = "SACK"
rows = [{ type = "resend", min_ms = 300, sd_ms = 5000 }]
"#;

fn session(text: &str, folder: &Path, overrides: &Overrides) -> Result<Session, LabError> {
    let file = folder.join("my.toml");
    fs::write(&file, text).unwrap();
    Session::new(file.to_str().unwrap(), overrides)
}

fn quiet() -> Execution {
    Execution { progress: ProgressMode::Silent, jobs: Some(2), ..Execution::default() }
}

#[test]
fn tcp_and_sctp_are_measured_alike() {
    let folder = tempfile::tempdir().unwrap();
    let captures = folder.path().join("captures");
    let execution = Execution { capture: Some(captures.clone()), ..quiet() };
    let finished =
        session(SMALL, folder.path(), &Overrides::default()).unwrap().run(folder.path(), execution);
    let finished = finished.unwrap();
    assert!(finished.report.failures.is_empty(), "{:?}", finished.report.failures);
    let text = fs::read_to_string(finished.page.with_file_name("rows.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let rows: Vec<Vec<&str>> = lines.collect();
    assert_eq!(rows.len(), 9);
    for row in &rows {
        let value = |name: &str| row[column(name)].parse::<f64>().unwrap();
        let (min, max) = (value("resend_ms.min"), value("resend_ms.max"));
        assert!(min <= value("resend_ms.avg") && value("resend_ms.avg") <= max, "{row:?}");
        assert!(value("resend.count") > 20.0 && value("resend_ms.sd") > 0.0, "{row:?}");
        // A round trip of 100 ms and 200 ms, less than the tick in which it was sent; SCTP waits a second.
        match row[column("series")] {
            "SCTP" => assert!(max > 900.0, "{row:?}"),
            _ => assert!((296.0..496.0).contains(&min), "{row:?}"),
        }
        assert_eq!(value("delivered_bytes"), 46_900.0);
    }
    let names = ["tcp-2.6.15", "tcp-2.6.15+sack", "rfc9260"];
    assert!(names.iter().all(|name| rows.iter().any(|row| row.contains(name))), "{rows:?}");

    // IPv4 with protocol 6 right after the header of a block: SCTP has 132 there.
    let count = |name: &str, protocol: u8| {
        let bytes = fs::read(captures.join(name)).unwrap();
        let ours = [64, protocol];
        bytes.windows(20).filter(|w| w[0] == 0x45 && w[8..10] == ours && w[12] == 10).count()
    };
    let tcp = "tcp-2.6.15_replication-1.sender.pcapng";
    assert!(count(tcp, 6) > 500 && count(tcp, 132) == 0);
    // The parameters of a sender are part of its name.
    assert!(count("tcp-2.6.15+sack+dsack_replication-3.receiver.pcapng", 6) > 500);
    assert!(count("rfc9260_replication-1.sender.pcapng", 132) > 500);

    let [min, deviation] = finished.report.comparisons.as_slice() else { panic!("two") };
    assert!(min.claim.one_run && min.claim.what == "retransmission delay: smallest");
    assert!(min.ours.is_some() && deviation.verdict.word() == "differs");
}

#[test]
fn the_tables_of_tcp_have_all_that_is_printed() {
    let printed = |id: &str| experiment::find(id).unwrap().claims().len();
    let tables = ["table3.6-rtt0", "table3.6", "table3.7-rtt0", "table3.7"];
    let cells = tables.map(|table| printed(&format!("pedersen/{table}")));
    // Five senders, four numbers of each: at 0, at 100 and 200, and for thin streams at 400 ms.
    assert_eq!(cells, [20, 40, 20, 60]);
}

#[test]
fn what_tcp_does_not_have_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |from: &str, to: &str| {
        assert!(SMALL.contains(from), "{from}");
        let text = SMALL.replacen(from, to, 1);
        let error = session(&text, folder.path(), &Overrides::default()).err().unwrap().to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    };
    for (from, to, key) in [
        ("name = \"tcp-2.6.15\"", "name = \"tcp-2.6.15+rack\"", "(key profile[0].parameters)"),
        ("dsack = true", "rack = true", "(key profile[1].parameters)"),
        ("every_ms = 256", "every_ms = 256\nburst = 2", "(key workload)"),
        ("[association]", "[association]\nmtu = 1400", "(key association.mtu)"),
        ("[topology]", "[topology]\nmtu = { bytes = 1400 }", "(key topology.mtu)"),
    ] {
        let error = refused(from, to);
        assert!(error.ends_with(key), "{to}: {error}");
    }
    // Parameters are those of SCTP: somebody must have them.
    let overrides = Overrides { parameters: vec!["rto.min_ms=300".into()], ..Overrides::default() };
    session(SMALL, folder.path(), &overrides).unwrap();
    let alone = SMALL.replacen("[[profile]]\nname = \"rfc9260\"\nlabel = \"SCTP\"\n", "", 1);
    let error = session(&alone, folder.path(), &overrides).err().unwrap().to_string();
    assert!(error.contains("all senders are TCP") && !error.contains('\n'), "{error}");
    // One beside those of the experiment.
    let beside =
        Overrides { profiles: vec!["tcp-2.6.15+sack+fack".into()], ..Overrides::default() };
    assert_eq!(session(SMALL, folder.path(), &beside).unwrap().runs(), 12);
    // A single loss has SCTP.
    let wrong = Overrides { profiles: vec!["tcp-2.6.15".into()], ..Overrides::default() };
    let error = Session::new("hurtig/fig2", &wrong).err().unwrap().to_string();
    assert!(error.contains("tcp-2.6.15") && !error.contains('\n'), "{error}");
}
