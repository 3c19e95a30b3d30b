//! The TCP of the simulator by the eyes of others: its captures, read by tshark and tcptrace.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use tresse_core::Time;
use tresse_sim::tcp::{Delays, Options, Sink, Source, Traffic};
use tresse_sim::{Capture, CaptureBuffer, LinkConfig, Route, Simulation};

/// A thick stream with SACK and D-SACK for 20 s through losses: what its sender saw, and its delays.
fn played() -> (Vec<u8>, Delays) {
    let mut simulation = Simulation::new(5);
    let (a, b) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let options = Options { sack: true, dsack: true, ..Options::default() };
    let source = Source::new(options, Traffic::Bulk, a, b, Duration::ZERO);
    let source = simulation.add_node("source", Box::new(source));
    let sink = Sink::new(options, b, a, Duration::from_millis(1));
    let sink = simulation.add_node("sink", Box::new(sink));
    let link = LinkConfig { loss: 0.05, ..LinkConfig::new(10_000.0, 20.0) };
    for (from, to, address) in [(source, sink, b), (sink, source, a)] {
        simulation.add_link(from, to, Route::to(address), link.clone()).expect("a link");
    }
    let seen: Capture = simulation.view_of(source);
    let buffer = CaptureBuffer::new();
    simulation.capture(seen, buffer.clone()).expect("memory");
    simulation.run(Time::from_millis(20_000));
    simulation.finish_captures().expect("memory");
    let delays = simulation.app::<Source>(source).delays().clone();
    assert!(delays.count() > 20, "{}", delays.count());
    (buffer.contents(), delays)
}

/// What a program says; `None` if it is not installed.
fn said(command: &mut Command) -> Option<Output> {
    match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = command.get_program().to_string_lossy().into_owned();
            let required = std::env::var_os("TRESSE_REQUIRE_PEERS").is_some();
            assert!(!required, "{name} is missing: apt-get install {name}");
            let _ = writeln!(io::stderr(), "skipped: {name} is missing: apt-get install {name}");
            None
        }
        output => Some(output.expect("it runs")),
    }
}

fn tshark(capture: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(arguments);
    let output = said(&mut command)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn captures_have_tcp_in_ip_with_right_checksums() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tcp.pcapng");
    std::fs::write(&file, played().0).expect("room on disk");
    let fields = ["ip.proto", "ip.checksum.status", "tcp.checksum.status", "_ws.malformed"];
    let mut arguments = vec!["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];
    arguments.extend(["-T", "fields", "-E", "separator=|"]);
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    let Some(text) = tshark(&file, &arguments) else { return };
    assert!(text.lines().count() > 500, "{}", text.lines().count());
    let odd: Vec<&str> = text.lines().filter(|line| *line != "6|1|1|").collect();
    assert!(odd.is_empty(), "{odd:?}");
}

#[test]
fn delays_are_those_of_tcptrace() {
    let folder = tempfile::tempdir().expect("a folder");
    let (own, classic) = (folder.path().join("tcp.pcapng"), folder.path().join("tcp.pcap"));
    let (capture, delays) = played();
    std::fs::write(&own, capture).expect("room on disk");
    // tcptrace reads captures of one interface only.
    let classic_path = classic.to_str().expect("plain");
    if tshark(&own, &["-F", "pcap", "-w", classic_path]).is_none() {
        return;
    }
    let mut command = Command::new("tcptrace");
    let Some(output) = said(command.args(["-l", "-r", "-n"]).arg(&classic)) else { return };
    let mut theirs: BTreeMap<String, f64> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // "     rexmt data pkts:          3        rexmt data pkts:          0     "
        if let Some((name, rest)) = line.trim_start().split_once(':')
            && let Some(value) = rest.split_whitespace().next().and_then(|word| word.parse().ok())
        {
            theirs.insert(name.to_owned(), value);
        }
    }
    let [min, max, average, deviation] = delays.summary().expect("retransmissions");
    for (name, ours, tolerance) in [
        ("rexmt data pkts", delays.count() as f64, 0.0),
        ("min retr time", min, 0.11),
        ("max retr time", max, 0.11),
        ("avg retr time", average, 0.11),
        ("sdv retr time", deviation, 0.11),
    ] {
        let their = theirs.get(name).unwrap_or_else(|| panic!("tcptrace says nothing of {name}"));
        assert!((ours - their).abs() <= tolerance, "{name}: {ours}, not {their}");
    }
}
