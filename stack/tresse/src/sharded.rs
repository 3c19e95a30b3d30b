//! One endpoint on several processors.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::Notify;
use tresse_carrier::Shard;
use tresse_core::{AssociationConfig, AssociationId, SendOptions};
use tresse_wire::StreamId;

use crate::association::Association;
use crate::config::{Carrier, Config};
use crate::driver::Driver;
use crate::endpoint::{Endpoint, Ground, Place, open};
use crate::error::{AcceptError, ConnectError, SendError};
use crate::incoming::Incoming;
use crate::peer::Peer;
#[cfg(feature = "tokio")]
use crate::runtime;
use crate::runtime::Runtime;
use crate::shared::wait;
use crate::team::{Membership, Team};

/// An [`Endpoint`] in several shards that share its addresses and its SCTP port, each with a driver and
/// a lock of its own: associations are spread over the shards, and those of different shards do not wait
/// for each other. Worth it when one processor cannot carry all associations of an endpoint.
///
/// No thread is made here: the drivers run where the caller lets them. Spawned on a runtime with
/// several threads they move between them; on a thread each, every shard stays with its processor:
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tresse::{Config, ShardedEndpoint};
///
/// let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
/// runtime.block_on(async {
///     let config = Config::server("127.0.0.1:0".parse()?, 5001);
///     let (server, drivers) = ShardedEndpoint::open(config, 2)?;
///     for driver in drivers {
///         tokio::spawn(driver);
///     }
///     let client = tresse::Endpoint::bind(Config::client("127.0.0.1:0".parse()?))?;
///     let (ours, theirs) = tokio::join!(
///         client.connect((server.local_addr(), 5001)),
///         server.accept()
///     );
///     ours?.send(0, "hello").await?;
///     let received = theirs?.recv().await?;
///     assert_eq!(received.payload, "hello");
///     Ok(())
/// })
/// # }
/// ```
///
/// On Linux the kernel takes each UDP packet to the shard of its association, by the verification tag and a
/// secret, so that no peer can choose a shard.
/// On raw IP all packets arrive at the first shard, which passes them on; on other systems they arrive
/// anywhere. A peer that restarts is recognised by the address that its INIT comes from, not by the
/// others that the INIT lists.
#[derive(Debug)]
pub struct ShardedEndpoint {
    shards: Vec<Endpoint>,
    team: Arc<Team>,
    incoming: Arc<Notify>,
    turn: AtomicUsize,
}

impl ShardedEndpoint {
    /// Binds the sockets of that many shards and returns their drivers, all of which the caller must
    /// poll. [`Config::observer`] must be empty: each driver can have one of its own by
    /// [`Driver::observe`], and sees the packets and associations of its shard.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for 0 or more than 1024 shards, or with an observer;
    /// otherwise as [`Endpoint::bind`].
    ///
    /// # Panics
    /// As [`Endpoint::bind`].
    #[cfg(feature = "tokio")]
    pub fn open(config: Config, shards: usize) -> io::Result<(ShardedEndpoint, Vec<Driver>)> {
        ShardedEndpoint::open_with(config, shards, &runtime::current()?)
    }

