//! qlog: each association in a file of its own, as JSON text sequences (RFC 7464), with the events
//! of `docs/qlog.md`. Header and events are those of draft-ietf-quic-qlog-main-schema-13.

mod events;
mod names;
mod packet;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tresse::{
    AssociationId, AssociationMetrics, Direction, Event, ObservedEvent, ObservedPacket, Observer,
    Time, TraceEvent, association_name,
};
use tresse_wire::{Chunk, Packet, VerificationTag};

use crate::clock::{Rfc3339, WallClock};
use crate::spool::{Spool, Stream};
use events::Record;

/// Names the events: `docs/qlog.md` and `docs/qlog.schema.json`.
const EVENT_SCHEMA: &str = "urn:x-tresse:qlog:events:sctp-1";

/// Records kept from before an association is established. A peer that floods us with INITs cannot
/// make them more.
const MAX_EARLY: usize = 256;

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QlogOptions {
    /// Bytes after which a file is renamed (`x.sqlog` to `x.1.sqlog`, in the place of the one
    /// before) and a new one begins; 0 is no limit. Default 256 MiB.
    pub limit: u64,
    /// Associations that are logged at a time, each with a file; others that begin meanwhile are
    /// not logged at all. More need more file descriptors. Default 128.
    pub associations: usize,
    /// Log packets with their chunks, too. Costs more than all else together. Default `true`.
    pub packets: bool,
}

impl Default for QlogOptions {
    fn default() -> Self {
        QlogOptions { limit: 256 << 20, associations: 128, packets: true }
    }
}

/// What tells which association a packet belongs to, wherever it comes from: ports and addresses may be a NAT's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Tag {
    /// The tag that we chose.
    Ours(VerificationTag),
    /// The tag that the peer chose.
    Theirs(VerificationTag),
}

impl Tag {
    fn of(direction: Direction, packet: &Packet<'_>) -> Tag {
        // RFC 9260 §8.5.1: a packet with an INIT has the tag 0; the INIT says its sender's tag.
        let tag = packet.header().verification_tag;
        let init = || match packet.chunks().next()?.map(Chunk::parse) {
            Ok(Ok(Chunk::Init(init))) => Some(init.initiate_tag),
            _ => None,
        };
        match (direction, if tag.0 == 0 { init() } else { None }) {
            (Direction::In, None) => Tag::Ours(tag),
            (Direction::In, Some(theirs)) => Tag::Theirs(theirs),
            (Direction::Out, None) => Tag::Theirs(tag),
            (Direction::Out, Some(ours)) => Tag::Ours(ours),
        }
    }

    fn both(metrics: &AssociationMetrics) -> [Tag; 2] {
        [Tag::Ours(metrics.info.local_tag), Tag::Theirs(metrics.info.remote_tag)]
    }
}

/// Whose a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Association(AssociationId),
    Tag(Tag),
}

/// Writes a file for each association into a folder: `TIME_PROCESS_NAME_client.sqlog`, or `_server`
/// if the peer opened it. Decisions of the recovery are among the events if
/// [`AssociationConfig::trace`](tresse::AssociationConfig::trace) is set.
#[derive(Debug)]
pub struct QlogFolder {
    spool: Spool,
    folder: PathBuf,
    options: QlogOptions,
    clock: WallClock,
    logs: HashMap<AssociationId, Log>,
    tags: HashMap<Tag, AssociationId>,
    /// What came before the log could begin.
    early: VecDeque<(Owner, Vec<u8>)>,
    /// It was told that some are not logged.
    told: bool,
}

#[derive(Debug)]
struct Log {
    stream: Stream,
    tags: [Tag; 2],
}

