//! A guest in the place of one side of an emulation.

#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tresse_emulator::{Emulation, Settings, Side};
use tresse_peers::{Guest, skipped};

#[test]
fn a_guest_is_at_the_end_of_both_links() {
    let links = "forward = { drop_packets = [1] }\nbackward = {}\n\
                 [second]\nforward = { drop_packets = [1] }\nbackward = {}";
    let emulation = match Emulation::start(&links.parse().unwrap(), &Settings::default()) {
        Ok(emulation) => emulation,
        Err(error) => return skipped(&error.into()),
    };
    let folder = tempfile::tempdir().unwrap();
    let lifetime = Duration::from_secs(300);
    let guest = match Guest::boot_in(&emulation, Side::Right, folder.path(), lifetime) {
        Ok(guest) => guest,
        Err(why) => return skipped(&why),
    };
    // Asked beside the links, it has sent nothing through them.
    assert_eq!(guest.run("echo hello"), ["hello"]);
    assert_eq!(emulation.report().links.iter().map(|link| link.stats.offered).sum::<u64>(), 0);
    emulation.enter(Side::Left).unwrap();
    for path in 0..2 {
        for address in [
            SocketAddr::from((emulation.address(Side::Right, path), 7000)),
            SocketAddr::from((emulation.address_v6(Side::Right, path), 7000)),
        ] {
            // The first SYN of each path is lost, and its retransmission comes through.
            let Ok(mut agent) = TcpStream::connect(address) else {
                assert!(address.is_ipv6(), "{address} is not reached");
                continue; // The agent listens to IPv4 only.
            };
            agent.write_all(b"echo hello\n").unwrap();
            let mut said = String::new();
            agent.read_to_string(&mut said).unwrap();
            assert!(said.contains("hello"), "{said}");
        }
    }
    let report = emulation.stop();
    for link in &report.links {
        let lost = if link.direction == "forward" { 1 } else { 0 };
        assert_eq!((link.stats.dropped_pattern, link.stats.dropped()), (lost, lost), "{link:?}");
        assert!(link.stats.delivered > 3, "{link:?}");
    }
}
