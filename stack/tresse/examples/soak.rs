//! A server under attack: one address opens 65 536 associations and keeps them, then INITs without end come
//! from 200 addresses. Says what the server holds, how many INITs it got and answered, and what is left of
//! the goodput of an honest client that sends at a fixed rate all the time.
//!
//! `cargo run --release -p tresse --example soak -- [ASSOCIATIONS [SECONDS [RATE]]]`, by default 65 536, 60 s, and
//! as many INITs in a second as one thread sends, 64 with one call. Beyond 65 535, the ports that an address has,
//! associations come from a second one. Linux only: it reads `/proc`, and binds addresses of
//! 127.0.0.0/8. The server is a process of its own with one thread, whose limits for one source are off: so
//! the attack does its worst. Fails if the server holds more than its limit. What the client keeps depends on
//! the machine: beyond what one processor takes, its socket loses packets of everybody.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quinn_udp::{Transmit, UdpSocketState};
use tresse::{Association, Config, Endpoint, Profile, StreamId};
use tresse_wire::{
    Chunk, CommonHeader, InitFields, Packet, PacketWriter, Parameter, Tsn, VerificationTag,
};

const PORT: u16 = 5001;
/// Bytes of a message of the client, and how often one is sent: 16 Mbit/s.
const MESSAGE: usize = 10_000;
const EVERY: Duration = Duration::from_millis(5);
/// What the server may hold beside its associations' memory: its program, buffers of sockets.
const PROGRAM: u64 = 128 << 20;
const MEMORY: usize = 1 << 30;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The server: reads what comes, and says its address first.
async fn serve() -> Result<(), Failure> {
    let mut config = Config::server("127.0.0.1:0".parse()?, PORT);
    let limits = "[limits]\nassociations_per_source = 0\ninits_per_source = 0";
    config.sctp.association.profile = Arc::new(Profile::tresse().with_overrides(limits)?);
    config.sctp.max_associations = 70_000;
    config.sctp.memory = MEMORY;
    config.backlog = 70_000;
    let server = Arc::new(Endpoint::bind(config)?);
    println!("{}", server.local_addr());
    let told = Arc::clone(&server);
    tokio::spawn(async move {
        let mut input = tokio::time::interval(Duration::from_secs(1));
        loop {
            input.tick().await;
            let stats = told.stats();
            println!("{} {}", stats.memory, stats.inits_answered);
        }
    });
    while let Ok(association) = server.accept().await {
        tokio::spawn(async move { while association.recv().await.is_ok() {} });
    }
    Ok(())
}

/// The server's process, and what it says of itself each second.
struct Server {
    child: Child,
    address: SocketAddr,
    memory: Arc<AtomicU64>,
    answered: Arc<AtomicU64>,
}

impl Server {
    fn start() -> Result<Server, Failure> {
        use std::io::{BufRead as _, BufReader};
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let address = lines.next().ok_or("the server says nothing")??.parse()?;
        let (memory, answered) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (m, a) = (Arc::clone(&memory), Arc::clone(&answered));
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut numbers = line.split(' ').filter_map(|word| word.parse().ok());
                m.store(numbers.next().unwrap_or(0), Ordering::Relaxed);
                a.store(numbers.next().unwrap_or(0), Ordering::Relaxed);
            }
        });
        Ok(Server { child, address, memory, answered })
    }

    /// Resident memory in bytes; with `peak`, the most so far.
    fn resident(&self, peak: bool) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let name = if peak { "VmHWM:" } else { "VmRSS:" };
        let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no memory")?;
        let kilobytes: u64 = line.split_whitespace().next().ok_or("no number")?.parse()?;
        Ok(kilobytes * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn init(port: u16, tag: u32, packet: &mut Vec<u8>) {
    let header = CommonHeader {
        source_port: port,
        destination_port: PORT,
        verification_tag: VerificationTag(0),
    };
    let fields = InitFields {
        initiate_tag: VerificationTag(tag.max(1)),
        a_rwnd: 1 << 20,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(1),
    };
    packet.clear();
    let mut writer = PacketWriter::new(packet, header);
    writer.init(&fields, &[]);
    writer.finish();
}

/// Opens associations from one address, of which nothing more is heard; how many there are.
fn camp(server: SocketAddr, wanted: usize) -> Result<usize, Failure> {
    const PORTS: usize = 65_535;
    let sockets = [UdpSocket::bind("127.0.0.9:0")?, UdpSocket::bind("127.0.0.10:0")?];
    let (mut packet, mut buffer) = (Vec::new(), vec![0; 65_536]);
    let mut open = 0;
    for n in 0..wanted {
        let socket =
            sockets.get(n / PORTS).ok_or("more associations than two addresses can have")?;
        let port = 1 + (n % PORTS) as u16;
        socket.set_read_timeout(Some(Duration::from_millis(500)))?;
        socket.connect(server)?;
        'tries: for _ in 0..5 {
            init(port, 1 + n as u32, &mut packet);
            socket.send(&packet)?;
            while let Ok(length) = socket.recv(&mut buffer) {
                let parsed = Packet::parse(&buffer[..length])?;
                let header = parsed.header();
                let chunk = parsed.chunks().next().ok_or("an empty packet")?.and_then(Chunk::parse);
                match chunk {
                    Ok(Chunk::InitAck(ack)) if header.destination_port == port => {
                        let cookie = ack.parameters.parsed().find_map(|p| match p {
                            Ok(Parameter::StateCookie(cookie)) => Some(cookie.to_vec()),
                            _ => None,
                        });
                        let header = CommonHeader {
                            source_port: port,
                            destination_port: PORT,
                            verification_tag: ack.fields().initiate_tag,
                        };
                        packet.clear();
                        let mut writer = PacketWriter::new(&mut packet, header);
                        writer.cookie_echo(&cookie.ok_or("no cookie")?);
                        writer.finish();
                        socket.send(&packet)?;
                    }
                    Ok(Chunk::CookieAck) if header.destination_port == port => {
                        open += 1;
                        break 'tries;
                    }
                    // Heartbeats to those before.
                    _ => {}
                }
            }
        }
    }
    Ok(open)
}

