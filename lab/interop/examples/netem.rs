//! The emulator beside the network emulator of the Linux kernel (netem), in one run: `cargo run
//! --release -p tresse-interop --example netem`. As root, with user-mode Linux.
//!
//! Echo requests go to a guest with a kernel of its own at the end of an emulated link. Their replies are
//! delayed, lost and throttled once by the emulator and once by netem in the guest, with the same
//! settings; the other one does nothing meanwhile. Ends with status 1 if the two do not agree.

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    compare::run()
}

#[cfg(target_os = "linux")]
mod compare {
    use std::io::Read;
    use std::net::SocketAddr;
    use std::process::ExitCode;
    use std::time::{Duration, Instant};

    use socket2::{Domain, Protocol, Socket, Type};
    use tresse_emulator::{Direction, Emulation, LinkFile, Settings, Side};
    use tresse_netem::LinkConfig;
    use tresse_peers::Guest;

    /// Echo requests for delay and loss, and the time between two of them.
    const ECHOES: u64 = 4000;
    const INTERVAL: Duration = Duration::from_millis(2);
    /// Delays agree within this many milliseconds at every quantile: the guest's own scheduling.
    const DELAY_TOLERANCE: f64 = 1.5;
    const DELAY_MS: f64 = 40.0;
    const JITTER_MS: f64 = 10.0;
    const LOSS: f64 = 0.05;
    /// Packets for the rate, and bytes of each from the Ethernet header on.
    const BURST: u64 = 100;
    const BURST_BYTES: usize = 1000;
    const RATE_KBPS: f64 = 2000.0;
    /// Rates agree within this share.
    const RATE_TOLERANCE: f64 = 0.02;
    /// Ethernet, IPv4 and ICMP.
    const HEADERS: [usize; 3] = [14, 20, 8];

    /// What one of the two does.
    struct Measured {
        /// Round-trip times in milliseconds, in order.
        times: Vec<f64>,
        lost: f64,
        kbps: f64,
    }

