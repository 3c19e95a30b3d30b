//! The scoreboard against a simple model that visits everything at every step.

use bytes::Bytes;
use proptest::prelude::*;
use tresse_wire::{DataFlags, Fsn, GapAckBlock, GapAckBlocks, Mid, Ppid, StreamId};

use super::*;

#[derive(Clone, Debug)]
struct ModelChunk {
    path: u8,
    len: usize,
    size: usize,
    state: ChunkState,
    cumulative: bool,
    /// The receiver promised to keep it.
    kept: bool,
    ever_acked: bool,
    misses: u32,
    fast: bool,
    packet: usize,
    transmissions: u32,
    sent: u64,
}

/// Every chunk ever sent, in a vector.
#[derive(Default)]
struct Model {
    chunks: Vec<ModelChunk>,
    packets: usize,
    cumulative: usize,
    highest_acked: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Send { path: u8, chunks: usize, len: usize },
    Sack { cumulative: usize, blocks: Vec<(usize, usize)>, nr: Vec<(usize, usize)>, rule: Rule },
    Lose { pick: usize, timeout: bool },
    Retransmit { path: u8, chunks: usize, eligibility: Eligibility },
}

/// Which chunks a SACK strikes.
#[derive(Clone, Copy, Debug)]
enum Rule {
    None,
    Htna,
    Split,
}

/// What the model makes of a SACK.
#[derive(Default)]
struct ModelAck {
    bytes: usize,
    highest: Option<usize>,
    highest_on: [Option<usize>; 3],
    reneged: Vec<usize>,
}

fn rules() -> impl Strategy<Value = Rule> {
    prop_oneof![Just(Rule::None), Just(Rule::Htna), Just(Rule::Split)]
}

fn eligibilities() -> impl Strategy<Value = Eligibility> {
    prop_oneof![Just(Eligibility::Rule5), Just(Eligibility::Spent), Just(Eligibility::Renewed),]
}

fn blocks() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((1usize..12, 0usize..4), 0..5)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0u8..3, 1usize..5, 1usize..40).prop_map(|(path, chunks, len)| Step::Send { path, chunks, len }),
        4 => (0usize..4, blocks(), prop_oneof![Just(Vec::new()), blocks()], rules())
            .prop_map(|(cumulative, blocks, nr, rule)| Step::Sack { cumulative, blocks, nr, rule }),
        2 => (any::<prop::sample::Index>(), any::<bool>())
            .prop_map(|(pick, timeout)| Step::Lose { pick: pick.index(40), timeout }),
        2 => (0u8..3, 1usize..4, eligibilities()).prop_map(|(path, chunks, eligibility)|
            Step::Retransmit { path, chunks, eligibility }),
    ];
    prop::collection::vec(step, 1..80)
}

fn chunk(len: usize) -> NewChunk {
    NewChunk {
        stream: StreamId(0),
        mid: Mid(0),
        fsn: Fsn(0),
        ppid: Ppid(0),
        flags: DataFlags::UNFRAGMENTED,
        context: 0,
        key: None,
        payload: Bytes::from(vec![0; len]),
    }
}

impl Model {
    fn outstanding(&self) -> impl Iterator<Item = (usize, &ModelChunk)> {
        self.chunks.iter().enumerate().filter(|(_, c)| !c.cumulative)
    }

    fn missing(&self) -> Vec<(usize, u32)> {
        self.outstanding()
            .filter(|(i, c)| {
                let below = *i < self.highest_acked || c.ever_acked; // Or reneged on.
                c.state == ChunkState::InFlight && below && !c.fast
            })
            .map(|(i, c)| (i, c.misses))
            .collect()
    }

