//! What happens in a cell.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tresse::{
    Association, AssociationConfig, Carrier, Config, Endpoint, PathState, Peer, Ppid, Profile,
    SendOptions, StreamId,
};

use super::network::{Host, Network};
use super::{Binding, Bound, Cell, Family, Settings, Travel};
use crate::matrix::{Outcome, Recorder};
use tresse_peers::{Payload, Received, traffic};

const SCTP_PORT: u16 = 5001;
const UDP_PORT: u16 = 9899;
/// How long the only interface is away.
const OUTAGE: Duration = Duration::from_secs(1);
/// Everything but this is the default; with it a path that is back is noticed soon.
const OVERRIDES: &str = "heartbeat = { interval_ms = 500 }";

/// What the director of a cell asks of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// To have sent this many messages.
    Send(u64),
    /// To break off.
    Stop,
}

/// One end, as others see it.
#[derive(Default)]
struct End {
    association: Mutex<Option<Association>>,
    /// Messages received and verified.
    received: AtomicU64,
    /// It has ended,
    ended: AtomicBool,
    /// and this is why, if it should not have.
    failed: Mutex<Option<String>>,
    recorder: Recorder,
}

/// Plays a cell; the calling thread is in another namespace afterwards.
pub(super) fn play(cell: Cell, settings: &Settings) -> Outcome {
    let network = match Network::new(cell) {
        Ok(network) => network,
        Err(why) => return Outcome::Skipped(why.to_string()),
    };
    let scene = Scene {
        cell,
        limit: settings.limit,
        payload: Payload { messages: settings.messages, size: 1_000, streams: 4, ..Payload::PLAIN },
        network,
        ends: [End::default(), End::default()],
    };
    let Err(mut why) = scene.play() else { return Outcome::Pass };
    // What an end says explains more than that it did not come up to something.
    for (end, name) in scene.ends.iter().zip(["client", "server"]) {
        if let Some(failed) = end.failed.lock().expect("nobody panics here").take() {
            let _ = write!(why, "; {name}: {failed}");
        }
    }
    if let Err(error) = scene.keep(&why, settings) {
        eprintln!("{}: {error}", settings.failures.display());
    }
    Outcome::Fail(why)
}

struct Scene {
    cell: Cell,
    limit: Duration,
    payload: Payload,
    network: Network,
    /// The client's and the server's.
    ends: [End; 2],
}

