//! How fast large transfers are through a lossy network, between Tresse and other stacks and between
//! the same stack at both ends, all at the same time through networks of the same kind.

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tresse::{Association, Config, Endpoint};
use tresse_netem::LinkConfig;

use tresse_peers::traffic::{blocking, receive_all, run_for, send_all};
use tresse_peers::{Guest, Payload, Peer, PeerProgram, Relay, Unavailable, free_udp_port};

/// Loss of each direction.
const LOSS: f64 = 0.05;
/// Delay of each direction.
const DELAY_MS: f64 = 25.0;
/// Bytes of a message: one packet each.
const MESSAGE: usize = 1_400;
/// The C peers take no longer limit.
const LIMIT: Duration = Duration::from_secs(3_590);
/// SCTP ports of servers, from here on.
const FIRST_PORT: u16 = 6_001;
/// UDP port of SCTP in the guest.
const GUEST_UDP: u16 = 9_899;

/// A stack at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// This one.
    Tresse,
    /// That of the Linux kernel.
    Linux,
    /// usrsctp.
    Usrsctp,
}

impl End {
    const fn name(self) -> &'static str {
        match self {
            End::Tresse => "Tresse",
            End::Linux => "Linux kernel",
            End::Usrsctp => "usrsctp",
        }
    }
}

/// Who sends to whom.
const PAIRS: [(End, End); 7] = [
    (End::Tresse, End::Tresse),
    (End::Tresse, End::Linux),
    (End::Linux, End::Tresse),
    (End::Linux, End::Linux),
    (End::Tresse, End::Usrsctp),
    (End::Usrsctp, End::Tresse),
    (End::Usrsctp, End::Usrsctp),
];

/// One transfer that ended well: every byte arrived and was verified.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transfer {
    /// Who sent.
    pub sender: End,
    /// Who received.
    pub receiver: End,
    /// User bytes.
    pub bytes: u64,
    /// From the end of the handshake to the end of the shutdown.
    pub seconds: f64,
    /// Packets that the network lost on the way to the receiver.
    pub lost_data: u64,
    /// Packets that it lost on the way back.
    pub lost_acks: u64,
}

impl Transfer {
    /// User bytes per second, in MB/s.
    #[must_use]
    pub fn goodput(&self) -> f64 {
        self.bytes as f64 / self.seconds / 1e6
    }
}

/// Runs `replicas` transfers of at least `bytes` for each pair of stacks, all at the same time, and
/// writes each as a line of JSON to `out` when it ends. Needs root, usrsctp and user-mode Linux.
///
/// # Errors
/// [`Unavailable`] when a peer is.
///
/// # Panics
/// When a transfer fails, after all have ended; or `out` cannot be written.
pub fn measure(
    bytes: u64,
    replicas: usize,
    folder: &Path,
    out: &mut (impl io::Write + Send),
) -> Result<Vec<Transfer>, Unavailable> {
    let usrsctp = PeerProgram::usrsctp(folder)?;
    let guest = Guest::boot(folder, 1, LIMIT)?;
    guest.run(&format!("sysctl -qw net.sctp.udp_port={GUEST_UDP}"));
    let bench = Bench { guest, usrsctp, payload: payload(bytes) };
    let transfers = Mutex::new(Vec::new());
    let out = Mutex::new(out);
    std::thread::scope(|scope| {
        let jobs = PAIRS.iter().cycle().take(PAIRS.len() * replicas).zip(FIRST_PORT..);
        for ((sender, receiver), port) in jobs {
            let (bench, transfers, out) = (&bench, &transfers, &out);
            scope.spawn(move || {
                let transfer = bench.transfer(*sender, *receiver, port);
                let line = serde_json::to_string(&transfer).expect("it has no odd keys");
                writeln!(out.lock().expect("nobody panics here"), "{line}")
                    .expect("out is writable");
                transfers.lock().expect("nobody panics here").push(transfer);
            });
        }
    });
    Ok(transfers.into_inner().expect("nobody panics here"))
}

fn payload(bytes: u64) -> Payload {
    let messages = bytes.div_ceil(MESSAGE as u64);
    Payload { messages, size: MESSAGE, ..Payload::PLAIN }
}

struct Bench {
    guest: Guest,
    usrsctp: PeerProgram,
    payload: Payload,
}

/// A server that is ready, at an address and UDP port.
struct Server {
    address: SocketAddr,
    end: Either,
}

enum Either {
    Tresse(Endpoint),
    Peer(Peer),
}

