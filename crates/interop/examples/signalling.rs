//! Hurtig & Brunstrom (2007), Figure 2, in real time through the emulator: `cargo run --release -p
//! tresse-interop --example signalling`. As root.
//!
//! Bursts of four messages, 200 ms apart, over 2000 kbit/s and 15 ms; each data packet is lost once, in an
//! association of its own, and the time until that message reaches the other application is measured.
//! Prints averages, one a line, each with a name; `conformance/real-time.sh` has them beside the
//! simulator's.

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    signalling::run();
}

#[cfg(target_os = "linux")]
mod signalling {
    use std::net::IpAddr;
    use std::process::exit;
    use std::time::{Duration, Instant};

    use tresse::{AssociationConfig, Carrier, Config, Endpoint, Profile, SendOptions, StreamId};
    use tresse_emulator::{Emulation, LinkFile, Settings, Side};
    use tresse_netem::LinkConfig;

    const BURSTS: u64 = 12;
    const SIZE: u64 = 4;
    /// Bursts that are not measured.
    const IGNORED: u64 = 2;
    const GAP: Duration = Duration::from_millis(200);
    const MESSAGE: usize = 200;
    /// Associations at the same time.
    const AT_ONCE: usize = 8;
    /// Longer than any retransmission takes.
    const LIMIT: Duration = Duration::from_secs(30);
    /// Table 1 of the paper.
    const PARAMETERS: &str = "
        rto = { initial_ms = 200, min_ms = 100, max_ms = 400 }
        sack = { delay_ms = 40 }
    ";

    pub(super) fn run() {
        let times = ["lksctp-2.6.15", "lksctp-2.6.15+early-retransmit-packets"].map(|profile| {
            let profile = Profile::named(profile).expect("it is a profile");
            let profile = profile.with_overrides(PARAMETERS).expect("they are parameters");
            let all: Vec<u64> = (IGNORED * SIZE + 1..=BURSTS * SIZE).collect();
            let mut times = Vec::new();
            for some in all.chunks(AT_ONCE) {
                std::thread::scope(|scope| {
                    let one = |lost| transfer(profile.clone(), lost);
                    let threads: Vec<_> =
                        some.iter().map(|lost| scope.spawn(move || one(*lost))).collect();
                    times.extend(threads.into_iter().map(|t| t.join().expect("a transfer")));
                });
            }
            times
        });
        let [standard, early] = times;
        let mean = |times: &[f64], from: usize, to: usize| {
            let bursts = times.chunks(SIZE as usize);
            let some: Vec<f64> = bursts.flat_map(|burst| burst[from..to].to_vec()).collect();
            some.iter().sum::<f64>() / some.len() as f64
        };
        println!(
            "reduction_percent {:.1}",
            (1.0 - mean(&early, 0, 4) / mean(&standard, 0, 4)) * 100.0
        );
        println!("standard_first_ms {:.1}", mean(&standard, 0, 1));
        println!("standard_fourth_ms {:.1}", mean(&standard, 3, 4));
        println!("early_first_three_ms {:.1}", mean(&early, 0, 3));
        println!("early_fourth_ms {:.1}", mean(&early, 3, 4));
    }

    /// Milliseconds that message `lost`, whose packet is lost, takes.
    fn transfer(profile: Profile, lost: u64) -> f64 {
        let link = LinkConfig { queue_packets: Some(50), ..LinkConfig::new(2000.0, 15.0) };
        let forward = LinkConfig { drop_data: vec![lost], ..link.clone() };
        let settings = Settings { realtime: true, ..Settings::default() };
        let emulation =
            Emulation::start(&LinkFile::new(forward, link), &settings).unwrap_or_else(|error| {
                eprintln!("skipped: {error}");
                exit(i32::from(std::env::var_os("TRESSE_REQUIRE_PEERS").is_some()));
            });
        let association = AssociationConfig {
            profile: profile.into(),
            no_delay: true,
            bundling: false,
            ..AssociationConfig::default()
        };
        let open = |side: Side| {
            let address = IpAddr::from(emulation.address(side, 0));
            emulation.enter(side).expect("the side is there");
            let carrier = Carrier::RawIp { local: vec![address] };
            let mut config = Config::server_over(carrier, 5001);
            config.sctp.association = association.clone();
            Endpoint::bind(config).expect("raw IP")
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let (client, server) = (open(Side::Left), open(Side::Right));
            let remote = [IpAddr::from(emulation.address(Side::Right, 0))];
            let (ours, theirs) = tokio::join!(
                client.connect_with(&remote, 5001, association.clone()),
                server.accept()
            );
            let (ours, theirs) = (ours.expect("connected"), theirs.expect("accepted"));
            let begin = Instant::now();
            let sender = async {
                for number in 0..BURSTS * SIZE {
                    if number % SIZE == 0 && number > 0 {
                        tokio::time::sleep(GAP).await;
                    }
                    let mut message = vec![0; MESSAGE];
                    let stamp = begin.elapsed().as_nanos() as u64;
                    message[..8].copy_from_slice(&stamp.to_be_bytes());
                    let sent = ours.send(StreamId(0), message, SendOptions::default());
                    sent.await.expect("it is sent");
                }
            };
            let receiver = async {
                for number in 1.. {
                    let message = tokio::time::timeout(LIMIT, theirs.recv()).await;
                    let message = message.expect("in time").expect("all of them");
                    let now = begin.elapsed().as_nanos() as u64;
                    if number == lost {
                        let stamp = message.message.payload.first_chunk().expect("it has a stamp");
                        return (now - u64::from_be_bytes(*stamp)) as f64 / 1e6;
                    }
                }
                unreachable!("one of them is that one")
            };
            tokio::join!(sender, receiver).1
        })
    }
}
