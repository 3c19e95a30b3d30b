//! What became of `--interleaving`, `--ecn` and `--mtu-search`: what both sides have agreed on, and what it brought.

use std::fmt::Write as _;

use serde::Serialize;
use tresse::{Association, AssociationMetrics, AssociationStats, PathState, PathStats};

use super::args::Common;

/// What is switched on for an association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Both sides send I-DATA (RFC 8260).
    pub(crate) interleaving: bool,
    /// Both sides listen to marks (RFC 3168).
    pub(crate) ecn: bool,
    /// This side looks for packets of up to this many bytes that get through (RFC 8899).
    pub(crate) mtu_search: Option<u16>,
}

impl Agreed {
    /// What holds for `association`, of which this side wanted what `common` says.
    pub(crate) fn on(association: &Association, common: &Common) -> Agreed {
        let agreed = association.metrics().info.extensions;
        Agreed { interleaving: agreed.interleaving, ecn: agreed.ecn, mtu_search: common.mtu_search }
    }

    /// A line for each thing that only this side wanted.
    pub(crate) fn wanted_alone(self, common: &Common) -> Vec<&'static str> {
        const INTERLEAVING: &str =
            "messages are not interleaved: the other side has to say --interleaving as well";
        const ECN: &str = "packets are not marked: the other side has to say --ecn as well";
        let interleaving = common.interleaving && !self.interleaving;
        let alone = [(interleaving, INTERLEAVING), (common.ecn && !self.ecn, ECN)];
        alone.into_iter().filter_map(|(alone, line)| alone.then_some(line)).collect()
    }

    /// What a headline says of it, behind what is said anyway.
    pub(crate) fn words(self) -> String {
        let mut words = String::new();
        if self.interleaving {
            words.push_str(", interleaved");
        }
        if self.ecn {
            words.push_str(", ECN");
        }
        if let Some(most) = self.mtu_search {
            let _ = write!(words, ", path MTU searched up to {most} bytes");
        }
        words
    }
}

/// Marks of both directions, as [`AssociationStats`] counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Marks {
    ect_packets_sent: u64,
    congestion_marks: u64,
    ecn_echoes_received: u64,
    cuts_by_marks: u64,
    cwrs_sent: u64,
    ce_packets_received: u64,
    ecn_echoes_sent: u64,
    cwrs_received: u64,
}

impl Marks {
    fn of(stats: &AssociationStats) -> Marks {
        Marks {
            ect_packets_sent: stats.ect_packets_sent,
            congestion_marks: stats.congestion_marks,
            ecn_echoes_received: stats.ecn_echoes_received,
            cuts_by_marks: stats.cuts_by_marks,
            cwrs_sent: stats.cwrs_sent,
            ce_packets_received: stats.ce_packets_received,
            ecn_echoes_sent: stats.ecn_echoes_sent,
            cwrs_received: stats.cwrs_received,
        }
    }

    fn line(&self) -> String {
        format!(
            "marks (ECN): {} of {} packets sent ({} ECNE received, window reduced {}, {} CWR sent); \
             {} received ({} ECNE sent, {} CWR received)",
            self.congestion_marks,
            self.ect_packets_sent,
            self.ecn_echoes_received,
            times(self.cuts_by_marks),
            self.cwrs_sent,
            packets(self.ce_packets_received),
            self.ecn_echoes_sent,
            self.cwrs_received,
        )
    }
}

fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

fn packets(count: u64) -> String {
    if count == 1 { "1 packet".into() } else { format!("{count} packets") }
}

/// Probes of the path MTU, of all paths together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Probes {
    sent: u64,
    answered: u64,
}

impl Probes {
    pub(crate) fn of(paths: &[PathStats]) -> Probes {
        let sum = |count: fn(&PathStats) -> u64| paths.iter().map(count).sum();
        Probes {
            sent: sum(|path| path.counters.mtu_probes_sent),
            answered: sum(|path| path.counters.mtu_probes_acked),
        }
    }

    /// Those that did not get through, or have not yet.
    pub(crate) fn unanswered(self) -> u64 {
        self.sent.saturating_sub(self.answered)
    }
}

/// What came of it, at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Came {
    /// Bytes of the largest IP packet that is sent, headers included.
    pub(crate) path_mtu: Option<usize>,
    /// With a search for it.
    pub(crate) mtu_probes: Option<Probes>,
    /// With ECN.
    pub(crate) marks: Option<Marks>,
}

impl Came {
    pub(crate) fn of(metrics: &AssociationMetrics, agreed: Agreed) -> Came {
        Came {
            path_mtu: data_path(&metrics.paths).map(|path| path.mtu),
            mtu_probes: agreed.mtu_search.map(|_| Probes::of(&metrics.paths)),
            marks: agreed.ecn.then(|| Marks::of(&metrics.stats)),
        }
    }

    /// What is said of it at the end of a test; `refused` probes were larger than the system takes.
    pub(crate) fn lines(&self, refused: u64) -> Vec<String> {
        let mut lines = Vec::new();
        if let (Some(mtu), Some(probes)) = (self.path_mtu, self.mtu_probes) {
            let mut line = format!(
                "path MTU {mtu} bytes: {} probe{} sent, {} answered",
                probes.sent,
                if probes.sent == 1 { "" } else { "s" },
                probes.answered
            );
            if refused > 0 {
                let _ = write!(line, ", {refused} larger than the interface takes");
            }
            lines.push(line);
        }
        lines.extend(self.marks.map(|marks| marks.line()));
        lines
    }
}

/// The path that new data takes.
pub(crate) fn data_path(paths: &[PathStats]) -> Option<&PathStats> {
    paths.iter().min_by_key(|path| (path.state != PathState::Active, !path.primary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_names_what_is_on() {
        assert_eq!(Agreed::default().words(), "");
        let all = Agreed { interleaving: true, ecn: true, mtu_search: Some(9000) };
        assert_eq!(all.words(), ", interleaved, ECN, path MTU searched up to 9000 bytes");
    }

    #[test]
    fn the_end_tells_the_path_mtu_and_marks() {
        assert!(Came::default().lines(0).is_empty());
        let mut stats = AssociationStats::default();
        stats.ect_packets_sent = 900;
        stats.congestion_marks = 7;
        stats.ecn_echoes_received = 3;
        stats.cuts_by_marks = 1;
        stats.cwrs_sent = 1;
        stats.ce_packets_received = 1;
        let came = Came {
            path_mtu: Some(9000),
            mtu_probes: Some(Probes { sent: 9, answered: 7 }),
            marks: Some(Marks::of(&stats)),
        };
        assert_eq!(
            came.lines(1),
            [
                "path MTU 9000 bytes: 9 probes sent, 7 answered, 1 larger than the interface takes",
                "marks (ECN): 7 of 900 packets sent (3 ECNE received, window reduced once, 1 CWR sent); \
                 1 packet received (0 ECNE sent, 0 CWR received)",
            ]
        );
        let json = serde_json::to_value(came).unwrap();
        assert_eq!(
            (&json["marks"]["congestion_marks"], &json["path_mtu"]),
            (&7.into(), &9000.into())
        );
    }
}
