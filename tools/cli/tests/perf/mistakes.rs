//! What people do wrong, and what stands in their way: one line says what is right. Exit code 2 for a request
//! that was wrong, 1 for something that was asked for and is missing.

use std::fs::File;
use std::process::Stdio;

use crate::processes::{Process, Server, failure, text, tresse};

#[test]
fn wrong_requests_do_nothing() {
    for (arguments, word) in [
        (&["client", "host.invalid"][..], "host.invalid"),
        (&["client", "a:b:c"], "HOST:PORT"),
        (&["client", "localhost", "--profile", "reno"], "`tresse lab profiles` lists all"),
        (&["client", "localhost", "--profile", "tresce"], "did you mean \"tresse\"?"),
        (&["client", "localhost", "--profile", "rfc9260+rack-tpl"], "did you mean \"rack-tlp\"?"),
        (&["client", "localhost", "--set", "rto.min_ms=1e300"], "100000… (301 digits)"),
        (&["client", "localhost", "--set", "rto.min_ms"], "key=value"),
        (&["client", "localhost", "--set", "rto.speed=1"], "rto.speed=1"),
        (&["client", "localhost", "--set", "rto.min_ms=1e9"], "out of range"),
        (&["client", "localhost", "--capture", "/nonexistent/x.pcapng"], "/nonexistent"),
        (&["client", "localhost", "--qlog", "/dev/null/x"], "/dev/null/x"),
        (&["client", "localhost", "--log", "tresse=loud"], "tresse=loud"),
        (&["client", "localhost", "--metrics", "192.0.2.1:1"], "192.0.2.1:1"),
        (&["server", "--listen", "192.0.2.1:x"], "192.0.2.1:x"),
        (&["server", "--listen", "192.0.2.1:0"], "192.0.2.1:0: Cannot assign"),
        (&["server", "--listen", "0.0.0.0:0", "--listen", "127.0.0.1:0"], "give it alone"),
        (&["server", "--carrier", "raw", "--listen", "127.0.0.1:7"], "no UDP ports"),
        (&["client", "127.0.0.1:7", "--carrier", "raw"], "no UDP ports"),
        (&["client", "127.0.0.1", "--local", "::1"], "no --local address of its family"),
        (&["client", "fe80::1"], "fe80::1%INTERFACE"),
        (&["client", "0.0.0.0"], "of no host"),
        (&["client", "224.0.0.1"], "of no host"),
        (&["client", "127.0.0.1:0"], "UDP port 0"),
        (&["client", "127.0.0.1", "--flow", "const2:const40000000"], "24 bytes to 16 MiB"),
        (&["client", "127.0.0.1", "--flow", "const2:const9"], "24 bytes to 16 MiB"),
    ] {
        let error = failure(&Process::start(arguments).end(), 2);
        assert!(error.contains(word), "{word}: {error}");
    }
    for arguments in [
        &["client"][..],
        &["client", "localhost", "--size", "3"],
        &["client", "localhost", "--thin", "100"],
        &["client", "localhost", "--flow", "const5"],
        &["client", "localhost", "--metrics", "here"],
        &["server", "--sctp-port", "0"],
    ] {
        let output = Process::start(arguments).end();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        // What the parser of the command line finds begins as everything else does.
        let error = text(&output.stderr);
        assert!(error.starts_with("tresse: ") && !error.contains("error: "), "{error}");
    }
    let rate = failure_of(&["client", "localhost", "--rate", "1e300"]);
    assert!(rate.contains("1e300") && rate.len() < 200, "{rate}");
}

/// What is said of a wrong command line.
fn failure_of(arguments: &[&str]) -> String {
    let output = Process::start(arguments).end();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    text(&output.stderr)
}

