//! What captures say of a real pair, `tresse perf` through an emulation, against the list of packets that the emulator
//! was told to drop: every loss and every needless retransmission by the numbers that captures give to packets; without
//! them, every loss of a chunk. The same against the simulator is in `lab/trace/tests/truth.rs`.
#![cfg(target_os = "linux")]

mod lack;
#[path = "../../../lab/trace/tests/rewritten/mod.rs"]
mod rewritten;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use pcap_file::pcapng::{Block, PcapNgReader};
use tresse_core::wire::{Chunk, Packet};
use tresse_emulator::{Emulation, Report, Settings, Side};
use tresse_trace::measure::{Measured, both_ends, one_end};
use tresse_trace::{Class, Options, Side as Direction};

/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
/// No run sends more packets.
const MOST: u64 = 20_000;

/// One packet in `n` on average, by SplitMix64.
fn one_in(n: u64, seed: u64) -> BTreeSet<u64> {
    let drawn = |i: &u64| {
        let z = seed.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).is_multiple_of(n)
    };
    (1..=MOST).filter(drawn).collect()
}

fn perf(emulation: &Emulation, side: Side, arguments: &str) -> Child {
    let mut tresse = emulation.command_in(side, env!("CARGO_BIN_EXE_tresse"));
    tresse.arg("perf").args(arguments.split_whitespace());
    tresse.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    tresse.spawn().expect("setpriv and nsenter of util-linux")
}