impl QlogFolder {
    /// Makes the folder, unless it is there.
    ///
    /// # Errors
    /// Those of the system, also if no file can be made in it.
    pub fn create(spool: &Spool, folder: &Path, options: QlogOptions) -> io::Result<QlogFolder> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        // Better to fail now than when the first association begins.
        let trial = folder.join(format!(".tresse-{}", std::process::id()));
        std::fs::File::create(&trial)?;
        std::fs::remove_file(&trial)?;
        Ok(QlogFolder {
            spool: spool.clone(),
            folder: folder.to_owned(),
            options,
            clock: WallClock::default(),
            logs: HashMap::new(),
            tags: HashMap::new(),
            early: VecDeque::new(),
            told: false,
        })
    }

    /// Records something in the log of its owner, or keeps it until there is one.
    fn record(&mut self, owner: Owner, record: &Record<'_>) {
        let id = match owner {
            Owner::Association(id) => Some(id),
            Owner::Tag(tag) => self.tags.get(&tag).copied(),
        };
        let text = record.to_text();
        match id.and_then(|id| self.logs.get(&id)) {
            Some(log) => log.stream.write(&text),
            None => {
                if self.early.len() == MAX_EARLY {
                    self.early.pop_front();
                }
                self.early.push_back((owner, text));
            }
        }
    }

    /// Begins the log of an association.
    fn begin(&mut self, at: Time, client: bool, metrics: &AssociationMetrics) {
        let id = metrics.id;
        if self.logs.contains_key(&id) {
            return;
        }
        let tags = Tag::both(metrics);
        let belongs = |owner: &Owner| match owner {
            Owner::Association(other) => *other == id,
            Owner::Tag(tag) => tags.contains(tag),
        };
        let early = std::mem::take(&mut self.early);
        let (mine, others): (VecDeque<_>, VecDeque<_>) =
            early.into_iter().partition(|(owner, _)| belongs(owner));
        self.early = others;
        if self.logs.len() >= self.options.associations {
            if !std::mem::replace(&mut self.told, true) {
                self.spool.warn(&format!(
                    "more than {} associations at a time: some have no qlog",
                    self.options.associations
                ));
            }
            return;
        }
        let zero = self.clock.since_1970(at).saturating_sub(Duration::from_nanos(at.as_nanos()));
        let name = association_name(id);
        let side = if client { "client" } else { "server" };
        let start = Rfc3339(self.clock.since_1970(at)).to_string().replace(':', "-");
        let file = format!("{start}_{}_{name}_{side}.sqlog", std::process::id());
        let header = header(zero, &name, side, metrics);
        let path = self.folder.join(file);
        let stream = self.spool.create_later(path, header, self.options.limit);
        for (_, text) in mine {
            stream.write(&text);
        }
        self.logs.insert(id, Log { stream, tags });
        self.tags.extend(tags.map(|tag| (tag, id)));
    }

    /// The tags are others after a restart.
    fn learn_tags(&mut self, metrics: &AssociationMetrics) {
        let tags = Tag::both(metrics);
        if let Some(log) = self.logs.get_mut(&metrics.id) {
            for tag in std::mem::replace(&mut log.tags, tags) {
                self.tags.remove(&tag);
            }
            self.tags.extend(tags.map(|tag| (tag, metrics.id)));
        }
    }

    fn end(&mut self, id: AssociationId) {
        self.early.retain(|(owner, _)| *owner != Owner::Association(id));
        let Some(log) = self.logs.remove(&id) else { return };
        for tag in log.tags {
            self.tags.remove(&tag);
        }
    }
}

impl Observer for QlogFolder {
    fn packet(&mut self, observed: &ObservedPacket<'_>) {
        if !self.options.packets {
            return;
        }
        // A broken packet belongs to no association.
        let Ok(packet) = Packet::parse_unverified(observed.packet) else { return };
        let owner = Owner::Tag(Tag::of(observed.direction, &packet));
        self.record(owner, &Record::packet(observed, &packet));
    }

    fn event(&mut self, observed: &ObservedEvent<'_>) {
        let (id, at) = (observed.association, observed.at);
        // Most events are others, and the figures are a copy.
        let metrics = match observed.event {
            Event::Connected { .. } | Event::Restarted | Event::Closed(_) => observed.metrics(),
            _ => None,
        };
        let (mut paths, mut agreed) = (Vec::new(), None);
        match (observed.event, metrics) {
            (Event::Connected { accepted, .. }, Some(metrics)) => {
                self.begin(at, !accepted, &metrics);
                (paths, agreed) = (metrics.paths, Some(metrics.info));
            }
            (Event::Restarted, Some(metrics)) => {
                self.learn_tags(&metrics);
                agreed = Some(metrics.info);
            }
            // It was never established: only an end that opens an association gets this far.
            (_, Some(metrics)) => self.begin(at, true, &metrics),
            (_, None) => {}
        }
        if let Some(record) = Record::event(observed) {
            self.record(Owner::Association(id), &record);
        }
        if let Some(info) = &agreed {
            self.record(Owner::Association(id), &Record::extensions(at, info));
        }
        // Changes alone would leave out where they begin.
        for path in &paths {
            self.record(Owner::Association(id), &Record::initial_window(at, path));
        }
        if matches!(observed.event, Event::Closed(_)) {
            self.end(id);
        }
    }

    fn trace(&mut self, association: AssociationId, at: Time, event: &TraceEvent) {
        if let Some(record) = Record::trace(at, event) {
            self.record(Owner::Association(association), &record);
        }
    }
}

/// The first record. Times count from `zero`, the beginning of the endpoint, so that the files of a
/// process can be compared.
fn header(zero: Duration, name: &str, side: &str, metrics: &AssociationMetrics) -> Vec<u8> {
    let paths: BTreeMap<String, IpAddr> =
        metrics.paths.iter().map(|path| (path.id.0.to_string(), path.remote)).collect();
    let info = &metrics.info;
    let header = json!({
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": format!("SCTP association {name}"),
        "trace": {
            "vantage_point": { "name": concat!("tresse ", env!("CARGO_PKG_VERSION")), "type": side },
            "event_schemas": [EVENT_SCHEMA],
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": {
                    "clock_type": "monotonic",
                    "epoch": "unknown",
                    "wall_clock_time": Rfc3339(zero).to_string(),
                },
                "protocol_types": ["SCTP"],
                "group_id": name,
                "local_port": info.local_port,
                "remote_port": info.remote_port,
                "paths": paths,
            },
        },
    });
    events::sequence(&header)
}
