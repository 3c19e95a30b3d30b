use std::io::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use super::*;
use crate::on_tokio::tokio;
use crate::{Ecn, IpFragments};

fn carrier(local: &str) -> UdpCarrier {
    UdpCarrier::bind(local.parse().unwrap(), SocketOptions::default(), &tokio()).unwrap()
}

fn to(carrier: &UdpCarrier, address: impl Into<IpAddr>) -> Outgoing {
    Outgoing {
        destination: address.into(),
        source: None,
        encapsulation: Some(carrier.local_addr().port()),
        ecn: Ecn::NotEct,
        labels: IpLabels::default(),
        fragments: IpFragments::Forbidden,
    }
}

async fn recv_n(carrier: &mut UdpCarrier, n: usize) -> Vec<IncomingPacket> {
    let mut out = Vec::new();
    while out.len() < n {
        ::tokio::time::timeout(Duration::from_secs(5), carrier.recv(&mut out))
            .await
            .expect("datagrams arrive on loopback")
            .unwrap();
    }
    out
}

//= RFC 6951 5.3-1 5.3-2
#[::tokio::test]
async fn packets_keep_their_bounds_order_and_addresses() {
    let (mut a, mut b) = (carrier("127.0.0.1:0"), carrier("0.0.0.0:0"));
    let sizes: Vec<usize> = (0..300).map(|n| if n % 7 == 0 { 60 } else { 1400 }).collect();
    let packets: Vec<_> = sizes
        .iter()
        .enumerate()
        .map(|(n, size)| (to(&b, Ipv4Addr::LOCALHOST), Bytes::from(vec![n as u8; *size])))
        .collect();
    a.send(&packets).await;
    let got = recv_n(&mut b, packets.len()).await;
    assert_eq!(got.len(), packets.len());
    for (got, (_, sent)) in got.iter().zip(&packets) {
        assert_eq!(got.packet, sent);
        assert_eq!(got.source, a.local_addr().ip());
        assert_eq!(got.destination, IpAddr::from(Ipv4Addr::LOCALHOST));
        assert_eq!(got.encapsulation, Some(a.local_addr().port()));
    }
    let (sent, received) = (a.stats(), b.stats());
    assert_eq!((sent.datagrams_sent, received.datagrams_received), (300, 300));
    assert_eq!(sent.bytes_sent, received.bytes_received);
    assert_eq!(sent.send_failed + sent.send_too_large + received.recv_failed, 0);
}

//= RFC 6951 5.3-1
#[::tokio::test]
async fn answers_leave_from_the_address_that_was_asked() {
    let (mut a, mut b) = (carrier("127.0.0.1:0"), carrier("0.0.0.0:0"));
    let asked = Ipv4Addr::new(127, 0, 0, 9);
    a.send(&[(to(&b, asked), Bytes::from_static(b"ask"))]).await;
    let question = recv_n(&mut b, 1).await.remove(0);
    assert_eq!(question.destination, IpAddr::from(asked));
    let answer = Outgoing {
        destination: question.source,
        source: Some(question.destination),
        encapsulation: question.encapsulation,
        ecn: Ecn::NotEct,
        labels: IpLabels::default(),
        fragments: IpFragments::Forbidden,
    };
    b.send(&[(answer, Bytes::from_static(b"answer"))]).await;
    assert_eq!(recv_n(&mut a, 1).await[0].source, IpAddr::from(asked));
}

