//! `tresse perf` between hosts that have several addresses, in network namespaces.
#![cfg(target_os = "linux")]

mod lack;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use tresse_emulator::{Error, Namespace};

/// Two hosts with two networks between them: the first has 10.N.0.1 and fd10:N::1, the other one
/// 10.N.0.2 and fd10:N::2; their link-local addresses are
/// fe80::N:1 and fe80::N:2. `None` where that is not permitted.
fn hosts() -> Option<[Namespace; 2]> {
    let made = || -> Result<_, Error> {
        let [client, server] = [Namespace::new()?, Namespace::new()?];
        let link =
            |net| format!("link add to{net} type veth peer name to{net} netns {}", server.path());
        client.ip(&[link(1), link(2)])?;
        for (host, last) in [(&client, 1), (&server, 2)] {
            for net in [1, 2] {
                host.ip(&[
                    format!("link set to{net} up"),
                    format!("addr add 10.{net}.0.{last}/24 dev to{net}"),
                    format!("addr add fd10:{net}::{last}/64 dev to{net} nodad"),
                    format!("addr add fe80::{net}:{last}/64 dev to{net} nodad"),
                ])?;
            }
        }
        Ok([client, server])
    };
    match made() {
        Ok(hosts) => Some(hosts),
        Err(error) if lack::skipped(&error.to_string()) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Starts `tresse perf` on a host; it is killed when the test ends.
fn perf(host: &Namespace, arguments: &str) -> Child {
    let mut tresse = host.command(env!("CARGO_BIN_EXE_tresse"));
    tresse.arg("perf").args(arguments.split_whitespace());
    tresse.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    tresse.spawn().expect("setpriv and nsenter of util-linux")
}

/// A server as it is without any option, and clients with one address or several, over both families.
#[test]
fn clients_of_every_kind_meet_a_default_server() {
    let cases = [
        ("10.1.0.2", ""),
        ("10.2.0.2 --local 10.1.0.1 --local 10.2.0.1", ""),
        ("fd10:1::2", ""),
        ("fd10:1::2 --local fd10:2::1 --local fd10:1::1", ""),
        ("10.1.0.2 --local fd10:1::1 --local 10.1.0.1", ""),
        ("10.1.0.2 --local 0.0.0.0", ""),
        ("fe80::2:2%to2", ""),
        // The system knows the source of that link; and a link-local address answers a global one.
        ("fe80::2:2%to2 --local ::", ""),
        ("fe80::2:2%to2 --local fd10:2::1", ""),
        ("10.2.0.2 --local 10.1.0.1 --local 10.2.0.1", "--carrier raw"),
        ("fe80::2:2%to2 --local ::", "--carrier raw"),
        ("fe80::2:2%to2 --local fd10:2::1", "--carrier raw"),
    ];
    // They wait more than they work, each with hosts of its own.
    std::thread::scope(|scope| {
        for (addresses, carrier) in cases {
            scope.spawn(move || meets_a_default_server(addresses, carrier));
        }
    });
}

fn meets_a_default_server(addresses: &str, carrier: &str) {
    let Some([client, server]) = hosts() else { return };
    // On raw IP each family has its own wildcard.
    let all = if carrier.is_empty() { "" } else { "--local 0.0.0.0 --local ::" };
    let mut serving = perf(&server, &format!("server --once {carrier} {all}"));
    let mut line = String::new();
    let mut said = BufReader::new(serving.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    if !line.contains("waiting on") {
        let mut error = String::new();
        serving.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert!(lack::skipped(&error), "{line}{error}");
        serving.wait().unwrap();
        return;
    }
    // Long enough for the heartbeats that confirm paths.
    let options = "-t 2 --rate 4M --timeout 10s";
    let output = perf(&client, &format!("client {addresses} {options} {carrier}"));
    let output = output.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let _ = serving.kill();
    }
    assert!(output.status.success(), "{addresses} {carrier}: {error}");
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(serving.wait().unwrap().success() && rest.contains("every byte verified"), "{rest}");
}

/// What cannot leave this host is no fault of the server.
#[test]
fn a_client_without_a_route_says_so_at_once() {
    let Some([client, _server]) = hosts() else { return };
    client.ip(&["addr del 127.0.0.1/8 dev lo".into()]).unwrap();
    for address in ["127.0.0.1", "192.0.2.1", "2001:db8::1"] {
        let begin = std::time::Instant::now();
        let output = perf(&client, &format!("client {address}")).wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.contains("no packet can leave this host") && !error.contains("server"),
            "{error}"
        );
        assert!(begin.elapsed() < std::time::Duration::from_secs(3), "{:?}", begin.elapsed());
    }
}
