//! How far the clocks of two captures differ, told by packets that both have.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use crate::Skipped;
use crate::capture::{CaptureError, Captures};
use crate::datagram::{Datagram, Datagrams, Protocol};

/// This many packets of each capture are looked at.
const LOOKED_AT: usize = 50_000;

/// Packets of one direction: a hash of what they have in common, in both captures.
type Group = u64;

/// When packets that are there once were captured.
type Times = HashMap<(Group, u64), Option<u64>>;

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
    let mut differences: HashMap<Group, [i64; 2]> = HashMap::new();
    for ((group, packet), at) in here {
        if let (Some(at), Some(Some(other))) = (at, there.get(&(group, packet))) {
            let difference = other.wrapping_sub(at).cast_signed();
            let [low, high] = differences.entry(group).or_insert([i64::MAX, i64::MIN]);
            (*low, *high) = (difference.min(*low), difference.max(*high));
        }
    }
    Ok(between(differences.into_values().collect()))
}

/// Packets from here to there have differences above that of the clocks, those from there to here
/// below it: it is within a gap that divides them, the one around 0 if there is one, else the widest.
fn between(mut differences: Vec<[i64; 2]>) -> i64 {
    differences.sort_unstable();
    let mut highest = i64::MIN;
    let mut widest: Option<(i64, i64)> = None;
    for [low, high] in differences {
        if highest != i64::MIN && low >= highest {
            if highest <= 0 && low >= 0 {
                return 0;
            }
            if widest.is_none_or(|(from, to)| low - highest > to - from) {
                widest = Some((highest, low));
            }
        }
        highest = highest.max(high);
    }
    widest.map_or(0, |(from, to)| from / 2 + to / 2)
}

fn times(files: &[&Path], udp_ports: &[u16]) -> Result<Times, CaptureError> {
    let mut captures = Captures::open(files)?;
    let mut datagrams = Datagrams::new(udp_ports);
    let mut skipped = Skipped::default();
    let mut times = Times::new();
    for _ in 0..LOOKED_AT {
        let Some((place, frame)) = captures.next(&mut skipped) else { break };
        if let Some(datagram) = datagrams.find(place, &frame, &mut skipped)
            && let Some(key) = key(&datagram)
        {
            // What is there twice tells nothing.
            times.entry(key).and_modify(|at| *at = None).or_insert(Some(frame.at));
        }
    }
    Ok(times)
}

/// What the same packet has in both captures, whoever computes its checksum.
fn key(datagram: &Datagram<'_>) -> Option<(Group, u64)> {
    let bytes = datagram.bytes;
    let end = bytes.len().min(80);
    let (mut group, mut packet) = (DefaultHasher::new(), DefaultHasher::new());
    match datagram.protocol {
        Protocol::Sctp => {
            // The ports tell the direction, and only if they are the same do the tags: of these there
            // are two and more in one direction (that of INIT is 0), which a long delay of one packet
            // would hold apart. A log does not know the addresses of its own side.
            let known = if bytes.get(..2)? == bytes.get(2..4)? { 8 } else { 4 };
            bytes.get(..known)?.hash(&mut group);
            bytes.get(4..8)?.hash(&mut packet);
            bytes.get(12..end)?.hash(&mut packet);
        }
        Protocol::Tcp => {
            // Ports; numbers, flags and window, options and data.
            (datagram.source, datagram.destination, bytes.get(..4)?).hash(&mut group);
            (bytes.get(4..16)?, bytes.get(20..end)?).hash(&mut packet);
        }
    }
    datagram.original.hash(&mut packet);
    Some((group.finish(), packet.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_agree_unless_packets_arrive_before_they_are_sent() {
        assert_eq!(between(vec![[20, 90], [-70, -10]]), 0);
        // One packet, of a tag of its own, was late.
        assert_eq!(between(vec![[20, 90], [5000, 5000], [-70, -10]]), 0);
        // The other clock is 1000 ahead; 20 there, 10 back.
        assert_eq!(between(vec![[1020, 1090], [930, 990]]), 1005);
        assert_eq!(between(vec![[-1070, -1010], [-980, -910]]), -995);
        // Two streams of packets there, one back.
        assert_eq!(between(vec![[1020, 1020], [1022, 1090], [930, 990]]), 1005);
        assert_eq!(between(vec![[50, 60]]), 0);
        assert_eq!(between(Vec::new()), 0);
    }
}