/// Sends INITs until it is told to stop, from `addresses` in turn; answers are not looked at.
fn flood(
    server: SocketAddr,
    rate: f64,
    sent: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let bind = |n: u8| {
        let socket = UdpSocket::bind((IpAddr::from([127, 0, 3, n]), 0))?;
        socket.connect(server)?;
        Ok::<_, std::io::Error>(socket)
    };
    let sockets = (1..=200).map(bind).collect::<Result<Vec<_>, _>>()?;
    let state = UdpSocketState::new((&sockets[0]).into())?;
    let (mut packet, mut batch, mut n, begin) = (Vec::new(), Vec::new(), 0u32, Instant::now());
    let at_once = state.max_gso_segments().min((rate / 1000.0) as usize).max(1);
    while !stop.load(Ordering::Relaxed) {
        for socket in &sockets {
            batch.clear();
            for _ in 0..at_once {
                n = n.wrapping_add(1);
                init(n as u16 | 1, n, &mut packet);
                batch.extend_from_slice(&packet);
            }
            let transmit = Transmit {
                destination: server,
                ecn: None,
                contents: &batch,
                segment_size: Some(packet.len()),
                src_ip: None,
            };
            // A full buffer is as good as a lost packet.
            let left = state.try_send(socket.into(), &transmit).is_ok();
            sent.fetch_add(if left { at_once as u64 } else { 0 }, Ordering::Relaxed);
            let due = Duration::from_secs_f64(f64::from(n) / rate);
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
        }
    }
    Ok(())
}

/// Sends at a fixed rate for so long; bytes per second that were taken and acknowledged.
async fn goodput(client: &Association, time: Duration) -> Result<f64, Failure> {
    let acknowledged = |client: &Association| {
        let stats = client.stats();
        stats.user_bytes_sent as f64 - stats.send_buffered as f64
    };
    let begin = Instant::now();
    let before = acknowledged(client);
    let mut due = tokio::time::interval(EVERY);
    while begin.elapsed() < time {
        due.tick().await;
        let sent = client.send(StreamId(0), vec![1; MESSAGE]);
        match tokio::time::timeout(time.saturating_sub(begin.elapsed()), sent).await {
            Ok(result) => result?,
            Err(_) => break, // It is held up.
        }
    }
    let after = acknowledged(client);
    Ok((after - before) / begin.elapsed().as_secs_f64())
}

async fn attack(wanted: usize, time: Duration, rate: f64) -> Result<(), Failure> {
    let server = Server::start()?;
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let endpoint = Endpoint::bind(Config::client("127.0.0.1:0".parse()?))?;
    let client = endpoint.connect((server.address, PORT)).await?;
    let alone = goodput(&client, Duration::from_secs(5)).await?;
    println!("alone: {:.1} Mbit/s, {:.1} MiB", alone * 8e-6, mebibytes(server.resident(false)?));

    let (address, begin) = (server.address, Instant::now());
    let open = tokio::task::spawn_blocking(move || camp(address, wanted)).await??;
    tokio::time::sleep(Duration::from_secs(2)).await;
    println!(
        "{open} of {wanted} associations from one address in {:.1} s: {:.1} MiB resident, {:.1} MiB by its account",
        begin.elapsed().as_secs_f64(),
        mebibytes(server.resident(false)?),
        mebibytes(server.memory.load(Ordering::Relaxed))
    );

    let (sent, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
    let answered = server.answered.load(Ordering::Relaxed);
    let (counter, end, begin) = (Arc::clone(&sent), Arc::clone(&stop), Instant::now());
    let flooding = std::thread::spawn(move || flood(address, rate, &counter, &end));
    let beside = goodput(&client, time).await;
    stop.store(true, Ordering::Relaxed);
    flooding.join().map_err(|_| "the flood has failed")??;
    let time = begin.elapsed(); // A client that is held up takes longer.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let answered = server.answered.load(Ordering::Relaxed) - answered;
    let thousands = |count: u64| count as f64 / time.as_secs_f64() / 1e3;
    let peak = server.resident(true)?;
    println!(
        "{:.0} thousand INITs a second for {} s, {:.0} thousand answered: {:.1} MiB at the most",
        thousands(sent.load(Ordering::Relaxed)),
        time.as_secs(),
        thousands(answered),
        mebibytes(peak)
    );
    match beside {
        Ok(rate) => println!(
            "the client beside it: {:.1} Mbit/s, {:.0} %",
            rate * 8e-6,
            rate / alone * 100.0
        ),
        Err(error) => println!("the client beside it is lost: {error}"),
    }
    if peak > MEMORY as u64 + PROGRAM {
        return Err("the server held more than it may".into());
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, default: u64| match words.get(n).map(|word| word.parse()) {
        None => Some(default),
        Some(Ok(number)) if number > 0 => Some(number),
        _ => None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.map_err(Failure::from).and_then(|runtime| {
        if words.first().is_some_and(|word| word == "serve") {
            return runtime.block_on(serve());
        }
        let numbers = (number(0, 65_536), number(1, 60), number(2, 1_000_000_000));
        let (Some(wanted), Some(seconds), Some(rate)) = numbers else {
            return Err("soak [ASSOCIATIONS [SECONDS [RATE]]] takes positive numbers".into());
        };
        runtime.block_on(attack(wanted as usize, Duration::from_secs(seconds), rate as f64))
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
