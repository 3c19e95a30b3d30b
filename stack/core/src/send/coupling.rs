//! What a congestion controller is shown of the other paths.

use smallvec::SmallVec;

use super::context::Context;
use super::outbound::Outbound;
use crate::congestion::{CongestionControl, Coupled, CoupledPath};
use crate::ids::PathId;
use crate::path::Path;
use crate::time::Time;

/// No round trip counts as shorter, in seconds: rates stay finite.
const MIN_RTT: f64 = 1e-6;

impl Context<'_> {
    /// Tells the controller of `path` something; a coupled one sees the other paths with it.
    pub(super) fn tell_control(
        &mut self,
        data: &Outbound,
        path: PathId,
        tell: impl FnOnce(&mut dyn CongestionControl, Coupled<'_>),
    ) {
        let now = self.now;
        let mut own = CoupledPath::default();
        let mut others: SmallVec<[CoupledPath; 4]> = SmallVec::new();
        if self.paths[path].window.control().is_coupled() {
            let in_use = |p: &&Path| {
                let sent = p.timed.measurable_at();
                let recently = sent != Time::ZERO && now.since(sent) <= p.rto();
                self.strategy.couples(p)
                    && p.usable()
                    && (recently || data.board().flight(p.id) > 0)
            };
            own = view(data, &self.paths[path]);
            let coupled = self.strategy.couples(&self.paths[path]);
            let siblings = self.paths.iter().filter(|p| coupled && p.id != path).filter(in_use);
            others.extend(siblings.map(|p| view(data, p)));
        }
        tell(self.paths[path].window.control_mut(), Coupled { own, others: &others });
    }
}

fn view(data: &Outbound, path: &Path) -> CoupledPath {
    let control = path.window.control();
    // RFC 6356 §3: while a path recovers, ssthresh is its window.
    let cwnd = if path.window.is_reducing() { control.ssthresh() } else { control.cwnd() };
    CoupledPath {
        cwnd: cwnd as f64,
        ssthresh: control.ssthresh().min(data.buffer().peer_buffer()) as f64,
        rtt: path.rtt.srtt().unwrap_or(path.rto()).as_secs_f64().max(MIN_RTT),
        between_losses: control.between_losses() as f64,
    }
}
