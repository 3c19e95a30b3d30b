//! Associations on asyncio: `tresse.Endpoint` and `tresse.Association`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tresse::{
    Association as Inner, AssociationConfig, Bytes, Carrier, Config, EndpointConfig, PathStats,
    Peer, Ppid, ReceivedMessage, Reliability, SendError, SendOptions,
};

use crate::errors::{closed, error};
use crate::runtime::{Process, awaitable};
use crate::{profiles, runtime};

/// One SCTP port on some local addresses.
#[pyclass(frozen, module = "tresse")]
pub(crate) struct Endpoint {
    endpoint: Arc<tresse::Endpoint>,
    process: Process,
}

#[pymethods]
impl Endpoint {
    /// See the stub of this module for all that these say.
    #[staticmethod]
    #[pyo3(signature = (
        local, *, port=None, raw=false, profile="tresse", overrides="", streams=16, no_delay=false,
        concurrent=false, send_buffer=None, receive_buffer=None, max_message=None
    ))]
    fn bind(
        local: Vec<String>,
        port: Option<u16>,
        raw: bool,
        profile: &str,
        overrides: &str,
        streams: u16,
        no_delay: bool,
        concurrent: bool,
        send_buffer: Option<usize>,
        receive_buffer: Option<u32>,
        max_message: Option<usize>,
    ) -> PyResult<Endpoint> {
        let default = AssociationConfig::default();
        let association = AssociationConfig {
            profile: Arc::new(profiles::named(profile, overrides)?),
            outbound_streams: streams,
            no_delay,
            concurrent_transfer: concurrent,
            send_buffer: send_buffer.unwrap_or(default.send_buffer),
            receive_buffer: receive_buffer.unwrap_or(default.receive_buffer),
            max_message_size: max_message.unwrap_or(default.max_message_size),
            ..default
        };
        let carrier = carrier(&local, raw)?;
        let mut config = match port {
            Some(port) => Config::server_over(carrier, port),
            None => Config::client_over(carrier),
        };
        config.sctp = EndpointConfig { association, ..config.sctp };
        let runtime = runtime::handle()?;
        let _entered = runtime.enter();
        let endpoint = tresse::Endpoint::bind(config).map_err(PyErr::from)?;
        Ok(Endpoint { endpoint: Arc::new(endpoint), process: Process::this() })
    }

    /// Opens an association.
    fn connect<'py>(
        &self,
        py: Python<'py>,
        addresses: Vec<String>,
        udp_port: u16,
        port: u16,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.process.check()?;
        let addresses = addresses.iter().map(|text| address(text)).collect::<PyResult<Vec<_>>>()?;
        let peer = Peer::multihomed(addresses, port).on_udp_port(udp_port);
        let endpoint = Arc::clone(&self.endpoint);
        awaitable(py, async move {
            let association = endpoint.connect(peer).await.map_err(closed)?;
            Ok(Association::from(association))
        })
    }

    /// Waits for an association that a peer opens.
    fn accept<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.process.check()?;
        let endpoint = Arc::clone(&self.endpoint);
        awaitable(py, async move { Ok(endpoint.accept().await.ok().map(Association::from)) })
    }

    /// Waits until no association is left.
    fn wait_idle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.process.check()?;
        let endpoint = Arc::clone(&self.endpoint);
        awaitable(py, async move {
            endpoint.wait_idle().await;
            Ok(())
        })
    }

    /// Has no association taken or opened any more.
    fn close(&self) {
        self.endpoint.close();
    }

    /// Aborts all associations.
    fn abort_all(&self, reason: &[u8]) {
        self.endpoint.abort_all(reason);
    }

    /// Local addresses, each with its UDP port.
    #[getter]
    fn addresses(&self) -> Vec<(String, u16)> {
        self.endpoint.local_addrs().iter().map(|a| (a.ip().to_string(), a.port())).collect()
    }

    /// The SCTP port.
    #[getter]
    fn port(&self) -> u16 {
        self.endpoint.sctp_port()
    }

    /// Counters.
    fn stats(&self) -> Vec<(&'static str, u64)> {
        self.endpoint.stats().counters().into_iter().map(|c| (c.name, c.value)).collect()
    }
}

fn address(text: &str) -> PyResult<IpAddr> {
    let wrong = || PyValueError::new_err(format!("\"{text}\" is no IP address"));
    text.parse().map_err(|_| wrong())
}

fn carrier(local: &[String], raw: bool) -> PyResult<Carrier> {
    if local.is_empty() {
        return Err(PyValueError::new_err("an endpoint needs a local address"));
    }
    if raw {
        let local = local.iter().map(|text| address(text)).collect::<PyResult<_>>()?;
        return Ok(Carrier::RawIp { local });
    }
    let socket = |text: &String| {
        let wrong =
            || PyValueError::new_err(format!("\"{text}\" is no IP address with a UDP port"));
        text.parse::<SocketAddr>().map_err(|_| wrong())
    };
    Ok(Carrier::Udp { local: local.iter().map(socket).collect::<PyResult<_>>()? })
}

