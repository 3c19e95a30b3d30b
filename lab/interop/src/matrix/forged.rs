//! Data that somebody on the way has changed, whether he left its HMAC as it was, damaged it, or took it away: nobody takes that
//! (RFC 4895 §6.3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use tresse::Direction;
use tresse_netem::LinkConfig;
use tresse_peers::traffic::{all_of, receive_all};
use tresse_peers::{Direction as Way, Meddler};
use tresse_wire::{COMMON_HEADER_LEN, Chunk, ChunkType, write_checksum};

use super::Role;
use super::authenticated::{PAYLOAD, send, settings};
use super::ends::{end, on_runtime, suited};
use super::scene::{Plan, Scene};

/// One of so many packets with data is changed.
const SHARE: u64 = 8;

pub(super) fn play(scene: &Scene<'_>) {
    let forger = Arc::new(Forger::default());
    let options = "--duplex --with auth --close wait --interval 10 --burst 8";
    let link = LinkConfig { delay_ms: 5.0, ..LinkConfig::default() };
    let plan = Plan {
        authentication: Some(settings().into()),
        links: Some([link.clone(), link]),
        meddler: Some(forger.clone()),
        ..suited(scene, &Plan::new(PAYLOAD, options))
    };
    let stats = on_runtime(scene, async {
        let met = scene.meet(&plan).await;
        let association = met.association.clone();
        tokio::join!(
            send(&association, plan.payload, None),
            receive_all(&association, plan.payload),
        );
        association.shutdown().await.unwrap_or_else(|e| panic!("shutdown: {e}"));
        let stats = association.stats();
        drop(association);
        assert_eq!(end(scene, met).await, all_of(plan.payload, "shutdown"));
        stats
    });
    let forged = forger.forged.lock().expect("nobody panics here");
    let (out, incoming) = match scene.cell.role {
        Role::Client => (Way::ToServer, Way::ToClient),
        Role::Server => (Way::ToClient, Way::ToServer),
    };
    for (way, direction) in [(out, Direction::Out), (incoming, Direction::In)] {
        let list = &forged[way as usize];
        let kinds: BTreeSet<Forgery> = list.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds.len(), 3, "{kinds:?} to {way:?}");
        // Who had taken it, would have the wrong data; and the end that sent it has done so once more.
        let sent = sent(scene, direction);
        for tsn in list.iter().flat_map(|(_, tsns)| tsns) {
            assert!(sent.get(tsn).is_some_and(|times| *times > 1), "TSN {tsn} {direction:?}");
        }
    }
    let count = |kind| forged[incoming as usize].iter().filter(|(one, _)| *one == kind).count();
    let wrong = count(Forgery::Data) + count(Forgery::Hmac);
    assert_eq!(stats.auth_chunks_forged, wrong as u64, "packets with a wrong HMAC");
    assert!(stats.unauthenticated_chunks >= count(Forgery::Removed) as u64, "chunks without one");
}

/// How often each TSN went in a direction.
fn sent(scene: &Scene<'_>, side: Direction) -> BTreeMap<u32, u64> {
    let mut sent = BTreeMap::new();
    scene.recorder.chunks(|direction, chunk| {
        if let Chunk::Data(data) = chunk
            && direction == side
        {
            *sent.entry(data.tsn.0).or_default() += 1;
        }
    });
    sent
}

/// What else is done to a packet whose data is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Forgery {
    /// Nothing.
    Data,
    /// Its HMAC is damaged.
    Hmac,
    /// Its AUTH chunk goes.
    Removed,
}

/// A packet that was changed, and the TSNs in it.
type Forged = (Forgery, Vec<u32>);

/// Changes packets.
#[derive(Debug, Default)]
struct Forger {
    /// Packets with data, in each direction.
    seen: Mutex<[u64; 2]>,
    /// What was done to which TSNs, in each direction.
    forged: Mutex<[Vec<Forged>; 2]>,
}

impl Meddler for Forger {
    fn pass(&self, way: Way, datagram: &mut Vec<u8>) -> bool {
        let chunks = places(datagram);
        let kind = |at: &usize| ChunkType(datagram[*at]);
        let data: Vec<usize> =
            chunks.iter().copied().filter(|at| kind(at) == ChunkType::DATA).collect();
        let auth = chunks.iter().copied().find(|at| kind(at) == ChunkType::AUTH);
        let begins = chunks.iter().any(|at| kind(at) == ChunkType::COOKIE_ECHO);
        let (Some(auth), [first, ..], false) = (auth, &data[..], begins) else { return true };
        let tsn =
            |at: &usize| datagram[at + 4..at + 8].iter().fold(0, |n, b| n << 8 | u32::from(*b));
        let tsns: Vec<u32> = data.iter().map(tsn).collect();
        let forged = &mut self.forged.lock().expect("nobody panics here")[way as usize];
        let again = forged.iter().flat_map(|(_, tsns)| tsns).any(|one| tsns.contains(one));
        let seen = &mut self.seen.lock().expect("nobody panics here")[way as usize];
        *seen += 1;
        // What is sent again because of this passes.
        if again || !seen.is_multiple_of(SHARE) {
            return true;
        }
        // The last byte of a message.
        let end = first + length(datagram, *first);
        datagram[end - 1] ^= 1;
        let forgery = match *seen / SHARE % 3 {
            0 => Forgery::Data,
            1 => {
                // Behind the key and the HMAC's number.
                datagram[auth + 8] ^= 1;
                Forgery::Hmac
            }
            _ => {
                datagram.drain(auth..auth + length(datagram, auth).next_multiple_of(4));
                Forgery::Removed
            }
        };
        write_checksum(datagram);
        forged.push((forgery, tsns));
        true
    }
}

/// Where the chunks of a packet begin.
fn places(packet: &[u8]) -> Vec<usize> {
    let (mut at, mut places) = (COMMON_HEADER_LEN, Vec::new());
    while at + 4 <= packet.len() && length(packet, at) >= 4 {
        places.push(at);
        at += length(packet, at).next_multiple_of(4);
    }
    places
}

/// Bytes of the chunk that begins there, without padding.
fn length(packet: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([packet[at + 2], packet[at + 3]]))
}