    /// What was kept once is acknowledged whatever a later SACK says.
    fn sack(&mut self, cumulative: usize, acked: &[bool]) -> ModelAck {
        let mut ack = ModelAck::default();
        for (i, (c, acked)) in self.chunks.iter_mut().zip(acked).enumerate() {
            if c.cumulative {
                continue;
            }
            let gap = i >= cumulative && (*acked || c.kept);
            if i < cumulative || gap {
                if c.state != ChunkState::GapAcked && !c.ever_acked {
                    ack.bytes += c.size;
                    ack.highest = Some(i);
                    ack.highest_on[usize::from(c.path)] = Some(i);
                }
                c.cumulative = i < cumulative;
                c.state = ChunkState::GapAcked;
                c.ever_acked = true;
                c.misses = 0;
                self.highest_acked = self.highest_acked.max(i);
            } else if c.state == ChunkState::GapAcked {
                c.state = ChunkState::InFlight;
                c.misses = 1;
                ack.reneged.push(i);
            }
        }
        self.cumulative = self.cumulative.max(cumulative);
        ack
    }

    /// Strikes what is missing below `limit` and was sent before `latest`.
    fn strike(&mut self, limit: usize, latest: u64, concerned: impl Fn(&ModelChunk) -> bool) {
        let highest = self.highest_acked;
        for (i, c) in self.chunks.iter_mut().enumerate().take(limit) {
            let below = i < highest || c.ever_acked;
            let missing = !c.cumulative && c.state == ChunkState::InFlight && below && !c.fast;
            if missing && concerned(c) && (c.transmissions == 1 || c.sent < latest) {
                c.misses += 1;
            }
        }
    }
}

/// A board with this many chunks of 4 bytes in flight on path 0, one in each packet.
/// Blocks as they stand in a chunk.
pub(super) fn bytes(blocks: &[GapAckBlock]) -> Vec<[u8; 4]> {
    blocks.iter().map(|block| block.to_bytes()).collect()
}

pub(super) fn flying(chunks: usize) -> Scoreboard {
    let mut board = Scoreboard::new(Tsn(u32::MAX - 50));
    for _ in 0..chunks {
        board.begin_packet();
        board.record_new(Time::from_millis(1), PathId(0), chunk(4));
    }
    board
}

struct Harness {
    board: Scoreboard,
    model: Model,
    base: u64,
    clock: u64,
}

impl Harness {
    fn new(initial: u32) -> Harness {
        let board = Scoreboard::new(Tsn(initial));
        let base = board.next_seq();
        // The model's highest_acked is an index; "none" and "chunk 0" look alike, as nothing is
        // below chunk 0.
        Harness { board, model: Model::default(), base, clock: 1 }
    }

    fn seq(&self, i: usize) -> u64 {
        self.base + i as u64
    }

    fn step(&mut self, step: &Step) {
        self.clock += 1;
        let now = Time::from_nanos(self.clock);
        match step {
            Step::Send { path, chunks, len } => {
                self.board.begin_packet();
                for _ in 0..*chunks {
                    let seq = self.board.record_new(now, PathId(*path), chunk(*len));
                    assert_eq!(seq, self.seq(self.model.chunks.len()));
                    self.model.chunks.push(ModelChunk {
                        path: *path,
                        len: *len,
                        size: tresse_wire::data_chunk_len(*len),
                        state: ChunkState::InFlight,
                        cumulative: false,
                        kept: false,
                        ever_acked: false,
                        misses: 0,
                        fast: false,
                        packet: self.model.packets,
                        transmissions: 1,
                        sent: self.clock,
                    });
                }
                self.model.packets += 1;
            }
            Step::Lose { pick, timeout } => {
                let pick = self.model.cumulative + pick;
                let cause = if *timeout { LossCause::Timeout } else { LossCause::FastRetransmit };
                let expected = self
                    .model
                    .chunks
                    .get(pick)
                    .is_some_and(|c| !c.cumulative && c.state == ChunkState::InFlight);
                assert_eq!(self.board.mark_lost(self.seq(pick), cause), expected);
                if expected {
                    let c = &mut self.model.chunks[pick];
                    c.state = ChunkState::Lost;
                    c.fast = !timeout;
                    c.misses = 0;
                }
            }
            Step::Retransmit { path, chunks, eligibility } => {
                if self.board.first_lost().is_none() {
                    return;
                }
                self.board.begin_packet();
                for _ in 0..*chunks {
                    let Some(seq) = self.board.first_lost() else { break };
                    let i = (seq - self.base) as usize;
                    let lowest =
                        self.model.outstanding().find(|(_, c)| c.state == ChunkState::Lost);
                    assert_eq!(lowest.map(|(i, _)| i), Some(i));
                    self.board.record_retransmission(now, PathId(*path), seq, *eligibility);
                    let c = &mut self.model.chunks[i];
                    c.fast = match eligibility {
                        Eligibility::Spent => true,
                        Eligibility::Renewed => false,
                        _ => c.fast,
                    };
                    c.state = ChunkState::InFlight;
                    c.path = *path;
                    c.packet = self.model.packets;
                    c.transmissions += 1;
                    c.sent = self.clock;
                    c.misses = 0;
                }
                self.model.packets += 1;
            }
            Step::Sack { cumulative, blocks, nr, rule } => {
                self.sack(*cumulative, blocks, nr, *rule);
            }
        }
        self.compare();
    }

