//! SCTP_PEER_ADDR_PARAMS (RFC 6458 §8.1.12), SCTP_PEER_ADDR_THLDS (RFC 7829 §7.2).

use super::*;
use tresse_socket_protocol::abi::{Fields, Struct};

const PORT: u16 = 7100;
const PEER_ADDR_PARAMS: i64 = 9;
const PEER_ADDR_INFO: i64 = 15;
const HB_ENABLE: u32 = 1;
const HB_DISABLE: u32 = 2;
const HB_DEMAND: u32 = 4;
const HB_TIME_IS_ZERO: u32 = 128;

fn params(peer: Option<&str>, interval: u32, retrans: u16, flags: u32) -> Vec<u8> {
    let mut s = Struct::default();
    match peer {
        Some(peer) => s.u32(0).storage(peer.parse().unwrap()),
        None => s.bytes(&[0; 132]),
    };
    s.u32(interval).u16(retrans).u32(0).u32(0).u32(flags).u32(0).u8(0).u8(0);
    s.0
}

/// Interval, Path.Max.Retrans, and whether heartbeats are on.
fn get(client: &Client, peer: Option<&str>) -> (u32, u16, bool) {
    let given = params(peer, 0, 0, 0);
    let (_, value) = client.call(Op::GetOption, SCTP.into(), PEER_ADDR_PARAMS, &given).unwrap();
    let f = Fields(&value);
    let flags = f.u32(146);
    assert_ne!(flags & HB_ENABLE != 0, flags & HB_DISABLE != 0);
    (f.u32(132), f.u16(136), flags & HB_ENABLE != 0)
}

//= RFC 6458 8-1 8.1.12-1 8.1.12-2 8.1.12-4 8.1.12-5 8.1.12-6
#[test]
fn an_address_has_settings_of_its_own_until_all_are_set() {
    with_engine(|path| {
        let listener = Client::socket(path, SOCK_STREAM);
        listener.bind("127.0.0.1:7100").unwrap();
        listener.call(Op::Listen, 10, 0, &[]).unwrap();
        let client = Client::socket(path, SOCK_STREAM);
        let to = encode_addresses(&[([127, 0, 0, 1], PORT).into()]);
        client.call(Op::Connect, 0, 0, &to).unwrap();
        let set = |peer, interval, retrans, flags| {
            let value = params(peer, interval, retrans, flags);
            client.call(Op::SetOption, SCTP.into(), PEER_ADDR_PARAMS, &value).map(|_| ())
        };
        let peer = Some("127.0.0.1:7100");
        assert_eq!(get(&client, peer), (30_000, 5, true));
        set(peer, 5000, 3, HB_ENABLE).unwrap();
        assert_eq!(get(&client, peer), (5000, 3, true));
        assert_eq!(get(&client, None), (30_000, 5, true), "the association's are as before");
        set(peer, 1000, 0, HB_DISABLE).unwrap();
        assert_eq!(get(&client, peer), (5000, 3, false), "the interval goes with SPP_HB_ENABLE");
        set(peer, 0, 0, HB_ENABLE).unwrap();
        assert_eq!(get(&client, peer), (5000, 3, true), "0 leaves it");
        set(peer, 0, 0, HB_ENABLE | HB_TIME_IS_ZERO).unwrap();
        assert_eq!(get(&client, peer), (0, 3, true));
        set(Some("0.0.0.0:0"), 30_000, 0, HB_ENABLE).unwrap();
        assert_eq!(get(&client, peer), (30_000, 3, true), "a wildcard means all paths");
        set(None, 0, 7, HB_DISABLE).unwrap();
        assert_eq!(get(&client, peer), (30_000, 7, false));
        assert_eq!(get(&client, None), (30_000, 7, false));
        assert_eq!(set(peer, 0, 0, HB_ENABLE | HB_DISABLE), Err(errno::EINVAL));
        let demand = params(None, 0, 0, HB_DEMAND);
        let nobody = listener.call(Op::SetOption, SCTP.into(), PEER_ADDR_PARAMS, &demand);
        assert_eq!(nobody.map(|_| ()), Err(errno::EINVAL));
        assert_eq!(set(None, 0, 0, HB_DEMAND), Ok(()), "all addresses, as in the kernel");
        assert_eq!(set(peer, 0, 0, HB_DEMAND), Ok(()));
        assert_eq!(set(Some("127.0.0.9:7100"), 0, 1, 0), Err(errno::EINVAL));
    });
}

