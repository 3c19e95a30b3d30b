//! Resets whose first request gets lost, and the first answer to it as well (RFC 6525 §5.1.1).

use std::sync::{Arc, Mutex};

use tresse_peers::{Direction as Way, Meddler};
use tresse_wire::{Chunk, Packet, Parameter, ReconfigurationResult, RequestNumber};

use super::Role;
use super::resets;
use super::scene::Scene;

/// Tresse has its streams begin again.
pub(super) fn by_tresse(scene: &Scene<'_>) {
    let way = if scene.cell.role == Role::Client { Way::ToServer } else { Way::ToClient };
    let loser = Arc::new(Loser::new(way));
    resets::by_tresse(scene, Some(loser.clone()));
    loser.judge();
}

/// The peer does.
pub(super) fn by_peer(scene: &Scene<'_>) {
    let way = if scene.cell.role == Role::Client { Way::ToClient } else { Way::ToServer };
    let loser = Arc::new(Loser::new(way));
    resets::by_peer(scene, Some(loser.clone()));
    loser.judge();
}

/// A parameter that came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// Streams of the end that is looked at are to begin again.
    Request(RequestNumber),
    /// The other end's answer.
    Response(RequestNumber, ReconfigurationResult),
}

/// Takes away the first packet that asks for a reset, and the first one that says that it was done.
#[derive(Debug)]
struct Loser {
    /// Which way requests go that count.
    requests: Way,
    /// What came by, and whether it went on.
    seen: Mutex<Vec<(Seen, bool)>>,
}

impl Loser {
    fn new(requests: Way) -> Loser {
        Loser { requests, seen: Mutex::default() }
    }

    /// Both were lost, and what was lost came again, with the number that it had.
    fn judge(&self) {
        let seen = self.seen.lock().expect("nobody panics here");
        let lost: Vec<usize> = (0..seen.len()).filter(|at| !seen[*at].1).collect();
        let [first, .., last] = lost[..] else { panic!("{lost:?} were lost of {seen:?}") };
        let Seen::Request(request) = seen[first].0 else { panic!("no request was lost: {seen:?}") };
        let Seen::Response(answered, _) = seen[last].0 else { panic!("no answer was: {seen:?}") };
        assert!(seen[first..].contains(&(Seen::Request(request), true)), "{seen:?}");
        let behind = &seen[last..];
        assert!(behind.contains(&(Seen::Request(answered), true)), "{seen:?}");
        let done = Seen::Response(answered, ReconfigurationResult::PERFORMED);
        assert!(behind.contains(&(done, true)), "{seen:?}");
        let allowed = [ReconfigurationResult::PERFORMED, ReconfigurationResult::IN_PROGRESS];
        for (one, _) in &*seen {
            let refused = matches!(one, Seen::Response(_, result) if !allowed.contains(result));
            assert!(!refused, "{seen:?}");
        }
    }

    /// What a packet has that counts.
    fn of(&self, way: Way, datagram: &[u8]) -> Vec<Seen> {
        let Ok(packet) = Packet::parse_unverified(datagram) else { return Vec::new() };
        let mut all = Vec::new();
        for chunk in packet.chunks().map_while(Result::ok) {
            let Ok(Chunk::ReConfig(chunk)) = Chunk::parse(chunk) else { continue };
            all.extend(chunk.parameters.parsed().map_while(Result::ok).filter_map(
                |one| match one {
                    Parameter::OutgoingSsnReset(reset) if way == self.requests => {
                        Some(Seen::Request(reset.request))
                    }
                    Parameter::ReconfigurationResponse(response) if way != self.requests => {
                        Some(Seen::Response(response.request, response.result))
                    }
                    _ => None,
                },
            ));
        }
        all
    }
}

impl Meddler for Loser {
    fn pass(&self, way: Way, datagram: &mut Vec<u8>) -> bool {
        let found = self.of(way, datagram);
        let mut seen = self.seen.lock().expect("nobody panics here");
        let is_request = |one: &Seen| matches!(one, Seen::Request(_));
        let is_done =
            |one: &Seen| matches!(one, Seen::Response(_, ReconfigurationResult::PERFORMED));
        let first = |what: &dyn Fn(&Seen) -> bool| {
            found.iter().any(what) && !seen.iter().any(|(one, _)| what(one))
        };
        let passes = !first(&is_request) && !first(&is_done);
        seen.extend(found.into_iter().map(|one| (one, passes)));
        passes
    }
}
