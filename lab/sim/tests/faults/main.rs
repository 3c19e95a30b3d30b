//! Simulated faults: two hosts, a bad network, and everything that must hold nevertheless.
//!
//! One number, the seed, decides all of a scenario: protocol profiles, interfaces, addresses, routes,
//! links, what the applications send and how they read, who connects and shuts down when, and what goes
//! wrong. Whatever it is, the invariants of [`ledger::Kind`] hold.
//!
//! - `cargo test -p tresse-sim --test faults` runs 2500 seeds, 1000 of them also with extensions of the protocol: their numbers
//!   begin at 2^40. With `TRESSE_THOROUGH=1`, as `.ci/run` has it, it runs 10 000 and 2000, and two to four times as many of those below.
//! - `TRESSE_SEEDS=20000..900000` runs others; with `TRESSE_CAMPAIGN=file` it goes on where it was stopped.
//! - `TRESSE_PARTIAL_SEEDS=0..100000`: the same with messages that may be given up.
//! - `TRESSE_MIXED_SEEDS=0..20000`: any subset of the extensions at each end; their numbers begin at 2^41.
//! - `TRESSE_NASTY_SEEDS=0..20000`: those made harder by clusters of calls, large messages beside those that are given up,
//!   and small buffers; their numbers begin at 2^42.
//! - `TRESSE_KEYED_SEEDS=0..20000`: those where messages name keys, secrets change, and the ends may know different ones; their
//!   numbers begin at 2^43.
//! - `TRESSE_MOVING_SEEDS=0..20000`: those where addresses of both hosts become others, again and again; their numbers begin at 2^44.
//! - `TRESSE_RESTLESS_SEEDS=0..20000`: those where hosts are never at rest, also while they call, with one address, NATs, and
//!   addresses that others have afterwards; their numbers begin at 2^45.
//! - `TRESSE_LARGE_SEEDS=0..20000`: those with messages of many receive buffers beside small ones; their numbers begin at 2^46.
//! - `TRESSE_SEED=17` (with `-- --nocapture`) shows one: scenario, packets and events;
//!   `TRESSE_PCAP=file.pcapng` writes its packets to a file.

mod actor;
mod addresses;
mod campaign;
mod digests;
mod epochs;
mod followed;
mod health;
mod hostile;
mod ledger;
mod limits;
mod replay;
mod run;
mod scenario;
mod seeds;
mod self_test;
mod stage;

use campaign::Campaign;
use run::Options;

#[test]
fn seeds_hold_every_invariant() {
    if let Some(seed) = seeds::to_replay() {
        return replay::replay(seed);
    }
    let campaign = Campaign::asked_for();
    let range = campaign.as_ref().map_or_else(seeds::plain, Campaign::rest);
    let mut failed = campaign.as_ref().map(|c| c.past().failed.clone()).unwrap_or_default();
    let summary = seeds::run_all(range, campaign, Options::default());
    failed.extend(tell(&summary, false));
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
}

/// The same worlds, where messages have policies and either end, both or none offers partial reliability.
#[test]
fn seeds_hold_with_messages_that_may_be_given_up() {
    let options = Options { partial: true, ..Options::default() };
    let summary = seeds::run_all(seeds::partial(), None, options);
    let failed = tell(&summary, true);
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
    for feature in [
        "message given up before it was sent",
        "message given up after a part was sent",
        "FORWARD TSN",
        "fragments passed over",
    ] {
        let times = summary.features.get(feature).copied().unwrap_or(0);
        assert!(times * 50 > summary.seeds, "{feature}: {times} of {}", summary.seeds);
    }
}

/// And with streams that are reset and added besides.
#[test]
fn seeds_with_extensions_hold_with_messages_that_may_be_given_up() {
    let options = Options { partial: true, ..Options::default() };
    let range = seeds::extended();
    let failed = tell(&seeds::run_all(range, None, options), true);
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
}