const PMTUD_ENABLE: u32 = 8;
const PMTUD_DISABLE: u32 = 16;

/// `spp_pathmtu`, and which of the flags of path MTU discovery holds.
fn mtu(client: &Client, peer: Option<&str>) -> (u32, u32) {
    let given = params(peer, 0, 0, 0);
    let (_, value) = client.call(Op::GetOption, SCTP.into(), PEER_ADDR_PARAMS, &given).unwrap();
    let f = Fields(&value);
    (f.u32(138), f.u32(146) & (PMTUD_ENABLE | PMTUD_DISABLE))
}

/// `spinfo_mtu` of SCTP_GET_PEER_ADDR_INFO (RFC 6458 §8.2.2).
fn path_mtu(client: &Client, peer: &str) -> u32 {
    let mut given = Struct::default();
    given.u32(0).storage(peer.parse().unwrap()).bytes(&[0; 20]);
    let (_, value) = client.call(Op::GetOption, SCTP.into(), PEER_ADDR_INFO, &given.0).unwrap();
    Fields(&value).u32(148)
}

fn connected(path: &Path) -> (Client, Client) {
    let listener = Client::socket(path, SOCK_STREAM);
    listener.bind("127.0.0.1:7100").unwrap();
    listener.call(Op::Listen, 10, 0, &[]).unwrap();
    let client = Client::socket(path, SOCK_STREAM);
    let to = encode_addresses(&[([127, 0, 0, 1], PORT).into()]);
    client.call(Op::Connect, 0, 0, &to).unwrap();
    (listener, client)
}

#[test]
fn a_fixed_mtu_holds_until_discovery_is_enabled() {
    with_engine(|path| {
        let (_listener, client) = connected(path);
        let set = |peer, size: u32, flags| {
            let mut value = params(peer, 0, 0, flags);
            value[138..142].copy_from_slice(&size.to_ne_bytes());
            client.call(Op::SetOption, SCTP.into(), PEER_ADDR_PARAMS, &value).map(|_| ())
        };
        let peer = Some("127.0.0.1:7100");
        assert_eq!(mtu(&client, peer), (1500, PMTUD_ENABLE));
        set(peer, 1000, PMTUD_ENABLE).unwrap();
        assert_eq!(mtu(&client, peer), (1500, PMTUD_ENABLE), "it goes with SPP_PMTUD_DISABLE");
        set(peer, 0, PMTUD_DISABLE).unwrap();
        assert_eq!(mtu(&client, peer), (1500, PMTUD_DISABLE));
        set(peer, 1000, PMTUD_DISABLE).unwrap();
        assert_eq!(mtu(&client, peer), (1000, PMTUD_DISABLE));
        assert_eq!(mtu(&client, None), (1500, PMTUD_ENABLE), "the association's are as before");
        // No multiple of four, as what a packet holds is.
        set(peer, 1001, PMTUD_DISABLE).unwrap();
        assert_eq!(path_mtu(&client, "127.0.0.1:7100"), 1001);
        set(peer, 0, PMTUD_ENABLE).unwrap();
        assert_eq!(mtu(&client, peer), (1500, PMTUD_ENABLE));
        set(None, 600, PMTUD_DISABLE).unwrap();
        assert_eq!(mtu(&client, peer), (600, PMTUD_DISABLE));
        assert_eq!(mtu(&client, None), (600, PMTUD_DISABLE));
        set(None, 0, PMTUD_ENABLE).unwrap();
        assert_eq!(mtu(&client, peer), (1500, PMTUD_ENABLE));
        assert_eq!(mtu(&client, None), (1500, PMTUD_ENABLE));
        for (size, flags) in [
            (511, 0),
            (511, PMTUD_DISABLE),
            (65_536, PMTUD_DISABLE),
            (0, PMTUD_ENABLE | PMTUD_DISABLE),
        ] {
            assert_eq!(set(peer, size, flags), Err(errno::EINVAL), "{size} {flags}");
        }
    });
}

