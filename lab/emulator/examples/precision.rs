//! How punctual the emulator is, and how much it carries: `cargo run --release -p tresse-emulator
//! --example precision [-- --realtime]`. On an idle machine with two cores or more; as root.
//!
//! The first measurement sends small datagrams at a steady rate through a link that only delays; the
//! sender receives them itself, so that one clock and one thread see both moments, and the emulator has
//! the other core. The second one sends packets of 1500 bytes as fast as a core can.

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let realtime = std::env::args().any(|word| word == "--realtime");
    println!(
        "scheduling: {}",
        if realtime { "SCHED_FIFO, if that is permitted" } else { "ordinary" }
    );
    for rate in [1_000, 10_000, 50_000] {
        measure::delay(rate, realtime)?;
    }
    measure::throughput(realtime)
}

#[cfg(target_os = "linux")]
mod measure {
    use std::error::Error;
    use std::net::UdpSocket;
    use std::time::{Duration, Instant};

    use hdrhistogram::Histogram;
    use tresse_emulator::{Emulation, LinkFile, Settings, Side};
    use tresse_netem::LinkConfig;

    /// How long each measurement takes.
    const SPAN: Duration = Duration::from_secs(5);
    /// The delay of the link, in milliseconds.
    const DELAY_MS: f64 = 5.0;

    fn socket(emulation: &Emulation, side: Side) -> Result<UdpSocket, Box<dyn Error>> {
        let address = (emulation.address(side, 0), 4000);
        Ok(emulation.namespace(side).inside(|| UdpSocket::bind(address))?)
    }

    fn start(delay_ms: f64, realtime: bool) -> Result<Emulation, Box<dyn Error>> {
        let link = LinkConfig { delay_ms, ..LinkConfig::default() };
        let links = LinkFile::new(link.clone(), link);
        Ok(Emulation::start(&links, &Settings { realtime, ..Settings::default() })?)
    }

    /// Error of the delay at this many packets a second.
    pub(super) fn delay(rate: u32, realtime: bool) -> Result<(), Box<dyn Error>> {
        let emulation = start(DELAY_MS, realtime)?;
        let (left, right) = (socket(&emulation, Side::Left)?, socket(&emulation, Side::Right)?);
        left.connect(right.local_addr()?)?;
        right.set_nonblocking(true)?;
        let mut error = Histogram::<u64>::new_with_max(60_000_000_000, 3)?;
        let expected = (DELAY_MS * 1e6) as u64;
        let (begin, interval) = (Instant::now(), Duration::from_secs(1) / rate);
        let (mut sent, mut early) = (0u32, 0u64);
        let mut buffer = [0; 100];
        // What is sent last has time to arrive.
        while begin.elapsed() < SPAN + Duration::from_millis(100) {
            let now = begin.elapsed();
            if now < SPAN && now >= interval * sent {
                let mut packet = [0; 100];
                packet[..8].copy_from_slice(&(now.as_nanos() as u64).to_be_bytes());
                left.send(&packet)?;
                sent += 1;
            }
            if right.recv(&mut buffer).is_ok() {
                let stamp = u64::from_be_bytes(buffer[..8].try_into()?);
                let delay = begin.elapsed().as_nanos() as u64 - stamp;
                early += u64::from(delay < expected);
                error.saturating_record(delay.abs_diff(expected));
            }
        }
        let report = emulation.stop();
        let link = &report.links[0];
        let micros = |quantile| error.value_at_quantile(quantile) as f64 / 1e3;
        println!(
            "{rate} packets/s, a delay of {DELAY_MS} ms: late by {:.1} µs (p50), {:.1} µs (p99), {:.1} µs (max) \
             where the emulator hands them over",
            link.late.p50_us, link.late.p99_us, link.late.max_us,
        );
        println!(
            "    between applications: {:.1} µs (p50), {:.1} µs (p99), {:.1} µs (p99.9), {:.1} µs (max), {early} too \
             early; of {sent} the emulator took {}, overrun {}, {} were received",
            micros(0.5),
            micros(0.99),
            micros(0.999),
            micros(1.0),
            link.stats.offered,
            link.overrun,
            error.len(),
        );
        Ok(())
    }

    /// What passes when more is sent than can pass.
    pub(super) fn throughput(realtime: bool) -> Result<(), Box<dyn Error>> {
        let emulation = start(1.0, realtime)?;
        let (left, right) = (socket(&emulation, Side::Left)?, socket(&emulation, Side::Right)?);
        left.connect(right.local_addr()?)?;
        let begin = Instant::now();
        // With the headers of IPv4 and UDP it has 1500 bytes.
        while begin.elapsed() < SPAN {
            left.send(&[0; 1472])?;
        }
        let report = emulation.stop();
        let link = &report.links[0];
        println!(
            "packets of 1500 bytes: {:.2} Gbit/s, {:.0} packets/s ({} taken, {} more sent than that)",
            link.stats.delivered_bytes as f64 * 8.0 / report.seconds / 1e9,
            link.stats.delivered as f64 / report.seconds,
            link.stats.offered,
            link.overrun,
        );
        Ok(())
    }
}
