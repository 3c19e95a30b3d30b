//! TCP: connections, and the segments with data of each direction. What is a retransmission, and how
//! often and how long after the transmission before, is what tcptrace says of it.

mod direction;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use direction::{Acknowledgement, Direction, Segment};
use etherparse::{TcpOptionElement, TcpSlice};

use crate::Skipped;
use crate::datagram::Datagram;
use crate::event::{Event, Head, Observer};
use crate::flow::{Flow, ms};
use crate::sctp::GIVEN_UP;
use crate::settings::Settings;
use crate::statistics::Delays;
use crate::summary::{DirectionSummary, Ending, PathSummary, Summary, nearer, unknown};
use crate::terms::{Identity, Side};

/// This many connections are followed at a time, of some 5 KiB each.
const MOST_LIVE: usize = 1 << 15;
const SHORT: &str = "TCP segments cut off within their header, or with a malformed one";

#[derive(Debug)]
struct Connection {
    identity: Identity,
    from_the_beginning: bool,
    ending: Option<Ending>,
    finished: [bool; 2],
    first_at: u64,
    last_at: u64,
    packets: [u64; 2],
    bytes: [u64; 2],
    rtt: [Delays; 2],
    /// When each side was asked for an answer while the connection was set up, and how soon it
    /// answered, in milliseconds.
    asked: [Option<u64>; 2],
    answered: [Option<f64>; 2],
    directions: [Direction; 2],
}

/// Follows all connections of a capture.
#[derive(Debug)]
pub(crate) struct Tracker {
    settings: Settings,
    live: BTreeMap<u64, Connection>,
    /// Who sends, by source and destination.
    by_addresses: HashMap<(SocketAddr, SocketAddr), (u64, Side)>,
    pub(crate) total: Flow,
}

impl Tracker {
    pub(crate) fn new(settings: Settings) -> Tracker {
        Tracker {
            settings,
            live: BTreeMap::new(),
            by_addresses: HashMap::new(),
            total: Flow::new(settings.rto_min_ms),
        }
    }

    /// A segment; of `head`, connection and sender are found here.
    pub(crate) fn packet(
        &mut self,
        head: &Head,
        datagram: &Datagram<'_>,
        next_id: &mut u64,
        skipped: &mut Skipped,
        out: &mut dyn Observer,
    ) {
        let Ok(tcp) = TcpSlice::from_slice(datagram.bytes) else {
            skipped.add(SHORT);
            return;
        };
        let source = SocketAddr::new(head.source, tcp.source_port());
        let destination = SocketAddr::new(head.destination, tcp.destination_port());
        let opens = tcp.syn() && !tcp.ack();
        let mut known = self.by_addresses.get(&(source, destination)).copied();
        // The ports are used again.
        if let Some((id, _)) = known.filter(|_| opens)
            && self.live.get(&id).is_some_and(|c| c.ending.is_some())
        {
            self.end(id, Ending::Open, out);
            known = None;
        }
        if known.is_none() && self.live.len() >= MOST_LIVE {
            self.give_up(skipped, out);
        }
        let (id, from) = known.unwrap_or_else(|| {
            let id = *next_id;
            *next_id += 1;
            // Who answers a SYN did not open the connection.
            let (a, b) =
                if tcp.syn() && tcp.ack() { (destination, source) } else { (source, destination) };
            let connection = Connection::new(id, head.at, [a, b], &self.settings);
            out.begins(&connection.identity);
            self.live.insert(id, connection);
            self.by_addresses.insert((a, b), (id, Side::A));
            self.by_addresses.insert((b, a), (id, Side::B));
            (id, if a == source { Side::A } else { Side::B })
        });
        let Some(connection) = self.live.get_mut(&id) else { return };
        let head = Head { association: id, from, path: from as u16, ..*head };
        let header = tcp.header_slice().len();
        let length = datagram.original.saturating_sub(header);
        connection.segment(&head, &tcp, length, &self.settings, out);
    }

    /// Ends what was silent since `idle`, and what has ended and was silent since `ended`.
    pub(crate) fn flush(&mut self, idle: u64, ended: u64, out: &mut dyn Observer) {
        let due = |c: &Connection| c.last_at < if c.ending.is_some() { ended } else { idle };
        let ids: Vec<u64> = self.live.iter().filter(|(_, c)| due(c)).map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.end(id, Ending::Idle, out));
    }

    /// Ends the eighth of all connections of which nothing was seen for longest.
    fn give_up(&mut self, skipped: &mut Skipped, out: &mut dyn Observer) {
        let mut all: Vec<(u64, u64)> = self.live.iter().map(|(id, c)| (c.last_at, *id)).collect();
        all.sort_unstable();
        for (_, id) in all.iter().take(all.len().div_ceil(8)) {
            skipped.add(GIVEN_UP);
            self.end(*id, Ending::Idle, out);
        }
    }

    /// The capture has ended.
    pub(crate) fn finish(&mut self, out: &mut dyn Observer) {
        let ids: Vec<u64> = self.live.keys().copied().collect();
        ids.into_iter().for_each(|id| self.end(id, Ending::Open, out));
    }

    fn end(&mut self, id: u64, ending: Ending, out: &mut dyn Observer) {
        let Some(connection) = self.live.remove(&id) else { return };
        let Identity { a, b, .. } = connection.identity;
        for pair in [(a, b), (b, a)] {
            if self.by_addresses.get(&pair).is_some_and(|(owner, _)| *owner == id) {
                self.by_addresses.remove(&pair);
            }
        }
        for direction in &connection.directions {
            self.total.merge(&direction.flow);
        }
        out.ends(&connection.summary(ending));
    }
}

