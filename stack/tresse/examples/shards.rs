//! What shards bring: the goodput of many associations with one server, of one part or several, on one
//! thread and on several. Each client is an endpoint of its own.
//!
//! `cargo run --release -p tresse --example shards -- [THREADS [ROUNDS]]`, by default 2 threads and 5
//! rounds. The variants take turns in each round, so that a machine that slows down slows them all;
//! ratios are medians of the rounds.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tresse::{Association, Bytes, Config, Endpoint, ShardedEndpoint, StreamId};

const PORT: u16 = 5001;

const ASSOCIATIONS: usize = 24;

const SIZE: usize = 1_200;

const TIME: Duration = Duration::from_millis(1_500);

async fn send(association: Association) {
    let payload = Bytes::from(vec![7; SIZE]);
    while association.send(StreamId(0), payload.clone()).await.is_ok() {}
}

async fn receive(association: Association, bytes: Arc<AtomicUsize>) {
    while let Ok(received) = association.recv().await {
        bytes.fetch_add(received.payload.len(), Ordering::Relaxed);
    }
}

/// Bytes per second that the server receives.
async fn measure(shards: usize) -> f64 {
    let here = "127.0.0.1:0".parse().expect("an address");
    let config = Config::server(here, PORT);
    let (server, drivers) = ShardedEndpoint::open(config, shards).expect("sockets");
    for driver in drivers {
        tokio::spawn(driver);
    }
    let bytes = Arc::new(AtomicUsize::new(0));
    let mut clients = Vec::new();
    for _ in 0..ASSOCIATIONS {
        let client = Endpoint::bind(Config::client(here)).expect("a socket");
        let (ours, theirs) =
            tokio::join!(client.connect((server.local_addr(), PORT)), server.accept());
        tokio::spawn(receive(theirs.expect("it is accepted"), Arc::clone(&bytes)));
        tokio::spawn(send(ours.expect("it connects")));
        clients.push(client);
    }
    // What the start brings is not counted.
    tokio::time::sleep(TIME / 5).await;
    let (begin, before) = (Instant::now(), bytes.load(Ordering::Relaxed));
    tokio::time::sleep(TIME).await;
    let received = bytes.load(Ordering::Relaxed) - before;
    let rate = received as f64 / begin.elapsed().as_secs_f64();
    for client in clients {
        client.abort_all("enough");
        client.wait_idle().await;
    }
    server.abort_all("enough");
    rate
}

fn run(threads: usize, shards: usize) -> f64 {
    let runtime = Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    runtime
        .expect("threads")
        .block_on(async { tokio::spawn(measure(shards)).await })
        .expect("no panic")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> ExitCode {
    let mut numbers = [2, 5];
    for (n, word) in std::env::args().skip(1).enumerate() {
        match (numbers.get_mut(n), word.parse()) {
            (Some(number), Ok(given @ 1..=1024)) => *number = given,
            _ => {
                eprintln!("error: {word}: shards [THREADS [ROUNDS]] takes numbers from 1 to 1024");
                return ExitCode::from(2);
            }
        }
    }
    let (threads, rounds) = (numbers[0], numbers[1]);
    let variants = [(1, 1), (threads, 1), (threads, threads)];
    let mut rates = vec![Vec::new(); variants.len()];
    for _ in 0..rounds {
        for (rates, (threads, shards)) in rates.iter_mut().zip(variants) {
            rates.push(run(threads, shards));
        }
    }
    println!("{ASSOCIATIONS} associations, {SIZE}-byte messages, one server, {rounds} rounds");
    for (of_variant, (threads, shards)) in rates.iter().zip(variants) {
        let ratios = of_variant.iter().zip(&rates[0]).map(|(rate, one)| rate / one).collect();
        println!(
            "{threads} threads, {shards} shards: {:7.1} MB/s, {:.2} of one thread",
            median(of_variant.clone()) / 1e6,
            median(ratios)
        );
    }
    ExitCode::SUCCESS
}
