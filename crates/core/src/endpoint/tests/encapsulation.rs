//! Packets in UDP and on raw IP (RFC 6951 §5).

use super::*;
use script::packet;
use sent::only;

/// Two paths of an association in UDP.
fn script() -> Script {
    let config = AssociationConfig { encapsulation: Some(9899), ..standard() };
    Script::multihomed(&config, 2)
}

/// A HEARTBEAT of the peer from its address number `n`, and what answers it.
fn heartbeat(script: &mut Script, n: u8, encapsulation: Option<u16>) -> Transmit {
    let sent = script.give_datagram(Datagram {
        source: addresses(Side::Z, 2)[usize::from(n)],
        destination: addresses(Side::A, 1)[0],
        encapsulation,
        packet: packet(script.tag, |w| w.heartbeat(b"info")).into(),
    });
    assert_eq!(only(&sent).types(), [ChunkType::HEARTBEAT_ACK]);
    only(&sent).to
}

//= RFC 6951 5.1-1
#[test]
fn each_address_has_its_own_udp_port() {
    // §5.1: "MUST maintain a remote UDP encapsulation port number per destination address".
    let mut script = script();
    assert_eq!(heartbeat(&mut script, 0, Some(1111)).encapsulation, Some(1111));
    assert_eq!(heartbeat(&mut script, 1, Some(2222)).encapsulation, Some(2222));
    for (path, port) in [(0, 1111), (1, 2222)] {
        script.end.set_primary(script.now, script.id, PathId(path)).unwrap();
        assert_eq!(only(&script.send(10)).to.encapsulation, Some(port));
    }
}

//= RFC 6951 5.4-2 5.6-1 5.6-2
#[test]
fn a_raw_packet_ends_encapsulation_and_a_udp_datagram_begins_it() {
    // §5.4: "the encapsulation of outgoing packets belonging to the same association and the
    // corresponding destination address MUST be disabled"; §5.6: the Path MTU changes by the size
    // of the UDP header, 8 bytes.
    let mut script = script();
    for n in [0, 1] {
        heartbeat(&mut script, n, Some(9899));
    }
    assert_eq!(only(&script.send(script::FULL - 8)).bytes.len(), 1472);
    assert_eq!(heartbeat(&mut script, 0, None).encapsulation, None);
    assert_eq!(heartbeat(&mut script, 1, Some(9899)).encapsulation, Some(9899), "the other path");
    heartbeat(&mut script, 1, None);
    let sent = script.send(script::FULL);
    assert_eq!((only(&sent).bytes.len(), only(&sent).to.encapsulation), (1480, None));
    for n in [0, 1] {
        assert_eq!(heartbeat(&mut script, n, Some(4500)).encapsulation, Some(4500));
    }
    let sent = script.send(2 * script::FULL);
    assert!(sent.iter().all(|p| p.bytes.len() <= 1472 && p.to.encapsulation == Some(4500)));
}
