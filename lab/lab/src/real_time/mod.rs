//! Runs in real time: the same traffic between two Tresse endpoints on raw IP, each in a network
//! namespace of its own, with emulated links between them. What the simulator says can be held
//! against it.

mod packets;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tresse::{AssociationConfig, Carrier, Config, Endpoint, EndpointConfig, Observer, Peer};
use tresse_emulator::{Emulation, LinkFile, Namespace, Privilege, Settings, Side};
use tresse_netem::LinkConfig;

pub(crate) use packets::{Packets, Transmissions};

/// SCTP port of both endpoints.
pub(crate) const PORT: u16 = 5000;

/// Makes sure that runs in real time are possible at all; to be called before there are threads.
///
/// # Errors
/// One line: what is missing.
pub(crate) fn prepare() -> Result<(), String> {
    let network = || Privilege::acquire().and_then(|_| Namespace::new());
    network().map(|_| ()).map_err(|error| error.to_string())
}

/// Two hosts and what is between them.
pub(crate) struct Stage {
    emulation: Emulation,
    limit: Duration,
}

/// One endpoint to be.
pub(crate) struct Role {
    /// Settings of its associations.
    pub(crate) association: AssociationConfig,
    /// Watches it.
    pub(crate) observer: Option<Box<dyn Observer>>,
}

/// An endpoint of a run and where its peer is.
pub(crate) struct Place {
    pub(crate) endpoint: Endpoint,
    pub(crate) peer: IpAddr,
    association: AssociationConfig,
}

impl Place {
    /// Opens the association.
    pub(crate) async fn connect(&self) -> Result<tresse::Association, String> {
        let peer = Peer::multihomed([self.peer], PORT);
        let opened = self.endpoint.connect_with(peer, self.association.clone()).await;
        opened.map_err(|error| format!("no association: {error}"))
    }

    /// The association that the peer opens.
    pub(crate) async fn accept(&self) -> Result<tresse::Association, String> {
        self.endpoint.accept().await.map_err(|error| error.to_string())
    }
}

impl Stage {
    /// Starts the links, whose random decisions follow from `seed`. Nothing on it may take longer than
    /// `limit`.
    pub(crate) fn start(
        links: (&LinkConfig, &LinkConfig),
        seed: u64,
        limit: Duration,
    ) -> Result<Stage, String> {
        let links = LinkFile { seed, ..LinkFile::new(links.0.clone(), links.1.clone()) };
        let settings = Settings { realtime: true, ..Settings::default() };
        let emulation = Emulation::start(&links, &settings).map_err(|error| error.to_string())?;
        Ok(Stage { emulation, limit })
    }

    /// Has the accepting endpoint at `side` and the one that connects, on the other side, do what they
    /// are to, each on a thread; what both brought.
    pub(crate) fn play<A: Send, C: Send>(
        &self,
        side: Side,
        accepting: (Role, impl AsyncFnOnce(Place) -> Result<A, String> + Send),
        connecting: (Role, impl AsyncFnOnce(Place) -> Result<C, String> + Send),
    ) -> Result<(A, C), String> {
        let (ready, is_ready) = oneshot::channel();
        std::thread::scope(|scope| {
            let there = scope.spawn(move || {
                let (role, program) = accepting;
                self.on(side, true, role, async |place| {
                    let _ = ready.send(());
                    program(place).await
                })
            });
            let here = scope.spawn(move || {
                let (role, program) = connecting;
                self.on(other(side), false, role, async |place| {
                    is_ready
                        .await
                        .map_err(|_| "the accepting endpoint did not start".to_owned())?;
                    program(place).await
                })
            });
            let joined = (there.join(), here.join());
            let result = |joined: std::thread::Result<Result<_, String>>| {
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            let accepted = result(joined.0);
            let connected = joined.1.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (accepted, connected) {
                (Ok(a), Ok(c)) => Ok((a, c)),
                // The first of two errors that follow from each other.
                (Err(a), Err(c)) => Err(format!("{a}; {c}")),
                (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
            }
        })
    }

    fn on<T>(
        &self,
        side: Side,
        accept: bool,
        role: Role,
        program: impl AsyncFnOnce(Place) -> Result<T, String>,
    ) -> Result<T, String> {
        self.emulation.enter(side).map_err(|error| format!("namespace: {error}"))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("runtime: {error}"))?;
        let [own, peer] = [side, other(side)].map(|s| IpAddr::V4(self.emulation.address(s, 0)));
        let sctp = EndpointConfig {
            local_port: PORT,
            local_addresses: vec![own],
            accept,
            association: role.association.clone(),
            ..EndpointConfig::default()
        };
        let config = Config {
            carrier: Carrier::RawIp { local: vec![own] },
            sctp,
            observer: role.observer,
            ..Config::default()
        };
        runtime.block_on(async {
            let endpoint = Endpoint::bind(config).map_err(|error| format!("endpoint: {error}"))?;
            let place = Place { endpoint, peer, association: role.association };
            let limited = tokio::time::timeout(self.limit, program(place)).await;
            limited.map_err(|_| format!("it took longer than {:?}", self.limit))?
        })
    }

    /// Packets that were lost on the way from left to right, and on the way back.
    pub(crate) fn lost(&self) -> [u64; 2] {
        let report = self.emulation.report();
        let lost =
            |n: usize| report.links.get(n).map_or(0, |link| link.stats.dropped() + link.overrun);
        [lost(0), lost(1)]
    }
}

const fn other(side: Side) -> Side {
    match side {
        Side::Left => Side::Right,
        Side::Right => Side::Left,
    }
}

/// What one program tells the other one: that it has all that it waited for.
pub(crate) type Done = Arc<tokio::sync::Notify>;
