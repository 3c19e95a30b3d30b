//! How long packets are under way, path by path, as far as they can be told apart.

/// One path of one direction, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Way {
    fastest: u64,
    slowest: u64,
    /// When the last one of those was sent that arrived.
    newest: u64,
}

/// All paths of one direction, by their index.
#[derive(Debug, Default)]
pub(super) struct Ways(Vec<Option<Way>>);

impl Ways {
    /// What was sent at `sent` arrived at `arrived`.
    pub(super) fn taken(&mut self, path: u16, sent: u64, arrived: u64) {
        let path = usize::from(path);
        if self.0.len() <= path {
            self.0.resize(path + 1, None);
        }
        let took = arrived.saturating_sub(sent);
        let way = self.0[path].get_or_insert(Way { fastest: took, slowest: took, newest: sent });
        way.fastest = way.fastest.min(took);
        way.slowest = way.slowest.max(took);
        way.newest = way.newest.max(sent);
    }

    fn get(&self, path: u16) -> Option<&Way> {
        self.0.get(usize::from(path))?.as_ref()
    }

    /// How long the fastest packet took; 0 if that is not known.
    pub(super) fn fastest(&self, path: u16) -> u64 {
        self.get(path).map_or(0, |way| way.fastest)
    }

    /// Whether what was sent at `sent` may arrive after the captures ended at `end`: no later packet
    /// overtook it, and it has not taken twice as long as any before.
    pub(super) fn may_be_under_way(&self, path: u16, sent: u64, end: u64) -> bool {
        let open = |way: &Way| {
            sent > way.newest && end.saturating_sub(sent) <= way.slowest.saturating_mul(2)
        };
        self.get(path).is_some_and(open)
    }
}
