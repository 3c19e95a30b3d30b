use std::net::Ipv4Addr;
use std::time::Duration;

use super::*;
use crate::on_tokio::tokio;
use crate::{Ecn, IcmpKind, IpFragments, IpLabels};

fn to(destination: SocketAddr, source: Option<IpAddr>) -> Outgoing {
    Outgoing {
        destination: destination.ip(),
        source,
        encapsulation: Some(destination.port()),
        ecn: Ecn::NotEct,
        labels: IpLabels::default(),
        fragments: IpFragments::Forbidden,
    }
}

fn at_port(last: u8, port: u16) -> SocketAddr {
    (Ipv4Addr::new(127, 0, 0, last), port).into()
}

#[::tokio::test]
async fn several_addresses_share_a_port_and_each_sends_from_its_own_socket() {
    let options = SocketOptions::default();
    let mut a = Carriers::udp(&[at_port(31, 0), at_port(32, 0)], options, &tokio()).unwrap();
    let mut b = Carriers::udp(&[at_port(33, 0)], options, &tokio()).unwrap();
    let (ours, theirs) = (a.local_addrs(), b.local_addrs()[0]);
    assert_eq!(ours[0].port(), ours[1].port());
    for source in [Some(ours[1].ip()), Some(ours[0].ip()), None, Some(theirs.ip())] {
        a.queue(&to(theirs, source), b"packet");
        a.flush().await;
    }
    let mut out = Vec::new();
    while out.len() < 4 {
        b.recv(&mut out).await.unwrap();
    }
    let mut sources: Vec<IpAddr> = out.iter().map(|incoming| incoming.source).collect();
    sources.sort();
    // Without a source that is ours, the first socket sends.
    assert_eq!(sources, [ours[0].ip(), ours[0].ip(), ours[0].ip(), ours[1].ip()]);
    for address in &ours {
        b.queue(&to(*address, None), b"answer");
    }
    b.flush().await;
    let mut out = Vec::new();
    while out.len() < 2 {
        a.recv(&mut out).await.unwrap();
    }
    assert_eq!((out[0].destination, out[1].destination), (ours[0].ip(), ours[1].ip()));
    assert_eq!((a.stats().datagrams_sent, a.stats().datagrams_received), (4, 2));
}

#[::tokio::test]
async fn addresses_that_cannot_go_together_are_refused() {
    let options = SocketOptions::default();
    assert_eq!(
        Carriers::udp(&[], options, &tokio()).unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );
    let two_ports =
        Carriers::udp(&[at_port(34, 9100), at_port(35, 9101)], options, &tokio()).unwrap_err();
    assert!(two_ports.to_string().contains("same UDP port"), "{two_ports}");
    let taken = Carriers::udp(&[at_port(36, 0)], options, &tokio()).unwrap();
    let again = Carriers::udp(&taken.local_addrs(), options, &tokio()).unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::AddrInUse);
    assert!(again.to_string().contains("127.0.0.36"), "{again}");
}

#[::tokio::test]
async fn a_destination_without_a_socket_counts_as_failed() {
    let mut a = Carriers::udp(&[at_port(37, 0)], SocketOptions::default(), &tokio()).unwrap();
    a.queue(&to("[::1]:9899".parse().unwrap(), None), b"lost");
    a.flush().await;
    assert_eq!((a.stats().send_failed, a.stats().datagrams_sent), (1, 0));
}

#[test]
fn the_socket_of_the_source_is_chosen_if_it_reaches_the_destination() {
    let socket = |text: &str| text.parse::<SocketAddr>().unwrap();
    let sockets = [socket("[::]:9"), socket("10.0.0.1:9"), socket("10.0.1.1:9")];
    let chosen = |destination: &str, source: Option<&str>| {
        let destination = SocketAddr::new(destination.parse().unwrap(), 1);
        choose(|i| sockets.get(i).copied(), &to(destination, source.map(|s| s.parse().unwrap())))
    };
    assert_eq!(chosen("10.0.0.9", Some("10.0.1.1")), Some(2));
    assert_eq!(chosen("10.0.0.9", Some("10.7.7.7")), Some(0));
    assert_eq!(chosen("2001:db8::1", Some("10.0.1.1")), Some(0));
    // On raw IP a wildcard socket serves one family.
    let raw = [socket("[::]:0"), socket("0.0.0.0:0")];
    assert_eq!(choose(|i| raw.get(i).copied(), &to(at_port(1, 1), None)), Some(1));
    assert_eq!(choose(|i| raw[..1].get(i).copied(), &to(at_port(1, 1), None)), None);
}

/// Nobody listens on the port: the peer's host says so, and quotes the packet.
#[cfg(target_os = "linux")]
#[::tokio::test]
async fn an_icmp_message_is_told_with_the_packet_that_caused_it() {
    let mut a = Carriers::udp(&[at_port(38, 0)], SocketOptions::default(), &tokio()).unwrap();
    let closed = {
        let b = Carriers::udp(&[at_port(39, 0)], SocketOptions::default(), &tokio()).unwrap();
        b.local_addrs()[0]
    };
    for round in 0..3u8 {
        a.queue(&to(closed, None), &[round; 40]);
        a.flush().await;
        let mut out = Vec::new();
        let told = poll_fn(|cx| {
            a.poll_icmp(cx, &mut out);
            if out.is_empty() { Poll::Pending } else { Poll::Ready(()) }
        });
        ::tokio::time::timeout(Duration::from_secs(5), told)
            .await
            .expect("the error wakes the task");
        assert_eq!(out[0].destination, closed.ip());
        assert_eq!((out[0].encapsulation, out[0].kind), (Some(closed.port()), IcmpKind::NoSctp));
        assert_eq!(out[0].quoted.as_deref(), Some(&[round; 40][..]));
    }
    // No packet was given up for it.
    assert_eq!((a.stats().datagrams_sent, a.stats().send_failed), (3, 0));
}

#[::tokio::test]
async fn sockets_that_are_bound_already_have_one_port() {
    let sockets = |ports: &[u16]| -> Vec<UdpSocket> {
        let bound = ports.iter().zip(34..);
        bound.map(|(port, last)| UdpSocket::bind(at_port(last, *port)).unwrap()).collect()
    };
    let of = |sockets| Carriers::from_sockets(sockets, SocketOptions::default(), &tokio());
    let error = of(Vec::new()).unwrap_err();
    assert!(error.to_string().contains("at least one"), "{error}");
    let error = of(sockets(&[0, 0])).unwrap_err();
    assert!(error.to_string().contains("the same UDP port"), "{error}");
    let mut first = sockets(&[0]);
    let port = first[0].local_addr().unwrap().port();
    first.push(UdpSocket::bind(at_port(35, port)).unwrap());
    assert_eq!(of(first).unwrap().local_addrs(), [at_port(34, port), at_port(35, port)]);
}
