//! Real packets through an emulation. Needs the permission to make network namespaces.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use tresse_emulator::{Direction, Emulation, Error, LinkFile, Namespace, Settings, Side};
use tresse_netem::LinkConfig;

/// How long to wait for what must come.
const LONG: Duration = Duration::from_secs(20);
/// How long to wait for what must not come, or for the last of what may.
const SHORT: Duration = Duration::from_millis(300);

/// The emulation, or `None` without the permission.
fn start(links: &str, settings: &Settings) -> Option<Emulation> {
    match Emulation::start(&links.parse().expect(links), settings) {
        Ok(emulation) => Some(emulation),
        Err(error) if error.is_lack() => {
            assert!(std::env::var_os("TRESSE_REQUIRE_PEERS").is_none(), "{error}");
            let _ = std::io::stderr().write_all(format!("skipped: {error}\n").as_bytes()); // At once: other tests write, too.
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A UDP socket on a side, at its address on a path.
fn udp(emulation: &Emulation, side: Side, path: usize) -> UdpSocket {
    // Any port: one used before may still be held by a process that another test is about to start.
    let address = (emulation.address(side, path), 0);
    let bound = emulation.namespace(side).inside(|| UdpSocket::bind(address));
    let socket = bound.expect("the address is there");
    socket.set_read_timeout(Some(LONG)).expect("a time limit");
    socket
}

/// Sends datagrams that have the numbers 1 to `count`, and gives the numbers of those that arrive.
fn send_numbers(emulation: &Emulation, count: u8) -> Vec<u8> {
    let (left, right) = (udp(emulation, Side::Left, 0), udp(emulation, Side::Right, 0));
    for number in 1..=count {
        left.send_to(&[number; 100], right.local_addr().unwrap()).unwrap();
    }
    right.set_read_timeout(Some(SHORT)).unwrap();
    let mut buffer = [0; 200];
    std::iter::from_fn(|| right.recv(&mut buffer).ok().map(|_| buffer[0])).collect()
}

#[test]
fn losses_and_copies_are_exactly_those_that_were_asked_for() {
    let links = "forward = { drop_packets = [1, 4], drop_data = [6], duplicate_packets = [8] }\n\
                 backward = {}";
    let Some(emulation) = start(links, &Settings::default()) else { return };
    assert_eq!(send_numbers(&emulation, 9), [2, 3, 5, 7, 8, 8, 9]);
    emulation.restart();
    assert_eq!(send_numbers(&emulation, 2), [2]);
    let none = LinkConfig { up: false, ..LinkConfig::default() };
    emulation.reconfigure(0, Direction::Forward, none).unwrap();
    assert_eq!(send_numbers(&emulation, 2), [0; 0]);
    let report = emulation.stop();
    let forward = &report.links[0];
    let stats = &forward.stats;
    assert_eq!((stats.offered, stats.delivered, stats.dropped_down), (4, 1, 2));
    assert_eq!((stats.offered_bytes, forward.overrun), (4 * 128, 0));
    assert!(report.text().starts_with("link0 forward   4 packets in, 1 out, 3 lost [pattern 1]"));
}

#[test]
fn packets_take_the_time_of_the_link() {
    // 100 bytes of UDP payload are 128 bytes of IP packet: 8 ms at 128 kbit/s.
    let links = "forward = { delay_ms = 40, bandwidth_kbps = 128 }\nbackward = { delay_ms = 30 }";
    let Some(emulation) = start(links, &Settings::default()) else { return };
    let (left, right) = (udp(&emulation, Side::Left, 0), udp(&emulation, Side::Right, 0));
    let begin = Instant::now();
    let mut buffer = [0; 200];
    left.send_to(&[1; 100], right.local_addr().unwrap()).unwrap();
    let (length, from) = right.recv_from(&mut buffer).unwrap();
    assert_eq!((length, from), (100, left.local_addr().unwrap()));
    assert!(begin.elapsed() >= Duration::from_millis(48));
    right.send_to(&[2; 100], from).unwrap();
    left.recv_from(&mut buffer).unwrap();
    assert!(begin.elapsed() >= Duration::from_millis(78));
}

#[test]
fn tcp_goes_through_whole_on_two_paths_and_is_captured_on_both_sides() {
    let links = "forward = { bandwidth_kbps = 50000, delay_ms = 2, loss = 0.01, corrupt = 0.005 }\n\
                 backward = { delay_ms = 2 }\n\
                 [second]\nforward = {}\nbackward = {}";
    let folder = tempfile::tempdir().unwrap();
    let capture = Some(folder.path().join("new"));
    let settings = Settings { capture: capture.clone(), ..Settings::default() };
    let Some(emulation) = start(links, &settings) else { return };
    for path in 0..2 {
        let address = (emulation.address(Side::Right, path), 5000);
        let listener = emulation.namespace(Side::Right).inside(|| TcpListener::bind(address));
        let listener = listener.unwrap();
        let receiver = std::thread::spawn(move || {
            let mut all = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut all).unwrap();
            all
        });
        let stream = emulation.namespace(Side::Left).inside(|| TcpStream::connect(address));
        let data: Vec<u8> = (0..300_000u32).map(|n| (n / 7) as u8).collect();
        stream.unwrap().write_all(&data).unwrap();
        assert!(
            receiver.join().unwrap() == data,
            "what arrived on path {path} is not what was sent"
        );
    }
    let report = emulation.stop();
    assert!(report.captures_complete);
    assert!(report.links[0].stats.dropped_random > 0, "{report:?}");
    for (path, [forward, backward]) in [(0, [0, 1]), (1, [2, 3])] {
        let [forward, backward] = [forward, backward].map(|link: usize| report.links[link].stats);
        let [left, right] = ["left", "right"].map(|side| {
            numbers_in(&capture.as_ref().unwrap().join(format!("link{path}-{side}.pcapng")))
        });
        assert_eq!(left.len() as u64, forward.offered + backward.delivered, "path {path}");
        assert_eq!(right.len() as u64, backward.offered + forward.delivered, "path {path}");
        // A packet has one number on both sides, and is missing on one if it was lost.
        let both = left.intersection(&right).count() as u64;
        assert_eq!(both, forward.delivered + backward.delivered, "path {path}");
    }
}

/// The numbers of all packets of a capture.
fn numbers_in(file: &std::path::Path) -> BTreeSet<u64> {
    let bytes = std::fs::read(file).unwrap();
    let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
    let mut numbers = BTreeSet::new();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        let number = packet.options.iter().find_map(|option| match option {
            EnhancedPacketOption::Unknown(option) if option.code == 5 => {
                Some(u64::from_le_bytes(option.value.as_ref().try_into().unwrap()))
            }
            _ => None,
        });
        assert!(numbers.insert(number.unwrap()), "{number:?} twice");
    }
    numbers
}

#[test]
fn a_full_disk_ends_the_captures_and_nothing_else() {
    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};

    let folder = tempfile::tempdir().unwrap();
    // A thread's own mount namespace, so that nothing stays mounted.
    let (at, private) = (folder.path(), MsFlags::MS_REC | MsFlags::MS_PRIVATE);
    let mounted = unshare(CloneFlags::CLONE_NEWNS)
        .and_then(|()| mount(None::<&str>, "/", None::<&str>, private, None::<&str>))
        .and_then(|()| mount(Some("x"), at, Some("tmpfs"), MsFlags::empty(), Some("size=64k")));
    if let Err(error) = mounted {
        assert!(std::env::var_os("TRESSE_REQUIRE_PEERS").is_none(), "no tmpfs: {error}");
        let _ = writeln!(
            std::io::stderr(),
            "skipped: a file system cannot be mounted ({error}): run as root"
        );
        return;
    }
    static WARNED: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());
    let settings = Settings {
        capture: Some(folder.path().to_owned()),
        warn: |line| WARNED.lock().unwrap().push(line.to_owned()),
        ..Settings::default()
    };
    let Some(emulation) = start("forward = {}\nbackward = {}", &settings) else { return };
    for _ in 0..10 {
        assert_eq!(send_numbers(&emulation, 100).len(), 100);
    }
    assert!(!emulation.stop().captures_complete);
    let warned = WARNED.lock().unwrap();
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("No space left") && warned[0].contains("stays"), "{warned:?}");
    let written = std::fs::metadata(folder.path().join("link0-left.pcapng")).unwrap().len();
    assert!(written > 10_000, "{written}");
}

