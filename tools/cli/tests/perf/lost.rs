//! What is lost between the two.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::json;
use super::processes::{Process, Server};

/// Whether an SCTP packet bears user data of a stream.
fn bears(packet: &[u8], stream: u16) -> bool {
    let mut chunks = packet.get(12..).unwrap_or_default();
    while let [kind, _, high, low, ..] = *chunks {
        let len = usize::from(u16::from_be_bytes([high, low]));
        if kind == 0 && chunks.get(8..10) == Some(&stream.to_be_bytes()) {
            return true;
        }
        chunks = chunks.get(len.max(4).next_multiple_of(4)..).unwrap_or_default();
    }
    false
}

/// A way to a server on which the first packet is lost that has user data of that stream; its address, and
/// how many were lost.
fn way_to(server: SocketAddr, stream: u16) -> (SocketAddr, Arc<AtomicUsize>) {
    let [front, back] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    back.connect(server).unwrap();
    let (address, lost) = (front.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&lost);
    thread::spawn(move || {
        let mut buffer = [0; 65536];
        let (len, client) = front.recv_from(&mut buffer).unwrap();
        front.connect(client).unwrap();
        back.send(&buffer[..len]).unwrap();
        let (there, here) = (back.try_clone().unwrap(), front.try_clone().unwrap());
        thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(len) = here.recv(&mut buffer) {
                let _ = there.send(&buffer[..len]);
            }
        });
        while let Ok(len) = back.recv(&mut buffer) {
            if bears(&buffer[..len], stream) && counter.load(Ordering::Relaxed) == 0 {
                counter.fetch_add(1, Ordering::Relaxed);
            } else {
                let _ = front.send(&buffer[..len]);
            }
        }
    });
    (address, lost)
}

/// The server's data may come before its answer, since they are on different streams.
#[test]
fn a_server_whose_answer_is_lost_may_send_already() {
    let server = Server::start(&[]);
    for load in [
        &["--reverse", "--messages", "3000"][..],
        &["--flow", "const0:const0:const100:const500", "-t", "1"],
    ] {
        let (address, lost) = way_to(server.address.parse().unwrap(), 0);
        let address = address.to_string();
        let all: Vec<&str> = ["client", &address, "--json"].iter().chain(load).copied().collect();
        let result = json(&Process::start(&all).end());
        assert_eq!(result["error"], serde_json::Value::Null);
        assert_eq!(lost.load(Ordering::Relaxed), 1, "nothing was lost");
    }
}
