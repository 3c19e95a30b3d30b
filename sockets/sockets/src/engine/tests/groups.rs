//! SCTP_FUTURE_ASSOC, SCTP_CURRENT_ASSOC and SCTP_ALL_ASSOC (RFC 6458 §7.2).

use super::*;
use tresse_socket_protocol::abi::Fields;

const CURRENT: u32 = 1;
const ALL: u32 = 2;

/// Options with an association in their value, that can be read: number, length of the value, where the association stands,
/// and whether the option can be set for several.
const OPTIONS: &[(i32, usize, usize, bool)] = &[
    (0, 16, 0, false),    // SCTP_RTOINFO
    (1, 20, 0, false),    // SCTP_ASSOCINFO
    (9, 156, 0, false),   // SCTP_PEER_ADDR_PARAMS
    (10, 32, 28, true),   // SCTP_DEFAULT_SEND_PARAM
    (13, 8, 0, false),    // SCTP_MAXSEG
    (16, 12, 0, true),    // SCTP_DELAYED_SACK
    (17, 8, 0, true),     // SCTP_CONTEXT
    (20, 8, 0, true),     // SCTP_MAX_BURST
    (31, 144, 0, false),  // SCTP_PEER_ADDR_THLDS
    (34, 16, 12, true),   // SCTP_DEFAULT_SNDINFO
    (37, 144, 0, false),  // SCTP_PEER_ADDR_THLDS_V2
    (113, 8, 0, false),   // SCTP_PR_SUPPORTED
    (114, 12, 0, true),   // SCTP_DEFAULT_PRINFO
    (117, 8, 0, false),   // SCTP_RECONFIG_SUPPORTED
    (118, 8, 0, true),    // SCTP_ENABLE_STREAM_RESET
    (123, 8, 0, true),    // SCTP_STREAM_SCHEDULER
    (128, 8, 0, false),   // SCTP_ASCONF_SUPPORTED
    (129, 8, 0, false),   // SCTP_AUTH_SUPPORTED
    (130, 8, 0, false),   // SCTP_ECN_SUPPORTED
    (131, 8, 0, false),   // SCTP_EXPOSE_POTENTIALLY_FAILED_STATE
    (132, 144, 0, false), // SCTP_REMOTE_UDP_ENCAPS_PORT
    (133, 144, 0, false), // SCTP_PLPMTUD_PROBE_INTERVAL
    (1049, 8, 0, false),  // SCTP_PKTDROP_SUPPORTED
];

#[test]
fn options_are_for_the_associations_that_the_rfc_says() {
    with_engine(|path| {
        let many = Client::socket(path, SOCK_SEQPACKET);
        let one = Client::socket(path, SOCK_STREAM);
        for &(option, len, place, groups) in OPTIONS {
            for number in [0, CURRENT, ALL] {
                let mut value = vec![0; len];
                value[place..place + 4].copy_from_slice(&number.to_ne_bytes());
                let told = many.get((SCTP, option), &value).map(|_| ());
                let expected = if number == 0 { Ok(()) } else { Err(errno::EINVAL) };
                assert_eq!(told, expected, "reading {option} of {number}");
                let expected = if number == 0 || groups { Ok(()) } else { Err(errno::EINVAL) };
                assert_eq!(many.set((SCTP, option), &value), expected, "{option} for {number}");
                // "For the one-to-one style sockets [...], this association ID parameter is ignored."
                assert_eq!(one.set((SCTP, option), &value), Ok(()), "{option} of one");
                assert_eq!(one.get((SCTP, option), &value).map(|_| ()), Ok(()), "{option} of one");
            }
        }
    });
}

/// What is set for those that there are is not set for those to come, and the reverse.
#[test]
fn each_group_has_what_was_set_for_it() {
    with_engine(|path| {
        let client = Client::socket(path, SOCK_SEQPACKET);
        let listeners = [7000, 7001].map(|port| {
            let listener = Client::socket(path, SOCK_STREAM);
            listener.bind(&format!("127.0.0.1:{port}")).unwrap();
            listener.call(Op::Listen, 5, 0, &[]).unwrap();
            listener
        });
        let connect = |port: u16| {
            let to = encode_addresses(&[([127, 0, 0, 1], port).into()]);
            u32::try_from(client.call(Op::Connect, 1, 0, &to).unwrap().0).unwrap()
        };
        let words = |list: [u32; 3]| list.map(u32::to_ne_bytes).concat();
        // SCTP_DELAYED_SACK and SCTP_MAX_BURST.
        let set = |number, value| {
            client.set((SCTP, 16), &words([number, value, 0])).unwrap();
            client.set((SCTP, 20), &words([number, value, 0])[..8]).unwrap();
        };
        let get = |number| {
            let delay = client.get((SCTP, 16), &words([number, 0, 0])).unwrap();
            let burst = client.get((SCTP, 20), &words([number, 0, 0])[..8]).unwrap();
            let told = [delay, burst].map(|value| Fields(&value).u32(4));
            assert_eq!(told[0], told[1]);
            told[0]
        };
        set(0, 20);
        let first = connect(7000);
        assert_eq!((get(first), get(0)), (20, 20));
        set(CURRENT, 30);
        assert_eq!((get(first), get(0)), (30, 20));
        let second = connect(7001);
        assert_eq!((get(first), get(second), get(0)), (30, 20, 20));
        set(ALL, 40);
        assert_eq!((get(first), get(second), get(0)), (40, 40, 40));
        set(second, 50);
        assert_eq!((get(first), get(second), get(0)), (40, 50, 40));
        set(0, 60);
        assert_eq!((get(first), get(second), get(0)), (40, 50, 60));

        // SCTP_STREAM_SCHEDULER, and values of streams, which those to come do not have.
        client.set((SCTP, 123), &words([ALL, 1, 0])[..8]).unwrap();
        let value = |number: u32| [&number.to_ne_bytes()[..], &[3, 0, 7, 0]].concat();
        client.set((SCTP, 124), &value(CURRENT)).unwrap();
        for number in [first, second] {
            let told = client.get((SCTP, 124), &value(number)).unwrap();
            assert_eq!(Fields(&told).u16(6), 7);
        }
        for number in [0, ALL] {
            assert_eq!(client.set((SCTP, 124), &value(number)), Err(errno::EINVAL));
        }
        drop(listeners);
    });
}