    pub(super) fn run() -> ExitCode {
        let links = LinkFile::new(LinkConfig::default(), LinkConfig::default());
        let settings = Settings { realtime: true, ..Settings::default() };
        let emulation = match Emulation::start(&links, &settings) {
            Ok(emulation) => emulation,
            Err(error) => return skip(&error.to_string()),
        };
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let lifetime = Duration::from_secs(300);
        let guest = match Guest::boot_in(&emulation, Side::Right, folder.path(), lifetime) {
            Ok(guest) => guest,
            Err(why) => return skip(&why.to_string()),
        };
        let set = |link: LinkConfig| {
            emulation.reconfigure(0, Direction::Backward, link).expect("the link is valid");
        };
        let measure = |emulator: bool| {
            let (delay, rate) = (
                LinkConfig {
                    delay_ms: DELAY_MS,
                    jitter_ms: JITTER_MS,
                    jitter_reorders: true,
                    loss: LOSS,
                    ..LinkConfig::default()
                },
                LinkConfig {
                    bandwidth_kbps: Some(RATE_KBPS),
                    overhead_bytes: HEADERS[0] as u32,
                    ..LinkConfig::default()
                },
            );
            let netem = |words: &str| {
                guest.run(&format!("tc qdisc replace dev vec0 root netem limit 10000 {words}"));
            };
            if emulator {
                set(delay);
            } else {
                netem(&format!("delay {DELAY_MS}ms {JITTER_MS}ms loss {}%", LOSS * 100.0));
            }
            let echoes = echo(&emulation, ECHOES, INTERVAL, 100);
            if emulator {
                set(rate);
            } else {
                netem(&format!("rate {RATE_KBPS}kbit"));
            }
            let burst = echo(&emulation, BURST, Duration::ZERO, BURST_BYTES);
            set(LinkConfig::default());
            guest.run("tc qdisc del dev vec0 root 2>/dev/null; true");
            let mut times: Vec<f64> = echoes.iter().map(|(_, rtt)| *rtt).collect();
            times.sort_by(f64::total_cmp);
            let span = burst.last().expect("replies").0 - burst[0].0;
            let bits = (burst.len() - 1) as f64 * BURST_BYTES as f64 * 8.0;
            Measured {
                lost: 1.0 - times.len() as f64 / ECHOES as f64,
                times,
                kbps: bits / span.as_secs_f64() / 1e3,
            }
        };
        // Address resolution and the guest's caches.
        echo(&emulation, 20, INTERVAL, 100);
        let (ours, theirs) = (measure(true), measure(false));
        if verdict(&ours, &theirs) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn skip(why: &str) -> ExitCode {
        eprintln!("skipped: {why}");
        ExitCode::from(u8::from(std::env::var_os("TRESSE_REQUIRE_PEERS").is_some()))
    }

    /// Sends `count` echo requests to the guest, of `size` bytes from the Ethernet header on, and gives
    /// when each reply came and after how many milliseconds.
    fn echo(
        emulation: &Emulation,
        count: u64,
        interval: Duration,
        size: usize,
    ) -> Vec<(Duration, f64)> {
        let socket = emulation
            .namespace(Side::Left)
            .inside(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)))
            .expect("a raw socket");
        socket.set_recv_buffer_size(4 << 20).expect("a buffer");
        socket.set_read_timeout(Some(Duration::from_secs(1))).expect("a time limit");
        let to = SocketAddr::from((emulation.address(Side::Right, 0), 0)).into();
        let begin = Instant::now();
        let own = |begin: Instant| begin.elapsed();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..count {
                    let due = interval * u32::try_from(number).expect("there are few");
                    std::thread::sleep(due.saturating_sub(own(begin)));
                    let mut packet = vec![0; size - HEADERS[0] - HEADERS[1]];
                    packet[0] = 8; // RFC 792: echo.
                    packet[8..16].copy_from_slice(&(own(begin).as_nanos() as u64).to_be_bytes());
                    let checksum = checksum(&packet);
                    packet[2..4].copy_from_slice(&checksum.to_be_bytes());
                    socket.send_to(&packet, &to).expect("it is sent");
                }
            });
            let mut replies = Vec::new();
            let mut buffer = [0; 2000];
            while let Ok(length) = (&socket).read(&mut buffer) {
                let now = own(begin);
                // Behind the IPv4 header: echo reply.
                if let Some([0, _, _, _, _, _, _, _, stamp @ ..]) = buffer[..length].get(20..)
                    && let Some(stamp) = stamp.first_chunk()
                {
                    let sent = Duration::from_nanos(u64::from_be_bytes(*stamp));
                    replies.push((now, (now - sent).as_secs_f64() * 1e3));
                }
            }
            replies
        })
    }

    /// RFC 1071.
    fn checksum(bytes: &[u8]) -> u16 {
        let words = bytes.chunks(2).map(|pair| {
            u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
        });
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !(sum as u16)
    }

    /// Prints both side by side; whether they agree.
    fn verdict(ours: &Measured, theirs: &Measured) -> bool {
        let mut agrees = true;
        println!("| | emulator | kernel netem | tolerance | |\n|---|---|---|---|---|");
        let mut row = |what: String, [ours, theirs]: [f64; 2], tolerance: f64| {
            let within = (ours - theirs).abs() <= tolerance;
            agrees &= within;
            let word = if within { "agrees" } else { "**differs**" };
            println!("| {what} | {ours:.2} | {theirs:.2} | {tolerance:.2} | {word} |");
        };
        let quantile =
            |times: &[f64], share: f64| times[((times.len() - 1) as f64 * share) as usize];
        for percent in [5.0, 25.0, 50.0, 75.0, 95.0] {
            let both = [ours, theirs].map(|side| quantile(&side.times, percent / 100.0));
            row(format!("round trip, {percent} % quantile, ms"), both, DELAY_TOLERANCE);
        }
        // Four standard deviations of the difference of two shares.
        let deviation = 4.0 * (2.0 * LOSS * (1.0 - LOSS) / ECHOES as f64).sqrt() * 100.0;
        row("loss, %".into(), [ours, theirs].map(|side| side.lost * 100.0), deviation);
        let rates = [ours, theirs].map(|side| side.kbps);
        row("rate, kbit/s".into(), rates, RATE_TOLERANCE * RATE_KBPS);
        agrees
    }
}
