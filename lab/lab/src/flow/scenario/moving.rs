//! Ends whose addresses become others (RFC 5061): both hosts have an interface on each path.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tresse_core::Time;
use tresse_netem::LinkConfig;
use tresse_sim::{Change, Interface, IpNet, IpStack, LinkId, Simulation};

use super::pair::{Pair, address};
use crate::flow::{Move, Mover};

/// Last byte of an end's first address on each path, and of its second one, which the others follow.
const fn numbers(end: Mover) -> (u8, u8) {
    match end {
        Mover::Sender => (1, 11),
        // There are 100 moves at most, of both together.
        Mover::Receiver => (2, 12),
    }
}

/// In the network of the path.
fn net(address: IpAddr) -> IpNet {
    IpNet::new(address, 24).expect("an IPv4 address has 32 bits")
}

/// Gives both hosts an interface for each path.
pub(super) fn give_interfaces(simulation: &mut Simulation, pair: Pair, paths: u8) {
    for (host, number) in [(pair.sender, 1), (pair.receiver, 2)] {
        let interface =
            |path| Interface::new(&format!("eth{path}")).address(net(address(path, number)));
        let interfaces = (0..paths).map(interface).collect();
        simulation.set_stack(host, IpStack { interfaces, ..IpStack::default() });
    }
}

/// Links the interfaces of a path.
pub(super) fn connect(
    simulation: &mut Simulation,
    pair: Pair,
    path: u8,
    (forward, backward): (&LinkConfig, &LinkConfig),
) -> Result<(LinkId, LinkId), String> {
    let interface = usize::from(path);
    let ends = ((pair.sender, interface), (pair.receiver, interface));
    simulation.cable(ends.0, ends.1, forward.clone(), backward.clone()).map_err(|e| e.to_string())
}

/// The addresses change in the course of the run.
pub(super) fn schedule(
    simulation: &mut Simulation,
    pair: Pair,
    moves: &[Move],
) -> Result<(), String> {
    let mut used: BTreeMap<(Mover, u8), u8> = BTreeMap::new();
    let mut at = |ms: f64, change| {
        let at = Time::from_nanos((ms * 1e6) as u64);
        simulation.at(at, change).map_err(|e| format!("move: {e}"))
    };
    let mut moves = moves.to_vec();
    moves.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    for Move { end, path, at_ms, without_ms } in moves {
        let path = path - 1;
        let host = if end == Mover::Sender { pair.sender } else { pair.receiver };
        let (first, second) = numbers(end);
        let last = used.entry((end, path)).or_insert(first);
        let next = if *last == first { second } else { *last + 2 };
        let (old, new) = (address(path, *last), address(path, next));
        *last = next;
        at(at_ms, Change::RemoveAddress(host, old))?;
        at(at_ms + without_ms, Change::AddAddress(host, usize::from(path), net(new)))?;
    }
    Ok(())
}