/// Any subset of the extensions at each end, over narrow links and several paths at once.
#[test]
fn seeds_hold_with_any_extensions_at_each_end() {
    let summary = seeds::run_all(seeds::mixed(), None, Options::default());
    let failed = tell(&summary, false);
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
    for feature in [
        "narrow links",
        "concurrent transfer",
        "offers RE-CONFIG",
        "offers no RE-CONFIG",
        "one end offers RE-CONFIG",
        "one end offers partial reliability",
        "both offer everything",
        "incoming streams reset",
        "association reset",
        "streams added",
        "message given up before it was sent",
        "message given up after a part was sent",
        "FORWARD TSN",
        "path MTU probed",
        "path MTU probed by the other host",
        "NR-SACKs",
        "both authenticate",
        "one end offers authentication",
        "key activated",
        "peer uses another key",
        "AUTH",
        "both interleave",
        "one end offers interleaving",
        "both are ECN-capable",
        "one end is ECN-capable",
        "ECN cleared",
        "everything marked",
        "both leave checksums out",
        "one end offers zero checksum",
        "both report damage",
        "one end reports damage",
        "damage reported",
        "repaired for a report",
        "both change addresses",
        "one end offers ASCONF",
        "address added",
        "address deleted",
        "peer told of its primary path",
        "change of addresses refused",
        "change of addresses failed",
        "peer has an address more",
        "peer has an address less",
        "reads in parts",
        "read in parts",
    ] {
        let times = summary.features.get(feature).copied().unwrap_or(0);
        assert!(times * 100 > summary.seeds, "{feature}: {times} of {}", summary.seeds);
    }
}

/// The same made harder: clusters of calls, large messages beside those that are given up, small buffers.
#[test]
fn seeds_hold_where_it_is_nasty() {
    let summary = seeds::run_all(seeds::nasty(), None, Options::default());
    let failed = tell(&summary, false);
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
    for feature in [
        "incoming streams reset",
        "association reset",
        "streams added",
        "message given up before it was sent",
        "message given up after a part was sent",
        "would block",
        "zero window probes",
        "both change addresses",
        "address added",
        "address deleted",
    ] {
        let times = summary.features.get(feature).copied().unwrap_or(0);
        assert!(times * 25 > summary.seeds, "{feature}: {times} of {}", summary.seeds);
    }
}

/// Keys: messages that name them, secrets that change, come late, or are not those of the peer.
#[test]
fn seeds_hold_with_keys_of_all_kinds() {
    let summary = seeds::run_all(seeds::keyed(), None, Options::default());
    let failed = tell(&summary, false);
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
    for feature in [
        "messages name keys",
        "messages name addresses",
        "message of a key that is not there",
        "key activated",
        "key comes late",
        "peer uses another key",
        "secret changed",
        "ends with different secrets",
        "both interleave",
        "healthy in spite of faults",
        "read in parts",
    ] {
        let times = summary.features.get(feature).copied().unwrap_or(0);
        assert!(times * 50 > summary.seeds, "{feature}: {times} of {}", summary.seeds);
    }
}

/// Messages of many receive buffers, with others beside them.
#[test]
fn seeds_hold_where_messages_are_large() {
    let summary = seeds::run_all(seeds::large(), None, Options::default());
    let failed = tell(&summary, false);
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
    for feature in
        ["messages of many receive buffers", "both interleave", "one end offers interleaving"]
    {
        assert!(summary.features.contains_key(feature), "{feature}");
    }
}

/// Hosts that move: addresses of both ends that become others, close to each other, and with all paths in use.
#[test]
fn seeds_hold_where_hosts_move() {
    let summary = seeds::run_all(seeds::moving(), None, Options::default());
    let failed = tell(&summary, false);
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
    for feature in [
        "address becomes another one",
        "address is back after a move",
        "moves close to each other",
        "moves with all paths in use",
        "both ends move",
        "follows its host",
        "address added",
        "address deleted",
        "peer has an address more",
        "peer has an address less",
        "healthy in spite of faults",
    ] {
        let times = summary.features.get(feature).copied().unwrap_or(0);
        assert!(times * 50 > summary.seeds, "{feature}: {times} of {}", summary.seeds);
    }
}

/// Hosts that are never at rest: flapping addresses, moves at one instant and while it calls, one address, NATs, keys, and strangers
/// who have an address afterwards.
#[test]
fn seeds_hold_where_nothing_rests() {
    let summary = seeds::run_all(seeds::restless(), None, Options::default());
    let failed = tell(&summary, false);
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
    for feature in [
        "address becomes another one",
        "address flaps",
        "interface flaps",
        "both move at once",
        "moves while it calls",
        "one address each",
        "one host moves",
        "followed to other addresses",
        "requests come twice and late",
        "a stranger has the old address",
        "the peer has the old address",
        "nat rebinds",
        "messages name keys",
        "key activated",
        "healthy in spite of faults",
    ] {
        let times = summary.features.get(feature).copied().unwrap_or(0);
        assert!(times * 50 > summary.seeds, "{feature}: {times} of {}", summary.seeds);
    }
}

