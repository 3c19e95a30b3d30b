//! What is sent although it is perhaps in vain: from when on, and what waits for RFC 9260 instead.

use super::Sender;
use crate::ids::PathId;
use crate::path::Path;
use crate::recovery::Guess;
use crate::send::context::Context;
use crate::time::Time;

impl Sender {
    /// From when on a chunk in flight may be sent again on `path` although that is perhaps in vain; `None`: not before RFC
    /// 9260 would.
    pub(super) fn guess_at(&self, cx: &Context<'_>, path: PathId, seq: u64) -> Option<Time> {
        let Path { rtt, calm, .. } = &cx.paths[path];
        let guess = Guess {
            now: cx.now,
            path,
            seq,
            srtt: rtt.srtt(),
            rttvar: rtt.rttvar(),
            calm: calm.is_calm(),
            granularity: cx.profile().rto.granularity(),
        };
        self.recovery.guess_at(&guess, &|| calm.range(), &|| self.answered_from(cx, seq))
    }

    /// From when on the peer does not delay the SACK of a chunk: it was asked for, another packet has followed, or the
    /// delay is over (RFC 9260 §6.2).
    fn answered_from(&self, cx: &Context<'_>, seq: u64) -> Option<Time> {
        let chunk = self.data.board().get(seq)?;
        let follower = self.data.board().follower(seq);
        let asked = self.recovery.asked(&(seq..follower.unwrap_or(self.data.board().next_seq())));
        if asked || chunk.transmissions > 1 {
            return Some(chunk.last_sent);
        }
        let latest = chunk.last_sent + cx.profile().sack.peer_delay();
        let followed =
            follower.and_then(|seq| self.data.board().get(seq)).map(|chunk| chunk.last_sent);
        Some(followed.map_or(latest, |at| at.clamp(chunk.last_sent, latest)))
    }

    /// No queue is found on `path`, or none is looked for, since guesses are not bounded.
    pub(super) fn is_calm(&self, cx: &Context<'_>, path: PathId) -> bool {
        !self.recovery.bounds_guesses() || cx.paths[path].calm.is_calm()
    }

    /// T3-rtx expired on `path` for what was sent at `sent`: until when it waits unless a guess is allowed; `None` if
    /// RFC 9260 would send it again by now; or if another path works, and this one has expired before or never answered at
    /// the source that it has.
    pub(super) fn bounded_until(&self, cx: &Context<'_>, path: PathId, sent: Time) -> Option<Time> {
        let due = cx.premature_until(&self.data)?;
        if !cx.has_refuge(path) {
            return Some(due);
        }
        let at = cx.detour_due(path, sent, due);
        let Path { t3, address, .. } = &cx.paths[path];
        let bounded = self.recovery.bounds_timer(t3.in_a_row(), address.is_proven());
        Some(at).filter(|at| bounded && *at > cx.now)
    }

    /// From when the budget allows a premature retransmission on `path`. Where it takes another path that is as near, that
    /// lengthens no queue on this one.
    pub(super) fn premature_guess_at(
        &self,
        cx: &Context<'_>,
        path: PathId,
        seq: u64,
    ) -> Option<Time> {
        if !cx.has_refuge(path) {
            return self.guess_at(cx, path, seq);
        }
        let srtt = |path: PathId| cx.paths[path].rtt.srtt();
        let afforded = self.recovery.affords_detour(srtt(path), srtt(cx.paths.alternate(path)));
        afforded.then_some(cx.now)
    }

    /// T1 or T2 expired on `path`: until when it waits if that was premature. What it would send again is a guess
    /// of which no report ever tells whether it was in vain.
    pub(crate) fn put_off_control(&self, cx: &Context<'_>, path: PathId) -> Option<Time> {
        let bounded = self.recovery.bounds_guesses() && !cx.has_refuge(path);
        cx.premature_until(&self.data).filter(|_| bounded)
    }
}
