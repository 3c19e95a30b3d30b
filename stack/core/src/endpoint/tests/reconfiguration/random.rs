//! Whatever both ends ask for, and whatever the wire loses and delays: each message arrives once and in its order, both
//! ends agree on which streams begin again where, and everything comes to an end.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const STREAMS: u16 = 4;

#[derive(Clone, Debug)]
enum Step {
    /// This many messages on a stream, of which some are unordered.
    Send(Side, u16, u8),
    Reset(Side, ResetDirection, Vec<u16>),
    ResetAssociation(Side),
    Add(Side, u16, u16),
    Read(Side),
    Run(u64),
}

/// One direction, as its receiver sees it.
#[derive(Default)]
struct Reader {
    /// Events looked at so far.
    looked: usize,
    /// The next SSN of each stream.
    next: BTreeMap<u16, u16>,
    /// Numbers of the messages of each stream.
    read: BTreeMap<u16, Vec<u32>>,
    /// Lists of streams that began again.
    resets: Vec<Vec<StreamId>>,
    associations: usize,
}

struct World {
    pair: Pair,
    ids: [AssociationId; 2],
    readers: [Reader; 2],
    /// What each side sent on each stream.
    sent: [BTreeMap<u16, Vec<u32>>; 2],
    numbers: u32,
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::A), Just(Side::Z)]
}

fn step() -> impl Strategy<Value = Step> {
    let direction = prop_oneof![
        Just(ResetDirection::Outgoing),
        Just(ResetDirection::Incoming),
        Just(ResetDirection::Both)
    ];
    prop_oneof![
        6 => (side(), 0..STREAMS, 1..20u8).prop_map(|(s, stream, n)| Step::Send(s, stream, n)),
        3 => (side(), direction, vec(0..STREAMS, 0..3)).prop_map(|(s, d, l)| Step::Reset(s, d, l)),
        1 => side().prop_map(Step::ResetAssociation),
        1 => (side(), 0..3u16, 0..3u16).prop_map(|(s, o, i)| Step::Add(s, o, i)),
        2 => side().prop_map(Step::Read),
        6 => (1..700u64).prop_map(Step::Run),
    ]
}