impl Bench {
    /// The sender is the client.
    fn transfer(&self, sender: End, receiver: End, port: u16) -> Transfer {
        self.guest.enter();
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).expect("there is a random source");
        run_for(LIMIT, async {
            let server = self.serve(receiver, port);
            let link = LinkConfig { loss: LOSS, delay_ms: DELAY_MS, ..LinkConfig::default() };
            // The guest reaches the host at another address than its processes reach each other.
            let guest = [sender, receiver].contains(&End::Linux);
            let here = if guest { [10, 99, 0, 1].into() } else { Ipv4Addr::LOCALHOST.into() };
            let relay = Relay::start(
                here,
                server.address,
                [link.clone(), link],
                u64::from_ne_bytes(seed),
                None,
            )
            .expect("the address is ours");
            let seconds = self.run(sender, SocketAddr::new(here, relay.port()), port, server).await;
            let [to_server, to_client] = relay.stop();
            assert!(to_server.dropped() > 0, "the network lost nothing");
            let (lost_data, lost_acks) = (to_server.dropped(), to_client.dropped());
            let bytes = self.payload.bytes();
            Transfer { sender, receiver, bytes, seconds, lost_data, lost_acks }
        })
    }

    fn serve(&self, receiver: End, port: u16) -> Server {
        let Payload { messages, size, .. } = self.payload;
        let arguments = format!(
            "server --port {port} --send 0 --receive {messages} --size {size} --timeout {}",
            LIMIT.as_secs()
        );
        let (address, mut peer) = match receiver {
            End::Tresse => {
                let any = (IpAddr::from(Ipv4Addr::UNSPECIFIED), 0).into();
                let endpoint = Endpoint::bind(Config::server(any, port)).expect("it can be bound");
                // It is reached at any address of this host.
                let address = (Ipv4Addr::LOCALHOST, endpoint.local_addr().port()).into();
                return Server { address, end: Either::Tresse(endpoint) };
            }
            End::Linux => {
                let address = SocketAddr::from(([10, 99, 0, 2], GUEST_UDP));
                (address, self.guest.start(&format!("{arguments} --address 10.99.0.2")))
            }
            End::Usrsctp => {
                let udp = free_udp_port().expect("there are ports");
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, udp));
                (address, self.usrsctp.start(&words(&format!("{arguments} --udp {udp}"))))
            }
        };
        peer.wait_for("READY", LIMIT);
        Server { address, end: Either::Peer(peer) }
    }

    /// Sends everything to `server` through the relay at `relay`; gives the seconds from the end of
    /// the handshake to that of the shutdown.
    async fn run(&self, sender: End, relay: SocketAddr, port: u16, server: Server) -> f64 {
        let Payload { messages, size, .. } = self.payload;
        let arguments = format!(
            "client --peer {} --peer-udp {} --peer-port {port} --send {messages} --receive 0 \
             --size {size} --timeout {}",
            relay.ip(),
            relay.port(),
            LIMIT.as_secs()
        );
        let client = match sender {
            End::Tresse => {
                let any = (IpAddr::from(Ipv4Addr::UNSPECIFIED), 0).into();
                let endpoint = Endpoint::bind(Config::client(any)).expect("it can be bound");
                let connect =
                    async { endpoint.connect((relay, port)).await.expect("it is let in") };
                return match server.end {
                    Either::Tresse(server) => {
                        let (ours, theirs) = tokio::join!(connect, server.accept());
                        let theirs = theirs.expect("the endpoint is open");
                        tokio::join!(self.send(ours), self.receive(theirs)).0
                    }
                    Either::Peer(peer) => {
                        let seconds = self.send(connect.await).await;
                        self.judge(peer).await;
                        seconds
                    }
                };
            }
            End::Linux => self.guest.start(&format!("{arguments} --address 10.99.0.2")),
            End::Usrsctp => {
                let udp = free_udp_port().expect("there are ports");
                self.usrsctp.start(&words(&format!("{arguments} --udp {udp}")))
            }
        };
        match server.end {
            Either::Tresse(server) => {
                let association = server.accept().await.expect("the endpoint is open");
                let seconds = self.receive(association).await;
                blocking(move || client.finish(LIMIT)).await;
                seconds
            }
            Either::Peer(server) => {
                let (server, seconds) = blocking(move || {
                    let mut server = server;
                    server.wait_for("UP", LIMIT);
                    let start = Instant::now();
                    client.finish(LIMIT);
                    (server, start.elapsed().as_secs_f64())
                })
                .await;
                self.judge(server).await;
                seconds
            }
        }
    }

    async fn send(&self, association: Association) -> f64 {
        let start = Instant::now();
        send_all(&association, self.payload).await;
        association.shutdown().await.expect("the shutdown is graceful");
        start.elapsed().as_secs_f64()
    }

    async fn receive(&self, association: Association) -> f64 {
        let start = Instant::now();
        receive_all(&association, self.payload).await;
        let closed = association.closed().await;
        assert!(closed.is_graceful(), "{closed}");
        start.elapsed().as_secs_f64()
    }

    /// Whether a receiving peer got everything.
    async fn judge(&self, peer: Peer) {
        let report = blocking(move || peer.finish(LIMIT)).await;
        let all = (self.payload.messages, self.payload.sum(self.payload.messages));
        assert_eq!((report.messages, report.sum), all);
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The transfers as a table in Markdown: medians, extremes, and how each compares with the peer to
/// itself.
#[must_use]
pub fn table(transfers: &[Transfer]) -> String {
    let mut text = String::from(
        "| sender | receiver | transfers | median MB/s (least, most) | of the peer to itself |\n\
         |---|---|---|---|---|\n",
    );
    for (sender, receiver) in PAIRS {
        let Some((least, median, most, count)) = spread(transfers, (sender, receiver)) else {
            continue;
        };
        let peer = if sender == End::Tresse { receiver } else { sender };
        let ratio = match spread(transfers, (peer, peer)) {
            Some((_, alone, ..)) if sender != receiver => format!("{:.2}", median / alone),
            _ => String::new(),
        };
        let (sender, receiver) = (sender.name(), receiver.name());
        let _ = writeln!(
            text,
            "| {sender} | {receiver} | {count} | {median:.3} ({least:.3}, {most:.3}) | {ratio} |"
        );
    }
    text
}

/// The least, median and greatest goodput of a pair, and how many transfers there are.
fn spread(transfers: &[Transfer], pair: (End, End)) -> Option<(f64, f64, f64, usize)> {
    let of_pair = transfers.iter().filter(|t| (t.sender, t.receiver) == pair);
    let mut rates: Vec<f64> = of_pair.map(Transfer::goodput).collect();
    rates.sort_by(f64::total_cmp);
    let middle = rates.len() / 2;
    let median = if rates.len() % 2 == 1 {
        *rates.get(middle)?
    } else {
        (rates.get(middle)? + rates[middle - 1]) / 2.0
    };
    Some((rates[0], median, rates[rates.len() - 1], rates.len()))
}
