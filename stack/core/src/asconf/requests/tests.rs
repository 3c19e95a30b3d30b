//! What an end asks of its peer, one chunk at a time (RFC 5061 §5.1, §5.3).

use super::*;
use tresse_wire::CauseWriter;

fn request(change: AddressChange, last: u8) -> Request {
    Request { change, address: [10, 0, 0, last].into(), unseen: false }
}

fn three() -> AsconfRequests {
    let mut requests = AsconfRequests::new(Tsn(u32::MAX));
    for last in 1..4 {
        assert!(requests.push(request(AddressChange::Add, last)));
    }
    requests.begin([10, 0, 0, 9].into());
    requests
}

fn acknowledged(requests: &mut AsconfRequests, number: u32, list: &[u8]) -> Vec<AddressOutcome> {
    let ack = AsconfAck { number: AsconfNumber(number), responses: Parameters::new(list) };
    match requests.on_ack(&ack) {
        Meaning::Answers(answers) => answers.into_iter().map(|(_, outcome)| outcome).collect(),
        other => panic!("{other:?}"),
    }
}

//= RFC 5061 3-3 5.1-1 5.1-2 5.1-3 5.1-4 5.1-5 5.1.1-2
#[test]
fn one_chunk_is_under_way_with_the_next_number() {
    let mut requests = three();
    let (number, lookup, encoded) = requests.chunk().unwrap();
    assert_eq!((number, lookup), (AsconfNumber(u32::MAX), [10, 0, 0, 9].into()));
    let parsed: Vec<_> = Parameters::new(&encoded).parsed().map(Result::unwrap).collect();
    let add = |correlation: u32| {
        let address = [10, 0, 0, correlation as u8].into();
        Parameter::AddIpAddress(AddressRequest { correlation, address })
    };
    assert_eq!(parsed, [add(1), add(2), add(3)]);
    requests.push(request(AddressChange::Delete, 1));
    requests.begin([10, 0, 0, 9].into());
    assert_eq!(requests.chunk().unwrap().0, number, "the other one waits");
    assert_eq!(requests.open().count(), 4);
    assert_eq!(acknowledged(&mut requests, u32::MAX, &[]), [AddressOutcome::Done; 3]);
    requests.begin([10, 0, 0, 9].into());
    assert_eq!(requests.chunk().unwrap().0, AsconfNumber(0));
}

/// From the address that is added a wildcard deletes the one that is to stay.
#[test]
fn wildcards_that_mean_different_addresses_are_in_different_chunks() {
    use AddressChange::{Add, Delete, SetPrimary};
    let chunks = |list: &[(AddressChange, u8)]| {
        let mut requests = AsconfRequests::new(Tsn(1));
        for (change, last) in list {
            requests.push(Request { unseen: true, ..request(*change, *last) });
        }
        let mut lengths = Vec::new();
        for number in 1.. {
            requests.begin([0; 4].into());
            lengths.push(requests.under_way().count());
            let answers = acknowledged(&mut requests, number, &[]);
            assert_eq!(answers.len(), lengths[lengths.len() - 1]);
            if !requests.may_begin() {
                break;
            }
        }
        lengths
    };
    assert_eq!(chunks(&[(Delete, 2), (Add, 2), (Delete, 2)]), [1, 1, 1]);
    assert_eq!(chunks(&[(Add, 1), (SetPrimary, 1), (Delete, 2), (Delete, 3)]), [4]);
    assert_eq!(chunks(&[(Add, 1), (Add, 2), (SetPrimary, 2)]), [1, 2]);
    assert_eq!(chunks(&[(SetPrimary, 1), (Delete, 2), (Add, 2)]), [2, 1]);
}

//= RFC 5061 5.1-8
#[test]
fn what_stands_behind_a_failure_has_failed_unless_it_is_said_to_be_done() {
    let causes = CauseWriter::new().resource_shortage(&[]).finish();
    let list = |with: &[u32]| {
        let mut writer = ParameterWriter::new();
        writer.error_cause_indication(2, &causes);
        for correlation in with {
            writer.success_indication(*correlation);
        }
        writer.finish()
    };
    let refused = AddressOutcome::Refused { cause: 0xa1 };
    let outcomes = acknowledged(&mut three(), u32::MAX, &list(&[]));
    assert_eq!(outcomes, [AddressOutcome::Done, refused, AddressOutcome::Failed]);
    let outcomes = acknowledged(&mut three(), u32::MAX, &list(&[3, 99]));
    assert_eq!(outcomes, [AddressOutcome::Done, refused, AddressOutcome::Done]);
}