    fn sack(
        &mut self,
        advance: usize,
        blocks: &[(usize, usize)],
        nr_blocks: &[(usize, usize)],
        rule: Rule,
    ) {
        let total = self.model.chunks.len();
        let cumulative = (self.model.cumulative + advance).min(total);
        let mut acked = vec![false; total];
        let (mut wire, mut nr_wire) = (Vec::new(), Vec::new());
        let both = blocks.iter().map(|b| (b, false)).chain(nr_blocks.iter().map(|b| (b, true)));
        for ((offset, len), kept) in both {
            let (start, end) = (cumulative + offset, cumulative + offset + len);
            if end < total {
                let list = if kept { &mut nr_wire } else { &mut wire };
                list.push(GapAckBlock {
                    start: *offset as u16 + 1,
                    end: (offset + len) as u16 + 1,
                });
                acked[start..=end].fill(true);
                for chunk in &mut self.model.chunks[start..=end] {
                    chunk.kept |= kept;
                }
            }
        }
        let mut outcome = AckOutcome::default();
        let mut released = Vec::new();
        let tsn = Scoreboard::tsn(self.seq(cumulative) - 1);
        let before = self.model.cumulative;
        let (wire, nr_wire) = (bytes(&wire), bytes(&nr_wire));
        let (blocks, nr_blocks) = (GapAckBlocks::new(&wire), GapAckBlocks::new(&nr_wire));
        self.board
            .on_nr_sack(tsn, blocks, nr_blocks, &mut outcome, |c| {
                released.push(c.chunk.payload.len());
            })
            .unwrap();
        let ack = self.model.sack(cumulative, &acked);
        assert_eq!(outcome.newly_acked, ack.bytes);
        assert_eq!(outcome.highest_newly_acked, ack.highest.map(|i| self.seq(i)));
        for (path, highest) in outcome.paths.iter().zip(ack.highest_on) {
            assert_eq!(path.highest_newly_acked, highest.map(|i| self.seq(i)));
        }
        let reneged_seqs: Vec<u64> = ack.reneged.iter().map(|i| self.seq(*i)).collect();
        let mut found = outcome.reneged.clone();
        found.sort_unstable();
        assert_eq!(found, reneged_seqs);
        let gone: Vec<usize> =
            self.model.chunks[before..self.model.cumulative].iter().map(|c| c.len).collect();
        // Those kept have lost their payload, some of them just now.
        assert_eq!(released.len(), gone.len());
        assert!(released.iter().zip(gone).all(|(found, len)| *found == len || *found == 0));
        assert_eq!(outcome.cumulative_advanced, self.model.cumulative > before);
        let latest = outcome.latest_sent;
        match (rule, ack.highest) {
            (Rule::Htna, Some(highest)) => {
                self.board.strike(self.seq(highest), latest);
                self.model.strike(highest, latest.as_nanos(), |_| true);
            }
            (Rule::Split, _) => {
                for (path, highest) in (0u8..).zip(ack.highest_on) {
                    if let Some(highest) = highest {
                        self.board.strike_on(PathId(path), self.seq(highest), latest);
                        self.model.strike(highest, latest.as_nanos(), |c| c.path == path);
                    }
                }
            }
            _ => {}
        }
    }

