//! DSCP and flow label of packets: SCTP_PEER_ADDR_PARAMS (RFC 6458 §8.1.12), IP_TOS, IPV6_TCLASS.

use std::sync::Mutex;

use tresse::{Direction, IpLabels, ObservedPacket, Observer};

use super::*;
use tresse_socket_protocol::abi::{Fields, SOL_IP, SOL_IPV6, Struct};

const PEER_ADDR_PARAMS: (i32, i32) = (SCTP, 9);
const IP_TOS: (i32, i32) = (SOL_IP, 1);
const FLOW_LABEL: u32 = 256;
const DSCP: u32 = 512;

/// The SCTP port that each packet left from, and the number of its DSCP.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(u16, u8)>>>);

impl Observer for Seen {
    fn packet(&mut self, observed: &ObservedPacket<'_>) {
        let IpLabels { dscp, .. } = observed.labels;
        if observed.direction == Direction::Out {
            let port = u16::from_be_bytes([observed.packet[0], observed.packet[1]]);
            self.0.lock().unwrap().push((port, dscp.number()));
        }
    }
}

impl Seen {
    /// The DSCPs of what left since the last time: from that port, and from others.
    fn take(&self, port: u16) -> [Vec<u8>; 2] {
        let seen = std::mem::take(&mut *self.0.lock().unwrap());
        [true, false].map(|here| {
            let those = seen.iter().filter(|(from, _)| (*from == port) == here);
            those.map(|(_, dscp)| *dscp).collect()
        })
    }
}

fn params(peer: Option<&str>, flags: u32, flow: u32, class: u8) -> Vec<u8> {
    let mut s = Struct::default();
    match peer {
        Some(peer) => s.u32(0).storage(peer.parse().unwrap()),
        None => s.bytes(&[0; 132]),
    };
    s.u32(0).u16(0).u32(0).u32(0).u32(flags).u32(flow).u8(class).u8(0);
    s.0
}

/// Which of the two flags are set, `spp_ipv6_flowlabel` and `spp_dscp`.
fn told(client: &Client, peer: Option<&str>) -> (u32, u32, u8) {
    let value = client.get(PEER_ADDR_PARAMS, &params(peer, 0, 0, 0)).unwrap();
    let f = Fields(&value);
    (f.u32(146) & (FLOW_LABEL | DSCP), f.u32(150), f.u8(154))
}

/// Sends a message and has it read.
fn cross(client: &Client, server: &Client) {
    client.send(TxHeader::default(), b"x");
    assert_eq!(server.receive().1, b"x");
}

#[test]
fn packets_leave_as_the_options_say() {
    let seen = Seen::default();
    let watch = seen.clone();
    let client = move |path: &Path| {
        let listener = Client::socket(path, SOCK_STREAM);
        listener.bind("127.0.0.1:7000").unwrap();
        // An accepted association has what its listener has: INIT ACK is the first of its packets.
        listener.set(IP_TOS, &[8 << 2]).unwrap();
        listener.call(Op::Listen, 5, 0, &[]).unwrap();
        let client = Client::socket(path, SOCK_STREAM);
        assert_eq!(told(&client, None), (0, 0, 0));
        client.set(IP_TOS, &0xb8u32.to_ne_bytes()).unwrap();
        client
            .call(Op::Connect, 0, 0, &encode_addresses(&["127.0.0.1:7000".parse().unwrap()]))
            .unwrap();
        let (header, _) = listener.receive();
        let server = Client::open(path, Op::Accept, header.association.into(), 0);
        cross(&client, &server);
        let all = |dscps: &[u8], dscp| !dscps.is_empty() && dscps.iter().all(|d| *d == dscp);
        let [theirs, ours] = seen.take(7000);
        assert!(all(&theirs, 8) && all(&ours, 46), "{theirs:?} {ours:?}");

        // Of the association: SACKs of the other end are as before.
        client.set(PEER_ADDR_PARAMS, &params(None, DSCP, 0, 10 << 2 | 3)).unwrap();
        assert_eq!(told(&client, None), (DSCP, 0, 10 << 2), "the other bits are not the program's");
        cross(&client, &server);
        assert!(all(&seen.take(7000)[1], 10));
        // "This setting has precedence over any IPv4- or IPv6-layer setting" (RFC 6458 §8.1.12), also over a later one.
        client.set(IP_TOS, &[14 << 2]).unwrap();
        assert_eq!(told(&client, None), (DSCP, 0, 10 << 2));
        cross(&client, &server);
        assert!(all(&seen.take(7000)[1], 10));
        // Of one address.
        let peer = Some("127.0.0.1:7000");
        client.set(PEER_ADDR_PARAMS, &params(peer, DSCP, 0, 12 << 2)).unwrap();
        assert_eq!((told(&client, peer), told(&client, None)), ((DSCP, 0, 48), (DSCP, 0, 40)));
        client.set(IP_TOS, &[15 << 2]).unwrap();
        assert_eq!((told(&client, peer), told(&client, None)), ((DSCP, 0, 48), (DSCP, 0, 40)));
        cross(&client, &server);
        assert!(all(&seen.take(7000)[1], 12));
        client.set(PEER_ADDR_PARAMS, &params(None, DSCP, 0, 0)).unwrap();
        assert_eq!((told(&client, peer), told(&client, None)), ((0, 0, 0), (0, 0, 0)));
        cross(&client, &server);
        let [_, ours] = seen.take(7000);
        assert!(all(&ours, 0), "{ours:?}");

        // IPv4 has no flow label, and programs of old no place for it.
        client.set(PEER_ADDR_PARAMS, &params(peer, FLOW_LABEL, 0xf_ffff, 0)).unwrap();
        client.set(PEER_ADDR_PARAMS, &params(None, FLOW_LABEL, 0xf_ffff, 0)).unwrap();
        assert_eq!((told(&client, peer), told(&client, None)), ((0, 0, 0), (0, 0, 0)));
        for flag in [DSCP, FLOW_LABEL] {
            let old = &params(None, flag, 0, 0)[..152];
            assert_eq!(client.set(PEER_ADDR_PARAMS, old), Err(errno::EINVAL));
        }
    };
    run_engine(|server| server.observe(Box::new(watch)), |_| {}, client);
}

