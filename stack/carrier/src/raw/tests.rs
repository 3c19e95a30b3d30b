use std::io::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use socket2::SockFilter;

use super::*;
use crate::PacketSocket;
use crate::on_tokio::tokio;
use crate::{Carriers, Ecn, IcmpKind, IpLabels};

/// A carrier, or a word on stderr that the test is skipped.
fn carrier(local: impl Into<IpAddr>) -> Option<Carriers> {
    let local = local.into();
    if local.is_ipv6() && UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        let how = "sysctl net.ipv6.conf.all.disable_ipv6=0";
        let _ = writeln!(io::stderr(), "skipped: no IPv6 on this host ({how})");
        return None;
    }
    match Carriers::raw(&[local], SocketOptions::default(), &tokio()) {
        Ok(carrier) => Some(carrier),
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            let required = std::env::var_os("TRESSE_REQUIRE_PEERS").is_some_and(|v| v == "1");
            assert!(!required, "{e}, and TRESSE_REQUIRE_PEERS=1 forbids to skip");
            let _ = writeln!(io::stderr(), "skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn to(destination: impl Into<IpAddr>) -> Outgoing {
    Outgoing {
        destination: destination.into(),
        source: None,
        encapsulation: None,
        ecn: Ecn::NotEct,
        labels: IpLabels::default(),
        fragments: IpFragments::Forbidden,
    }
}

/// The first `n` packets that begin with `tag`: other tests may use the same host at the same time.
async fn recv_n(carrier: &mut Carriers, tag: &[u8], n: usize) -> Vec<IncomingPacket> {
    let mut out = Vec::new();
    while out.len() < n {
        ::tokio::time::timeout(Duration::from_secs(5), carrier.recv(&mut out))
            .await
            .expect("packets arrive on loopback")
            .unwrap();
        out.retain(|incoming: &IncomingPacket| incoming.packet.starts_with(tag));
    }
    out
}

#[::tokio::test]
async fn packets_arrive_whole_with_their_addresses_and_marks() {
    let a = Ipv4Addr::new(127, 0, 0, 21);
    let (Some(mut from), Some(mut any)) = (carrier(a), carrier(Ipv4Addr::UNSPECIFIED)) else {
        return;
    };
    let asked = Ipv4Addr::new(127, 0, 0, 22);
    let marks = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    for n in 0..200u8 {
        let mut packet = b"whole".to_vec();
        packet.resize(6 + 7 * usize::from(n), n);
        from.queue(&Outgoing { ecn: marks[usize::from(n / 50)], ..to(asked) }, &packet);
    }
    from.flush().await;
    let got = recv_n(&mut any, b"whole", 200).await;
    for (n, incoming) in got.iter().enumerate() {
        assert_eq!(incoming.packet.len(), 6 + 7 * n);
        assert_eq!(incoming.packet[5], n as u8);
        assert_eq!((incoming.source, incoming.destination), (a.into(), asked.into()));
        assert_eq!((incoming.encapsulation, incoming.ecn), (None, marks[n / 50]));
    }
    let stats = from.stats();
    assert_eq!((stats.datagrams_sent, stats.send_failed, stats.send_too_large), (200, 0, 0));
    assert!(stats.send_calls <= 8, "{} calls: one for each mark and 64 packets", stats.send_calls);

    // The answer leaves from the address that was asked.
    any.queue(&Outgoing { source: Some(asked.into()), ..to(a) }, b"answer");
    any.flush().await;
    assert_eq!(recv_n(&mut from, b"answer", 1).await[0].source, IpAddr::from(asked));
}

#[::tokio::test]
async fn ipv6_passes_too() {
    let local = IpAddr::from(Ipv6Addr::LOCALHOST);
    let (Some(mut from), Some(mut any)) = (carrier(local), carrier(Ipv6Addr::UNSPECIFIED)) else {
        return;
    };
    from.queue(&Outgoing { ecn: Ecn::Ce, ..to(Ipv6Addr::LOCALHOST) }, b"six");
    from.flush().await;
    let got = recv_n(&mut any, b"six", 1).await.remove(0);
    assert_eq!((got.source, got.destination, got.ecn), (local, local, Ecn::Ce));
    assert_eq!(got.packet, "six");
    any.queue(&Outgoing { source: Some(local), ..to(Ipv6Addr::LOCALHOST) }, b"back-6");
    any.flush().await;
    assert_eq!(recv_n(&mut from, b"back-6", 1).await[0].source, local);
}

#[::tokio::test]
async fn errors_of_a_packet_are_counted_and_the_next_one_passes() {
    let (Some(mut a), Some(mut b)) =
        (carrier(Ipv4Addr::new(127, 0, 0, 23)), carrier(Ipv4Addr::new(127, 0, 0, 24)))
    else {
        return;
    };
    let good = to(Ipv4Addr::new(127, 0, 0, 24));
    a.queue(&to(Ipv6Addr::LOCALHOST), b"wrong family");
    a.queue(&to(Ipv4Addr::BROADCAST), b"not permitted");
    a.queue(&good, &[1; 65_530]);
    a.queue(&good, b"passes");
    a.flush().await;
    assert_eq!(recv_n(&mut b, b"passes", 1).await[0].packet, "passes");
    assert_eq!((a.stats().send_failed, a.stats().send_too_large), (2, 1));
}

#[::tokio::test]
async fn a_permission_that_is_missing_is_named() {
    let denied = explain(io::Error::from_raw_os_error(libc::EPERM));
    assert_eq!(denied.kind(), ErrorKind::PermissionDenied);
    let text = denied.to_string();
    assert!(text.contains("CAP_NET_RAW") && text.contains("UDP encapsulation"), "{text}");
    assert_eq!(
        explain(io::Error::from_raw_os_error(libc::EMFILE)).raw_os_error(),
        Some(libc::EMFILE)
    );
    // An address that is not ours is named.
    if let Err(e) =
        Carriers::raw(&[Ipv4Addr::new(192, 0, 2, 1).into()], SocketOptions::default(), &tokio())
    {
        assert!(e.to_string().contains("192.0.2.1"), "{e}");
    }
}

//= RFC 8899 4.5-1
#[::tokio::test]
async fn a_packet_above_the_mtu_of_the_host_says_what_fits() {
    let Some(mut a) = carrier(Ipv4Addr::new(127, 0, 0, 25)) else { return };
    let destination = Ipv4Addr::new(127, 0, 0, 26);
    a.queue(&to(destination), &[1; 65_530]);
    a.flush().await;
    let mut out = Vec::new();
    std::future::poll_fn(|cx| {
        a.poll_icmp(cx, &mut out);
        if out.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    assert_eq!((out[0].destination, &out[0].quoted), (destination.into(), &None));
    assert!(matches!(out[0].kind, IcmpKind::TooBig { mtu: 60_000..=65_536 }), "{out:?}");
    assert_eq!(a.stats().icmp_received, out.len() as u64);
}

/// Lets SCTP in IPv4 and IPv6 pass, and fragments of IPv6 (BPF, over Ethernet): other tests fill the loopback device, and what finds
/// no room in the buffer of the socket is not seen.
fn only_sctp() -> [SockFilter; 10] {
    let load = |bytes, at| SockFilter::new(if bytes == 2 { 0x28 } else { 0x30 }, 0, 0, at);
    let equal = |value, then, otherwise| SockFilter::new(0x15, then, otherwise, value);
    let give = |bytes| SockFilter::new(0x06, 0, 0, bytes);
    [
        load(2, 12),
        equal(0x0800, 0, 2),
        load(1, 23),
        equal(132, 4, 5),
        equal(0x86dd, 0, 4),
        load(1, 20),
        equal(132, 1, 0),
        equal(44, 0, 1),
        give(0xffff),
        give(0),
    ]
}

/// A socket that sees whatever SCTP passes the loopback device.
fn wire() -> Socket {
    const ETH_P_ALL: i32 = 3;
    let protocol = Protocol::from(i32::from((ETH_P_ALL as u16).to_be()));
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol)).unwrap();
    socket.attach_filter(&only_sctp()).unwrap();
    socket.set_recv_buffer_size(4 << 20).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

/// The IP header of the next packet on the wire whose SCTP packet is that.
fn header(wire: &Socket, packet: &[u8]) -> Vec<u8> {
    const ETHERNET: usize = 14;
    loop {
        let mut bytes = vec![0; 2000];
        let len = io::Read::read(&mut &*wire, &mut bytes).unwrap();
        let ip = &bytes[ETHERNET.min(len)..len];
        if let Some(header) = ip.strip_suffix(packet).filter(|header| header.len() < 60) {
            return header.to_vec();
        }
    }
}

#[::tokio::test]
async fn labels_stand_in_the_header() {
    let [flow, none] = [0xa_bcde, 0].map(|n| crate::FlowLabel::new(n).unwrap());
    let dscp = crate::Dscp::new(46).unwrap();
    let labels = IpLabels { dscp, flow };
    let a = Ipv4Addr::new(127, 0, 0, 31);
    let Some(mut four) = carrier(a) else { return };
    let wire = wire();
    four.queue(&Outgoing { ecn: Ecn::Ect0, labels, ..to(a) }, b"labels-4");
    four.flush().await;
    let got = header(&wire, b"labels-4");
    assert_eq!((got[1], got[9]), (46 << 2 | 2, 132));

    let local = IpAddr::from(Ipv6Addr::LOCALHOST);
    let Some(mut six) = carrier(local) else { return };
    let mut any = carrier(Ipv6Addr::UNSPECIFIED).unwrap();
    let here = Outgoing { ecn: Ecn::Ect0, labels, ..to(local) };
    six.queue(&here, b"labels-6");
    six.queue(&here, b"labels-6");
    // What passes anywhere need not be fragmented.
    six.queue(&Outgoing { fragments: IpFragments::Needed, ..here }, b"too-short-to-cut-6");
    // Without a flow label, and what must have it left out.
    six.queue(&Outgoing { labels: IpLabels { dscp, flow: none }, ..here }, b"class-6");
    six.queue(&Outgoing { fragments: IpFragments::Allowed, ..here }, b"may-be-cut-6");
    six.queue(&to(local), b"plain-6");
    six.flush().await;
    let own = |bytes: &[u8]| (bytes[..4].to_vec(), bytes[6], bytes[8..24] == bytes[24..40]);
    let (with, without) = (vec![0x6b, 0xaa, 0xbc, 0xde], vec![0x6b, 0xa0]);
    for packet in [&b"labels-6"[..], b"too-short-to-cut-6"] {
        assert_eq!(own(&header(&wire, packet)), (with.clone(), 132, true));
    }
    for packet in [&b"class-6"[..], b"may-be-cut-6"] {
        let (first, protocol, same) = own(&header(&wire, packet));
        // The system may have a label of its own.
        assert_eq!(
            (first[0], first[1] & 0xf0, protocol, same),
            (without[0], without[1], 132, true)
        );
        assert_ne!(first[1..], [0xaa, 0xbc, 0xde]);
    }
    assert_eq!(own(&header(&wire, b"plain-6")).0[0], 0x60);
    let stats = six.stats();
    assert_eq!((stats.datagrams_sent, stats.send_failed, stats.bytes_sent), (6, 0, 60));
    let got = recv_n(&mut any, b"labels-6", 2).await;
    assert!(got.iter().all(|p| p.source == local && p.ecn == Ecn::Ect0 && p.packet == "labels-6"));
}

#[::tokio::test]
async fn a_full_socket_is_still_there() {
    let local = Ipv4Addr::new(127, 0, 0, 32);
    let sender = Ipv4Addr::new(127, 0, 0, 33);
    let Some(mut from) = carrier(sender) else { return };
    let options = SocketOptions { receive_buffer: 2048, ..SocketOptions::default() };
    let _full = RawCarrier::bind(local.into(), options, &tokio()).unwrap();
    let icmp = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)).unwrap();
    icmp.bind(&SocketAddr::new(sender.into(), 0).into()).unwrap();
    icmp.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    for _ in 0..50 {
        from.queue(&to(local), &[0; 500]);
    }
    from.flush().await;
    let mut heard = [0; 2000];
    let answer = io::Read::read(&mut &icmp, &mut heard);
    assert!(answer.is_err(), "ICMP of type {} and code {}", heard[20], heard[21]);
}