impl Scene {
    fn play(&self) -> Result<(), String> {
        let (orders, _) = watch::channel(Order::Send(0));
        let (ready, listening) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let (to_server, to_client) = (orders.subscribe(), orders.subscribe());
            let server = || self.end(Host::Server, to_server, move || drop(ready));
            let client = move || {
                // That the server listens, or has failed.
                let _ = listening.recv();
                self.end(Host::Client, to_client, || {});
            };
            let name =
                |role| std::thread::Builder::new().name(format!("{}-{role}", self.cell.label()));
            name("server").spawn_scoped(scope, server).expect("a thread can be had");
            name("client").spawn_scoped(scope, client).expect("a thread can be had");
            let result = self.direct(&orders);
            if result.is_err() {
                orders.send_replace(Order::Stop);
            }
            result
        })?;
        // They have ended well, or said why not.
        let failed = |end: &End| end.failed.lock().is_ok_and(|failed| failed.is_some());
        if self.ends.iter().any(failed) { Err("the end was none".to_owned()) } else { Ok(()) }
    }

    /// Says when what is sent, and takes the interface away and gives it back meanwhile.
    fn direct(&self, orders: &watch::Sender<Order>) -> Result<(), String> {
        let all = self.payload.messages;
        let (first, second) = (all / 4, all / 2);
        let spare = self.cell.has_spare();
        let active = |end: &End| {
            let association = end.association.lock().expect("nobody panics here");
            association.as_ref().map_or(0, |association| {
                let paths = association.path_stats();
                paths.iter().filter(|path| path.state == PathState::Active).count()
            })
        };
        let got = |n: u64| move |end: &End| end.received.load(Ordering::Relaxed) >= n;
        self.until("there is no association", |end| active(end) > 0)?;
        if spare {
            self.until("no second path is confirmed", |end| active(end) > 1)?;
        }
        orders.send_replace(Order::Send(first));
        self.until("no data arrives", got(first / 2))?;
        let (host, net) = self.victim();
        self.network.take(host, net);
        orders.send_replace(Order::Send(second));
        if spare {
            self.until("no data arrives over the other interface", got(second))?;
        } else {
            sleep(OUTAGE);
        }
        self.network.give(host, net);
        orders.send_replace(Order::Send(all));
        self.until("not everything arrives with the interface back", got(all))?;
        self.until("the association is not shut down", |end| end.ended.load(Ordering::Relaxed))
    }

    /// Waits until `what` holds for both ends; else, `otherwise` is what is wrong.
    fn until(&self, otherwise: &str, what: impl Fn(&End) -> bool) -> Result<(), String> {
        let deadline = Instant::now() + self.limit;
        loop {
            if self.ends.iter().all(&what) {
                return Ok(());
            }
            let failed = |end: &End| end.failed.lock().is_ok_and(|failed| failed.is_some());
            if Instant::now() > deadline || self.ends.iter().any(failed) {
                let received = self.ends.each_ref().map(|end| end.received.load(Ordering::Relaxed));
                let [client, server] = received;
                let of = self.payload.messages;
                return Err(format!(
                    "{otherwise} (client {client}, server {server} of {of} messages)"
                ));
            }
            sleep(Duration::from_millis(5));
        }
    }

    /// The interface that goes: the one that data travels by.
    fn victim(&self) -> (Host, u8) {
        let host = if self.cell.bound == Bound::Client { Host::Client } else { Host::Server };
        let net = if self.cell.binding == Binding::Partial { self.cell.interfaces } else { 1 };
        (host, net)
    }

    /// What an end is bound to; nothing means the unspecified address.
    fn bound(&self, host: Host) -> Vec<IpAddr> {
        let all: Vec<IpAddr> = self.network.addresses(host).iter().map(|(_, ip)| *ip).collect();
        let odd = match self.cell.bound {
            Bound::Client => host == Host::Client,
            Bound::Server => host == Host::Server,
            Bound::Both => true,
        };
        match self.cell.binding {
            Binding::Wildcard if odd => Vec::new(),
            // Two addresses of each family, those of IPv4 first.
            Binding::Partial if odd => vec![all[1]],
            _ => all,
        }
    }

    fn carrier(&self, host: Host) -> Carrier {
        let mut local = self.bound(host);
        let (v4, v6) = (IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED));
        let port = if host == Host::Server { UDP_PORT } else { 0 };
        if local.is_empty() {
            local = match (self.cell.travel, self.cell.family) {
                (Travel::Raw, Family::Both) => vec![v4, v6],
                (Travel::Raw, Family::Ipv4) => vec![v4],
                // A server that knows nothing of its host takes what serves both families.
                (Travel::Udp, Family::Ipv4) if host == Host::Client => vec![v4],
                _ => vec![v6],
            };
        }
        match self.cell.travel {
            Travel::Udp => Carrier::Udp {
                local: local.into_iter().map(|ip| SocketAddr::new(ip, port)).collect(),
            },
            Travel::Raw => Carrier::RawIp { local },
        }
    }

    /// Runs an end on the current thread.
    fn end(&self, host: Host, mut orders: watch::Receiver<Order>, listening: impl FnOnce()) {
        self.network.enter(host);
        let end = &self.ends[host as usize];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let stopped = {
            let mut orders = orders.clone();
            async move {
                // Without a director it goes on by itself, to its end.
                if orders.wait_for(|order| *order == Order::Stop).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let result = runtime.expect("a runtime can be made").block_on(async {
            let (endpoint, driver) = Endpoint::open(self.config(host))
                .map_err(|error| format!("it cannot be bound: {error}"))?;
            tokio::spawn(driver);
            listening();
            tokio::select! {
                result = self.take_part(host, &endpoint, &mut orders) => result,
                () = stopped => Ok(()),
            }
        });
        *end.failed.lock().expect("nobody panics here") = result.err();
        end.ended.store(true, Ordering::Relaxed);
    }

    fn config(&self, host: Host) -> Config {
        let carrier = self.carrier(host);
        let mut config = match host {
            Host::Client => Config::client_over(carrier),
            Host::Server => Config::server_over(carrier, SCTP_PORT),
        };
        config.sctp.association = self.association();
        config.observer = Some(Box::new(self.ends[host as usize].recorder.clone()));
        config
    }

    fn association(&self) -> AssociationConfig {
        let profile = Profile::tresse().with_overrides(OVERRIDES).expect("the parameters exist");
        AssociationConfig {
            profile: profile.into(),
            outbound_streams: self.payload.streams,
            ..AssociationConfig::default()
        }
    }

    fn peer(&self, address: IpAddr) -> Peer {
        Peer::multihomed([address], SCTP_PORT).on_udp_port(UDP_PORT)
    }

    /// What an end does: everything in both directions, then the client shuts down.
    async fn take_part(
        &self,
        host: Host,
        endpoint: &Endpoint,
        orders: &mut watch::Receiver<Order>,
    ) -> Result<(), String> {
        let end = &self.ends[host as usize];
        let association = if host == Host::Client {
            // As whoever knows one address of a server; those that it has besides it says itself.
            let all = self.network.addresses(Host::Server);
            let server = self.bound(Host::Server).first().map_or(all[0].1, |first| *first);
            let connected = endpoint.connect_with(self.peer(server), self.association()).await;
            connected.map_err(|error| format!("connect to {server}: {error}"))?
        } else {
            endpoint.accept().await.map_err(|error| error.to_string())?
        };
        *end.association.lock().expect("nobody panics here") = Some(association.clone());
        tokio::try_join!(
            send(&association, self.payload, orders),
            traffic::receive(&association, Received::new(self.payload), |messages| {
                end.received.store(messages, Ordering::Relaxed);
            }),
        )?;
        if host == Host::Client {
            association.shutdown().await.map_err(|error| format!("shutdown: {error}"))?;
        } else if let Ok(more) = association.recv().await {
            return Err(format!("{more:?} after everything"));
        }
        let closed = association.closed().await;
        if !closed.is_graceful() {
            return Err(format!("ended: {closed}"));
        }
        let stats = association.stats();
        if stats.malformed_chunks > 0 || stats.wrong_tag > 0 {
            return Err(format!(
                "{} malformed chunks, {} wrong tags",
                stats.malformed_chunks, stats.wrong_tag
            ));
        }
        Ok(())
    }

    /// Keeps what explains a failure: the reason, the paths, the packets of both ends.
    fn keep(&self, why: &str, settings: &Settings) -> std::io::Result<()> {
        std::fs::create_dir_all(&settings.failures)?;
        let file = |name: &str| settings.failures.join(format!("{}{name}", self.cell.label()));
        let mut text = format!("{why}\n");
        for (end, name) in self.ends.iter().zip(["client", "server"]) {
            let _ = writeln!(text, "\n{name}:");
            let association = end.association.lock().expect("nobody panics here");
            for path in association.iter().flat_map(Association::path_stats) {
                let _ = writeln!(text, "{path:?}");
            }
            end.recorder.write(&file(&format!("-{name}.pcapng")))?;
        }
        std::fs::write(file(".txt"), text)
    }
}

/// Sends all messages, each when it was ordered.
async fn send(
    association: &Association,
    payload: Payload,
    orders: &mut watch::Receiver<Order>,
) -> Result<(), String> {
    for index in 0..payload.messages {
        let ordered = |order: &Order| matches!(order, Order::Send(n) if *n > index);
        orders.wait_for(ordered).await.map_err(|_| "nobody directs any more")?;
        let options = SendOptions { ppid: Ppid(payload.ppid(index)), ..SendOptions::default() };
        let stream = StreamId(payload.stream(index));
        let sent = association.send_with(stream, payload.message(index), options).await;
        sent.map_err(|error| format!("message {index}: {error}"))?;
    }
    Ok(())
}