/// Prints what seeds did; those that failed.
fn tell(summary: &seeds::Summary, partial: bool) -> Vec<u64> {
    println!("{} seeds, {} packets", summary.seeds, summary.packets);
    println!("longest {:?} ms, slowest mild {:?} ms", summary.longest, summary.slowest_mild);
    println!("busiest {:?}, most work {:?}", summary.busiest, summary.most_work);
    for (name, count) in &summary.features {
        println!("{count:8} {name}");
    }
    for (seed, violations) in &summary.failures {
        eprintln!("seed {seed} fails:");
        for violation in violations {
            eprintln!("  {violation}");
        }
        eprintln!("  replay: {}", seeds::replay_command(*seed, partial));
    }
    summary.failures.keys().copied().collect()
}

#[test]
fn seeds_with_extensions_hold_every_invariant() {
    let range = seeds::extended();
    let summary = seeds::run_all(range, None, Options::default());
    let failed = tell(&summary, false);
    assert!(failed.is_empty(), "{} seeds fail: {failed:?}", failed.len());
    for name in [
        "incoming streams reset",
        "outgoing streams reset",
        "reset refused",
        "association reset",
        "reset of the association refused",
        "streams added",
        "more streams refused",
    ] {
        assert!(summary.features.get(name).is_some_and(|n| *n > 20), "{name} was not seen");
    }
}