#[test]
fn ipv6_sockets_have_flow_labels_and_traffic_classes() {
    with_engine(|path| {
        let socket = Client::open(path, Op::Socket, AF_INET6.into(), SOCK_SEQPACKET.into());
        socket.set(PEER_ADDR_PARAMS, &params(None, FLOW_LABEL | DSCP, 0xfff_ffff, 0xb8)).unwrap();
        assert_eq!(told(&socket, None), (FLOW_LABEL | DSCP, 0xf_ffff, 0xb8));
        socket.set((SOL_IPV6, 67), &0x20u32.to_ne_bytes()).unwrap();
        assert_eq!(told(&socket, None), (FLOW_LABEL | DSCP, 0xf_ffff, 0xb8));
        let other = Client::open(path, Op::Socket, AF_INET6.into(), SOCK_SEQPACKET.into());
        other.set((SOL_IPV6, 67), &0x20u32.to_ne_bytes()).unwrap();
        assert_eq!(told(&other, None), (DSCP, 0, 0x20));
        other.set(PEER_ADDR_PARAMS, &params(None, FLOW_LABEL, 0, 0)).unwrap();
        other.set((SOL_IPV6, 67), &(-1i32).to_ne_bytes()).unwrap();
        assert_eq!(told(&other, None), (0, 0, 0));
    });
}

/// As `told`, of an association.
fn told_of(client: &Client, association: u32, peer: Option<&str>) -> u8 {
    let mut asked = params(peer, 0, 0, 0);
    asked[..4].copy_from_slice(&association.to_ne_bytes());
    Fields(&client.get(PEER_ADDR_PARAMS, &asked).unwrap()).u8(154)
}

/// RFC 6458 §8: options of the socket are those "of all associations (similar to using SCTP_ALL_ASSOC as the association
/// identifier)", but for what SPP_DSCP was set for, also where it was set to what it was already.
#[test]
fn a_class_is_that_of_all_associations_without_one_of_their_own() {
    with_engine(|path| {
        let client = Client::socket(path, SOCK_SEQPACKET);
        client.set(IP_TOS, &[8 << 2]).unwrap();
        let peers = ["127.0.0.1:7000", "127.0.0.1:7001", "127.0.0.1:7002"];
        let listeners = peers.map(|peer| {
            let listener = Client::socket(path, SOCK_STREAM);
            listener.bind(peer).unwrap();
            listener.call(Op::Listen, 5, 0, &[]).unwrap();
            listener
        });
        let connect = |peer: &str| {
            let to = encode_addresses(&[peer.parse().unwrap()]);
            u32::try_from(client.call(Op::Connect, 1, 0, &to).unwrap().0).unwrap()
        };
        let [plain, by_address, by_association] = peers.map(connect);
        let set = |association: u32, peer: Option<&str>| {
            let mut value = params(peer, DSCP, 0, 8 << 2);
            value[..4].copy_from_slice(&association.to_ne_bytes());
            client.set(PEER_ADDR_PARAMS, &value).unwrap();
        };
        set(by_address, Some(peers[1]));
        set(by_association, None);
        client.set(IP_TOS, &[14 << 2]).unwrap();
        let of_paths = [(plain, peers[0]), (by_address, peers[1]), (by_association, peers[2])];
        assert_eq!(of_paths.map(|(one, peer)| told_of(&client, one, Some(peer))), [56, 32, 32]);
        let all = [plain, by_address, by_association];
        assert_eq!(all.map(|one| told_of(&client, one, None)), [56, 56, 32]);
        assert_eq!(told_of(&client, 0, None), 56);
        drop(listeners);
    });
}
