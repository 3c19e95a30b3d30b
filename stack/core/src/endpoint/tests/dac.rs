//! Delayed acknowledgement for CMT, the receiver's part (Iyengar et al. 2006 §V).

use super::*;
use script::{PEER_TSN, packet, write_data};

fn config(concurrent_transfer: bool) -> AssociationConfig {
    let config = profile("rfc9260", "[multipath]\ndac = true");
    AssociationConfig { no_delay: true, concurrent_transfer, ..config }
}

/// Chunk number `n` of the peer comes from its address number `path`. Flags of the SACK that
/// answers: how many packets it is for.
fn data(script: &mut Script, path: usize, n: u32) -> Option<u8> {
    let tsn = PEER_TSN.wrapping_add(n);
    let packet = packet(script.tag, |w| write_data(w, tsn, 10));
    let sent = script.give_from(addresses(Side::Z, 2)[path], packet);
    sent.iter().find_map(|p| p.sack()).map(|sack| sack.flags.packets)
}

#[test]
fn a_gap_between_paths_is_answered_with_every_second_packet() {
    let mut script = Script::multihomed(&config(true), 2);
    assert_eq!(data(&mut script, 0, 0), Some(1), "RFC 9260 §5.1: the first one at once");
    // One path so far: RFC 9260 §6.7.
    assert_eq!(data(&mut script, 0, 2), Some(1));
    assert_eq!(data(&mut script, 0, 3), Some(1));
    // The slower path brings what is missing, and a gap is none any more.
    assert_eq!(data(&mut script, 1, 1), None);
    assert_eq!(data(&mut script, 0, 5), Some(2));
    assert_eq!(data(&mut script, 0, 6), None);
    assert_eq!(data(&mut script, 1, 4), Some(2), "not because it fills the gap");
    assert_eq!(data(&mut script, 0, 8), None);
    let sent = script.wait(ms(200));
    assert_eq!(sent.len(), 1, "no later than SACK.Delay");
    assert_eq!(sent[0].sack().unwrap().flags.packets, 1);
}

#[test]
fn duplicates_are_answered_at_once_as_ever() {
    let mut script = Script::multihomed(&config(true), 2);
    data(&mut script, 0, 0);
    data(&mut script, 1, 2);
    data(&mut script, 1, 3);
    assert_eq!(data(&mut script, 0, 2), Some(1));
}

/// Seven packets over one of two paths; the last four are acknowledged by two SACKs that each say
/// that they answer this many packets. Chunks that are then lost.
fn lost(config: &AssociationConfig, packets: u8, first: (u16, u16)) -> Vec<u32> {
    let config = AssociationConfig { concurrent_transfer: true, ..config.clone() };
    let mut script = Script::connecting_to(&config, &addresses(Side::Z, 1));
    let second_address = [10, 0, 1, 2].into();
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").ipv4(second_address);
    script.init_ack_with(&script::peer_fields(), &mut parameters);
    script.cookie_ack();
    for _ in 0..7 {
        script.send(500);
    }
    for gaps in [first, (4, 7)] {
        let flags = tresse_wire::SackFlags { retransmission: false, packets };
        let cumulative = script.tsn(0).wrapping_sub(1);
        let block = [GapAckBlock { start: gaps.0, end: gaps.1 }].into_iter();
        script.give(|w| {
            w.sack_with_flags(flags, cumulative, script::RWND, block, [].into_iter());
        });
    }
    script.lost()
}

#[test]
fn a_sack_for_two_packets_counts_twice() {
    let config = AssociationConfig { no_delay: true, ..config(true) };
    // Two SACKs, two misses each: the third is enough (RFC 9260 §7.2.4).
    assert_eq!(lost(&config, 2, (4, 5)), [0, 1, 2]);
    assert_eq!(lost(&config, 3, (4, 5)), [0, 1, 2]);
    assert!(lost(&config, 1, (4, 5)).is_empty());
    assert!(lost(&config, 0, (4, 5)).is_empty(), "a peer that does not say");
    let without = profile("rfc9260", "");
    let without = AssociationConfig { no_delay: true, ..without };
    assert!(lost(&without, 2, (4, 5)).is_empty());
}

#[test]
fn without_concurrent_transfer_nothing_changes() {
    let mut script = Script::multihomed(&config(false), 2);
    assert_eq!(data(&mut script, 0, 0), Some(0));
    assert_eq!(data(&mut script, 1, 2), Some(0));
    assert_eq!(data(&mut script, 0, 4), Some(0));
}