#[::tokio::test]
async fn a_dual_stack_socket_speaks_both_families() {
    let Ok(mut dual) =
        UdpCarrier::bind((Ipv6Addr::UNSPECIFIED, 0).into(), SocketOptions::default(), &tokio())
    else {
        let _ = writeln!(
            io::stderr(),
            "skipped: no IPv6 on this host (sysctl net.ipv6.conf.all.disable_ipv6=0)"
        );
        return;
    };
    let mut v4 = carrier("127.0.0.1:0");
    v4.send(&[(to(&dual, Ipv4Addr::LOCALHOST), Bytes::from_static(b"four"))]).await;
    let four = recv_n(&mut dual, 1).await.remove(0);
    assert_eq!(four.source, IpAddr::from(Ipv4Addr::LOCALHOST));
    assert_eq!(four.destination, IpAddr::from(Ipv4Addr::LOCALHOST));
    let back = Outgoing { source: Some(four.destination), ..to(&v4, Ipv4Addr::LOCALHOST) };
    dual.send(&[(back, Bytes::from_static(b"back"))]).await;
    assert_eq!(recv_n(&mut v4, 1).await[0].packet, "back");

    let Ok(mut v6) =
        UdpCarrier::bind((Ipv6Addr::LOCALHOST, 0).into(), SocketOptions::default(), &tokio())
    else {
        let _ = writeln!(
            io::stderr(),
            "skipped: no IPv6 loopback address on this host (sysctl net.ipv6.conf.all.disable_ipv6=0)"
        );
        return;
    };
    v6.send(&[(to(&dual, Ipv6Addr::LOCALHOST), Bytes::from_static(b"six"))]).await;
    let six = recv_n(&mut dual, 1).await.remove(0);
    assert_eq!((six.source, six.packet), (Ipv6Addr::LOCALHOST.into(), "six".into()));
    assert_eq!(six.destination, IpAddr::from(Ipv6Addr::LOCALHOST));
}

//= RFC 6951 5.8-1
#[::tokio::test]
async fn ecn_bits_pass() {
    let (mut a, mut b) = (carrier("127.0.0.1:0"), carrier("127.0.0.1:0"));
    let marks = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    let packets: Vec<_> = marks
        .iter()
        .map(|ecn| {
            (Outgoing { ecn: *ecn, ..to(&b, Ipv4Addr::LOCALHOST) }, Bytes::from_static(b"same"))
        })
        .collect();
    a.send(&packets).await;
    let got: Vec<Ecn> = recv_n(&mut b, 4).await.iter().map(|p| p.ecn).collect();
    assert_eq!(got, marks);
}

