//! What may be sent now, and where (RFC 9260 §6.1, §6.4): windows, bursts, Nagle, room in a packet.

use super::context::Context;
use super::cwnd_overrides::CwndOverrides;
use super::distribution::Distribution;
use super::outbound::Outbound;
use super::strategy::PathViews;
use super::zero_window::{self, ZeroWindow};
use crate::ids::PathId;
use crate::state::State;

/// Looks at what waits and is outstanding, and at what lets packets leave that windows hold back, and the other way round; it
/// changes nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate<'a> {
    data: &'a Outbound,
    overrides: &'a CwndOverrides,
    zero_window: &'a ZeroWindow,
}

impl<'a> Gate<'a> {
    pub(super) const fn new(
        data: &'a Outbound,
        overrides: &'a CwndOverrides,
        zero_window: &'a ZeroWindow,
    ) -> Gate<'a> {
        Gate { data, overrides, zero_window }
    }

    /// The paths as a scheduler sees them; what the strategy does not look at is left out.
    pub(super) fn views(self, cx: &Context<'_>) -> PathViews {
        cx.strategy.views(cx.now, cx.paths, self.data, &|path| self.may_send_new(cx, path))
    }

    /// The lowest lost chunk that may leave now, and its path. `now_or_never` lets one leave
    /// whatever cwnd says (RFC 9260 §7.2.4 rule 3, §6.3.3 E3).
    pub(super) fn next_lost(
        self,
        cx: &Context<'_>,
        answer: Option<PathId>,
        now_or_never: bool,
    ) -> Option<(u64, PathId)> {
        let board = self.data.board();
        let first = board.first_lost()?;
        let mut views = self.views(cx);
        let lost = std::iter::successors(Some(first), |seq| board.next_lost(*seq));
        for seq in lost.take(cx.strategy.scanned()) {
            let chunk = board.get(seq)?;
            let path = answer.unwrap_or_else(|| {
                cx.strategy.retransmission_path(cx.paths, cx.profile(), &views, chunk)
            });
            let path = cx.paths.living(path);
            if now_or_never || cx.cwnd_allows(self.data, path) {
                return Some((seq, path));
            }
            // It waits for that path, before those behind it.
            for view in views.iter_mut().filter(|view| view.id == path) {
                view.flight += chunk.size();
            }
        }
        None
    }

    //= RFC 8260 2.2.2-4
    //= RFC 9260 6.1-2 6.1-3 6.1-17
    /// Whether a packet may begin with a new chunk on `path`.
    pub(super) fn may_send_new(self, cx: &Context<'_>, path: PathId) -> bool {
        let data = self.data;
        let Some(len) = data.next_len(cx.paths) else { return false };
        let probes = self.zero_window.may_probe(data.board());
        // §6.1 A: no new data beyond the peer's window, except zero window probes.
        let window = probes || !zero_window::is_probe(len, data.peer_window());
        let fills = cx.fills_lone_packet(path) && cx.fits_lone_packet(data, path, len);
        let cwnd = fills || cx.cwnd_allows(data, path);
        let cwnd = (cwnd || self.overrides.has_extra())
            && cx.strategy.share_allows(data, cx.paths, cx.profile(), path, probes);
        let p = &cx.paths[path];
        // Pacing does away with bursts by itself.
        let burst = p.bursts.has_credit() || cx.strategy.is_paced(p);
        // Once the application shuts down, it can add nothing that would be worth waiting for.
        let may_hold = cx.state == State::Established;
        window && cwnd && burst && !(may_hold && data.nagle_holds(cx.paths, cx.config))
    }

    /// New data may leave.
    pub(super) fn may_send_somewhere(self, cx: &Context<'_>) -> bool {
        match self.data.named_path(cx.paths) {
            Some(path) => self.may_send_new(cx, path),
            None => cx.strategy.may_send_somewhere(cx.paths, &|path| self.may_send_new(cx, path)),
        }
    }

    /// Where the next packet of new data goes; `None` if none may leave now.
    pub(super) fn new_data_path(
        self,
        cx: &mut Context<'_>,
        distribution: &mut Distribution,
    ) -> Option<PathId> {
        let data = self.data;
        if let Some(path) = data.named_path(cx.paths) {
            cx.decay_idle(data, path);
            return self.may_send_new(cx, path).then_some(path);
        }
        for path in cx.paths.ids() {
            let is_idle = cx.paths[path].window.is_idle(data.flight(path));
            if is_idle && cx.strategy.may_carry_new(cx.paths, path) {
                cx.decay_idle(data, path);
            }
        }
        let cx: &Context<'_> = cx;
        let may = |path| self.may_send_new(cx, path);
        cx.strategy.new_data_path(cx.now, cx.paths, data, distribution, &may)
    }
}

/// Notices a closed window (RFC 9260 §6.1 A).
pub(super) fn watch_window(zero_window: &mut ZeroWindow, cx: &Context<'_>, data: &Outbound) {
    let max_payload = data.fragmentation_point(cx.paths);
    let room = data.peer_window();
    let is_closed = || {
        let next = data.queue().next_len(max_payload);
        next.is_some_and(|len| zero_window::is_probe(len, room))
    };
    // Where any chunk has room it does not matter which is next.
    if !(room < max_payload && is_closed()) {
        zero_window.on_open();
        return;
    }
    let rto = || cx.paths[cx.paths.data_path()].rto();
    let half_open = data.buffer().is_half_open();
    zero_window.on_closed(cx.now, data.board(), half_open, rto, cx.profile().rto.max());
}
