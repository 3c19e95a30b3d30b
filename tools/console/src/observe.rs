//! What `perf` and `run` show of themselves: metrics, log, qlog, captures. All off unless asked for.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinHandle;
use tresse::{Monitor, Observer};
use tresse_observe::{
    Capture, LogObserver, MetricsServer, Observers, QlogFolder, QlogOptions, Spool, log,
};

use crate::say::{complain, complain_of_loss};
use crate::units::parse_bytes;

/// How long what was recorded may take to reach its files at the end.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Options of everything that runs an endpoint.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Observability (docs/observability.md)")]
pub struct ObserveArgs {
    /// Serve /metrics (Prometheus) and /metrics.json over HTTP; a port alone means 127.0.0.1
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = metrics_address)]
    metrics: Option<SocketAddr>,
    /// Write all packets to this file (pcapng)
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// Write a qlog file for each association into this folder (docs/qlog.md)
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Log to the standard error: a level, or levels by target, such as
    /// tresse::recovery=debug,info
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// Begin a new file when a capture or qlog file has this many bytes, and keep the one before;
    /// 0: never
    #[arg(long, value_name = "BYTES", default_value = "1Gi", value_parser = parse_bytes)]
    file_limit: u64,
}

/// What was asked for, ready to run.
pub struct Observing {
    spool: Option<Spool>,
    observers: Observers,
    /// Associations must record their decisions.
    pub trace: bool,
    server: Option<MetricsServer>,
}

impl ObserveArgs {
    /// Makes files and sockets.
    ///
    /// The error is one line that names what cannot be had.
    pub async fn start(&self) -> Result<Observing, String> {
        let server = match self.metrics {
            Some(address) => Some(
                MetricsServer::bind(address)
                    .await
                    .map_err(|error| format!("--metrics {address}: {error}"))?,
            ),
            None => None,
        };
        let filter = match &self.log {
            Some(text) => Some(log::filter(text).map_err(|error| format!("--log {error}"))?),
            None => None,
        };
        let mut observers = Observers::default();
        let recording = self.capture.is_some() || self.qlog.is_some() || filter.is_some();
        let spool = if recording {
            Some(Spool::start(warn).map_err(|error| error.to_string())?)
        } else {
            None
        };
        let mut trace = self.qlog.is_some();
        if let Some(spool) = &spool {
            let named = |path: &Path, error: &io::Error| format!("{}: {error}", path.display());
            if let Some(path) = &self.capture {
                let capture = Capture::create(spool, path, self.file_limit);
                observers.add(capture.map_err(|error| named(path, &error))?);
            }
            if let Some(folder) = &self.qlog {
                let options = QlogOptions { limit: self.file_limit, ..QlogOptions::default() };
                let qlog = QlogFolder::create(spool, folder, options);
                observers.add(qlog.map_err(|error| named(folder, &error))?);
            }
            if let Some(filter) = filter {
                trace |= log::wants_trace(&filter);
                log::start(filter, spool.stream("the log", Box::new(io::stderr())))?;
                observers.add(LogObserver);
            }
        }
        Ok(Observing { spool, observers, trace, server })
    }
}

impl Observing {
    /// The observer of the endpoint, if one is needed.
    pub fn observer(&mut self) -> Option<Box<dyn Observer>> {
        let observers = std::mem::take(&mut self.observers);
        (!observers.is_empty()).then(|| Box::new(observers) as Box<dyn Observer>)
    }

    /// Where metrics are served.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(MetricsServer::local_addr)
    }

    /// Serves metrics from now on, if they are wanted.
    pub fn serve(&mut self, monitor: Monitor) -> Option<JoinHandle<()>> {
        let server = self.server.take()?;
        warn_if_exposed(server.local_addr());
        Some(tokio::spawn(server.run(monitor, self.spool.clone())))
    }

    /// Waits a while until all is written. What could not be written was reported when it happened.
    pub fn finish(&self) {
        if let Some(spool) = &self.spool
            && !spool.flush(TIMEOUT)
        {
            warn("some records could not be written in time");
        }
    }
}

/// Something that was asked for is not recorded.
fn warn(line: &str) {
    complain_of_loss(format_args!("warning: {line}"));
}

fn warn_if_exposed(address: SocketAddr) {
    if !address.ip().is_loopback() {
        complain(format_args!(
            "warning: --metrics {address}: whoever can reach this address can read it"
        ));
    }
}

/// `9464`, `127.0.0.1:9464` or `[::1]:9464`.
pub fn metrics_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((IpAddr::V4(Ipv4Addr::LOCALHOST), port).into());
    }
    text.parse().map_err(|_| "write PORT, ADDR:PORT or [V6]:PORT".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_loopback() {
        assert_eq!(metrics_address("9464"), Ok("127.0.0.1:9464".parse().unwrap()));
        assert_eq!(metrics_address("[::1]:1"), Ok("[::1]:1".parse().unwrap()));
        for wrong in ["", "x", "127.0.0.1", "99999", "localhost:1"] {
            assert!(metrics_address(wrong).is_err(), "{wrong}");
        }
    }
}