#[test]
fn commands_run_on_their_side() {
    let links: LinkFile = "forward = { delay_ms = 1 }\nbackward = {}".parse().unwrap();
    let Some(emulation) = start("forward = { delay_ms = 1 }\nbackward = {}", &Settings::default())
    else {
        return;
    };
    // Several run side by side.
    let _other = Emulation::start(&links, &Settings::default()).unwrap();
    for side in Side::BOTH {
        let output = emulation.command_in(side, "ip").args(["-br", "addr"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let own = emulation.address(side, 0).to_string();
        assert!(said.contains(&own) && said.contains("link0"), "{said}");
        assert!(said.contains(&emulation.address_v6(side, 0).to_string()), "{said}");
    }
    // Nothing is sent that nobody asked for.
    std::thread::sleep(SHORT);
    let report = emulation.report();
    assert_eq!(report.links.iter().map(|link| link.stats.offered).sum::<u64>(), 0, "{report:?}");
    let v6 = emulation.namespace(Side::Left).inside(|| UdpSocket::bind("[::]:4000")).unwrap();
    v6.send_to(b"x", (emulation.address_v6(Side::Right, 0), 9)).unwrap();
    let deadline = Instant::now() + LONG;
    while emulation.report().links[0].stats.delivered == 0 {
        assert!(Instant::now() < deadline, "IPv6 does not pass");
    }
}

#[test]
fn faults_are_errors() {
    let mut links = LinkFile::new(LinkConfig::default(), LinkConfig::default());
    let small = Settings { mtu: 500, ..Settings::default() };
    assert!(matches!(Emulation::start(&links, &small), Err(Error::Links(_))));
    links.backward.loss = 2.0;
    let fault = Emulation::start(&links, &Settings::default()).unwrap_err().to_string();
    assert!(fault.starts_with("backward.loss: "), "{fault}");
    if let Ok(namespace) = Namespace::new() {
        let fault = namespace.ip(&["link set nothing up".into()]).unwrap_err().to_string();
        assert!(fault.contains("nothing"), "{fault}");
    }
}
