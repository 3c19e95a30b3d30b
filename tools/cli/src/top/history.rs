//! What was seen before: the last figures of each path, for the lines that show how they went.

use std::collections::{BTreeMap, VecDeque};

use tresse_observe::{AssociationSnapshot, PathSnapshot, Snapshot};

/// Looks that are kept of each path: four minutes of the default interval. 8000 paths, which are as many as a process
/// lists, are 54 MB.
pub(super) const KEPT: usize = 240;

/// A path of a process: the association's name and the path's number.
pub(super) type Place = (String, u8);

/// One look at a path, or none where looking failed.
pub(super) type Sample = Option<[f32; MEASURES.len()]>;

/// What is kept of a path: its name and unit. Rates and losses are those since the look before.
pub(super) const MEASURES: [(&str, &str); 6] = [
    ("OUT/s", "bit"),
    ("IN/s", "bit"),
    ("SRTT", "ms"),
    ("QUEUE", "ms"),
    ("CWND", "B"),
    ("LOST", ""),
];

/// Of one process.
#[derive(Default)]
pub(super) struct History {
    tracks: BTreeMap<Place, VecDeque<Sample>>,
}

impl History {
    /// Takes what two looks at the same process tell; what is there no longer is forgotten.
    pub(super) fn learn(&mut self, now: &Snapshot, before: &Snapshot) {
        let mut old = std::mem::take(&mut self.tracks);
        for association in &now.associations {
            let earlier = before.associations.iter().find(|a| a.id == association.id);
            for path in &association.paths {
                let place = (association.id.clone(), path.path);
                let mut track = old.remove(&place).unwrap_or_default();
                let earlier = earlier.and_then(|earlier| of_path(earlier, path.path));
                push(&mut track, earlier.map(|earlier| sample(path, earlier, now, before)));
                self.tracks.insert(place, track);
            }
        }
    }

    /// There was nothing to see.
    pub(super) fn miss(&mut self) {
        self.tracks.values_mut().for_each(|track| push(track, None));
    }

    /// Another process is there.
    pub(super) fn forget(&mut self) {
        self.tracks.clear();
    }

    /// What is known of a path, the latest first.
    pub(super) fn of(&self, place: &Place) -> impl Iterator<Item = Sample> {
        self.tracks.get(place).into_iter().flat_map(|track| track.iter().rev().copied())
    }
}

fn of_path(association: &AssociationSnapshot, path: u8) -> Option<&PathSnapshot> {
    association.paths.iter().find(|p| p.path == path)
}

fn push(track: &mut VecDeque<Sample>, sample: Sample) {
    if track.len() == KEPT {
        track.pop_front();
    }
    track.push_back(sample);
}

fn sample(
    path: &PathSnapshot,
    earlier: &PathSnapshot,
    now: &Snapshot,
    before: &Snapshot,
) -> [f32; MEASURES.len()] {
    let count = |path: &PathSnapshot, name: &str| path.counters.get(name).copied().unwrap_or(0);
    let more = |name: &str| count(path, name).saturating_sub(count(earlier, name)) as f64;
    let rate = |name: &str| more(name) * 8.0 / (now.uptime_s - before.uptime_s).max(1e-3);
    [
        rate("bytes_sent"),
        rate("bytes_received"),
        path.srtt_ms.unwrap_or(0.0),
        path.queueing_delay_ms.unwrap_or(0.0),
        path.cwnd_bytes as f64,
        more("lost_chunks"),
    ]
    .map(|value| value as f32)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;

    fn out(history: &History, place: &Place) -> Vec<Option<f32>> {
        history.of(place).map(|sample| sample.map(|values| values[0])).collect()
    }

    #[test]
    fn each_look_is_kept_and_a_gap_is_a_gap() {
        let place = ("1v1".to_owned(), 0);
        let mut history = History::default();
        let looks = [snapshot(1.0, 0), snapshot(2.0, 1_000_000), snapshot(4.0, 1_500_000)];
        history.learn(&looks[1], &looks[0]);
        history.learn(&looks[2], &looks[1]);
        history.miss();
        assert_eq!(out(&history, &place), [None, Some(2e6), Some(8e6)]);
        assert_eq!(out(&history, &("1v1".into(), 7)), []);

        // An association that is new has no rate yet, one that has gone no history.
        let mut renamed = snapshot(5.0, 2_000_000);
        renamed.associations[0].id = "2v1".into();
        history.learn(&renamed, &looks[2]);
        assert_eq!(out(&history, &("2v1".into(), 0)), [None]);
        assert_eq!(out(&history, &place), []);
    }

    #[test]
    fn what_is_long_ago_is_forgotten() {
        let mut history = History::default();
        for second in 0..KEPT + 10 {
            let at = second as f64;
            history.learn(&snapshot(at + 1.0, 0), &snapshot(at, 0));
        }
        assert_eq!(out(&history, &("1v1".into(), 0)).len(), KEPT);
    }
}
