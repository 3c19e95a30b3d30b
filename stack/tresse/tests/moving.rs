//! Addresses of a real host come and go, in network namespaces of their own: the peer is told, and nothing is lost.
//!
//! The test starts itself again: as the host that moves, in a namespace with one end of a veth pair, and as its peer, in
//! another one with the other end.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tresse::{AddressChange, AddressOutcome, Association, Config, Endpoint, Event};

const ROLE: &str = "TRESSE_MOVING";
const UDP_PORT: u16 = 9899;
const PORT: u16 = 5001;
/// For what takes a round trip, on a busy machine. The addresses are looked at each minute where the kernel tells of changes.
const SOON: Duration = Duration::from_secs(25);

/// This test in a namespace of its own, in another role.
fn again(role: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "--"]).arg(std::env::current_exe().expect("a test"));
    command.args(["a_host_that_moves_keeps_its_association", "--exact", "--nocapture"]);
    command.env(ROLE, role);
    command
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("ip");
    assert!(status.success(), "ip {arguments}");
}

/// Whether namespaces and interfaces can be made here.
fn is_possible() -> bool {
    let made = Command::new("unshare")
        .args(["--net", "--", "sh", "-c", "ip link add v0 type veth peer name v1"])
        .stderr(Stdio::null())
        .status();
    made.is_ok_and(|status| status.success())
}

fn mobile(mut config: Config) -> Config {
    let extensions = &mut config.sctp.association.extensions;
    (extensions.authentication, extensions.address_reconfiguration) = (true, true);
    config
}

#[test]
fn a_host_that_moves_keeps_its_association() {
    let role = std::env::var(ROLE).unwrap_or_default();
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    match role.as_str() {
        "host" => runtime().block_on(host()),
        "peer" => runtime().block_on(peer()),
        _ if !is_possible() => {
            let required = std::env::var_os("TRESSE_REQUIRE_PEERS").is_some_and(|v| v == "1");
            assert!(!required, "network namespaces cannot be made: run as root, with iproute2");
            println!("skipped: network namespaces cannot be made: run as root, with iproute2");
        }
        _ => {
            let output = again("host").output().expect("unshare");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}{errors}");
            assert!(said.contains("moved 6 times"), "{said}{errors}");
        }
    }
}

/// Ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn host() {
    ip("link set lo up");
    ip("link add v0 type veth peer name v1");
    let mut child = again("peer").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it");
    let said = BufReader::new(child.stdout.take().expect("piped"));
    let mut lines = said.lines().map_while(Result::ok);
    let mut ended = Ended(child);
    assert!(lines.any(|line| line.contains("waits for its interface")), "the peer is there");
    ip(&format!("link set v1 netns {}", ended.0.id()));
    // Routes of an interface go with its last address. This one is of no use to the association.
    ip("addr add 169.254.1.1/16 dev v0 scope link");
    ip("addr add 10.9.1.1/32 dev v0");
    ip("link set v0 up");
    ip("route add 10.9.0.0/16 dev v0");
    assert!(lines.any(|line| line.contains("listens")), "the peer listens");
    drop(ended.0.stdin.take());

    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    let endpoint = Endpoint::bind(mobile(Config::client(any))).expect("a client");
    let to = SocketAddr::from(([10, 9, 0, 2], UDP_PORT));
    let association = soon("setup", endpoint.connect((to, PORT))).await.expect("an association");
    let sending = tokio::spawn({
        let association = association.clone();
        async move {
            let mut sent = 0u32;
            loop {
                let data = sent.to_be_bytes().to_vec();
                if association.send(0, data).await.is_err() {
                    return sent;
                }
                sent += 1;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let mut number = 1;
    for moves in 0..6u8 {
        let next = 2 + moves;
        let (old, new) = (format!("10.9.{number}.1"), format!("10.9.{next}.1"));
        if moves % 2 == 0 {
            // Make before break.
            ip(&format!("addr add {new}/32 dev v0"));
            changed(&association, AddressChange::Add, &new).await;
            ip(&format!("addr del {old}/32 dev v0"));
            changed(&association, AddressChange::Delete, &old).await;
        } else {
            ip(&format!("addr del {old}/32 dev v0"));
            ip(&format!("addr add {new}/32 dev v0"));
            changed(&association, AddressChange::Add, &new).await;
            changed(&association, AddressChange::Delete, &old).await;
        }
        let own: IpAddr = new.parse().expect("an address");
        assert_eq!(association.local_addresses(), [own]);
        number = next;
    }
    println!("moved 6 times");
    let ending = association.clone();
    soon("the end", ending.shutdown()).await.expect("a graceful one");
    println!("{} messages", sending.await.expect("it ends"));
    let status = ended.0.wait().expect("the peer ends");
    assert!(status.success(), "the peer: {status}");
}

async fn peer() {
    println!("waits for its interface");
    while !Command::new("ip").args(["link", "show", "v1"]).output().expect("ip").status.success() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    ip("addr add 10.9.0.2/16 dev v1");
    ip("link set v1 up");
    let local = SocketAddr::from(([0, 0, 0, 0], UDP_PORT));
    let endpoint = Endpoint::bind(mobile(Config::server(local, PORT))).expect("a server");
    println!("listens");
    let association = soon("somebody", endpoint.accept()).await.expect("an association");
    let mut expected = 0u32;
    while let Ok(message) = soon("a message", association.recv()).await {
        assert_eq!(message.payload, expected.to_be_bytes().to_vec());
        expected += 1;
    }
    let closed = association.close_reason().expect("it has ended");
    assert!(closed.is_graceful() && expected > 0, "{closed} after {expected} messages");
}

async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, work).await.unwrap_or_else(|_| panic!("{what} took {SOON:?}"))
}

/// Waits until the peer has granted a change.
async fn changed(association: &Association, expected: AddressChange, of: &str) {
    let of: IpAddr = of.parse().expect("an address");
    let granted = async {
        loop {
            match association.next_event().await.expect("it goes on") {
                Event::AddressChanged { change, address, outcome }
                    if (change, address) == (expected, of) =>
                {
                    assert_eq!(outcome, AddressOutcome::Done);
                    return;
                }
                _ => {}
            }
        }
    };
    soon(&format!("{expected:?} {of}"), granted).await;
}
