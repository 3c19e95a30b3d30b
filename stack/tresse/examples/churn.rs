//! Opens many associations to one endpoint at once, sends a message over each and back, closes them
//! all, and begins again; says every few seconds what the process holds, and fails if it holds more
//! and more or if a timer goes on when nothing is left.
//!
//! `cargo run --release -p tresse --example churn -- [ASSOCIATIONS [SECONDS]]`, by default 1000
//! associations and 600 s. Linux only: it reads `/proc`.
//!
//! Every client is an endpoint of its own, made again in each round. Both ends are in this process, so
//! a leak of either shows. One association of four is aborted, one is left to the drop of its handle,
//! two are shut down.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tresse::{Association, Config, Endpoint, Profile, StreamId};

const PORT: u16 = 5001;

/// The share of the time in which what is kept for reuse finds its size.
const WARM_UP: f64 = 0.2;

/// What the process may hold more at the end than after the warm-up: the allocator's noise.
const GROWTH: f64 = 1.05;

/// What the process holds between two rounds.
#[derive(Clone, Copy, Debug)]
struct Holdings {
    /// Resident memory, bytes.
    memory: u64,
    descriptors: usize,
    threads: u64,
}

fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux' /proc");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect("a known field")
}

fn holdings() -> Holdings {
    Holdings {
        memory: status("VmRSS:") * 1024,
        // One of them reads the folder.
        descriptors: std::fs::read_dir("/proc/self/fd").expect("Linux' /proc").count() - 1,
        threads: status("Threads:"),
    }
}

/// Sends back what comes, until the association ends.
async fn echo(association: Association) {
    while let Ok(message) = association.recv().await {
        let sent = association.send(message.stream, message.payload);
        if sent.await.is_err() {
            return;
        }
    }
}

/// One client from its socket to its end.
async fn client(server: std::net::SocketAddr, n: usize, everyone: &tokio::sync::Barrier) {
    let here = "127.0.0.1:0".parse().expect("an address");
    let (endpoint, driver) = Endpoint::open(Config::client(here)).expect("a socket");
    let driver = tokio::spawn(driver);
    let association = endpoint.connect((server, PORT)).await.expect("it connects");
    let text = format!("message {n}");
    let sent = association.send(StreamId(0), text.clone());
    sent.await.expect("it is sent");
    let back = association.recv().await.expect("it comes back").payload;
    assert_eq!(back, text);
    // All are open at once.
    everyone.wait().await;
    match n % 4 {
        0 => association.abort("enough"),
        1 => {}
        _ => association.shutdown().await.expect("it shuts down"),
    }
    drop(association);
    endpoint.wait_idle().await;
    drop(endpoint);
    driver.await.expect("no panic").expect("the socket works");
}

/// Opens and closes `associations` of them.
async fn round(server: &Endpoint, associations: usize) {
    let everyone = std::sync::Arc::new(tokio::sync::Barrier::new(associations));
    let mut clients = JoinSet::new();
    for n in 0..associations {
        let (address, everyone) = (server.local_addr(), std::sync::Arc::clone(&everyone));
        clients.spawn(async move { client(address, n, &everyone).await });
    }
    while let Some(end) = clients.join_next().await {
        end.expect("every client ends well");
    }
    server.wait_idle().await;
}

async fn churn(associations: usize, time: Duration) -> Result<(), String> {
    let mut config = Config::server("127.0.0.1:0".parse().expect("an address"), PORT);
    config.backlog = associations;
    // All clients have one address.
    let limits = "[limits]\nassociations_per_source = 0\ninits_per_source = 0";
    let profile = Profile::tresse().with_overrides(limits).map_err(|error| error.to_string())?;
    config.sctp.association.profile = std::sync::Arc::new(profile);
    let server = std::sync::Arc::new(Endpoint::bind(config).map_err(|error| error.to_string())?);
    let accepting = std::sync::Arc::clone(&server);
    tokio::spawn(async move {
        while let Ok(association) = accepting.accept().await {
            tokio::spawn(echo(association));
        }
    });
    let begin = Instant::now();
    let mut next_line = Duration::ZERO;
    let mut reference: Option<Holdings> = None;
    let mut rounds = 0;
    while begin.elapsed() < time {
        let limit = Duration::from_secs(60);
        let result = tokio::time::timeout(limit, round(&server, associations)).await;
        result.map_err(|_| format!("round {rounds} has not ended in {limit:?}"))?;
        rounds += 1;
        let now = holdings();
        if begin.elapsed() >= next_line {
            next_line = begin.elapsed() + time / 60;
            println!(
                "{:4} s  {rounds:5} rounds  {:7.1} MiB  {} descriptors  {} threads",
                begin.elapsed().as_secs(),
                now.memory as f64 / f64::from(1 << 20),
                now.descriptors,
                now.threads
            );
        }
        match reference {
            None if begin.elapsed() > time.mul_f64(WARM_UP) => reference = Some(now),
            Some(first) if now.descriptors != first.descriptors => {
                return Err(format!("{first:?} has become {now:?}"));
            }
            _ => {}
        }
    }
    let (first, last) = (reference.ok_or("too short a time")?, holdings());
    if last.memory as f64 > first.memory as f64 * GROWTH {
        return Err(format!("{first:?} has become {last:?}"));
    }
    // Whoever runs a timer wakes up: an endpoint without associations has none.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = status("voluntary_ctxt_switches:");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let wakes = status("voluntary_ctxt_switches:") - before;
    println!(
        "{} associations in {rounds} rounds; then woken {wakes} times in 5 idle seconds",
        rounds * associations
    );
    // This task's own sleep, and reading `/proc`.
    if wakes > 10 { Err("a timer goes on".into()) } else { Ok(()) }
}

/// The soft limit of 1024 descriptors that most systems set is raised as far as is allowed.
fn allow_descriptors(associations: usize) -> Result<(), String> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).map_err(|error| error.to_string())?;
    match limit.maximum {
        Some(most) if most < associations as u64 + 100 => {
            Err(format!("{associations} sockets are more than the {most} that `ulimit -Hn` allows"))
        }
        _ => Ok(()),
    }
}

fn main() -> ExitCode {
    let mut arguments = Vec::new();
    for word in std::env::args().skip(1) {
        match word.parse::<u64>() {
            Ok(number) if number > 0 && arguments.len() < 2 => arguments.push(number),
            _ => {
                eprintln!("error: {word}: churn [ASSOCIATIONS [SECONDS]] takes positive numbers");
                return ExitCode::from(2);
            }
        }
    }
    let associations = arguments.first().copied().unwrap_or(1000) as usize;
    let time = Duration::from_secs(arguments.get(1).copied().unwrap_or(600));
    // One thread, so that its sleeps are the process'.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = allow_descriptors(associations).and_then(|()| {
        runtime.map_err(|error| error.to_string())?.block_on(churn(associations, time))
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
