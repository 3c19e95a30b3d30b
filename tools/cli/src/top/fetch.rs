//! Reads `/metrics.json`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tresse_observe::Snapshot;

/// How long connecting, and each wait for more, may take.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The most bytes of an answer; 1000 associations of 8 paths are some 8 MB.
const MAX_ANSWER: u64 = 64 << 20;

/// The figures of the process that serves them at `address`.
pub(super) fn snapshot(address: SocketAddr) -> Result<Snapshot, String> {
    let answer = get(address)
        .map_err(|error| format!("http://{address}/metrics.json: {error}; is --metrics given?"))?;
    parse(&answer).ok_or_else(|| format!("http://{address}/metrics.json is not that of Tresse"))
}

fn get(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let request =
        format!("GET /metrics.json HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer)?;
    Ok(answer)
}

fn parse(answer: &[u8]) -> Option<Snapshot> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    answer.starts_with(b"HTTP/1.1 200 ").then_some(())?;
    serde_json::from_slice(&answer[end + 4..]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_document_is_taken() {
        let document = serde_json::to_string(&Snapshot::default()).unwrap();
        let answer = |status: &str, body: &str| format!("HTTP/1.1 {status}\r\nA: b\r\n\r\n{body}");
        assert_eq!(parse(answer("200 OK", &document).as_bytes()), Some(Snapshot::default()));
        assert_eq!(parse(answer("404 Not Found", &document).as_bytes()), None);
        assert_eq!(parse(answer("200 OK", "{}").as_bytes()), None);
        assert_eq!(parse(answer("200 OK", &document[1..]).as_bytes()), None);
        assert_eq!(parse(b"HTTP/1.1 200 OK"), None);
    }
}