/// Plays one test of `tresse perf`, from left to right; `None` where namespaces are not to be had.
fn play(drop: &BTreeSet<u64>, options: &str, profile: &str, folder: &Path) -> Option<Report> {
    let list = |drop: &BTreeSet<u64>| drop.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let links = format!(
        "forward = {{ bandwidth_kbps = 20000, delay_ms = 15, drop_data = [{}] }}\n\
         backward = {{ bandwidth_kbps = 20000, delay_ms = 15, drop_acks = [{}] }}",
        list(drop),
        list(&one_in(3, 2))
    );
    let settings = Settings { capture: Some(folder.to_owned()), ..Settings::default() };
    let emulation = match Emulation::start(&links.parse().expect("links"), &settings) {
        Ok(emulation) => emulation,
        Err(error) if lack::skipped(&error.to_string()) => return None,
        Err(error) => panic!("{error}"),
    };
    let mut server = perf(&emulation, Side::Right, &format!("server --once --profile {profile}"));
    let mut said = BufReader::new(server.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("waiting on") {
        assert!(said.read_line(&mut line).expect("text") > 0, "{line}");
    }
    let address = emulation.address(Side::Right, 0);
    let client = perf(
        &emulation,
        Side::Left,
        &format!(
            "client {address} --profile {profile} --timeout 30s --qlog {} {options}",
            folder.join("logs").display()
        ),
    );
    let output = client.wait_with_output().expect("it ends");
    if !output.status.success() {
        let _ = server.kill();
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(server.wait().expect("it ends").success());
    // What is under way arrives.
    std::thread::sleep(Duration::from_millis(200));
    let report = emulation.stop();
    assert!(report.captures_complete && report.links.iter().all(|link| link.overrun == 0));
    Some(report)
}

/// What became of all transmissions of the left side: TSN, and how often it had been sent before.
#[derive(Debug, Default, PartialEq)]
struct Fates {
    lost: BTreeSet<(u32, u32)>,
    needless: BTreeSet<(u32, u32)>,
    sent: u64,
}

impl Fates {
    /// By TSN, how many transmissions were lost.
    fn lost_of_each(&self) -> BTreeMap<u32, usize> {
        let mut each = BTreeMap::new();
        self.lost.iter().for_each(|(tsn, _)| *each.entry(*tsn).or_default() += 1);
        each
    }
}

/// The truth: what the left side sent, in its order, and which of these packets the emulator was told to drop. How many
/// packets with data there were, and how many of them were dropped, comes first.
fn truth(capture: &[u8], drop: &BTreeSet<u64>) -> ((u64, u64), Fates) {
    let mut reader = PcapNgReader::new(capture).expect("a capture");
    let (mut number, mut dropped) = (0, 0);
    let mut fates = Fates::default();
    // Of each TSN: how often it was sent, and whether a transmission arrived.
    let mut known: BTreeMap<u32, (u32, bool)> = BTreeMap::new();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(frame) = block.expect("a block") else { continue };
        let from_left = frame.data.get(26..30) == Some(&[10, 77, 0, 1]);
        let Some(packet) = frame.data.get(HEADERS..).filter(|_| from_left) else { continue };
        let packet = Packet::parse(packet).expect("a packet of ours");
        let chunks = packet.chunks().map(|raw| Chunk::parse(raw.expect("a chunk")).expect("ours"));
        let tsns: Vec<u32> = chunks
            .filter_map(|chunk| if let Chunk::Data(d) = chunk { Some(d.tsn.0) } else { None })
            .collect();
        if tsns.is_empty() {
            continue;
        }
        number += 1;
        let arrives = !drop.contains(&number);
        dropped += u64::from(!arrives);
        for tsn in tsns {
            let (count, through) = known.entry(tsn).or_default();
            fates.sent += 1;
            if *through {
                fates.needless.insert((tsn, *count));
            }
            if !arrives {
                fates.lost.insert((tsn, *count));
            }
            *through |= arrives;
            *count += 1;
        }
    }
    ((number, dropped), fates)
}

/// What the analysis says.
fn inferred(measured: &[Measured]) -> Fates {
    let a = Direction::A.index();
    let with_data: Vec<_> = measured.iter().filter(|m| m.summary.directions[a].data > 0).collect();
    assert_eq!(with_data.len(), 1, "associations");
    let (summary, of_a) = (&with_data[0].summary.directions[a], &with_data[0].directions[a]);
    let first = summary.first_number.expect("data");
    let tsn = |number: i64| first.wrapping_add(number as u32);
    let needless = of_a.retransmissions.iter().filter(|again| again.spurious.is_some());
    Fates {
        lost: of_a.losses.iter().map(|loss| (tsn(loss.number), loss.count)).collect(),
        needless: needless.map(|again| (tsn(again.number), again.count)).collect(),
        sent: summary.data,
    }
}

/// What the left side sent again, as the files say: TSN and how often it had been sent before, and why.
fn classes(files: &[&Path]) -> BTreeMap<(i64, u32), Option<Class>> {
    let (measured, _) = one_end(files, Options::default()).expect("captures");
    let again = measured.iter().flat_map(|m| &m.directions[Direction::A.index()].retransmissions);
    again.map(|again| ((again.number, again.count), again.class)).collect()
}

/// What packets alone say of causes, against the log of the sender: how often they call a timeout what was none, of how many
/// that were sent again.
fn compare_causes(folder: &Path) -> (usize, usize) {
    let capture = folder.join("link0-left.pcapng");
    let logs = fs::read_dir(folder.join("logs")).expect("logs").map(|e| e.expect("a log").path());
    let mut files: Vec<_> = logs.collect();
    files.push(capture.clone());
    let told = classes(&files.iter().map(|file| file.as_path()).collect::<Vec<_>>());
    let seen = classes(&[&capture]);
    assert_eq!(told.len(), seen.len());
    let timeout = |classes: &BTreeMap<_, _>, which| classes[which] == Some(Class::Timeout);
    let wrong = seen.keys().filter(|which| timeout(&seen, *which) && !timeout(&told, *which));
    (wrong.count(), seen.len())
}

/// What was lost and what was retransmitted needlessly in one run, as found and in truth; `None` where namespaces are not to be had.
fn compare(seed: u64, options: &str, profile: &str) -> Option<[usize; 2]> {
    let folder = tempfile::tempdir().expect("a folder");
    let drop = one_in(20, seed);
    let report = play(&drop, options, profile, folder.path())?;
    let captures = Side::BOTH.map(|side| {
        fs::read(folder.path().join(format!("link0-{}.pcapng", side.name()))).expect("a capture")
    });
    let ((packets, dropped), truth) = truth(&captures[0], &drop);
    let stats = &report.links[0].stats;
    assert_eq!((stats.offered_data, stats.dropped_pattern), (packets, dropped));
    assert_eq!(stats.offered - stats.delivered, dropped, "nothing else is lost: {stats:?}");
    let [exact, by_time] = [true, false].map(|numbered| {
        let files = ["sender", "receiver"].map(|name| folder.path().join(name));
        for (file, capture) in files.iter().zip(&captures) {
            rewritten::write(file, capture, numbered);
        }
        let (measured, _) =
            both_ends(&[&files[0]], &[&files[1]], Options::default()).expect("captures");
        inferred(&measured)
    });
    assert_eq!(exact, truth, "{options}, {profile}");
    // Without numbers, how many transmissions of a chunk were lost is sure. Which of two equal ones it was, is told by
    // their times, and on a busy machine the emulator may be later than they are apart.
    assert_eq!((by_time.sent, by_time.lost_of_each()), (truth.sent, truth.lost_of_each()));
    // A busy machine may delay by an RTO what leaves with new data.
    let (wrong, again) = compare_causes(folder.path());
    assert!(10 * wrong <= again, "{options}, {profile}: {wrong} of {again} were no timeouts");
    let (lost, needless) = (truth.lost.len(), truth.needless.len());
    println!("{options}, {profile}: {} chunks, {lost} lost, {needless} in vain", truth.sent);
    Some([lost, needless])
}

#[test]
fn every_packet_that_the_emulator_dropped_is_found_and_every_needless_retransmission() {
    let cases = [
        (1, "--thin 100:150 -t 8s", "tresse"),
        (2, "--thin 100:20 -t 6s", "rfc9260"),
        (3, "-b 3M -l 1000 -t 4s", "tresse"),
        (4, "-b 3M -l 200 -t 4s", "rfc9260"),
    ];
    let runs = std::thread::scope(|scope| {
        let start = |(seed, options, profile)| scope.spawn(move || compare(seed, options, profile));
        let runs = cases.map(start);
        runs.map(|run| run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let Some(runs) = runs.into_iter().collect::<Option<Vec<_>>>() else { return };
    let [lost, needless] = [0, 1].map(|what| runs.iter().map(|run| run[what]).sum::<usize>());
    // A thin stream sends again what a lost SACK would have acknowledged.
    assert!(lost > 100 && needless >= 5, "{lost} lost, {needless} in vain");
}
