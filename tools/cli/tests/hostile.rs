//! What may be wrong around a process: the port, the permission, the network, and what strangers
//! send. Each ends in one clear line, or disturbs nothing.
#![cfg(unix)]

mod processes;

use std::io::Write as _;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use processes::{IMPATIENT, Process, Server, failure, text};

#[test]
fn a_port_in_use_is_named() {
    let server = Server::start(&[]);
    let second = Process::start(&["server", "--listen", &server.address]);
    let error = failure(&second.end(), 2);
    assert!(error.contains(&server.address) && error.contains("in use"), "{error}");
    // The first one is not disturbed.
    assert!(server.client(&["--bytes", "100k"]).end().status.success());
}

/// Runs `tresse` without the capability, also if the test is root's.
fn without_net_raw(arguments: &[&str]) -> Option<Output> {
    let tresse = env!("CARGO_BIN_EXE_tresse");
    let setpriv = Command::new("setpriv")
        .args(["--bounding-set", "-net_raw", "--inh-caps", "-net_raw", tresse])
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    match setpriv {
        Ok(output) => Some(output),
        Err(error) => {
            let skipped = format!("skipped: setpriv (util-linux) cannot be run: {error}");
            assert!(std::env::var_os("TRESSE_REQUIRE_PEERS").is_none(), "{skipped}");
            let _ = std::io::stderr().write_all(format!("{skipped}\n").as_bytes()); // At once: other tests write, too.
            None
        }
    }
}

#[test]
fn raw_sockets_without_permission_say_what_is_needed() {
    for arguments in [
        &["perf", "server", "--carrier", "raw"][..],
        &["perf", "client", "127.0.0.1", "--carrier", "raw"],
    ] {
        let Some(output) = without_net_raw(arguments) else { return };
        let error = failure(&output, 2);
        assert!(error.contains("CAP_NET_RAW") && error.contains("UDP encapsulation"), "{error}");
    }
}

#[test]
fn nobody_and_nowhere_end_in_bounded_time() {
    let begin = Instant::now();
    for (address, limit) in [
        // Documentation addresses (RFC 5737, RFC 3849): nobody, or not even a way there.
        ("192.0.2.1", "300ms"),
        ("[2001:db8::1]:9899", "300ms"),
    ] {
        let output = Process::start(&["client", address, "--connect-timeout", limit]).end();
        failure(&output, 1);
    }
    let mut arguments = vec!["client", "192.0.2.1", "--set", "limits.max_init_retransmits=2"];
    arguments.extend(IMPATIENT);
    failure(&Process::start(&arguments).end(), 1);
    assert!(begin.elapsed() < Duration::from_secs(20));
}

/// Sends everything that a stranger can think of, until `stop`.
fn pester(address: SocketAddr, stop: &AtomicBool) -> u64 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        let mut datagram: Vec<u8> = (0..random() % 1400).map(|_| random() as u8).collect();
        // Half of them look like SCTP for the port of the server.
        if datagram.len() >= 16 && random().is_multiple_of(2) {
            datagram[2..4].copy_from_slice(&5001_u16.to_be_bytes());
            datagram[12] %= 15;
            let checksum = tresse_core::wire::checksum(&datagram).unwrap();
            datagram[8..12].copy_from_slice(&checksum.to_le_bytes());
        }
        // What a full socket refuses is lost, as on any network.
        let _ = socket.send_to(&datagram, address);
        sent += 1;
        if sent % 64 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    sent
}

#[test]
fn garbage_on_the_port_disturbs_nothing() {
    let server = Server::start(&[]);
    let address = server.address.parse().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stranger = scope.spawn(|| pester(address, &stop));
        let output = server.client(&["--bytes", "20M"]).end();
        stop.store(true, Ordering::Relaxed);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("every byte verified"));
        assert!(stranger.join().unwrap() > 100);
    });
    server.process.interrupt();
    let output = server.process.end();
    assert!(output.status.success(), "{}", text(&output.stderr));
}