    /// As [`open`](Self::open), on any runtime.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_with(
        config: Config,
        shards: usize,
        runtime: &Arc<dyn Runtime>,
    ) -> io::Result<(ShardedEndpoint, Vec<Driver>)> {
        let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        let count = u16::try_from(shards).ok().filter(|count| (1..=1024).contains(count));
        let count = count.ok_or_else(|| invalid("an endpoint has 1 to 1024 shards"))?;
        let Config { mut carrier, mut socket, mut sctp, backlog, observer } = config;
        if observer.is_some() {
            return Err(invalid(
                "an observer watches one shard: give it to a driver, by `Driver::observe`",
            ));
        }
        Endpoint::choose_port(&mut sctp)?;
        if sctp.local_addresses.is_empty() {
            sctp.local_addresses = carrier.offered();
        }
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(io::Error::other)?;
        let cores = tresse_core::Endpoint::shards(&sctp, seed, count);
        let (team, incoming) = (Team::new(), Arc::<Notify>::default());
        let key = cores[0].shard_key().map_or([0, 1], tresse_core::ShardKey::numbers);
        let (mut endpoints, mut drivers) = (Vec::new(), Vec::new());
        for (index, core) in cores.into_iter().enumerate() {
            socket.shard = Some(Shard { index: index as u16, count, key });
            let config = Config {
                carrier: carrier.clone(),
                socket,
                sctp: sctp.clone(),
                backlog: backlog.div_ceil(shards),
                observer: None,
            };
            let member = Membership { team: Arc::clone(&team), index, count: shards };
            let place = Place { core, member, incoming: Arc::clone(&incoming) };
            let (shared, driver) =
                open(config, Ground::System(Arc::clone(runtime)), None, Some(place))?;
            if let Carrier::Udp { local } = &mut carrier {
                local.clone_from(&shared.local);
            }
            endpoints.push(Endpoint::of(shared, sctp.association.clone()));
            drivers.push(driver);
        }
        team.assemble(endpoints.iter().map(Endpoint::downgrade).collect());
        Ok((
            ShardedEndpoint { shards: endpoints, team, incoming, turn: AtomicUsize::new(0) },
            drivers,
        ))
    }

    /// The shards, each of which has counters and can be asked for its associations to end.
    #[must_use]
    pub fn shards(&self) -> &[Endpoint] {
        &self.shards
    }

    /// Packets that arrived at another shard than that of their association and were passed on, and
    /// those that were lost because too many waited there.
    #[must_use]
    pub fn forwarded(&self) -> (u64, u64) {
        (self.team.forwarded.load(Ordering::Relaxed), self.team.lost.load(Ordering::Relaxed))
    }

    /// As [`Endpoint::connect`]; each shard takes its turn.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(&self, peer: impl Into<Peer>) -> Result<Association, ConnectError> {
        self.next().connect(peer).await
    }

    /// As [`Endpoint::connect_with`]; each shard takes its turn.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect_with(
        &self,
        peer: impl Into<Peer>,
        config: AssociationConfig,
    ) -> Result<Association, ConnectError> {
        self.next().connect_with(peer, config).await
    }

    fn next(&self) -> &Endpoint {
        &self.shards[self.turn.fetch_add(1, Ordering::Relaxed) % self.shards.len()]
    }

    /// As [`Endpoint::accept`].
    ///
    /// # Errors
    /// As there; the driver of one shard is enough.
    pub async fn accept(&self) -> Result<Association, AcceptError> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        wait(&self.incoming, || {
            let mut order = (0..self.shards.len()).map(|n| (turn + n) % self.shards.len());
            order.find_map(|n| self.shards[n].accepted())
        })
        .await
    }

    /// As [`Endpoint::incoming`].
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub async fn incoming(&self) -> Result<Incoming, AcceptError> {
        self.accept().await.map(Incoming::new)
    }

    /// The local address and UDP port (0 on raw IP), the first one if there are several.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.shards[0].local_addr()
    }

    /// The SCTP port.
    #[must_use]
    pub fn sctp_port(&self) -> u16 {
        self.shards[0].sctp_port()
    }

    /// As [`Endpoint::wait_idle`], for all shards.
    pub async fn wait_idle(&self) {
        for shard in &self.shards {
            shard.wait_idle().await;
        }
    }

    /// As [`Endpoint::close`], for all shards.
    pub fn close(&self) {
        for shard in &self.shards {
            shard.close();
        }
    }

    /// As [`Endpoint::send_to_all`], for all shards, one after the other. An association that it did not go to is named by its
    /// shard, as an index of [`shards`](Self::shards), and its [`id`](Association::id) there.
    pub fn send_to_all(
        &self,
        stream: impl Into<StreamId>,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Vec<(usize, AssociationId, SendError)> {
        let (stream, data): (StreamId, Bytes) = (stream.into(), data.into());
        let of = |(index, shard): (usize, &Endpoint)| {
            let missed = shard.send_to_all(stream, data.clone(), options);
            missed.into_iter().map(move |(id, error)| (index, id, error))
        };
        self.shards.iter().enumerate().flat_map(of).collect()
    }

    /// Aborts every association.
    pub fn abort_all(&self, reason: impl AsRef<[u8]>) {
        for shard in &self.shards {
            shard.abort_all(reason.as_ref());
        }
    }
}