/// What a plain socket gets: the TOS byte or Traffic Class and the length of each of `n` datagrams.
#[cfg(target_os = "linux")]
fn classes(socket: &Socket, n: usize) -> Vec<(u8, usize)> {
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
    use std::os::fd::AsRawFd;

    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut control = nix::cmsg_space!(i32, i32);
    let mut one = || {
        let mut bytes = [0; 2000];
        let mut iov = [io::IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::empty();
        let got = recvmsg::<()>(socket.as_raw_fd(), &mut iov, Some(&mut control), flags).unwrap();
        let class = got.cmsgs().unwrap().find_map(|message| match message {
            ControlMessageOwned::Ipv4Tos(class) => Some(class),
            ControlMessageOwned::Ipv6TClass(class) => u8::try_from(class).ok(),
            _ => None,
        });
        (class.unwrap(), got.bytes)
    };
    (0..n).map(|_| one()).collect()
}

#[cfg(target_os = "linux")]
#[::tokio::test]
async fn a_dscp_is_sent_with_the_ecn_field_and_in_batches() {
    for (here, from) in
        [("127.0.0.1:0", "[::]:0"), ("127.0.0.1:0", "0.0.0.0:0"), ("[::1]:0", "[::]:0")]
    {
        let here: SocketAddr = here.parse().unwrap();
        let socket = Socket::new(Domain::for_address(here), Type::DGRAM, None).unwrap();
        if UdpSocket::bind(from).is_err() || socket.bind(&here.into()).is_err() {
            let _ = writeln!(
                io::stderr(),
                "skipped: no IPv6 on this host (sysctl net.ipv6.conf.all.disable_ipv6=0)"
            );
            continue;
        }
        let (v4, here) = (here.is_ipv4(), socket.local_addr().unwrap().as_socket().unwrap());
        if v4 { socket.set_recv_tos_v4(true) } else { socket.set_recv_tclass_v6(true) }.unwrap();
        let mut carrier = carrier(from);
        let best_effort = Outgoing {
            destination: here.ip(),
            source: None,
            encapsulation: Some(here.port()),
            ecn: Ecn::NotEct,
            labels: IpLabels::default(),
            fragments: IpFragments::Forbidden,
        };
        let dscp = crate::Dscp::new(46).unwrap();
        let flow = FlowLabel::new(77).unwrap();
        let expedited = Outgoing {
            source: Some(here.ip()),
            ecn: Ecn::Ect0,
            labels: IpLabels { dscp, flow },
            ..best_effort
        };
        let packets = [
            (best_effort, 100),
            (expedited, 300),
            (expedited, 300),
            (expedited, 300),
            (expedited, 20),
            (best_effort, 100),
        ];
        let packets = packets.map(|(to, len)| (to, Bytes::from(vec![1; len])));
        carrier.send(&packets).await;
        let marked = |len| (46 << 2 | 2, len);
        let expected = [(0, 100), marked(300), marked(300), marked(300), marked(20), (0, 100)];
        assert_eq!(classes(&socket, 6), expected, "{from} to {here}");
        let stats = carrier.stats();
        assert_eq!((stats.datagrams_sent, stats.send_failed, stats.bytes_sent), (6, 0, 1120));
        assert!(stats.send_calls == 3 || carrier.state.max_gso_segments() == 1, "{stats:?}");
    }
}

#[::tokio::test]
async fn errors_of_a_datagram_are_counted_and_the_next_one_passes() {
    let (mut a, mut b) = (carrier("127.0.0.1:0"), carrier("127.0.0.1:0"));
    let good = to(&b, Ipv4Addr::LOCALHOST);
    // Nobody listens there: the kernel answers with ICMP, which must not disturb later sends.
    let closed = {
        let c = carrier("127.0.0.1:0");
        to(&c, Ipv4Addr::LOCALHOST)
    };
    let wrong_family = Outgoing { destination: Ipv6Addr::LOCALHOST.into(), ..good };
    let no_port = Outgoing { encapsulation: Some(0), ..good };
    let too_large = Bytes::from(vec![1; 65_530]);
    a.send(&[
        (closed, Bytes::from_static(b"lost")),
        (wrong_family, Bytes::from_static(b"lost")),
        (no_port, Bytes::from_static(b"lost")),
        (good, too_large.clone()),
        (good, too_large),
        (good, Bytes::from_static(b"first")),
        (good, Bytes::from_static(b"later")),
    ])
    .await;
    let got = recv_n(&mut b, 2).await;
    assert_eq!((&got[0].packet[..], &got[1].packet[..]), (&b"first"[..], &b"later"[..]));
    assert_eq!((a.stats().send_too_large, a.stats().send_failed), (2, 2));
}

#[::tokio::test]
async fn a_bad_source_address_does_not_end_segmentation() {
    let (mut a, mut b) = (carrier("0.0.0.0:0"), carrier("127.0.0.1:0"));
    let before = a.state.max_gso_segments();
    let good = to(&b, Ipv4Addr::LOCALHOST);
    let bad = Outgoing { source: Some(Ipv4Addr::BROADCAST.into()), ..good };
    let packet = Bytes::from_static(b"packet");
    a.send(&[(bad, packet.clone())]).await;
    a.send(&[(bad, packet.clone()), (bad, packet.clone()), (good, packet)]).await;
    assert_eq!(recv_n(&mut b, 1).await[0].packet, "packet");
    assert_eq!((a.stats().send_failed, a.stats().datagrams_sent), (3, 1));
    assert_eq!(a.state.max_gso_segments(), before);
}

#[::tokio::test]
async fn empty_datagrams_are_dropped() {
    let mut b = carrier("127.0.0.1:0");
    let plain = UdpSocket::bind("127.0.0.1:0").unwrap();
    plain.send_to(&[], b.local_addr()).unwrap();
    plain.send_to(b"x", b.local_addr()).unwrap();
    assert_eq!(recv_n(&mut b, 1).await[0].packet, "x");
    assert_eq!(b.stats().recv_invalid, 1);
}

#[::tokio::test]
async fn a_full_socket_buffer_loses_nothing() {
    let options = SocketOptions { send_buffer: 1, receive_buffer: 16 << 20, shard: None };
    let mut a = UdpCarrier::bind("127.0.0.1:0".parse().unwrap(), options, &tokio()).unwrap();
    let mut b = UdpCarrier::bind("127.0.0.1:0".parse().unwrap(), options, &tokio()).unwrap();
    let goal = to(&b, Ipv4Addr::LOCALHOST);
    let mut sent = 0u32;
    let mut out = Vec::new();
    while sent < 2_000 {
        for _ in 0..50 {
            let mut packet = sent.to_be_bytes().to_vec();
            packet.resize(1_000, 7);
            a.queue(&goal, &packet);
            sent += 1;
        }
        a.flush().await;
        while out.len() < sent as usize {
            b.recv(&mut out).await.unwrap();
        }
    }
    for (n, got) in out.iter().enumerate() {
        assert_eq!(got.packet[..4], (n as u32).to_be_bytes());
    }
}

fn given(socket: UdpSocket) -> io::Result<UdpCarrier> {
    UdpCarrier::from_socket(socket, SocketOptions::default(), &tokio())
}

#[::tokio::test]
async fn a_socket_that_is_bound_already_carries_packets() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let local = socket.local_addr().unwrap();
    let mut a = given(socket).unwrap();
    assert_eq!(a.local_addr(), local);
    let mut b = carrier("127.0.0.1:0");
    b.send(&[(to(&a, Ipv4Addr::LOCALHOST), Bytes::from_static(b"there"))]).await;
    assert_eq!(recv_n(&mut a, 1).await[0].packet, "there");
    a.send(&[(to(&b, Ipv4Addr::LOCALHOST), Bytes::from_static(b"back"))]).await;
    assert_eq!(recv_n(&mut b, 1).await[0].packet, "back");
}

