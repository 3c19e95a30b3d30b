//! Options as the kernel has them.

use super::*;
use tresse_socket_protocol::abi::{Fields, SOL_IP, SOL_IPV6, SOL_SOCKET};
use tresse_socket_protocol::opening::Opening;

fn words(list: &[u32]) -> Vec<u8> {
    list.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

fn word(value: &[u8], at: usize) -> u32 {
    Fields(value).u32(at)
}

/// What `setsockopt` of Linux 6.6 says to zeros of these lengths, on a new one-to-one socket.
const LENGTHS: &[(i32, &[(usize, i32)])] = &[
    (0, &[(12, 22), (16, 0), (17, 22)]),
    (1, &[(17, 22), (20, 0), (24, 22)]),
    (2, &[(7, 22), (8, 0), (9, 22)]),
    (3, &[(3, 22), (4, 0), (256, 0)]),
    (4, &[(4, 95)]),
    (5, &[(132, 1)]),
    (7, &[(4, 0), (5, 22)]),
    (8, &[(0, 22), (4, 0), (40, 0)]),
    (9, &[(148, 22), (152, 0), (155, 22), (156, 0), (160, 22)]),
    (10, &[(24, 22), (32, 0), (36, 22)]),
    (11, &[(0, 0), (14, 0), (16, 22)]),
    (12, &[(3, 22), (8, 0)]),
    (13, &[(3, 22), (4, 0), (5, 22), (8, 0), (9, 22)]),
    (14, &[(176, 92)]),
    (16, &[(4, 22), (8, 0), (9, 22), (12, 0), (14, 22)]),
    (17, &[(7, 22), (8, 0), (9, 22)]),
    (18, &[(4, 0), (5, 22)]),
    (19, &[(4, 0), (8, 22)]),
    (20, &[(4, 0), (6, 22), (8, 0), (12, 22)]),
    (21, &[(4, 13)]),
    (26, &[(8, 92)]),
    (30, &[(4, 0), (8, 0)]),
    (34, &[(14, 22), (16, 0), (17, 22)]),
    (103, &[(8, 92)]),
    (132, &[(140, 22), (144, 0), (145, 22)]),
    (135, &[(8, 92)]),
];

#[test]
fn values_have_the_lengths_that_the_kernel_takes() {
    with_engine(|path| {
        for (option, rows) in LENGTHS {
            for (len, error) in *rows {
                let socket = Client::socket(path, SOCK_STREAM);
                let result = socket.set((SCTP, *option), &vec![0; *len]);
                assert_eq!(result.err().unwrap_or(0), *error, "option {option}, {len} bytes");
            }
        }
        let socket = Client::socket(path, SOCK_STREAM);
        // An integer once, `sctp_assoc_value` later, `sctp_sack_info` now.
        for (option, len, answer) in
            [(13, 4, 4), (13, 8, 8), (20, 4, 4), (20, 12, 8), (16, 8, 8), (16, 12, 12)]
        {
            assert_eq!(socket.get((SCTP, option), &vec![0; len]).map(|v| v.len()), Ok(answer));
        }
        for option in [13, 16, 20] {
            assert_eq!(socket.get((SCTP, option), &[0; 6]), Err(errno::EINVAL));
        }
        assert_eq!(socket.set((SCTP, 16), &words(&[0, 150])), Ok(()));
        assert_eq!(word(&socket.get((SCTP, 16), &[0; 12]).unwrap(), 4), 150);
    });
}

#[test]
fn settings_of_other_levels_read_back_and_unknown_ones_are_refused() {
    with_engine(|path| {
        let socket = Client::socket(path, SOCK_STREAM);
        let reads = |option: (i32, i32)| socket.get(option, &[]).map(|value| word(&value, 0));
        // SO_KEEPALIVE, SO_PRIORITY, SO_RCVLOWAT, IP_TOS, IP_TTL: before, set, after.
        let rows = [((SOL_SOCKET, 9), 0, 5, 1), ((SOL_SOCKET, 12), 0, 6, 6)];
        let rows =
            rows.into_iter().chain([((SOL_SOCKET, 18), 1, 7, 7), ((SOL_IP, 1), 0, 0xb8, 0xb8)]);
        // The bits of congestion notification are not the program's.
        for (option, before, set, after) in
            rows.chain([((SOL_IP, 1), 0xb8, 0x0b, 0x08), ((SOL_IP, 2), 64, 17, 17)])
        {
            assert_eq!(reads(option), Ok(before), "{option:?}");
            assert_eq!(socket.set(option, &words(&[set])), Ok(()), "{option:?}");
            assert_eq!(reads(option), Ok(after), "{option:?}");
        }
        assert_eq!(socket.set((SOL_IP, 1), &[0x10]), Ok(()), "a single byte");
        assert_eq!(reads((SOL_IP, 1)), Ok(0x10));
        assert_eq!(socket.set((SOL_IP, 2), &words(&[300])), Err(errno::EINVAL));
        assert_eq!(socket.set((SOL_SOCKET, 9), &[1]), Err(errno::EINVAL));
        for (level, option) in
            [(SOL_IP, 0), (SOL_SOCKET, 3), (SOL_SOCKET, 4711), (SOL_IPV6, 67), (6, 1), (999, 1)]
        {
            let refused = socket.set((level, option), &words(&[1]));
            assert_eq!(refused, Err(errno::ENOPROTOOPT), "{level} {option}");
        }
        assert_eq!(reads((SOL_SOCKET, 4711)), Err(errno::ENOPROTOOPT));
        assert_eq!(reads((999, 1)), Err(errno::EOPNOTSUPP));
        for (option, least) in [(7, 4608), (8, 2304)] {
            socket.set((SOL_SOCKET, option), &words(&[1])).unwrap();
            assert_eq!(reads((SOL_SOCKET, option)), Ok(least));
        }
    });
}

/// RFC 6458 §8.1.32 and RFC 7496 §4: defaults, what was negotiated, and what was counted.
#[test]
fn policies_are_kept_and_what_was_given_up_is_counted() {
    const SUPPORTED: i32 = 113;
    const DEFAULT: i32 = 114;
    const STATUS: i32 = 115;
    with_engine(|path| {
        let (_listener, client, _server) = pair(path);
        assert_eq!(client.get((SCTP, SUPPORTED), &[0; 8]), Ok(words(&[0, 1])));
        for (policy, value, kept) in [(0x10, 50, 50), (0x20, 0, 0), (0x30, 9, 9), (0, 5, 0)] {
            assert_eq!(client.set((SCTP, DEFAULT), &words(&[0, value, policy])), Ok(()));
            assert_eq!(client.get((SCTP, DEFAULT), &[0; 12]), Ok(words(&[0, kept, policy])));
        }
        let refused = client.set((SCTP, DEFAULT), &words(&[0, 1, 0x80]));
        assert_eq!(refused, Err(errno::EINVAL));
        let asked = |policy: u32| [words(&[0, policy << 16]), vec![0; 16]].concat();
        for policy in [0x10, 0x20, 0x30, 0x80] {
            assert_eq!(client.get((SCTP, STATUS), &asked(policy)), Ok(asked(policy)));
        }
        for policy in [0, 0x40, 0x90] {
            assert_eq!(client.get((SCTP, STATUS), &asked(policy)), Err(errno::EINVAL));
        }
    });
}

/// RFC 8260 §4.3, with Linux' numbers of schedulers.
#[test]
fn a_stream_scheduler_and_its_values_are_kept() {
    const SCHEDULER: i32 = 123;
    const VALUE: i32 = 124;
    with_engine(|path| {
        let socket = Client::socket(path, SOCK_STREAM);
        let reads =
            |socket: &Client| socket.get((SCTP, SCHEDULER), &[0; 8]).map(|value| word(&value, 4));
        for number in [0, 1, 2, 3, 4, 1002] {
            assert_eq!(socket.set((SCTP, SCHEDULER), &words(&[0, number])), Ok(()));
            assert_eq!(reads(&socket), Ok(number));
        }
        for value in [&words(&[0, 5])[..], &[0; 4]] {
            assert_eq!(socket.set((SCTP, SCHEDULER), value), Err(errno::EINVAL));
        }
        let (_listener, client, _server) = pair(path);
        assert_eq!(client.set((SCTP, SCHEDULER), &words(&[0, 1])), Ok(()));
        assert_eq!(reads(&client), Ok(1));
        let of = |stream: u16, value: u16| {
            [vec![0; 4], stream.to_ne_bytes().into(), value.to_ne_bytes().into()].concat()
        };
        assert_eq!(client.set((SCTP, VALUE), &of(1, 7)), Ok(()));
        assert_eq!(client.get((SCTP, VALUE), &of(1, 0)), Ok(of(1, 7)));
        assert_eq!(client.get((SCTP, VALUE), &of(0, 9)), Ok(of(0, 0)));
        assert_eq!(client.set((SCTP, VALUE), &of(u16::MAX, 7)), Err(errno::EINVAL));
    });
}

/// RFC 8260 §4.3.1: who wants messages interleaved says first that it can take them so, and both ends have to.
#[test]
fn interleaving_is_asked_for_at_both_ends() {
    const LEVEL: i32 = 18;
    const INTERLEAVING: i32 = 125;
    with_engine(|path| {
        let (_listener, client, _server) = pair(path);
        assert_eq!(client.get((SCTP, INTERLEAVING), &[0; 8]), Ok(words(&[0, 0])));
        for style in [SOCK_STREAM, SOCK_SEQPACKET] {
            let socket = Client::socket(path, style);
            assert_eq!(socket.set((SCTP, INTERLEAVING), &words(&[0, 1])), Err(errno::EPERM));
            assert_eq!(socket.set((SCTP, LEVEL), &words(&[1])), Ok(()));
            for on in [1, 0, 1] {
                assert_eq!(socket.set((SCTP, INTERLEAVING), &words(&[0, on])), Ok(()));
                assert_eq!(socket.get((SCTP, INTERLEAVING), &[0; 8]), Ok(words(&[0, on])));
            }
        }
    });
}

//= RFC 6458 5.3.1-3
#[test]
fn what_is_known_of_an_association_is_told() {
    with_engine(|path| {
        let (_listener, client, _server) = pair(path);
        let fits = word(&client.get((SCTP, 13), &[0; 4]).unwrap(), 0);
        assert!(fits > 1000, "SCTP_MAXSEG is {fits}");
        assert_eq!(word(&client.get((SCTP, 13), &[0; 8]).unwrap(), 4), fits);
        let flags = word(&client.get((SCTP, 9), &[0; 156]).unwrap(), 146);
        assert_eq!(flags, 0x29, "SPP_HB_ENABLE, SPP_PMTUD_ENABLE, SPP_SACKDELAY_ENABLE");
        // `sinit_max_init_timeo` is no RTO.Initial.
        let before = client.get((SCTP, 0), &[0; 16]).unwrap();
        client.set((SCTP, 2), &initmsg([0, 0, 0, 700])).unwrap();
        assert_eq!(client.get((SCTP, 0), &[0; 16]).unwrap(), before);
        assert_eq!(Fields(&client.get((SCTP, 2), &[0; 8]).unwrap()).u16(6), 700);
    });
}

/// `struct sctp_initmsg`.
fn initmsg(fields: [u16; 4]) -> [u8; 8] {
    let mut init = [0; 8];
    for (at, field) in init.chunks_exact_mut(2).zip(fields) {
        at.copy_from_slice(&field.to_ne_bytes());
    }
    init
}

/// Asks to send to a port of this host, with SCTP_INIT.
fn open_with(client: &Client, port: u16, init: [u16; 4]) {
    let address = Some(([127, 0, 0, 1], port).into());
    let header = TxHeader { address, ..TxHeader::default() };
    let opening = Opening { init: initmsg(init), more: Vec::new() };
    let payload = [&header.encode()[..], &opening.encode()].concat();
    client.call(Op::CheckSend, 1, 0, &payload).unwrap();
}

/// RFC 6458 §5.3.1: SCTP_INIT is for the association that the message opens.
#[test]
fn a_message_says_how_its_association_is_opened() {
    with_engine(|path| {
        let (_server, client) = one_to_many(path);
        open_with(&client, 7000, [30, 5, 0, 0]);
        let (_, up) = client.receive();
        let f = Fields(&up);
        assert_eq!((f.u16(0), f.u16(8), f.u16(12), f.u16(14)), (0x8001, 0, 30, 5));
        let own = client.get((SCTP, 2), &[0; 8]).unwrap();
        assert_eq!(own, initmsg([10, 65_535, 8, 60_000]), "others are opened as before");
    });
}

//= RFC 6458 5.3.1-2
/// `sinit_max_attempts` and `sinit_max_init_timeo`: with the default the attempt would end after a minute.
#[test]
fn how_often_a_peer_is_asked_is_bounded() {
    with_engine(|path| {
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let (_server, client) = one_to_many(path);
        let mut encapsulation = [0; 144];
        let port = silent.local_addr().unwrap().port();
        encapsulation[136..138].copy_from_slice(&port.to_be_bytes());
        client.set((SCTP, 132), &encapsulation).unwrap();
        let count = || {
            silent.set_nonblocking(true).unwrap();
            std::iter::from_fn(|| silent.recv(&mut [0; 2000]).ok()).count()
        };
        for attempts in [1, 3] {
            open_with(&client, 7077, [0, 0, attempts, 50]);
            let (_, ended) = client.receive();
            assert_eq!(Fields(&ended).u16(8), 4, "SCTP_CANT_STR_ASSOC");
            assert_eq!(count(), 1 + usize::from(attempts));
        }
    });
}

#[test]
fn defaults_of_messages_belong_to_associations() {
    with_engine(|path| {
        let (server, client) = one_to_many(path);
        let other = Client::socket(path, SOCK_SEQPACKET);
        other.bind("127.0.0.1:7001").unwrap();
        other.call(Op::Listen, 5, 0, &[]).unwrap();
        other.set((SCTP, 11), &[1; 6]).unwrap();
        let plain = TxHeader { flags: flag::DEFAULTS, ..TxHeader::default() };
        let next = |from: &Client| loop {
            let (header, body) = from.receive();
            if header.kind == kind::DATA {
                return (header, body);
            }
        };
        let send = |port: u16| {
            let address = Some(([127, 0, 0, 1], port).into());
            client.send(TxHeader { address, ..plain }, b"x");
        };
        for port in [7000, 7001] {
            send(port);
        }
        next(&server);
        let (heard, _) = next(&other);
        other.send(TxHeader { association: heard.association, ..TxHeader::default() }, b"who");
        let number = next(&client).0.association;
        // SCTP_DEFAULT_SNDINFO: stream 3, PPID 77.
        let info = |stream: u32, ppid: u32, number: u32| words(&[stream, ppid, 0, number]);
        client.set((SCTP, 34), &info(3, 77, number)).unwrap();
        client.set((SCTP, 34), &info(1, 5, 0)).unwrap();
        for port in [7000, 7001] {
            send(port);
        }
        let sent = [next(&server).0, next(&other).0].map(|header| (header.stream, header.ppid));
        assert_eq!(sent, [(0, 0), (3, 77)], "others, and those to come, have their own");
        assert_eq!(client.get((SCTP, 34), &info(0, 0, number)).unwrap(), info(3, 77, number));
        assert_eq!(client.set((SCTP, 34), &info(3, 77, 999)), Err(errno::EINVAL));
        // SCTP_CONTEXT, too.
        client.set((SCTP, 17), &words(&[number, 42])).unwrap();
        other.send(TxHeader { association: heard.association, ..TxHeader::default() }, b"again");
        assert_eq!(next(&client).0.context, 42);
        let stranger = TxHeader { association: 4711, ..TxHeader::default() };
        let refused = client.call(Op::CheckSend, 0, 0, &stranger.encode()).map(|_| ());
        assert_eq!(refused, Err(errno::EPIPE), "nobody has that number");
    });
}

#[test]
fn the_end_of_an_association_has_what_the_abort_says() {
    with_engine(|path| {
        let (server, client) = one_to_many(path);
        let address = Some("127.0.0.1:7000".parse().unwrap());
        client.send(TxHeader { address, ..TxHeader::default() }, b"hello");
        while server.receive().0.kind != kind::DATA {}
        let header = TxHeader { sinfo_flags: 4, address, ..TxHeader::default() };
        client.send(header, b"bye");
        let last = std::iter::repeat_with(|| server.receive())
            .find(|(header, body)| header.kind == kind::NOTIFICATION && body[8] == 1);
        let (_, body) = last.unwrap();
        // SCTP_COMM_LOST, the cause in network byte order, and the causes of the ABORT.
        assert_eq!((body.len(), &body[10..12]), (27, &[0, 12][..]));
        assert_eq!(body[20..], *b"\0\x0c\0\x07bye");
    });
}

#[test]
fn a_small_receive_buffer_bounds_what_is_unread() {
    with_engine(|path| {
        let accepted = |size: u32| {
            let port = 7000 + size as u16 % 7;
            let listener = Client::socket(path, SOCK_STREAM);
            listener.bind(&format!("127.0.0.1:{port}")).unwrap();
            listener.set((SOL_SOCKET, 8), &words(&[size])).unwrap();
            listener.call(Op::Listen, 5, 0, &[]).unwrap();
            let client = Client::socket(path, SOCK_STREAM);
            client.set((SOL_SOCKET, 7), &words(&[50_000])).unwrap();
            let to = encode_addresses(&[([127, 0, 0, 1], port).into()]);
            client.call(Op::Connect, 0, 0, &to).unwrap();
            let number = listener.receive().0.association;
            let server = Client::open(path, Op::Accept, number.into(), 0);
            let (mut sent, mut before) = (write_until_full(&client, 0), u32::MAX);
            while sent != before {
                std::thread::sleep(Duration::from_millis(300));
                before = sent;
                sent = write_until_full(&client, sent);
            }
            // They come in pieces.
            for n in 0..sent {
                let mut message = Vec::new();
                loop {
                    let (header, body) = server.receive();
                    message.extend(body);
                    if header.flags & flag::END != 0 {
                        break;
                    }
                }
                assert_eq!((message.len(), &message[..4]), (10_004, &n.to_be_bytes()[..]));
            }
            sent
        };
        // In messages of 10 kB. What the client's own connection holds comes on top.
        let (small, large) = (accepted(4096), accepted(1 << 20));
        assert!(small + 80 < large, "{small} and {large} messages");
        assert!(small < 40, "{small} messages of 10 kB");
    });
}

/// What SCTP_GET_ASSOC_STATS counts is there to be read once it has answered.
#[test]
fn what_the_statistics_count_can_be_read() {
    with_engine(|path| {
        let (_listener, client, server) = pair(path);
        for n in 1..=3000 {
            client.send(TxHeader::default(), b"x");
            // sas_iodchunks is the twelfth count behind an address and an RTO.
            while word(&server.get((SCTP, 112), &[0; 256]).unwrap(), 144 + 11 * 8) < n {}
            let mut frame = [0; 1000];
            let got = recv(&server.fd, &mut frame[..], RecvFlags::DONTWAIT);
            assert!(got.is_ok(), "message {n}: {got:?}");
        }
    });
}

//= RFC 6458 8.1.27-1 8.1.27-2
/// RFC 6458 §8.1.27: all sockets of a port have set the option, and one of them listens at most. With SO_REUSEPORT all may.
#[test]
fn several_sockets_have_a_port() {
    with_engine(|path| {
        let rows = [((SCTP, 36), false), ((SOL_SOCKET, 2), false), ((SOL_SOCKET, 15), true)];
        for (at, (option, all_listen)) in rows.into_iter().enumerate() {
            let (one, other) =
                (Client::socket(path, SOCK_STREAM), Client::socket(path, SOCK_STREAM));
            let address = format!("127.0.0.1:{}", 7010 + at);
            one.set(option, &words(&[1])).unwrap();
            one.bind(&address).unwrap();
            assert_eq!(other.bind(&address), Err(errno::EADDRINUSE));
            other.set(option, &words(&[1])).unwrap();
            other.bind(&address).unwrap();
            let listen = |socket: &Client| socket.call(Op::Listen, 5, 0, &[]).map(|_| ());
            assert_eq!(listen(&other), Ok(()));
            assert_eq!(listen(&other), Ok(()), "again");
            let second = if all_listen { Ok(()) } else { Err(errno::EADDRINUSE) };
            assert_eq!(listen(&one), second, "{option:?}");
        }
        let bound = Client::socket(path, SOCK_STREAM);
        bound.bind("127.0.0.1:7020").unwrap();
        assert_eq!(bound.set((SCTP, 36), &words(&[1])), Err(errno::EFAULT), "too late");
    });
}
