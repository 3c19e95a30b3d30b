//! The account of memory, and what happens as it runs out.

use super::script::{packet_from, peer_fields, write_data};
use super::*;
use crate::error::NotOpened;

/// An endpoint that may hold this many bytes, and associations with peers at ports 1000 and up.
struct Crowd {
    script: Script,
    tags: Vec<VerificationTag>,
    ids: Vec<AssociationId>,
    next: Vec<Tsn>,
}

const MIB: usize = 1 << 20;

impl Crowd {
    fn new(memory: usize, peers: u16) -> Crowd {
        let config = EndpointConfig {
            local_port: PORT,
            local_addresses: addresses(Side::A, 1),
            accept: true,
            memory,
            association: standard(),
            ..EndpointConfig::default()
        };
        let script = Script::with_end(Endpoint::new(config, [1; 32]));
        let mut crowd = Crowd { script, tags: Vec::new(), ids: Vec::new(), next: Vec::new() };
        for _ in 0..peers {
            crowd.join().unwrap();
        }
        crowd
    }

    /// A packet of peer `number`.
    fn give(
        &mut self,
        number: usize,
        tag: VerificationTag,
        write: impl FnOnce(&mut PacketWriter<'_>),
    ) -> Vec<Sent> {
        self.script.give_bytes(packet_from(1000 + number as u16, tag, write))
    }

    /// Another peer comes; the answer if it is refused.
    fn join(&mut self) -> Result<(), Sent> {
        let number = self.tags.len();
        let fields =
            InitFields { initiate_tag: VerificationTag(1 + number as u32), ..peer_fields() };
        let sent = self.give(number, VerificationTag(0), |w| w.init(&fields, &[]));
        let ack = sent::only(&sent).clone();
        if !ack.carries(ChunkType::INIT_ACK) {
            return Err(ack);
        }
        let tag = ack.init().0.initiate_tag;
        self.give(number, tag, |w| w.cookie_echo(&ack.cookie()));
        self.tags.push(tag);
        self.next.push(fields.initial_tsn);
        self.ids.extend(self.script.end.associations().iter().find(|id| !self.ids.contains(id)));
        Ok(())
    }

    /// A message of peer `number`; the window that the SACK tells, if there is one.
    fn data(&mut self, number: usize, len: usize) -> Option<u32> {
        let (tag, tsn) = (self.tags[number], self.next[number]);
        self.next[number] = tsn.wrapping_add(1);
        let sent = self.give(number, tag, |w| write_data(w, tsn, len));
        sent.iter().find_map(|p| p.sack().map(|sack| sack.a_rwnd))
    }

    fn held(&self) -> usize {
        self.script.end.endpoint_stats().memory
    }

    /// What the associations say one by one.
    fn sum(&self) -> usize {
        let end = &self.script.end;
        end.associations().iter().map(|id| end.stats(*id).unwrap().memory).sum()
    }
}

#[test]
fn the_account_is_the_sum_of_what_associations_hold() {
    let mut crowd = Crowd::new(1 << 30, 5);
    for round in 0..50 {
        for number in 0..5 {
            crowd.data(number, 100 + 50 * round);
            assert_eq!(crowd.held(), crowd.sum());
        }
    }
    assert!(crowd.held() > 5 * 50 * 1300);
    let (now, ids) = (crowd.script.now, crowd.ids.clone());
    for id in ids {
        while crowd.script.end.recv(now, id).is_some() {}
        assert_eq!(crowd.held(), crowd.sum());
        crowd
            .script
            .end
            .send(now, id, StreamId(0), vec![1; 9000].into(), Default::default())
            .unwrap();
        crowd.script.poll();
        assert_eq!(crowd.held(), crowd.sum());
        crowd.script.end.abort(now, id, b"").unwrap();
        crowd.script.poll();
        assert_eq!(crowd.held(), crowd.sum());
    }
    assert_eq!((crowd.held(), crowd.script.end.associations().len()), (0, 0));
}

#[test]
fn far_chunks_and_lists_are_counted() {
    let mut crowd = Crowd::new(1 << 30, 1);
    let before = crowd.held();
    let (tag, tsn) = (crowd.tags[0], crowd.next[0]);
    crowd.give(0, tag, |w| write_data(w, tsn.wrapping_add(60_000), 1));
    // The list of pages up to there.
    assert!(crowd.held() > before + 8 * 60_000 / 64, "{} bytes more", crowd.held() - before);
}

#[test]
fn windows_shrink_but_no_promise_is_broken() {
    let mut crowd = Crowd::new(4 * MIB, 4);
    while crowd.held() < 3 * MIB {
        for number in 0..3 {
            crowd.data(number, 1400);
        }
    }
    // The fourth was promised 1 MiB, and reads whatever comes: with memory it would always have that.
    let (now, id) = (crowd.script.now, crowd.ids[3]);
    let mut windows = Vec::new();
    let mut edge = MIB;
    for n in 1..3000 {
        if let Some(window) = crowd.data(3, 1400) {
            // RFC 9260 §6.2: the right edge of the window stays where it was told to be.
            let told = n * 1400 + window as usize;
            assert!(told >= edge, "{told} after {edge}");
            edge = told;
            windows.push(window as usize);
        }
        assert!(crowd.script.end.recv(now, id).is_some());
    }
    assert!(windows.iter().all(|window| *window > MIB / 2), "who reads has a window");
    // Who comes now is told of its share of one half, and does not read.
    crowd.script.poll();
    crowd.join().unwrap();
    let mut narrow = Vec::new();
    for _ in 0..100 {
        narrow.extend(crowd.data(4, 1400));
    }
    let share = 4 * MIB / 2 / 4; // One of four, when it asked.
    let most = *narrow.iter().max().unwrap() as usize;
    assert!(most <= share && most > share / 2, "{most} of {share}");
    assert_eq!(crowd.script.end.endpoint_stats().aborted_for_memory, 0);
    // There is plenty again.
    for gone in [crowd.ids[0], crowd.ids[1]] {
        crowd.script.end.abort(now, gone, b"").unwrap();
        crowd.script.poll();
        crowd.script.end.forget(gone);
    }
    for _ in 0..1000 {
        windows.extend(crowd.data(3, 1400).map(|window| window as usize));
        crowd.script.end.recv(now, id).unwrap();
    }
    assert!(*windows.last().unwrap() > MIB - 10_000);
}

#[test]
fn beyond_seven_eighths_nobody_new_comes_in() {
    let mut crowd = Crowd::new(4 * MIB, 4);
    while crowd.held() < 4 * MIB / 8 * 7 + 10_000 {
        for number in 0..4 {
            crowd.data(number, 1400);
        }
    }
    let refused = crowd.join().unwrap_err();
    assert_eq!(refused.causes()[0].0, CauseCode::OUT_OF_RESOURCE);
    let (now, to) = (crowd.script.now, addresses(Side::Z, 2));
    let called = crowd.script.end.connect(now, &to[1..], PORT, standard());
    assert_eq!(called, Err(NotOpened::OutOfMemory));
    // What is in sequence is still taken, what lies beyond a missing chunk is not.
    let (tag, tsn) = (crowd.tags[0], crowd.next[0]);
    let dropped = crowd.script.end.stats(crowd.ids[0]).unwrap().data_chunks_dropped;
    crowd.give(0, tag, |w| write_data(w, tsn.wrapping_add(5), 10));
    crowd.data(0, 10);
    let stats = crowd.script.end.stats(crowd.ids[0]).unwrap();
    assert_eq!(stats.data_chunks_dropped, dropped + 1);
    // Once there is room again, they come.
    let id = crowd.ids[0];
    while crowd.script.end.recv(now, id).is_some() {}
    crowd.script.poll();
    assert!(crowd.join().is_ok());
}

#[test]
fn beyond_all_of_it_the_largest_goes() {
    let mut crowd = Crowd::new(2 * MIB, 3);
    for _ in 0..1000 {
        crowd.data(0, 1000);
    }
    // An application that has more to send than the peer takes.
    let (now, id) = (crowd.script.now, crowd.ids[1]);
    let message = Bytes::from(vec![1; 10_000]);
    for _ in 0..30 {
        crowd.script.end.send(now, id, StreamId(0), message.clone(), Default::default()).unwrap();
    }
    while crowd.script.closed().is_none() {
        assert!(crowd.held() <= 2 * MIB);
        crowd.data(2, 1400);
    }
    assert_eq!(crowd.script.closed(), Some(&CloseReason::OutOfMemory));
    let there: Vec<_> = crowd.ids.iter().map(|id| crowd.script.end.stats(*id).is_some()).collect();
    assert_eq!(there, [false, true, true]);
    assert_eq!(crowd.script.end.endpoint_stats().aborted_for_memory, 1);
    assert!(crowd.held() < 2 * MIB && crowd.held() == crowd.sum());
}

#[test]
fn calls_that_nobody_answers_count() {
    let mut crowd = Crowd::new(16 * MIB, 1);
    let (now, to) = (crowd.script.now, addresses(Side::Z, 1));
    let mut calls = 0;
    let refused = loop {
        let called = crowd.script.end.connect(now, &to, 2000 + calls, standard());
        assert!(crowd.held() <= 16 * MIB && calls < 10_000);
        match called {
            Ok(_) => calls += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((refused, calls > 500), (NotOpened::OutOfMemory, true));
    crowd.data(0, 1000);
    assert_eq!(crowd.held(), crowd.sum());
}

#[test]
fn what_the_gone_leave_unread_goes_before_anybody_who_is_there() {
    let mut crowd = Crowd::new(2 * MIB, 5);
    // They fill their windows and leave; the application reads nothing.
    for number in 1..5 {
        for _ in 0..300 {
            crowd.data(number, 1400);
        }
        let (tag, last) = (crowd.tags[number], crowd.next[number].wrapping_sub(1));
        crowd.give(number, tag, |w| w.shutdown(last));
        crowd.give(number, tag, |w| w.shutdown_complete(false));
    }
    assert!(crowd.held() > 4 * 300 * 1400 && crowd.script.end.associations().len() == 5);
    for _ in 0..200 {
        crowd.data(0, 1400);
        assert!(crowd.held() <= 2 * MIB);
    }
    let stats = crowd.script.end.stats(crowd.ids[0]).unwrap();
    assert_eq!(stats.receive_buffered, 200 * 1400);
    let gone = crowd.script.end.endpoint_stats().aborted_for_memory;
    assert!(gone > 0, "{gone}");
    assert_eq!(crowd.held(), crowd.sum());
}

#[test]
fn the_gone_cost_no_work_until_they_are_read() {
    let mut crowd = Crowd::new(2 * MIB, 2);
    crowd.data(1, 1400);
    crowd.data(1, 1400);
    let (tag, last) = (crowd.tags[1], crowd.next[1].wrapping_sub(1));
    crowd.give(1, tag, |w| w.shutdown(last));
    crowd.give(1, tag, |w| w.shutdown_complete(false));
    while crowd.script.end.poll_event().is_some() {}
    crowd.data(0, 1400);
    let Crowd { script, ids, .. } = &mut crowd;
    assert!(script.end.roll.agenda().nobody_leaves(), "with each packet they would be looked at");
    let now = script.now;
    for left in [2, 1] {
        assert_eq!(script.end.associations().len(), 2, "{left} messages are there");
        assert!(script.end.recv(now, ids[1]).is_some());
        assert_eq!(script.end.poll_event(), None);
    }
    assert_eq!(script.end.associations(), [ids[0]]);
}
