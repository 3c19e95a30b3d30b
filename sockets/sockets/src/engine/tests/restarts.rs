//! A peer that crashed and came back (RFC 9260 §5.2.4 A) while messages of its first life were not read.

use std::ops::Range;

use tresse::{Config, Driver, Endpoint};

use super::*;
use tresse_socket_protocol::abi::Fields;

/// Bytes of a message: some hundred are more than the program's end of its connection holds.
const SIZE: usize = 1000;
const FIRST_LIFE: Range<u32> = 0..400;
const SECOND_LIFE: Range<u32> = 400..410;

/// An endpoint of its own, always of the same ports.
fn open(here: SocketAddr) -> (Endpoint, Driver) {
    let mut config = Config::client(here);
    config.sctp.local_port = 6000;
    Endpoint::open(config).unwrap()
}

/// Opens an association from `here`, sends these messages, and dies without a word once all were acknowledged.
async fn live(here: SocketAddr, there: SocketAddr, messages: Range<u32>) {
    let (endpoint, driver) = open(here);
    let driver = tokio::spawn(driver);
    let association = endpoint.connect((there, 7000)).await.unwrap();
    for n in messages {
        let mut message = vec![0; SIZE];
        message[..4].copy_from_slice(&n.to_be_bytes());
        association.send(0, message).await.unwrap();
    }
    while association.stats().send_buffered > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    driver.abort();
    let _ = driver.await;
}

/// Runs an engine with a socket that listens, and hears of everything, and a peer that lives as often as it is called.
fn with_a_peer(work: impl FnOnce(&Client, &dyn Fn(Range<u32>)) + Send + 'static) {
    let engine = Arc::new(std::sync::OnceLock::new());
    let told = Arc::clone(&engine);
    let prepare = move |server: &mut Server| told.set(server.udp_addr()).unwrap();
    let client = move |path: &Path| {
        let there = *engine.get().unwrap();
        let listener = Client::socket(path, SOCK_STREAM);
        listener.bind("127.0.0.1:7000").unwrap();
        // SCTP_EVENTS
        listener.set((SCTP, 11), &[1; 6]).unwrap();
        listener.call(Op::Listen, 5, 0, &[]).unwrap();
        let here = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        work(&listener, &|messages| runtime.block_on(live(here, there, messages)));
    };
    run_engine(prepare, |_| {}, client);
}

fn accept(listener: &Client) -> Client {
    let (header, _) = listener.receive();
    let server = Client::open(&listener.path, Op::Accept, header.association.into(), 0);
    set_socket_timeout(&server.fd, Timeout::Recv, Some(Duration::from_secs(20))).unwrap();
    server
}

#[test]
fn messages_of_the_first_life_come_before_the_news_of_the_second_one() {
    with_a_peer(|listener, live| {
        live(FIRST_LIFE);
        let server = accept(listener);
        live(SECOND_LIFE);
        let mut read = Vec::new();
        let mut restarted = Vec::new();
        while read.len() < SECOND_LIFE.end as usize {
            let (header, body) = server.receive();
            match header.kind {
                kind::DATA => read.push(u32::from_be_bytes(*body.first_chunk().unwrap())),
                // SCTP_ASSOC_CHANGE: SCTP_RESTART.
                kind::NOTIFICATION
                    if (Fields(&body).u16(0), Fields(&body).u16(8)) == (0x8001, 2) =>
                {
                    restarted.push(read.len());
                }
                _ => {}
            }
        }
        let all: Vec<u32> = (0..SECOND_LIFE.end).collect();
        assert_eq!(read, all);
        assert_eq!(restarted, [FIRST_LIFE.end as usize]);
    });
}

/// As in the kernel, where all of it waits in one queue. SCTP_COMM_UP is the first thing that is read of an association, also if
/// its peer has restarted before it was accepted.
#[test]
fn what_each_life_has_said_is_read_before_the_news_of_the_next_one() {
    with_a_peer(|listener, live| {
        for messages in [0..3, 3..5, 5..6] {
            live(messages);
        }
        let server = accept(listener);
        let mut read = Vec::new();
        while !read.contains(&"5".to_string()) {
            let (header, body) = server.receive();
            match header.kind {
                kind::DATA => {
                    read.push(u32::from_be_bytes(*body.first_chunk().unwrap()).to_string());
                }
                kind::NOTIFICATION if Fields(&body).u16(0) == 0x8001 => {
                    read.push(format!("change {}", Fields(&body).u16(8)));
                }
                _ => {}
            }
        }
        assert_eq!(read, ["change 0", "0", "1", "2", "change 2", "3", "4", "change 2", "5"]);
    });
}