/// A message that was received.
#[pyclass(frozen, module = "tresse")]
pub(crate) struct Message {
    received: ReceivedMessage,
}

#[pymethods]
impl Message {
    /// The user data.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.received.payload)
    }

    /// The stream it came on.
    #[getter]
    fn stream(&self) -> u16 {
        self.received.stream.0
    }

    /// Payload protocol identifier.
    #[getter]
    fn ppid(&self) -> u32 {
        self.received.ppid.0
    }

    /// Whether it was sent without regard to order.
    #[getter]
    fn unordered(&self) -> bool {
        self.received.unordered
    }

    fn __repr__(&self) -> String {
        let ReceivedMessage { stream, payload, .. } = &self.received;
        format!("Message(stream={}, {} bytes)", stream.0, payload.len())
    }
}

/// An association with a peer.
#[pyclass(frozen, module = "tresse")]
pub(crate) struct Association {
    association: Inner,
    process: Process,
}

impl From<Inner> for Association {
    fn from(association: Inner) -> Association {
        Association { association, process: Process::this() }
    }
}

#[pymethods]
impl Association {
    /// Sends a message.
    #[pyo3(signature = (
        data, stream=0, *, ppid=0, unordered=false, lifetime=None, retransmissions=None
    ))]
    fn send<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        stream: u16,
        ppid: u32,
        unordered: bool,
        lifetime: Option<f64>,
        retransmissions: Option<u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.process.check()?;
        let reliability = match (lifetime, retransmissions) {
            (None, None) => None,
            (Some(seconds), None) => {
                let time = Duration::try_from_secs_f64(seconds);
                Some(Reliability::Timed(
                    time.map_err(|_| PyValueError::new_err(format!("{seconds} s is no lifetime")))?,
                ))
            }
            (None, Some(most)) => Some(Reliability::Retransmissions(most)),
            (Some(_), Some(_)) => {
                let two = "a message is limited by its lifetime or by retransmissions, not by both";
                return Err(PyValueError::new_err(two));
            }
        };
        let options =
            SendOptions { ppid: Ppid(ppid), unordered, reliability, ..SendOptions::default() };
        let (association, data) = (self.association.clone(), Bytes::copy_from_slice(data));
        awaitable(py, async move {
            association.send_with(stream, data, options).await.map_err(|e| match e {
                SendError::Closed(_) => closed(e),
                _ => error(e),
            })
        })
    }

    /// Waits for a message; `None` once all were read and the association has ended.
    fn recv<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.process.check()?;
        let association = self.association.clone();
        awaitable(py, async move {
            Ok(association.recv().await.ok().map(|received| Message { received }))
        })
    }

    /// Waits until everything is delivered, and ends.
    fn shutdown<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.process.check()?;
        let association = self.association.clone();
        awaitable(py, async move { association.shutdown().await.map_err(closed) })
    }

    /// Waits for the end; says how it ended.
    fn closed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.process.check()?;
        let association = self.association.clone();
        awaitable(py, async move { Ok(association.closed().await.to_string()) })
    }

    /// Ends at once.
    fn abort(&self, reason: &[u8]) {
        self.association.abort(reason);
    }

    /// Streams in our direction, and in the peer's.
    #[getter]
    fn streams(&self) -> (u16, u16) {
        (self.association.outbound_streams(), self.association.inbound_streams())
    }

    /// Counters.
    fn stats(&self) -> Vec<(&'static str, u64)> {
        self.association.stats().counters().into_iter().map(|c| (c.name, c.value)).collect()
    }

    /// What is known of each path, as name and value.
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Vec<Described<'py>>> {
        self.association.path_stats().iter().map(|path| describe(py, path)).collect()
    }
}

/// Names and values.
type Described<'py> = Vec<(&'static str, Bound<'py, PyAny>)>;

fn describe<'py>(py: Python<'py>, path: &PathStats) -> PyResult<Described<'py>> {
    let ms = |time: Option<Duration>| time.map(|time| time.as_secs_f64() * 1000.0);
    Ok(vec![
        ("address", path.remote.to_string().into_pyobject(py)?.into_any()),
        ("state", format!("{:?}", path.state).into_pyobject(py)?.into_any()),
        ("primary", path.primary.into_pyobject(py)?.to_owned().into_any()),
        ("cwnd_bytes", path.cwnd.into_pyobject(py)?.into_any()),
        ("flight_bytes", path.flight.into_pyobject(py)?.into_any()),
        ("srtt_ms", ms(path.srtt).into_pyobject(py)?.into_any()),
        ("rto_ms", ms(Some(path.rto)).into_pyobject(py)?.into_any()),
        ("mtu_bytes", path.mtu.into_pyobject(py)?.into_any()),
        ("timeouts", path.timeouts.into_pyobject(py)?.into_any()),
    ])
}