//= RFC 5061 5.3-2
#[test]
fn what_was_never_sent_cannot_be_acknowledged() {
    let mut requests = three();
    let mut meaning = |n| {
        let ack = AsconfAck { number: AsconfNumber(n), responses: Parameters::default() };
        requests.on_ack(&ack)
    };
    assert_eq!(meaning(0), Meaning::Illegal);
    assert_eq!(meaning((1 << 31) - 1), Meaning::Illegal);
    assert_eq!(meaning(u32::MAX - 1), Meaning::Old);
    assert!(matches!(meaning(u32::MAX), Meaning::Answers(_)));
    assert_eq!(meaning(u32::MAX), Meaning::Old);
    assert_eq!(meaning(0), Meaning::Illegal);
}

//= RFC 5061 5.3-6 5.3-7
#[test]
fn what_the_peer_does_not_know_is_asked_no_more() {
    let unknown = ParameterWriter::new()
        .set_primary_address(AddressRequest { correlation: 1, address: [10, 0, 0, 1].into() })
        .finish();
    let causes = CauseWriter::new().unrecognized_parameters(&unknown).finish();
    let mut requests = three();
    let list = ParameterWriter::new().error_cause_indication(1, &causes).finish();
    acknowledged(&mut requests, u32::MAX, &list);
    assert!(requests.are_unknown(AddressChange::SetPrimary));
    assert!(!requests.are_unknown(AddressChange::Add));
    requests.give_up(true);
    assert!(requests.are_unknown(AddressChange::Add));
}

#[test]
fn addresses_that_are_not_seen_need_a_packet_each() {
    let mut requests = AsconfRequests::new(Tsn(1));
    let unseen = |change, last| Request { unseen: true, ..request(change, last) };
    let all = [
        unseen(AddressChange::Add, 1),
        unseen(AddressChange::Delete, 7),
        unseen(AddressChange::Add, 2),
    ];
    for one in all {
        requests.push(one);
    }
    requests.begin(IpAddr::from([0; 4]));
    assert_eq!(requests.under_way().copied().collect::<Vec<_>>(), all[..2]);
    let (_, _, encoded) = requests.chunk().unwrap();
    let parsed: Vec<_> = Parameters::new(&encoded).parsed().map(Result::unwrap).collect();
    let none = |correlation| AddressRequest { correlation, address: [0; 4].into() };
    assert_eq!(parsed, [Parameter::AddIpAddress(none(1)), Parameter::DeleteIpAddress(none(2))]);
}

#[test]
fn what_waits_is_bounded() {
    let mut requests = AsconfRequests::new(Tsn(1));
    let taken = (0..1000).filter(|_| requests.push(request(AddressChange::Add, 1))).count();
    assert_eq!(taken, MAX_WAITING);
}

#[test]
fn what_follows_from_the_host_waits_beside_the_rest_and_until_the_host_changes() {
    let mut requests = three();
    for last in 0..MAX_WAITING as u8 {
        requests.push(request(AddressChange::SetPrimary, last));
    }
    requests.follow(request(AddressChange::Add, 100));
    assert!(requests.open().any(|one| *one == request(AddressChange::Add, 100)));
    assert!(!requests.push(request(AddressChange::Add, 101)));
    requests.forget_those_that_follow();
    assert_eq!(requests.open().count(), 3 + MAX_WAITING, "what was asked for stays");
    assert!(!requests.open().any(|one| *one == request(AddressChange::Add, 100)));
}

/// A NAT shows one address for all of ours: to delete all others than that deletes none, and a peer may refuse it.
#[test]
fn a_wildcard_that_finds_one_address_is_done() {
    use AddressChange::{Add, Delete};
    let refuse = |correlation, causes: &[u8]| {
        ParameterWriter::new().error_cause_indication(correlation, causes).finish()
    };
    let causes = CauseWriter::new().request_to_delete_last_address(&[]).finish();
    let last = |correlation| refuse(correlation, &causes);
    let short =
        |correlation| refuse(correlation, &CauseWriter::new().resource_shortage(&[]).finish());
    let outcomes = |unseen, list: &[u8]| {
        let mut requests = AsconfRequests::new(Tsn(1));
        for (change, last) in [(Add, 3), (Delete, 1), (Delete, 2)] {
            requests.push(Request { unseen, ..request(change, last) });
        }
        requests.begin([0; 4].into());
        acknowledged(&mut requests, 1, list)
    };
    let refused = |cause: CauseCode| AddressOutcome::Refused { cause: cause.0 };
    let is_last = refused(CauseCode::REQUEST_TO_DELETE_LAST_ADDRESS);
    let both = [last(2), last(3)].concat();
    assert_eq!(outcomes(true, &both), [AddressOutcome::Done; 3]);
    // One that has a name stays, and so does one beside an address that is not added.
    assert_eq!(outcomes(false, &both), [AddressOutcome::Done, is_last, is_last]);
    let none = [short(1), both].concat();
    assert_eq!(outcomes(true, &none), [refused(CauseCode::RESOURCE_SHORTAGE), is_last, is_last]);
}
