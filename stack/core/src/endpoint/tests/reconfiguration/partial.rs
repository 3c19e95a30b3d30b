//! Messages that the peer gives up around a reset of its streams (RFC 3758 §3.6 with RFC 6525 §5.2.2), of DATA and of I-DATA
//! chunks: what belongs to the time before changes nothing in the new one.

use tresse_wire::{Fsn, IData, Mid, SkippedMessages, SkippedStream};

use super::*;

/// An association whose peer has all that is wanted, and its chunks.
struct Peer {
    script: Script,
    interleaved: bool,
}

fn each(play: impl Fn(Peer)) {
    each_with(None, play);
}

/// The same, where messages are handed over in parts from that many bytes on.
fn each_with(partial_delivery_point: Option<usize>, play: impl Fn(Peer)) {
    for interleaved in [false, true] {
        let config = AssociationConfig {
            extensions: Extensions {
                stream_reconfiguration: true,
                partial_reliability: true,
                interleaving: interleaved,
                ..Extensions::NONE
            },
            partial_delivery_point,
            ..standard()
        };
        let mut script = Script::connecting(&config);
        let mut types = vec![ChunkType::RE_CONFIG.0, ChunkType::FORWARD_TSN.0];
        if interleaved {
            types.extend([ChunkType::I_DATA.0, ChunkType::I_FORWARD_TSN.0]);
        }
        let mut parameters = ParameterWriter::new();
        parameters.state_cookie(b"cookie").forward_tsn_supported().supported_extensions(&types);
        script.init_ack_with(&peer_fields(), &mut parameters);
        script.cookie_ack();
        play(Peer { script, interleaved });
    }
}

impl Peer {
    /// A fragment, as `B`, `E` or `W` for a whole message; its payload is its TSN.
    fn part(&mut self, n: u32, part: char, stream: u16, mid: Option<u16>) {
        let flags = DataFlags {
            beginning: part != 'E',
            ending: part != 'B',
            unordered: mid.is_none(),
            ..DataFlags::default()
        };
        let (tsn, stream) = (PEER_TSN.wrapping_add(n), StreamId(stream));
        let (mid, payload) = (mid.unwrap_or(0), &[n as u8; 10]);
        let interleaved = self.interleaved;
        self.script.give(|w| {
            if interleaved {
                let (mid, fsn) = (Mid(mid.into()), Fsn((part == 'E').into()));
                w.i_data(&IData { tsn, stream, mid, ppid: Ppid(0), fsn, flags, payload });
            } else {
                w.data(tsn, stream, Ssn(mid), Ppid(0), flags, payload);
            }
        });
    }

    /// Whole messages: TSN, stream and SSN.
    fn sends(&mut self, messages: &[(u32, u16, u16)]) {
        for (n, stream, mid) in messages {
            self.part(*n, 'W', *stream, Some(*mid));
        }
    }

    /// What lies up to a TSN is given up: streams and SSNs.
    fn gives_up(&mut self, n: u32, skipped: &[(u16, u16)]) {
        let (tsn, interleaved) = (PEER_TSN.wrapping_add(n), self.interleaved);
        self.script.give(|w| {
            if interleaved {
                let skipped = skipped.iter().map(|(stream, mid)| SkippedMessages {
                    stream: StreamId(*stream),
                    unordered: false,
                    mid: Mid((*mid).into()),
                });
                w.i_forward_tsn(tsn, skipped);
            } else {
                let one = |(stream, ssn): &(u16, u16)| SkippedStream {
                    stream: StreamId(*stream),
                    ssn: Ssn(*ssn),
                };
                w.forward_tsn(tsn, skipped.iter().map(one));
            }
        });
    }

    /// Stream 1 begins again behind this TSN.
    fn resets(&mut self, request: u32, last: u32) {
        let response = RequestNumber(self.script.first.0).wrapping_sub(1);
        give(&mut self.script, |p| {
            let last = PEER_TSN.wrapping_add(last);
            p.outgoing_ssn_reset(theirs(request), response, last, streams(&[1]));
        });
    }

    #[track_caller]
    fn is_reset(&mut self) {
        let event = reset_event(ResetDirection::Incoming, &[1], Outcome::Performed);
        assert_eq!(told(&mut self.script), [event]);
    }

    /// What can be read, by TSN.
    #[track_caller]
    fn reads(&mut self, tsns: &[u8]) {
        assert_eq!(self.script.closed(), None);
        let messages = std::iter::from_fn(|| self.script.recv());
        let read: Vec<u8> = messages.map(|message| message.payload[0]).collect();
        assert_eq!(read, tsns, "interleaved: {}", self.interleaved);
    }
}

/// What is missing of the stream that begins again is given up together with what was sent later on another one: no SACK has
/// told that in between nothing is missing.
#[test]
fn what_is_given_up_beyond_a_reset_passes_over_nothing_behind_it() {
    each(|mut peer| {
        peer.sends(&[(0, 1, 0), (1, 1, 1)]);
        peer.resets(0, 2);
        peer.gives_up(3, &[(1, 2), (2, 0)]);
        peer.reads(&[0, 1]);
        peer.is_reset();
        peer.sends(&[(4, 1, 0), (5, 1, 1)]);
        peer.reads(&[4, 5]);
    });
}

#[test]
fn nor_if_it_is_all_that_was_sent_on_the_stream() {
    each(|mut peer| {
        peer.sends(&[(0, 0, 0)]);
        peer.resets(0, 1);
        peer.gives_up(2, &[(1, 0), (2, 0)]);
        peer.reads(&[0]);
        peer.is_reset();
        peer.sends(&[(3, 1, 0), (4, 1, 1), (5, 2, 1)]);
        peer.reads(&[3, 4, 5]);
    });
}

