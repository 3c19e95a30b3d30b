//! A server for two documents. It understands just enough of HTTP (RFC 9112) for a GET; a client can
//! keep it busy neither by waiting nor by sending much.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};
use tresse::Monitor;

use super::openmetrics::prometheus;
use super::snapshot::Snapshot;
use crate::spool::Spool;

/// Clients served at a time; others wait.
const MAX_CLIENTS: usize = 32;

/// How long a client may take, from its connection to the last byte of the answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a request's head.
const MAX_HEAD: usize = 8192;

/// Associations in a document, one by one; all others are in its totals.
const MAX_ASSOCIATIONS: usize = 1000;

/// Content type of OpenMetrics text.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const INDEX: &str = "Tresse\n\n/metrics       for Prometheus\n/metrics.json  the same in JSON\n";

/// Serves the figures of an endpoint over HTTP: `/metrics` for Prometheus, `/metrics.json` for
/// everything else ([`Snapshot`]).
///
/// Whoever can reach the address can read them; there is no other protection, so bind to a loopback
/// address unless the network is to be trusted.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tresse::{Config, Endpoint};
/// use tresse_observe::MetricsServer;
///
/// let endpoint = Endpoint::bind(Config::client("127.0.0.1:0".parse()?))?;
/// let server = MetricsServer::bind("127.0.0.1:0".parse()?).await?;
/// println!("http://{}/metrics", server.local_addr());
/// tokio::spawn(server.run(endpoint.monitor(), None));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MetricsServer {
    listener: TcpListener,
    local: SocketAddr,
}

impl MetricsServer {
    /// Listens on an address; port 0 lets the system choose.
    ///
    /// # Errors
    /// Those of the system: the address is in use or not ours.
    pub async fn bind(address: SocketAddr) -> io::Result<MetricsServer> {
        let listener = TcpListener::bind(address).await?;
        let local = listener.local_addr()?;
        Ok(MetricsServer { listener, local })
    }

    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Serves until it is dropped. The counters of `spool` are added if there is one. Documents are
    /// put together on tokio's threads for blocking work, so that many associations do not keep the
    /// driver waiting.
    pub async fn run(self, monitor: Monitor, spool: Option<Spool>) {
        let source = Arc::new((monitor, spool));
        let mut clients = JoinSet::new();
        loop {
            while clients.len() >= MAX_CLIENTS {
                clients.join_next().await;
            }
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let source = Arc::clone(&source);
                    // A client that fails or takes too long is of no interest to others.
                    clients.spawn(async move {
                        let _ = timeout(TIMEOUT, serve(stream, source)).await;
                    });
                }
                // Descriptors are used up, or the client has gone already.
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
            while clients.try_join_next().is_some() {}
        }
    }
}

type Source = Arc<(Monitor, Option<Spool>)>;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Index,
    Prometheus,
    Json,
}

async fn serve(mut stream: TcpStream, source: Source) -> io::Result<()> {
    let head = head(&mut stream).await?;
    let (answer, with_body) = match parse(&head) {
        Ok((request, with_body)) => {
            let document = spawn_blocking(move || document(request, &source));
            (document.await.map_err(io::Error::other)?, with_body)
        }
        Err(status) => (response(status, "text/plain", &format!("{status}\n")), true),
    };
    let (head, body) = answer;
    stream.write_all(head.as_bytes()).await?;
    if with_body {
        stream.write_all(body.as_bytes()).await?;
    }
    stream.shutdown().await
}

/// Reads until the empty line, or until there is too much.
async fn head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&buffer[..length]);
        if head.windows(4).any(|end| end == b"\r\n\r\n") || head.len() > MAX_HEAD {
            return Ok(head);
        }
    }
}

/// Understands a request; the second part of the result is false for HEAD.
fn parse(head: &[u8]) -> Result<(Request, bool), &'static str> {
    if head.len() > MAX_HEAD {
        return Err("431 Request Header Fields Too Large");
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| "400 Bad Request")?;
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("400 Bad Request");
    };
    if !version.starts_with("HTTP/1.") {
        return Err("505 HTTP Version Not Supported");
    }
    let with_body = match method {
        "GET" => true,
        "HEAD" => false,
        _ => return Err("405 Method Not Allowed"),
    };
    let request = match target.split('?').next().unwrap_or_default() {
        "/" => Request::Index,
        "/metrics" => Request::Prometheus,
        "/metrics.json" => Request::Json,
        _ => return Err("404 Not Found"),
    };
    Ok((request, with_body))
}

fn document(request: Request, source: &Source) -> (String, String) {
    let (monitor, spool) = &**source;
    let spool = spool.as_ref().map(Spool::stats);
    let metrics = || monitor.metrics(MAX_ASSOCIATIONS);
    let (content, body) = match request {
        Request::Index => ("text/plain", INDEX.to_owned()),
        Request::Prometheus => (OPENMETRICS, prometheus(&metrics(), spool)),
        Request::Json => {
            let snapshot = Snapshot::new(&metrics(), spool);
            // It has string keys only.
            ("application/json", serde_json::to_string(&snapshot).unwrap_or_default())
        }
    };
    response("200 OK", content, &body)
}

/// The head of an answer, and its body.
fn response(status: &str, content: &str, body: &str) -> (String, String) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len()
    );
    (head, body.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood_or_refused() {
        let parse = |text: &str| parse(text.as_bytes());
        assert_eq!(parse("GET / HTTP/1.1\r\n\r\n"), Ok((Request::Index, true)));
        assert_eq!(parse("GET /metrics HTTP/1.0\r\nA: b\r\n\r\n"), Ok((Request::Prometheus, true)));
        assert_eq!(parse("HEAD /metrics.json?x=1 HTTP/1.1\r\n\r\n"), Ok((Request::Json, false)));
        for (text, status) in [
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("GET /etc/passwd HTTP/1.1\r\n\r\n", "404"),
            ("GET /metrics HTTP/2.0\r\n\r\n", "505"),
            ("GET  /metrics HTTP/1.1\r\n\r\n", "400"),
            ("\r\n\r\n", "400"),
            (&"x".repeat(MAX_HEAD + 1), "431"),
        ] {
            assert!(parse(text).unwrap_err().starts_with(status), "{text:?}");
        }
        assert!(super::parse(b"GET /\xff HTTP/1.1\r\n\r\n").is_err());
    }
}