#[::tokio::test]
async fn the_buffers_of_a_socket_are_enlarged_and_never_reduced() {
    let with = |receive_buffer| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let seen = socket.try_clone().unwrap();
        let size = || SockRef::from(&seen).recv_buffer_size().unwrap();
        let before = size();
        let options = SocketOptions { receive_buffer, ..SocketOptions::default() };
        let _carrier = UdpCarrier::from_socket(socket, options, &tokio()).unwrap();
        (before, size())
    };
    let (before, after) = with(1);
    assert_eq!(before, after);
    let (before, after) = with(before + 4096);
    assert!(after >= before, "{before} {after}");
}

#[::tokio::test]
async fn a_socket_that_is_of_no_use_is_refused() {
    let refused = |socket: UdpSocket| {
        let error = given(socket).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        error.to_string()
    };
    let unbound = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    assert!(refused(unbound.into()).contains("not bound"));

    let connected = UdpSocket::bind("127.0.0.1:0").unwrap();
    connected.connect("127.0.0.1:9").unwrap();
    assert!(refused(connected).contains("is connected to 127.0.0.1:9"));

    let Ok(only) = Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP)) else {
        let _ = writeln!(
            io::stderr(),
            "skipped: no IPv6 on this host (sysctl net.ipv6.conf.all.disable_ipv6=0)"
        );
        return;
    };
    only.set_only_v6(true).unwrap();
    let any: SocketAddr = (Ipv6Addr::UNSPECIFIED, 0).into();
    only.bind(&any.into()).unwrap();
    assert!(refused(only.into()).contains("IPV6_V6ONLY"));

    let mapped = Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    mapped.set_only_v6(false).unwrap();
    let address: SocketAddr = "[::ffff:127.0.0.1]:0".parse().unwrap();
    mapped.bind(&address.into()).unwrap();
    assert!(refused(mapped.into()).contains("bind one of IPv4"));
}