/// The lengths of the next `n` fragments on the wire that bear this flow label.
fn fragments(wire: &Socket, flow: [u8; 3], n: usize) -> Vec<usize> {
    const ETHERNET: usize = 14;
    let mut lengths = Vec::new();
    while lengths.len() < n {
        let mut bytes = vec![0; 70_000];
        let len = io::Read::read(&mut &*wire, &mut bytes).unwrap();
        let ip = &bytes[ETHERNET..];
        if (ip[0] >> 4, ip[6]) == (6, 44) && [ip[1] & 0x0f, ip[2], ip[3]] == flow {
            lengths.push(len - ETHERNET);
        }
    }
    lengths
}

//= RFC 9260 6.9-6
#[::tokio::test]
async fn what_was_made_for_a_larger_mtu_leaves_by_ipv6_in_fragments() {
    let local = IpAddr::from(Ipv6Addr::LOCALHOST);
    let (Some(mut bound), Some(mut any)) = (carrier(local), carrier(Ipv6Addr::UNSPECIFIED)) else {
        return;
    };
    let (wire, mut to_any) = (wire(), carrier(local).unwrap());
    let flow = crate::FlowLabel::new(0xf_7a95).unwrap();
    let labels = IpLabels { flow, ..IpLabels::default() };
    let way = Outgoing { ecn: Ecn::Ect0, labels, fragments: IpFragments::Needed, ..to(local) };
    let packet = |tag: &[u8], len| [tag.to_vec(), vec![7; len - tag.len()]].concat();
    // From a socket that has its source, and from one where the system chooses it.
    for (n, from) in [&mut bound, &mut any].into_iter().enumerate() {
        let tag = [&b"in fragments "[..], &[n as u8]].concat();
        let lengths = [1240, 1241, 1448, 8952, 60_000];
        for len in lengths {
            from.queue(&way, &packet(&tag, len));
        }
        from.queue(&way, &packet(&tag, 65_536));
        from.flush().await;
        let got = recv_n(&mut to_any, &tag, lengths.len()).await;
        for (incoming, len) in got.iter().zip(lengths) {
            assert!(incoming.packet == packet(&tag, len), "{len}, {}", incoming.packet.len());
            assert_eq!((incoming.source, incoming.ecn), (local, Ecn::Ect0));
        }
        let stats = from.stats();
        let sent = (stats.datagrams_sent, stats.bytes_sent, stats.send_calls);
        assert_eq!(sent, (5, lengths.iter().sum::<usize>() as u64, 5));
        assert_eq!((stats.send_too_large, stats.send_failed), (1, 0));
        let parts = |len: usize| if len <= 1240 { 0 } else { len.div_ceil(1232) };
        // Loopback shows a packet as it leaves, and again as it arrives.
        let seen = 2 * lengths.map(parts).iter().sum::<usize>();
        let seen = fragments(&wire, [0x0f, 0x7a, 0x95], seen);
        assert_eq!(seen.iter().max(), Some(&1280));
    }
}