/// All has arrived and the stream has begun again, but SACK and answer are lost.
#[test]
fn what_is_given_up_in_vain_passes_over_nothing_behind_a_reset() {
    each(|mut peer| {
        peer.sends(&[(0, 1, 0), (1, 1, 1), (2, 1, 2)]);
        peer.resets(0, 2);
        peer.gives_up(3, &[(1, 2), (2, 0)]);
        peer.gives_up(4, &[(1, 2), (2, 1)]);
        peer.reads(&[0, 1, 2]);
        peer.is_reset();
        // Another stream goes on.
        peer.sends(&[(5, 2, 2), (6, 1, 0), (7, 1, 1)]);
        peer.reads(&[5, 6, 7]);
    });
}

#[test]
fn nor_does_a_chunk_that_a_second_reset_has_overtaken() {
    each(|mut peer| {
        peer.sends(&[(0, 1, 0), (1, 1, 1)]);
        peer.resets(0, 1);
        peer.reads(&[0, 1]);
        peer.is_reset();
        peer.resets(1, 1);
        peer.is_reset();
        peer.gives_up(2, &[(1, 1), (2, 0)]);
        peer.sends(&[(3, 1, 0)]);
        peer.reads(&[3]);
    });
}

/// The order is kept even where the SSN that comes first is the one behind what seemed to be passed over.
#[test]
fn what_comes_first_of_the_new_time_waits_for_what_is_missing_before_it() {
    each(|mut peer| {
        peer.sends(&[(0, 1, 0)]);
        peer.resets(0, 0);
        peer.gives_up(1, &[(1, 0), (2, 0)]);
        peer.reads(&[0]);
        peer.sends(&[(3, 1, 1)]);
        peer.reads(&[]);
        peer.sends(&[(2, 1, 0)]);
        peer.reads(&[2, 3]);
    });
}

/// What was delivered beyond a missing chunk does not make a FORWARD TSN of the time before a new one.
#[test]
fn a_chunk_of_the_time_before_may_come_late() {
    each(|mut peer| {
        peer.sends(&[(0, 1, 0), (1, 1, 1), (2, 1, 2)]);
        peer.resets(0, 2);
        peer.sends(&[(4, 1, 0)]);
        peer.gives_up(3, &[(1, 2), (2, 0)]);
        peer.sends(&[(5, 1, 1)]);
        peer.reads(&[0, 1, 2, 4, 5]);
    });
}

#[test]
fn what_is_given_up_of_the_new_time_is_passed_over() {
    each(|mut peer| {
        peer.sends(&[(0, 1, 0)]);
        peer.resets(0, 0);
        // The first message to come lacks nothing before it.
        peer.gives_up(2, &[(1, 1)]);
        peer.sends(&[(3, 1, 2), (5, 1, 4)]);
        peer.reads(&[0, 3]);
        // From now on its FORWARD TSNs are believed.
        peer.gives_up(4, &[(1, 3)]);
        peer.reads(&[5]);
        peer.gives_up(7, &[(1, 6)]);
        peer.sends(&[(9, 1, 7)]);
        peer.reads(&[9]);
    });
}

#[test]
fn it_waits_for_no_more_than_what_is_missing() {
    each(|mut peer| {
        peer.sends(&[(0, 1, 0)]);
        peer.resets(0, 0);
        peer.gives_up(2, &[(1, 1)]);
        peer.sends(&[(4, 1, 2), (5, 1, 3)]);
        peer.reads(&[0]);
        peer.sends(&[(3, 2, 0)]);
        peer.reads(&[3, 4, 5]);
        // Of what is given up a fragment has come: that is of the new time.
        peer.resets(1, 5);
        peer.part(7, 'E', 1, Some(0));
        peer.part(9, 'B', 1, Some(1));
        peer.part(10, 'E', 1, Some(1));
        peer.gives_up(7, &[(1, 0)]);
        peer.reads(&[9]);
        peer.sends(&[(8, 2, 1)]);
        peer.reads(&[8]);
    });
}

#[test]
fn a_long_message_behind_what_was_passed_over_is_read_in_parts() {
    each_with(Some(1), |mut peer| {
        peer.sends(&[(0, 1, 0)]);
        peer.resets(0, 0);
        peer.gives_up(2, &[(1, 1)]);
        peer.part(3, 'B', 1, Some(2));
        peer.reads(&[0, 3]);
        peer.part(4, 'E', 1, Some(2));
        peer.sends(&[(5, 1, 3)]);
        peer.reads(&[4, 5]);
    });
}

/// Who sends the new time before the answer gets it.
#[test]
fn a_peer_may_be_ahead_of_the_answer() {
    // TSN 1 is the second message of the time before, and 2 the first one of the new time.
    for given_up in [1, 0] {
        each(|mut peer| {
            peer.sends(&[(0, 1, 0)]);
            peer.resets(0, 1);
            peer.sends(&[(3, 1, 1), (5, 1, 2)]);
            peer.gives_up(2, &[(1, given_up)]);
            peer.reads(&[0, 3, 5]);
            peer.is_reset();
            peer.sends(&[(4, 2, 0)]);
            peer.reads(&[4]);
        });
    }
}

#[test]
fn unordered_messages_of_the_new_time_are_not_passed_over() {
    each(|mut peer| {
        if !peer.interleaved {
            return;
        }
        peer.part(0, 'W', 1, None);
        peer.resets(0, 0);
        let tsn = PEER_TSN.wrapping_add(1);
        let stream = StreamId(1);
        let skipped = [SkippedMessages { stream, unordered: true, mid: Mid(0) }];
        peer.script.give(|w| w.i_forward_tsn(tsn, skipped.into_iter()));
        peer.part(2, 'W', 1, None);
        peer.reads(&[0, 2]);
    });
}
