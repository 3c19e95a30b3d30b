//! What watching costs: the same transfer over the loopback interface without and with each observer,
//! in turn, several times.
//!
//! ```sh
//! cargo run --release -p tresse-observe --example cost
//! ```

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tresse::{Config, Endpoint, Observer, StreamId};
use tresse_observe::{Capture, LogObserver, Observers, QlogFolder, QlogOptions, Spool, prometheus};

/// Rounds; each has every way of watching once.
const ROUNDS: usize = 7;
/// Messages of a transfer, and their bytes.
const MESSAGES: usize = 20_000;
const SIZE: usize = 1200;

/// Ways of watching, the first one being none.
const WAYS: [&str; 6] = [
    "nothing",
    "metrics, read 10 times a second",
    "log, nobody listens",
    "capture",
    "qlog, without packets",
    "qlog",
];

type Failure = Box<dyn std::error::Error>;

/// Processor time of this process in seconds, all threads together.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The observer of a way, and whether associations must record their decisions.
fn observer(way: usize, spool: &Spool) -> Result<(Option<Box<dyn Observer>>, bool), Failure> {
    let folder = std::env::temp_dir().join("tresse-observe-cost");
    std::fs::create_dir_all(&folder)?;
    let mut observers = Observers::default();
    let qlog = |packets| {
        let options = QlogOptions { packets, ..QlogOptions::default() };
        QlogFolder::create(spool, &folder.join("qlog"), options)
    };
    match way {
        2 => observers.add(LogObserver),
        3 => observers.add(Capture::create(spool, &folder.join("all.pcapng"), 0)?),
        4 => observers.add(qlog(false)?),
        5 => observers.add(qlog(true)?),
        _ => return Ok((None, false)),
    }
    Ok((Some(Box::new(observers)), way != 3))
}

/// One transfer: seconds of wall-clock and of processor time.
async fn transfer(way: usize) -> Result<(f64, f64), Failure> {
    let loopback: SocketAddr = "127.0.0.1:0".parse()?;
    let spool = Spool::start(|line| eprintln!("{line}"))?;
    let server = Endpoint::bind(Config::server(loopback, 5001))?;
    let mut config = Config::client(loopback);
    (config.observer, config.sctp.association.trace) = observer(way, &spool)?;
    let client = Endpoint::bind(config)?;
    let sender = client.connect((server.local_addr(), 5001)).await?;
    let receiver = server.accept().await?;
    let monitor = client.monitor();
    let reader = (way == 1).then(|| {
        tokio::spawn(async move {
            loop {
                std::hint::black_box(prometheus(&monitor.metrics(1000), None));
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
    });
    let (started, used) = (Instant::now(), cpu());
    let produce = async {
        for _ in 0..MESSAGES {
            sender.send(StreamId(0), vec![7; SIZE]).await?;
        }
        Ok::<(), Failure>(())
    };
    let consume = async {
        for _ in 0..MESSAGES {
            receiver.recv().await?;
        }
        Ok::<(), Failure>(())
    };
    tokio::try_join!(produce, consume)?;
    // What is to be written counts as well.
    let wall = started.elapsed().as_secs_f64();
    if !spool.flush(Duration::from_secs(60)) || spool.stats().records_dropped > 0 {
        return Err("records were dropped".into());
    }
    let used = cpu() - used;
    if let Some(reader) = reader {
        reader.abort();
    }
    sender.abort("the end");
    Ok((wall, used))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut ratios = [const { Vec::new() }; WAYS.len()];
    transfer(0).await?;
    for round in 0..ROUNDS {
        let mut times = [(0.0, 0.0); WAYS.len()];
        // Another order each round.
        for i in 0..WAYS.len() {
            let way = (i + round) % WAYS.len();
            times[way] = transfer(way).await?;
        }
        for (ratios, time) in ratios.iter_mut().zip(times) {
            ratios.push((time.0 / times[0].0, time.1 / times[0].1, time.1));
        }
    }
    println!("{MESSAGES} messages of {SIZE} bytes, medians of {ROUNDS} rounds");
    println!("{:<34} {:>10} {:>10} {:>14}", "watching", "time", "processor", "us/message");
    for (way, ratios) in WAYS.iter().zip(ratios) {
        let column = |read: fn(&(f64, f64, f64)) -> f64| {
            median(&mut ratios.iter().map(read).collect::<Vec<_>>())
        };
        let each = column(|r| r.2) * 1e6 / MESSAGES as f64;
        println!("{way:<34} {:>10.2} {:>10.2} {each:>14.2}", column(|r| r.0), column(|r| r.1));
    }
    Ok(())
}
