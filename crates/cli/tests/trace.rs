//! `tresse trace` as a user calls it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/captures").join(name)
}

fn trace(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tresse"));
    command.arg("trace").args(arguments).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn bad_input_is_one_line_and_status_2() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for file in ["/nowhere/at/all.pcap", manifest] {
        let output = trace(&[file]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
        let said = text(&output.stderr);
        assert!(said.lines().count() == 1 && said.contains(file), "{said}");
    }
}

#[test]
fn a_listing_is_like_that_of_sctp_trace() {
    let output =
        trace(&["--list", "--missing-reports", "4", capture("simulated.pcapng").to_str().unwrap()]);
    let said = text(&output.stdout);
    assert!(output.status.success());
    assert!(said.contains("\n[416.031] #1 A>B TSN: 0\n"), "{said}");
    assert!(said.contains(
        " RETRANSMISSION:\n\tR1 7 (1152.016ms) Fast retransmit\n\tR1 11 (128.016ms) In flight\n"
    ));
    assert!(said.contains(" SACK CUM ACK: 6 #GAP ACKs: 1 GAP ACKED: 8-11\n"));
}

#[test]
fn everything_is_written_into_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/one");
    let names = ["usrsctp.pcap.gz", "tcp.pcap.gz"].map(capture);
    let [first, second] = names.each_ref().map(|path| path.to_str().unwrap());
    let output = trace(&["--json", "--out", out.to_str().unwrap(), first, second]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let written = std::fs::read_to_string(out.join("summary.json")).unwrap();
    assert_eq!(printed, serde_json::from_str::<serde_json::Value>(&written).unwrap());
    assert_eq!(printed["associations"].as_array().unwrap().len(), 2);
    let rows =
        std::fs::read_to_string(out.join("retransmissions.csv")).unwrap().lines().count() as u64;
    let again = |which: &str| printed["totals"][which]["retransmitted"].as_u64().unwrap();
    assert_eq!(rows, 1 + again("sctp") + again("tcp"));
    for name in ["retransmissions", "sacks", "statistics"] {
        let bytes = std::fs::read(out.join(name).with_extension("parquet")).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    }
    let page = std::fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.matches("<svg class=\"plot\"").count() >= 6 && !page.contains("NaN"));
}