/// Seeds that have failed once, beyond those that every run covers, by what was wrong.
const ONCE_FAILED: &[&[u64]] = &[
    // This and that.
    &[
        22_064, 22_670, 23_026, 24_708, 30_944, 31_394, 33_090, 33_105, 33_383, 34_907, 35_058,
        36_942,
    ],
    // Two calls that crossed became two associations, of which one took the other's tag.
    &[44_078, 54_825, 58_496, 64_376],
    // A cookie of the peer's first life came after those of its second one.
    &[55_833],
    // The clock was put back before an association ended, whose cookie looked like a later one then.
    &[884_381],
    // A fault of an old kernel: each SACK brought several copies of what was missing.
    &[47_215, 219_348, 236_221, 422_241],
    // The INIT ACK of a call that crossed listed too little.
    &[57_617, 63_346, 161_539, 173_345],
    // In SHUTDOWN-SENT data was answered from where nothing arrives.
    &[55_707, 137_238, 387_935],
    // A repeated SHUTDOWN was not answered.
    &[136_946, 146_794],
    // Probes of a closed window counted every expiration.
    &[43_426],
    // An address was not confirmed any more in SHUTDOWN-ACK-SENT.
    &[148_309],
    // Where only private addresses reached the peer, the source was left to the host.
    &[303_245, 329_856],
    // An INIT ACK went to the one of the called addresses that was not reached, or a COOKIE ACK the way on
    // which it had been lost.
    &[384_552, 386_652, 393_393],
    // Nothing told the sender what had been dropped when SHUTDOWN followed.
    &[393_891],
    // An INIT ACK did not list the only address, though it left from another one.
    &[738_992],
    // COOKIE ECHO went to the called address alone, which was gone, or from a source that was.
    &[784_592, 930_504],
    // Heartbeats got away from a source, and data did not.
    &[602_477],
    // The world: without backoff no link that is slower than RTO is mild.
    &[78_137, 475_270, 564_198, 578_213],
    // The judge: what the INIT does not list is none of the association; Association.Max.Retrans counts the
    // errors of all paths; heartbeats collapse RTO where only large packets are lost.
    &[310_684, 466_803, 468_258],
    // The judge: who lacks nothing but the news of the end may wait for it in vain.
    &[489_011, 626_444, 791_782],
    // The judge: an abort discards what was acknowledged for good.
    &[104_648],
    // The judge: each round trip carries a window at most.
    &[46_699, 55_683, 215_660],
    // An INIT ACK to another address than the INIT came from left from where no way led there.
    &[249_280],
    // What had answered the INIT was gone, and every COOKIE ECHO left from there.
    &[380_772],
    // With patience a path from which everything was taken early never failed.
    &[270_966, 317_882, 965_342],
    // Where all paths were inactive, what was new went to the primary one, dead or not.
    &[47_266],
    // A SHUTDOWN that answered a copy brought out the next copy.
    &[837_916],
    // The judge: an end that lists no addresses has the one that its INIT or INIT ACK came from.
    &[666_102, 963_971],
    // The judge: of two calls to such a peer one association remains, and the other call may get no answer.
    &[888_424],
    // The judge: bundling of what is outstanding fills each packet.
    &[141_386],
    // The judge: RTO.Max may be shorter than a round trip.
    &[670_289],
    // SHUTDOWN was repeated from where it had been answered as if it had not, and then from other sources.
    &[86_141],
    // Heartbeats from other sources filled the queue before what was sent again.
    &[81_459],
    // Heartbeats without an answer counted, however many between them were answered.
    &[739_506, 984_014],
    // The world: who keeps its sources is promised no others.
    &[26_534, 503_015, 632_323, 756_498, 933_430],
    // The judge: an end that waits for COOKIE ACK acknowledges nothing; nor may it where the address that DATA
    // comes from is not verified yet.
    &[168_641, 823_861],
    // A probe of the path MTU blocked a slow link for half a minute.
    &[scenario::MIXED + 9_884],
    // The answer to a RE-CONFIG chunk left from a source that led nowhere, and the peer could not shut down.
    &[scenario::MIXED + 13_446],
    // Messages of the time before a reset of the association came behind its event.
    &[scenario::NASTY + 39_625],
    // Messages of the time after a reset were taken for earlier ones: the peer had answered that it was done, and only
    // what it had said before came through.
    &[scenario::NASTY + 33_292],
    // An address that was gone for a moment was deleted together with the addition of one that led nowhere.
    &[scenario::MIXED + 19_021],
    // A wildcard that deletes all other addresses left from the address that was to go.
    &[scenario::NASTY + 1_582, scenario::NASTY + 9_591],
    // A tail loss probe that found nothing to send was due again at once, for ever, after a round trip of no time.
    &[scenario::NASTY + 3_451],
    // The judge: an address that is back while the peer is asked to forget it is none that may be used.
    &[scenario::MOVING + 1_239],
    // A request that deleted addresses named one of them, which the peer did not know any more when it came again from elsewhere;
    // and what was bound and is back was not told again.
    &[scenario::MOVING + 838_937],
    // The world: who changes a secret before the peer has the association has the other one change it, too.
    &[scenario::RESTLESS + 891],
    // A request to add or delete addresses waited at sources to which the peer had no way, until the association died.
    &[scenario::RESTLESS + 1_946, scenario::RESTLESS + 2_410],
    // So did one to delete an address, where the address that was to be added next had the only way.
    &[scenario::RESTLESS + 3_671],
    // The judge: where the peer has deleted the last verified address, heartbeats alone tell that it is gone, and take their time.
    &[scenario::MOVING + 247],
    // The world: who authenticates for a move's sake knows the keys that the other end may use.
    &[scenario::MOVING + 459],
    // The judge: a window of small messages that name keys is a hundred packets, of which a short queue takes a few.
    &[scenario::KEYED + 754],
    // What waited for a SACK (ns-2) waited for ever where the path was deleted that all was in flight on.
    &[scenario::MOVING + 1_893],
    // Each answer that a reset is in progress forgave the errors of data that never came through, so that neither ended.
    &[scenario::KEYED + 2_756],
    // Data that never comes through went to and fro between two silent paths of which each answered heartbeats, faster than T3-rtx.
    &[scenario::RESTLESS + 6_505],
    // The judge: what the second life of the peer sent was read before the news of the restart was.
    &[scenario::NASTY + 3_117],
    // Chunks of an I-DATA message of many receive buffers were dropped whenever a small one could be read.
    &[scenario::LARGE + 52, scenario::LARGE + 534, scenario::LARGE + 763],
    // At 8 kbit/s a probe of 65 504 bytes stood before all else for a minute, three times.
    &[scenario::LARGE + 2_570],
    // The judge: 695 kB take ten minutes on a link of 8 kbit/s by themselves.
    &[scenario::LARGE + 5_691, scenario::LARGE + 7_081],
];

#[test]
fn seeds_that_once_failed_hold() {
    for seed in ONCE_FAILED.concat() {
        let violations = seeds::run_seed(seed, &Options::default()).1.violations;
        assert!(violations.is_empty(), "seed {seed}: {violations:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    for seed in 0..200 {
        let digest = |trace| {
            let options = Options { digest: true, trace, ..Options::default() };
            let report = seeds::run_seed(seed, &options).1;
            (report.digest, report.packets)
        };
        let first = digest(false);
        assert_eq!(first, digest(false), "seed {seed}");
        assert_eq!(first, digest(true), "seed {seed} with trace");
    }
}

/// Asked for by `conformance/unchanged.sh`.
#[test]
fn packets_of_many_seeds() {
    digests::print();
}