    fn compare(&self) {
        let (board, model) = (&self.board, &self.model);
        for path in 0..3u8 {
            let of_path = || model.outstanding().filter(move |(_, c)| c.path == path);
            let flight: usize = of_path()
                .filter(|(_, c)| c.state == ChunkState::InFlight)
                .map(|(_, c)| c.size)
                .sum();
            assert_eq!(board.flight(PathId(path)), flight);
            let buffered: usize = of_path().filter(|(_, c)| !c.kept).map(|(_, c)| c.len).sum();
            assert_eq!(board.buffered_on(PathId(path)), buffered);
            let earliest =
                of_path().find(|(_, c)| c.state != ChunkState::GapAcked).map(|(i, _)| self.seq(i));
            assert_eq!(board.earliest(PathId(path)), earliest, "path {path}");
        }
        let buffered: usize =
            model.outstanding().filter(|(_, c)| !c.kept).map(|(_, c)| c.len).sum();
        assert_eq!(board.buffered_user_bytes(), buffered);
        for (i, c) in model.outstanding() {
            let payload = board.get(self.seq(i)).unwrap().chunk.payload.len();
            assert_eq!(payload, if c.kept { 0 } else { c.len });
        }
        let packets = |in_packet: &dyn Fn(&ModelChunk) -> bool| {
            let mut list: Vec<usize> =
                model.outstanding().filter(|(_, c)| in_packet(c)).map(|(_, c)| c.packet).collect();
            list.dedup();
            list.sort_unstable();
            list.dedup();
            list
        };
        let in_flight = packets(&|c| c.state == ChunkState::InFlight);
        let open = packets(&|_| true);
        let not_acked = packets(&|c| c.state != ChunkState::GapAcked);
        assert_eq!(board.packets_in_flight(), in_flight.len());
        assert_eq!(board.packets_outstanding(), open.len());
        assert_eq!(board.packets_gap_acked(), open.len() - not_acked.len());
        let mut missing: Vec<(u64, u32)> =
            board.missing().flat_map(|r| (r.start..=r.end).map(|s| (s, r.misses))).collect();
        let expected: Vec<(u64, u32)> =
            model.missing().into_iter().map(|(i, misses)| (self.seq(i), misses)).collect();
        missing.sort_unstable();
        assert_eq!(missing, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    //= RFC 9260 6.7-3 6.7-4 6.7-5 7.2-4
    #[test]
    fn behaves_like_the_model(
        initial in prop_oneof![any::<u32>(), u32::MAX - 20..=u32::MAX],
        steps in steps(),
    ) {
        let mut harness = Harness::new(initial);
        for step in &steps {
            harness.step(step);
        }
    }
}

#[test]
fn late_and_impossible_sacks_change_nothing() {
    let mut harness = Harness::new(100);
    harness.step(&Step::Send { path: 0, chunks: 4, len: 10 });
    harness.step(&Step::Sack { cumulative: 2, blocks: vec![], nr: vec![], rule: Rule::Htna });
    let mut outcome = AckOutcome::default();
    let none = GapAckBlocks::default;
    let board = &mut harness.board;
    assert_eq!(board.on_sack(Tsn(100), none(), &mut outcome, |_| {}), Err(SackFault::Stale));
    assert_eq!(board.on_sack(Tsn(104), none(), &mut outcome, |_| {}), Err(SackFault::Unsent));
    assert_eq!(
        board.on_sack(Tsn(103 + (1 << 31)), none(), &mut outcome, |_| {}),
        Err(SackFault::Stale)
    );
    let (malformed, unsent) = (SackFault::MalformedGap, SackFault::Unsent);
    for (start, end, fault) in
        [(0, 1, malformed), (2, 1, malformed), (2, 3, unsent), (1, u16::MAX, unsent)]
    {
        let block = bytes(&[GapAckBlock { start, end }]);
        assert_eq!(
            board.on_sack(Tsn(101), GapAckBlocks::new(&block), &mut outcome, |_| {}),
            Err(fault),
            "{start}-{end}"
        );
    }
    harness.compare();
}

#[test]
fn drain_returns_everything_and_leaves_a_usable_board() {
    let mut harness = Harness::new(7);
    harness.step(&Step::Send { path: 1, chunks: 3, len: 10 });
    let next = harness.board.next_seq();
    assert_eq!(harness.board.drain().count(), 3);
    assert!(harness.board.is_empty());
    assert_eq!(harness.board.next_seq(), next);
    assert_eq!(harness.board.total_flight(), 0);
}

//= RFC 9260 5.1-20
#[test]
fn it_begins_one_before_the_initial_tsn() {
    // RFC 9260 §5.1: "each endpoint MUST set its internal Cumulative TSN Ack Point to the value of
    // its transmitted Initial TSN minus one".
    for first in [0, 1, 77, u32::MAX] {
        let board = Scoreboard::new(Tsn(first));
        assert_eq!(Scoreboard::tsn(board.cumulative()), Tsn(first.wrapping_sub(1)));
        assert_eq!(Scoreboard::tsn(board.next_seq()), Tsn(first));
    }
}

#[test]
fn in_flight_a_chunk_counts_with_its_header_or_its_data_alone() {
    for (counts_headers, each) in [(true, tresse_wire::data_chunk_len(50)), (false, 50)] {
        let mut board = Scoreboard::new(Tsn(1));
        board.set_counts_headers(counts_headers);
        for _ in 0..3 {
            board.begin_packet();
            board.record_new(Time::from_millis(1), PathId(0), chunk(50));
        }
        assert_eq!(board.flight(PathId(0)), 3 * each);
        let first = board.cumulative() + 1;
        assert!(board.mark_lost(first, LossCause::Timeout));
        assert_eq!(board.flight(PathId(0)), 2 * each);
        board.begin_packet();
        board.record_retransmission(Time::from_millis(2), PathId(0), first, Eligibility::Rule5);
        assert_eq!(board.flight(PathId(0)), 3 * each);
        let mut outcome = AckOutcome::default();
        let cumulative = Scoreboard::tsn(first + 1);
        board.on_cumulative_ack(cumulative, &mut outcome, |_| {}).unwrap();
        assert_eq!((board.flight(PathId(0)), outcome.newly_acked), (each, 2 * each));
        assert_eq!(board.drain().count(), 1);
        board.begin_packet();
        board.record_new(Time::from_millis(3), PathId(0), chunk(50));
        assert_eq!(board.flight(PathId(0)), each);
    }
}

#[test]
fn what_follows_a_chunk_is_what_another_packet_carried_last() {
    let mut board = Scoreboard::new(Tsn(1));
    for chunks in [2, 1] {
        board.begin_packet();
        for _ in 0..chunks {
            board.record_new(Time::from_millis(1), PathId(0), chunk(50));
        }
    }
    let first = board.cumulative() + 1;
    let followers = |board: &Scoreboard| [0, 1, 2].map(|i| board.follower(first + i));
    assert_eq!(followers(&board), [Some(first + 2), Some(first + 2), None]);
    assert!(board.mark_lost(first + 1, LossCause::Rack));
    board.begin_packet();
    board.record_retransmission(Time::from_millis(2), PathId(0), first + 1, Eligibility::Rule5);
    assert_eq!(followers(&board), [Some(first + 1), Some(first + 2), None]);
}

/// RFC 9260 §8.2: whether it was the one that arrived is not known.
#[test]
fn a_chunk_of_which_a_copy_left_elsewhere_is_no_sure_answer() {
    for (copied, sure) in [(false, Some(Time::from_millis(1))), (true, None)] {
        let mut board = Scoreboard::new(Tsn(1));
        board.begin_packet();
        board.record_new(Time::from_millis(1), PathId(0), chunk(50));
        let first = board.cumulative() + 1;
        if copied {
            board.note_elsewhere(first);
        }
        let mut outcome = AckOutcome::default();
        board.on_cumulative_ack(Scoreboard::tsn(first), &mut outcome, |_| {}).unwrap();
        assert_eq!(outcome.paths[0].unambiguous, sure);
    }
}