impl World {
    fn new(losses: u64, seed: u64) -> World {
        let config = AssociationConfig { outbound_streams: STREAMS, ..config() };
        let (mut pair, a, z) = Pair::connected(&config, 1);
        // A small generator of its own: the same seed, the same wire.
        let draw = move |n: u64, salt: u64| {
            let mut x = (n ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt;
            x ^= x >> 31;
            x.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
        };
        pair.drop = Box::new(move |p| draw(p.number * 2 + p.from as u64, 1) % 100 < losses);
        pair.detour = Box::new(move |p| ms(draw(p.number * 2 + p.from as u64, 2) % 40));
        let readers = [Reader::default(), Reader::default()];
        World { pair, ids: [a, z], readers, sent: Default::default(), numbers: 0 }
    }

    fn step(&mut self, step: &Step) {
        let now = self.pair.now;
        match step {
            Step::Send(side, stream, count) => {
                for n in 0..*count {
                    let payload = Bytes::copy_from_slice(&self.numbers.to_be_bytes());
                    let options = SendOptions { unordered: n % 5 == 4, ..SendOptions::default() };
                    let id = self.ids[*side as usize];
                    let sent =
                        self.pair.end(*side).send(now, id, StreamId(*stream), payload, options);
                    sent.unwrap();
                    if !options.unordered {
                        let list = &mut self.sent[*side as usize];
                        list.entry(*stream).or_default().push(self.numbers);
                    }
                    self.numbers += 1;
                }
            }
            // One that is under way refuses others.
            Step::Reset(side, direction, list) => {
                let id = self.ids[*side as usize];
                let _ = self.pair.end(*side).reset_streams(now, id, *direction, &streams(list));
            }
            Step::ResetAssociation(side) => {
                let id = self.ids[*side as usize];
                let _ = self.pair.end(*side).reset_association(now, id);
            }
            Step::Add(side, outgoing, incoming) => {
                let id = self.ids[*side as usize];
                let _ = self.pair.end(*side).add_streams(now, id, *outgoing, *incoming);
            }
            Step::Read(side) => self.read(*side),
            Step::Run(span) => self.pair.run(ms(*span)),
        }
    }

    /// Reads all messages, and looks at the events that come between them.
    fn read(&mut self, side: Side) {
        loop {
            self.pair.run(Duration::ZERO);
            let reader = &mut self.readers[side as usize];
            for (_, _, event) in
                self.pair.events[reader.looked..].iter().filter(|(s, ..)| *s == side)
            {
                reader.look(event);
            }
            reader.looked = self.pair.events.len();
            let (now, id) = (self.pair.now, self.ids[side as usize]);
            let Some(message) = self.pair.end(side).recv(now, id) else { break };
            self.readers[side as usize].take(&message);
        }
    }

    /// All that is under way comes to its end.
    fn finish(&mut self) {
        self.pair.drop = Box::new(|_| false);
        for _ in 0..20 {
            self.pair.run(secs(30));
            self.read(Side::A);
            self.read(Side::Z);
        }
    }

    fn resets(&self, side: Side) -> Vec<Vec<StreamId>> {
        let one = |(s, _, event): &(Side, AssociationId, Event)| match event {
            Event::StreamsReset {
                direction: ResetDirection::Outgoing,
                streams,
                outcome: Outcome::Performed,
            } if *s == side => Some(streams.clone()),
            _ => None,
        };
        self.pair.events.iter().filter_map(one).collect()
    }
}

impl Reader {
    fn look(&mut self, event: &Event) {
        match event {
            Event::StreamsReset {
                direction: ResetDirection::Incoming,
                streams,
                outcome: Outcome::Performed,
            } => {
                self.resets.push(streams.clone());
                if streams.is_empty() {
                    self.next.clear();
                }
                self.next.retain(|stream, _| !streams.contains(&StreamId(*stream)));
            }
            Event::AssociationReset { outcome: Outcome::Performed, .. } => {
                self.associations += 1;
                self.next.clear();
            }
            _ => {}
        }
    }

    fn take(&mut self, message: &ReceivedMessage) {
        if message.unordered {
            return;
        }
        let next = self.next.entry(message.stream.0).or_default();
        assert_eq!(message.ssn.0, *next, "stream {}", message.stream);
        *next += 1;
        let number = u32::from_be_bytes(message.payload[..].try_into().unwrap());
        self.read.entry(message.stream.0).or_default().push(number);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn both_ends_agree_and_nothing_is_lost(
        steps in vec(step(), 1..60),
        losses in prop_oneof![Just(0u64), 0..30u64],
        seed in any::<u64>(),
    ) {
        let mut world = World::new(losses, seed);
        for step in &steps {
            world.step(step);
        }
        world.finish();
        for (from, to) in [(Side::A, Side::Z), (Side::Z, Side::A)] {
            prop_assert_eq!(world.pair.closed(from), None);
            let reader = &world.readers[to as usize];
            prop_assert_eq!(&reader.read, &world.sent[from as usize]);
            prop_assert_eq!(&reader.resets, &world.resets(from));
            let id = world.ids[from as usize];
            let stats = world.pair.end(from).stats(id).unwrap();
            prop_assert_eq!(stats.send_buffered, 0);
        }
        let [a, z] = &world.readers;
        prop_assert_eq!(a.associations, z.associations);
        // Nothing is under way any more.
        let (now, id) = (world.pair.now, world.ids[0]);
        let result = world.pair.end(Side::A).reset_streams(now, id, ResetDirection::Outgoing, &[]);
        prop_assert_eq!(result, Ok(()));
    }
}
