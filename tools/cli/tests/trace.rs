//! `tresse trace` as a process.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A capture of the analyser's own tests.
fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/trace/tests/captures").join(name)
}

fn command(arguments: &[&str], files: &[&Path]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tresse"));
    command.arg("trace").args(arguments).args(files).stdin(Stdio::null());
    command
}

fn trace(arguments: &[&str], files: &[&Path]) -> Output {
    command(arguments, files).output().unwrap()
}

/// Standard output of a run that succeeds.
fn shown(arguments: &[&str], files: &[&Path]) -> String {
    let output = trace(arguments, files);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn json(arguments: &[&str], files: &[&Path]) -> Value {
    serde_json::from_str(&shown(&[&["--json"], arguments].concat(), files)).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The one line of a process that failed with this code.
fn failure(output: &Output, code: i32) -> String {
    let reason = text(&output.stderr);
    assert_eq!((output.status.code(), reason.lines().count()), (Some(code), 1), "{reason}");
    assert!(reason.starts_with("tresse: "), "{reason}");
    reason
}

#[test]
fn summary_listing_and_json_tell_the_same() {
    let file = capture("simulated.pcapng");
    let whole = json(&[], &[&file]);
    let sent = &whole["associations"][0]["directions"][0];
    let (data, again) = (&sent["data"], &sent["retransmitted"]);
    assert!(data.as_u64() > Some(100) && again.as_u64() > Some(5), "{sent}");
    let summary = shown(&[], &[&file]);
    for part in [
        format!("data            {data} chunks or segments"),
        format!("sent again {again} "),
        "until they are acknowledged".into(),
        "Note: Captured near A".into(),
    ] {
        assert!(summary.contains(&part), "{part} is not in\n{summary}");
    }
    let listing = shown(&["--list"], &[&file]);
    let sent_again = listing.lines().filter(|line| line.starts_with("\tR")).count() as u64;
    let proven: u64 =
        sent["spurious"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(Some(sent_again - proven), again.as_u64());
    assert!(listing.contains("SACK CUM ACK: ") && listing.contains(") Timeout\n"), "{listing}");
}

#[test]
fn what_only_one_end_captured_lost_nothing() {
    let (here, there) = (capture("simulated.pcapng"), capture("usrsctp.pcap.gz"));
    let whole = json(&["--receiver", there.to_str().unwrap()], &[&here]);
    let associations = whole["associations"].as_array().unwrap();
    assert!(associations.len() > 1, "{whole}");
    for association in associations {
        assert_eq!(association["both_ends"], false);
        assert!(association["unknown"].to_string().contains("Only one of the two ends"));
        for direction in association["directions"].as_array().unwrap() {
            assert!(direction["arrivals"].is_null(), "{direction}");
        }
    }
}

#[test]
fn captures_are_held_against_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = capture("usrsctp.pcap.gz");
    let out = folder.path().to_str().unwrap();
    shown(&["--out", out, "--against", file.to_str().unwrap()], &[&file]);
    let page = std::fs::read_to_string(folder.path().join("compared.html")).unwrap();
    assert!(
        page.contains("acknowledged, Mbit/s over the whole") && page.contains("+0.0 %"),
        "{page}"
    );
    assert!(page.contains("Transfer times of messages until the acknowledgement"), "{page}");
    assert!(!page.contains("-0.1 %") && !page.contains("lost on the way"), "{page}");
    // Delivery here and acknowledgement there are two things.
    let both = ["--out", out, "--against", file.to_str().unwrap(), "--receiver"];
    let said = failure(&trace(&both, &[&file, &file]), 2);
    assert!(said.contains("--receiver and --against-receiver go together"), "{said}");
}

#[test]
fn a_folder_gets_a_page_and_tables() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    let file = capture("usrsctp.pcap.gz");
    shown(&["--out", out.to_str().unwrap()], &[&file]);
    let read = |name: &str| std::fs::read(out.join(name)).unwrap();
    let page = text(&read("index.html"));
    assert!(page.contains("<svg class=\"plot\"") && page.ends_with("</html>\n"));
    let summary: Value = serde_json::from_slice(&read("summary.json")).unwrap();
    assert_eq!(summary, json(&[], &[&file]));
    let directions = summary["associations"][0]["directions"].as_array().unwrap();
    let all = |key: &str| directions.iter().filter_map(|d| d[key].as_u64()).sum::<u64>();
    for (table, rows) in [
        ("retransmissions", all("retransmitted")),
        ("sacks", all("sacks")),
        ("messages", all("messages")),
    ] {
        let csv = text(&read(&format!("{table}.csv")));
        assert_eq!(csv.lines().count() as u64, rows + 1, "{table}");
        assert!(read(&format!("{table}.parquet")).starts_with(b"PAR1"), "{table}");
    }
}

#[test]
fn standard_input_and_gzip_are_read_like_files() {
    let file = capture("simulated.pcapng");
    let bytes = std::fs::read(&file).unwrap();
    let expected = json(&[], &[&file]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    for bytes in [bytes, gzip.finish().unwrap()] {
        let mut child = command(&["--json", "-"], &[])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), expected);
    }
}

#[test]
fn what_cannot_be_read_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/bin/sh\necho no capture\n").unwrap();
    let good = capture("simulated.pcapng");
    let reason = failure(&trace(&[], &[&good, &script]), 2);
    assert!(reason.contains("script: neither pcap"), "{reason}");
    let reason = failure(&trace(&[], &[&folder.path().join("absent")]), 2);
    assert!(reason.contains("absent: No such file"), "{reason}");
    let reason = failure(&trace(&[], &[folder.path()]), 2);
    assert!(reason.contains("a folder; name the captures in it"), "{reason}");
    for twice in
        [trace(&[], &[&good, &good]), trace(&["--receiver", good.to_str().unwrap()], &[&good])]
    {
        let reason = failure(&twice, 2);
        assert!(reason.contains("simulated.pcapng: named twice"), "{reason}");
    }
    failure(&trace(&["--receiver", script.to_str().unwrap()], &[&good]), 2);
    // A file stands where the folder should be.
    failure(&trace(&["--out", script.to_str().unwrap()], &[&good]), 2);
    // Nothing was analysed before.
    assert!(trace(&[], &[&good, &script]).stdout.is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_and_a_reader_that_goes_away_is_none() {
    let file = capture("linux.pcap.gz");
    for arguments in [&[][..], &["--json"], &["--list"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = command(arguments, &[&file]).stdout(full).output().unwrap();
        let reason = failure(&output, 1);
        assert!(reason.contains("No space left"), "{reason}");
        let mut child = command(arguments, &[&file]).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert!(child.wait().unwrap().success(), "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_costs_a_folder_one_file_and_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (full, others) in [
        ("summary.json", ["index.html", "sacks.csv"]),
        ("index.html", ["summary.json", "messages.parquet"]),
        ("messages.csv", ["summary.json", "index.html"]),
    ] {
        let out = folder.path().join(full);
        std::fs::create_dir(&out).unwrap();
        std::os::unix::fs::symlink("/dev/full", out.join(full)).unwrap();
        let reason =
            failure(&trace(&["--out", out.to_str().unwrap()], &[&capture("linux.pcap.gz")]), 1);
        assert!(reason.contains("No space left"), "{reason}");
        assert!(reason.contains(out.to_str().unwrap()), "{reason}");
        for file in others {
            assert!(out.join(file).metadata().unwrap().len() > 1000, "{full}: {file}");
        }
    }
}