#[test]
fn probing_is_asked_for_by_its_interval() {
    with_engine(|path| {
        let (listener, client) = connected(path);
        let value = |peer: Option<&str>, every: u32| {
            let mut value = vec![0; 8];
            let mut s = Struct::default();
            match peer {
                Some(peer) => s.storage(peer.parse().unwrap()),
                None => s.bytes(&[0; 128]),
            };
            value.extend_from_slice(&s.0);
            value.extend_from_slice(&every.to_ne_bytes());
            value.resize(144, 0);
            value
        };
        let set = |of: &Client, peer, every| {
            of.call(Op::SetOption, SCTP.into(), 133, &value(peer, every)).map(|_| ())
        };
        let get = |of: &Client, peer| {
            let (_, value) = of.call(Op::GetOption, SCTP.into(), 133, &value(peer, 0)).unwrap();
            Fields(&value).u32(136)
        };
        let peer = Some("127.0.0.1:7100");
        assert_eq!((get(&client, peer), get(&client, None)), (0, 0));
        assert_eq!(set(&client, peer, 4999), Err(errno::EINVAL), "Linux' least");
        set(&client, peer, 5000).unwrap();
        assert_eq!((get(&client, peer), get(&client, None)), (5000, 0));
        set(&client, None, 20_000).unwrap();
        assert_eq!((get(&client, peer), get(&client, None)), (20_000, 20_000));
        // More than ten packets that are full.
        client.send(TxHeader::default(), &[0; 20_000]);
        let found = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            mtu(&client, peer).0 == 9000
        });
        assert!(found, "loopback takes jumbo frames, not {:?}", mtu(&client, peer));
        set(&client, peer, 0).unwrap();
        assert_eq!((get(&client, peer), mtu(&client, peer)), (0, (1500, PMTUD_ENABLE)));
        // For associations to come.
        set(&listener, None, 6000).unwrap();
        assert_eq!(get(&listener, None), 6000);
        assert_eq!(
            client.call(Op::SetOption, SCTP.into(), 133, &[0; 8]).map(|_| ()),
            Err(errno::EINVAL)
        );
    });
}

#[test]
fn thresholds_of_addresses_hold_for_these_or_for_all() {
    const THRESHOLDS: [i64; 2] = [31, 37];
    let value = |peer: Option<&str>, path: u16, failed: u16, primary: u16| {
        let mut s = Struct::default();
        s.u32(0).u32(0);
        match peer {
            Some(peer) => s.storage(peer.parse().unwrap()),
            None => s.bytes(&[0; 128]),
        };
        s.u16(path).u16(failed).u16(primary).u16(0);
        s.0
    };
    with_engine(move |path| {
        let listener = Client::socket(path, SOCK_STREAM);
        listener.bind("127.0.0.1:7100").unwrap();
        listener.call(Op::Listen, 10, 0, &[]).unwrap();
        let client = Client::socket(path, SOCK_STREAM);
        let set = |option: usize, value: Vec<u8>| {
            let option = THRESHOLDS[option];
            client.call(Op::SetOption, SCTP.into(), option, &value).map(|_| ())
        };
        let get = |peer| {
            let given = value(peer, 0, 0, 0);
            let got = client.call(Op::GetOption, SCTP.into(), THRESHOLDS[1], &given);
            got.map(|(_, got)| [136, 138, 140].map(|at| Fields(&got).u16(at)))
        };
        // Of associations to come.
        assert_eq!(get(None), Ok([5, 0, u16::MAX]));
        assert_eq!(set(1, value(None, 0, 2, 1)), Err(errno::EINVAL));
        set(1, value(None, 4, 2, 3)).unwrap();
        let to = encode_addresses(&[([127, 0, 0, 1], PORT).into()]);
        client.call(Op::Connect, 0, 0, &to).unwrap();
        let peer = Some("127.0.0.1:7100");
        assert_eq!((get(peer), get(None)), (Ok([4, 2, 3]), Ok([4, 2, 3])));
        set(1, value(peer, 0, 1, 1)).unwrap();
        assert_eq!((get(peer), get(None)), (Ok([4, 1, 1]), Ok([4, 2, 3])));
        // Without a PF state the path fails first.
        assert_eq!(set(1, value(peer, 4, 9, 3)), Err(errno::EINVAL));
        assert_eq!(set(0, value(peer, 0, 9, 0)), Err(errno::EINVAL));
        assert_eq!(set(0, value(Some("192.0.2.1:7100"), 0, 0, 0)), Err(errno::ENOENT));
        assert_eq!(get(Some("192.0.2.1:7100")), Err(errno::ENOENT));
        set(0, value(Some("0.0.0.0:0"), 7, 1, 0)).unwrap();
        assert_eq!((get(peer), get(None)), (Ok([7, 1, 1]), Ok([7, 1, 3])));
    });
}
