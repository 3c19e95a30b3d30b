//! How far the clocks of two captures differ, told by packets that both have.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::path::Path;

use crate::Skipped;
use crate::capture::{CaptureError, Captures};
use crate::link::{Datagram, Links};

/// So many packets of each capture are looked at.
const LOOKED_AT: usize = 50_000;

/// Who sends to whom.
type Pair = (SocketAddr, SocketAddr);

/// When packets that are there once were captured.
type Times = HashMap<(Pair, u64), Option<u64>>;

/// By how many nanoseconds the clock of `there` is ahead of that of `here`; 0 if no packet
/// contradicts that they agree, or where one of them is standard input, which is read only once.
/// The paths are taken to be as fast in both directions, then.
///
/// # Errors
/// One of the captures cannot be opened.
pub(crate) fn ahead(
    here: &[&Path],
    there: &[&Path],
    udp_ports: &[u16],
) -> Result<i64, CaptureError> {
    if here.iter().chain(there).any(|file| file.as_os_str() == "-") {
        return Ok(0);
    }
    let (here, there) = (times(here, udp_ports)?, times(there, udp_ports)?);
    // Smallest and largest difference of each direction.
    let mut differences: HashMap<Pair, [i64; 2]> = HashMap::new();
    for ((pair, packet), at) in here {
        if let (Some(at), Some(Some(other))) = (at, there.get(&(pair, packet))) {
            let difference = other.wrapping_sub(at).cast_signed();
            let [low, high] = differences.entry(pair).or_insert([i64::MAX, i64::MIN]);
            (*low, *high) = (difference.min(*low), difference.max(*high));
        }
    }
    Ok(between(&differences))
}

/// Packets from here to there have differences above that of the clocks, those from there to here
/// below it.
fn between(differences: &HashMap<Pair, [i64; 2]>) -> i64 {
    let (mut least, mut most) = (i64::MIN, i64::MAX);
    for ((source, destination), [low, _]) in differences {
        let Some([_, high]) = differences.get(&(*destination, *source)) else { continue };
        // Of a pair of directions, the one to there has the larger differences.
        if low >= high {
            (least, most) = (least.max(*high), most.min(*low));
        }
    }
    if least == i64::MIN || (least <= 0 && most >= 0) {
        return 0;
    }
    least / 2 + most / 2
}

fn times(files: &[&Path], udp_ports: &[u16]) -> Result<Times, CaptureError> {
    let mut captures = Captures::open(files)?;
    let mut links = Links::new(udp_ports);
    let mut skipped = Skipped::default();
    let mut times = Times::new();
    for _ in 0..LOOKED_AT {
        let Some((_, frame)) = captures.next(&mut skipped) else { break };
        if let Ok(datagram) = links.datagram(&frame, &mut skipped)
            && let Some(key) = key(&datagram)
        {
            // What is there twice tells nothing.
            times.entry(key).and_modify(|at| *at = None).or_insert(Some(frame.at));
        }
    }
    Ok(times)
}

/// What the same packet has in both captures, whoever computes its checksum.
fn key(datagram: &Datagram<'_>) -> Option<(Pair, u64)> {
    let port = |at: usize| {
        let bytes = datagram.bytes.get(at..)?.first_chunk()?;
        Some(u16::from_be_bytes(*bytes))
    };
    let source = SocketAddr::new(datagram.source, port(0)?);
    let destination = SocketAddr::new(datagram.destination, port(2)?);
    let mut hasher = DefaultHasher::new();
    // SCTP: tag; chunks. TCP: numbers, flags and window; options.
    datagram.bytes.get(4..8)?.hash(&mut hasher);
    let rest = &datagram.bytes[12.min(datagram.bytes.len())..];
    rest.get(..4).hash(&mut hasher);
    rest.get(8..60.min(rest.len())).hash(&mut hasher);
    datagram.original.hash(&mut hasher);
    Some(((source, destination), hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(a: u16, b: u16) -> Pair {
        let end = |port| SocketAddr::from(([192, 0, 2, 1], port));
        (end(a), end(b))
    }

    #[test]
    fn clocks_agree_unless_packets_arrive_before_they_are_sent() {
        let way = |forth: [i64; 2], back: [i64; 2]| {
            between(&HashMap::from([(pair(1, 2), forth), (pair(2, 1), back)]))
        };
        assert_eq!(way([20, 90], [-70, -10]), 0);
        // The other clock is 1000 ahead; 20 there, 10 back.
        assert_eq!(way([1020, 1090], [930, 990]), 1005);
        assert_eq!(way([-980, -910], [-1070, -1010]), -995);
        assert_eq!(between(&HashMap::from([(pair(1, 2), [50, 60])])), 0);
    }
}