#[test]
fn a_port_that_is_taken_is_no_riddle() {
    let server = Server::start(&[]);
    let error = failure(&Process::start(&["server", "--listen", &server.address]).end(), 2);
    assert!(error.contains("something else has that UDP port"), "{error}");
    // Both families, and one address twice, are one socket.
    for arguments in [["0.0.0.0", "::"], ["127.0.0.1", "127.0.0.1"]] {
        let [first, second] = arguments.map(|address| ["--local", address]);
        let client = server.client(&[&["--bytes", "10k"], &first[..], &second].concat()).end();
        assert!(client.status.success(), "{}", text(&client.stderr));
    }
    let port = server.address.rsplit(':').next().unwrap();
    let mapped = format!("[::ffff:127.0.0.1]:{port}");
    let client = Process::start(&["client", &mapped, "--bytes", "10k"]).end();
    assert!(client.status.success(), "{}", text(&client.stderr));
}

#[test]
#[cfg(target_os = "linux")]
fn who_does_not_listen_is_named() {
    let server = Server::start(&["--sctp-port", "5009"]);
    let error = failure(&server.client(&["--bytes", "10k"]).end(), 1);
    assert!(error.contains("SCTP port 5001: nobody listens"), "{error}");
    let address = server.address.clone();
    drop(server);
    let error = failure(&Process::start(&["client", &address]).end(), 1);
    assert!(error.contains("ICMP") && error.contains("is `tresse perf server` running"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_a_record_and_not_the_transfer() {
    let server = Server::start(&["--once"]);
    let output = server.client(&["--bytes", "2M", "--capture", "/dev/full"]).end();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("every byte verified"));
    let warning = text(&output.stderr);
    assert!(warning.lines().count() == 1 && warning.contains("/dev/full"), "{warning}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_result_that_cannot_be_written_is_missed() {
    let server = Server::start(&[]);
    for more in [&[][..], &["--json"]] {
        let mut client = tresse(&[&["client", &server.address, "--bytes", "10k"], more].concat());
        client.stdout(File::options().write(true).open("/dev/full").unwrap());
        let error = failure(&Process(client.spawn().unwrap()).end(), 1);
        assert!(error.contains("the standard output: No space left"), "{error}");
    }
}

/// Whoever writes the results, the exit status and the line are the same.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_the_same_to_all_commands() {
    let capture =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/trace/tests/captures/simulated.pcapng");
    for arguments in [
        &["lab", "list"][..],
        &["lab", "run", "hurtig/fig2", "--dry-run"],
        &["arena", "list"],
        &["trace", capture],
        &["trace", "--list", capture],
        &["trace", "--json", capture],
        &["--help"],
        &["perf", "client", "--help"],
        &["--version"],
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tresse"));
        command.args(arguments).stdin(Stdio::null());
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
        let error = failure(&command.output().unwrap(), 1);
        assert!(error.contains("the standard output: No space left"), "{arguments:?}: {error}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn nobody_has_to_read() {
    let command = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tresse"));
        command.args(arguments).stdin(Stdio::null());
        command
    };
    // A pipe whose reader has gone, for each of both outputs.
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    for (arguments, code) in [
        (&["arena", "list"][..], 0),
        (&["lab", "list"], 0),
        (&["perf", "client", "a:b:c"], 2),
        (&["perf", "server", "--json", "--listen", "192.0.2.1:0"], 2),
    ] {
        let status = command(arguments).stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_wrong_option_is_no_program() {
    for word in ["--profil", "-carrier"] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tresse"));
        let error = failure(&command.args(["run", word, "--", "true"]).output().unwrap(), 2);
        assert!(error.contains(word) && error.contains("is no option"), "{error}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_engine_that_cannot_be_bound_runs_nothing() {
    for (address, word) in
        [("224.0.0.1", "of no host"), ("192.0.2.9", "this host has no such address")]
    {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tresse"));
        // Any file will do for the library: the address is looked at before.
        command.args(["run", "--preload", "/dev/null", "--local", address, "--", "true"]);
        let error = failure(&command.output().unwrap(), 2);
        assert!(error.contains(word), "{error}");
    }
}
