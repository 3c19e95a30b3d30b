//! What becomes of associations whose program has gone.

use tresse::{CloseReason, Closed, Config, Endpoint};

use super::*;

const PORT: u16 = 7100;

/// A program dies while a peer that reads nothing has closed its window. The peer answers every probe, so
/// nothing ends the association for as long as T5-shutdown-guard runs (five minutes); the engine does not
/// stay that long, and tells the peer.
#[test]
fn a_peer_that_reads_no_more_is_told_when_patience_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut config = Config::server("127.0.0.1:0".parse().unwrap(), PORT);
        config.sctp.association.receive_buffer = 4096;
        let peer = Endpoint::bind(config).unwrap();
        let settings = Settings {
            carrier: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
            peer_udp_port: peer.local_addr().port(),
            ..Settings::default()
        };
        let server = Server::bind(&path, &settings).unwrap();
        let program = tokio::task::spawn_blocking(move || {
            let client = Client::socket(&path, SOCK_STREAM);
            let to = encode_addresses(&[SocketAddr::from(([127, 0, 0, 1], PORT))]);
            client.call(Op::Connect, 0, 0, &to).unwrap();
            while client.call(Op::Name, 1, 0, &[]) == Err(errno::ENOTCONN) {
                std::thread::sleep(Duration::from_millis(2));
            }
            let header =
                TxHeader { kind: kind::DATA, flags: flag::DEFAULTS, ..TxHeader::default() };
            for _ in 0..40 {
                client.send(header, &[7; 1000]);
            }
        });
        let stop = async {
            program.await.unwrap();
            Stop { close: false, patience: Duration::from_millis(100) }
        };
        let (ended, accepted) =
            tokio::join!(server.run(stop, std::future::pending()), peer.accept());
        ended.unwrap();
        let association = accepted.unwrap();
        let told = tokio::time::timeout(Duration::from_secs(30), association.closed()).await;
        let told = told.expect("the peer hears of the end");
        assert!(matches!(told, Closed::Association(CloseReason::PeerAborted { .. })), "{told}");
    });
}

/// RFC 9260 §10 and RFC 6951 §5.5: a host without SCTP says so by ICMP, which is handled like an ABORT.
#[test]
fn where_nobody_speaks_sctp_connections_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // A port that somebody had, and nobody has.
        let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let settings = Settings {
            carrier: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
            peer_udp_port: closed.port(),
            ..Settings::default()
        };
        let server = Server::bind(&path, &settings).unwrap();
        let program = tokio::task::spawn_blocking(move || {
            let client = Client::socket(&path, SOCK_STREAM);
            let to = encode_addresses(&[SocketAddr::from(([127, 0, 0, 1], PORT))]);
            client.call(Op::Connect, 1, 0, &to).map(|_| ())
        });
        let mut refused = Ok(());
        let stop = async {
            refused = program.await.unwrap();
            Stop { close: true, patience: Duration::ZERO }
        };
        server.run(stop, std::future::pending()).await.unwrap();
        assert_eq!(refused, Err(errno::ECONNREFUSED));
    });
}