impl Connection {
    fn new(id: u64, at: u64, [a, b]: [SocketAddr; 2], settings: &Settings) -> Connection {
        Connection {
            identity: Identity { association: id, protocol: "tcp", a, b },
            from_the_beginning: false,
            ending: None,
            finished: [false; 2],
            first_at: at,
            last_at: at,
            packets: [0; 2],
            bytes: [0; 2],
            rtt: [Delays::default(), Delays::default()],
            asked: [None; 2],
            answered: [None; 2],
            directions: [Direction::new(settings.rto_min_ms), Direction::new(settings.rto_min_ms)],
        }
    }

    fn segment(
        &mut self,
        head: &Head,
        tcp: &TcpSlice<'_>,
        length: usize,
        settings: &Settings,
        out: &mut dyn Observer,
    ) {
        let (own, other) = (head.from.index(), head.from.other().index());
        self.last_at = self.last_at.max(head.at);
        self.packets[own] += 1;
        self.bytes[own] += (length + tcp.header_slice().len()) as u64;
        let flags = [("SYN", tcp.syn()), ("FIN", tcp.fin()), ("RST", tcp.rst())];
        for (name, _) in flags.iter().filter(|(_, set)| *set) {
            out.event(head, &Event::Control { name });
        }
        // RFC 9293 §3.4: SYN takes the first sequence number, before the data.
        let begin = tcp.sequence_number().wrapping_add(tcp.syn().into());
        if tcp.syn() {
            self.from_the_beginning |= !tcp.ack();
            self.directions[own].begins_at(begin);
        }
        self.answers(head, tcp);
        let mut blocks = Vec::new();
        let mut times = None;
        for option in tcp.options_iterator().map_while(Result::ok) {
            match option {
                TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                    blocks.push(first);
                    blocks.extend(rest.into_iter().flatten());
                }
                TcpOptionElement::Timestamp(value, echo) => times = Some((value, echo)),
                _ => {}
            }
        }
        if tcp.ack() {
            let ack = Acknowledgement {
                number: tcp.acknowledgment_number(),
                blocks: &blocks,
                plain: length == 0 && !tcp.syn() && !tcp.fin(),
                window: tcp.window_size(),
                echo: times.map(|(_, echo)| echo),
            };
            if let Some(rtt) = self.directions[other].acknowledged(head, &ack, out) {
                self.rtt[other].note(rtt);
            }
        }
        if length > 0 && !tcp.rst() {
            let value = times.map(|(value, _)| value);
            let segment = Segment { begin, length: length as u32, value };
            self.directions[own].data(head, segment, settings.missing_reports, out);
        }
        self.finished[own] |= tcp.fin();
        if tcp.rst() {
            self.ending = Some(Ending::Aborted);
        } else if self.finished == [true; 2] {
            self.ending.get_or_insert(Ending::Closed);
        }
    }

    /// Takes notice of how soon each side answers in the three-way handshake (RFC 9293 §3.5).
    fn answers(&mut self, head: &Head, tcp: &TcpSlice<'_>) {
        let (own, other) = (head.from.index(), head.from.other().index());
        if let Some(asked) = self.asked[own].take() {
            self.answered[own] = Some(ms(asked, head.at));
        }
        if tcp.syn() {
            self.asked[other] = Some(head.at);
        }
    }

    /// The end near which it was captured: the one that answers much sooner than the other.
    fn near(&self) -> Option<Side> {
        let soonest = |side: Side| {
            let data = self.rtt[side.other().index()].min();
            data.into_iter().chain(self.answered[side.index()]).reduce(f64::min)
        };
        nearer(soonest(Side::A)?, soonest(Side::B)?)
    }

    fn summary(&self, ending: Ending) -> Summary {
        let near = self.near();
        let side = |side: Side| {
            let d = &self.directions[side.index()];
            let outstanding = d.outstanding();
            DirectionSummary { outstanding, ..DirectionSummary::new(side, &d.flow) }
        };
        let path = |from: Side, source: SocketAddr, destination: SocketAddr| PathSummary {
            from,
            source: source.ip(),
            destination: destination.ip(),
            packets: self.packets[from.index()],
            bytes: self.bytes[from.index()],
            data: self.directions[from.index()].flow.units,
            arrived: None,
            rtt: self.rtt[from.index()].summary(),
        };
        let Identity { a, b, .. } = self.identity;
        Summary {
            identity: self.identity.clone(),
            from_the_beginning: self.from_the_beginning,
            ending: self.ending.unwrap_or(ending),
            first_s: self.first_at as f64 / 1e9,
            duration_s: self.last_at.saturating_sub(self.first_at) as f64 / 1e9,
            packets: self.packets.iter().sum(),
            both_ends: false,
            near,
            unknown: unknown(near, false, self.from_the_beginning, false),
            paths: vec![path(Side::A, a, b), path(Side::B, b, a)],
            directions: [side(Side::A), side(Side::B)],
        }
    }
}
