//! Two endpoints on the loopback interface, one of them observed.

use std::net::SocketAddr;
use std::time::Duration;

use tresse::{Association, AssociationConfig, Config, Endpoint, Observer, StreamId};

/// A server that is observed, a client, and their association as both see it.
pub(crate) struct Pair {
    pub(crate) server: Endpoint,
    pub(crate) client: Endpoint,
    pub(crate) theirs: Association,
    pub(crate) ours: Association,
}

impl Pair {
    pub(crate) async fn new(observer: Option<Box<dyn Observer>>) -> Pair {
        Pair::with(observer, |_| {}).await
    }

    /// The same with other settings of both ends.
    pub(crate) async fn with(
        observer: Option<Box<dyn Observer>>,
        set: impl Fn(&mut AssociationConfig),
    ) -> Pair {
        Pair::bound("127.0.0.1:0", observer, set).await
    }

    /// The same of endpoints that are bound so.
    pub(crate) async fn bound(
        local: &str,
        observer: Option<Box<dyn Observer>>,
        set: impl Fn(&mut AssociationConfig),
    ) -> Pair {
        let local: SocketAddr = local.parse().unwrap();
        let mut config = Config::server(local, 5001);
        set(&mut config.sctp.association);
        config.sctp.association.trace = observer.is_some();
        config.observer = observer;
        let server = Endpoint::bind(config).unwrap();
        let to = SocketAddr::from(([127, 0, 0, 1], server.local_addr().port()));
        let mut config = Config::client(local);
        set(&mut config.sctp.association);
        let client = Endpoint::bind(config).unwrap();
        let ours = client.connect((to, 5001)).await.unwrap();
        let theirs = server.accept().await.unwrap();
        Pair { server, client, theirs, ours }
    }

    /// Sends messages from the server, which the client reads, until all are acknowledged: then no
    /// figure changes any more.
    pub(crate) async fn send(&self, messages: u16, size: usize) {
        for n in 0..messages {
            let message = vec![0; size];
            self.theirs.send(StreamId(n % 8), message).await.unwrap();
            self.ours.recv().await.unwrap();
        }
        while self.theirs.stats().send_buffered > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Shuts down and waits until the observer has been let go.
    pub(crate) async fn end(self) {
        self.ours.shutdown().await.unwrap();
        self.theirs.closed().await;
        let monitor = self.server.monitor();
        drop((self.theirs, self.server, self.ours, self.client));
        while monitor.metrics(1).endpoint.associations_ended == 0 {
            tokio::task::yield_now().await;
        }
    }
}
