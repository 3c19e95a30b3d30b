//! One destination address of the peer and everything that belongs to it alone.

mod address;
mod buffer_splitting;
mod bursts;
mod calm;
mod heartbeat;
mod marks;
mod mtu;
mod mtu_search;
mod pacing;
mod paths;
mod patience;
mod pf_forgives_spurious;
mod potentially_failed;
mod queue_limit;
mod reachability;
mod rtt;
pub(crate) mod rtx_policy;
pub(crate) mod scheduler;
pub(crate) mod source;
mod t3;
mod ticks;
mod timed;
mod window;

use std::net::IpAddr;
use std::time::Duration;

use tresse_wire::COMMON_HEADER_LEN;

use crate::config::AssociationConfig;
use crate::congestion::Controller;
use crate::ids::{PathId, PathState};
use crate::profile::Profile;
use crate::settings::PathSettings;
use crate::stats::{PathCounters, PathStats};
use crate::time::Time;
use address::Address;
pub(crate) use address::DOUBTED_AFTER;
pub(crate) use buffer_splitting::share_allows;
use bursts::Bursts;
use calm::Calm;
pub(crate) use heartbeat::{HEARTBEAT_INFO_LEN, HeartbeatInfo, HeartbeatState, heartbeat_interval};
use mtu::{Headers, Mtu};
pub(crate) use mtu_search::{LostChunk, Padding};
pub(crate) use paths::{MAX_PATHS, Paths};
pub(crate) use patience::{StandardTimer, StandardTimers};
use pf_forgives_spurious::Leniency;
use potentially_failed::Failures;
use queue_limit::flight_limit;
use reachability::Reachability;
pub(crate) use rtt::{Pace, RttEstimator};
use t3::T3;
use timed::{Timed, Timing};
use window::Window;

/// A destination address with its timers, estimates and congestion state.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) id: PathId,
    pub(crate) address: Address,
    pub(crate) reachability: Reachability,
    pub(crate) settings: PathSettings,
    pub(crate) rtt: RttEstimator,
    pub(crate) calm: Calm,
    pub(crate) window: Window,
    pub(crate) bursts: Bursts,
    pub(crate) mtu: Mtu,
    pub(crate) timed: Timed,
    pub(crate) t3: T3,
    pub(crate) heartbeat: HeartbeatState,
    pub(crate) counters: PathCounters,
}

impl Path {
    pub(crate) fn new(
        id: PathId,
        remote: IpAddr,
        local: Option<IpAddr>,
        encapsulation: Option<u16>,
        config: &AssociationConfig,
    ) -> Path {
        let settings = PathSettings::of(config);
        let mtu = Mtu::new(&settings, Headers::new(remote, encapsulation));
        let pmdcs = mtu.pmdcs();
        let (concurrent, multipath) = (config.concurrent_transfer, &config.profile.multipath);
        //= RFC 9260 7.2-3
        let control = Controller::new(&config.profile.congestion, pmdcs, remote.is_ipv6());
        let limit = if concurrent { flight_limit(multipath, pmdcs) } else { None };
        let sets_rate = control.get().pacing_rate().is_some();
        Path {
            id,
            address: Address::new(remote, local, encapsulation),
            reachability: Reachability::new(false),
            settings,
            rtt: RttEstimator::new(&config.profile.rto),
            calm: Calm::default(),
            window: Window::new(control, &config.profile.congestion, limit),
            bursts: Bursts::new(multipath, concurrent, sets_rate),
            mtu,
            timed: Timed::default(),
            t3: T3::default(),
            heartbeat: HeartbeatState::default(),
            counters: PathCounters::default(),
        }
    }

    /// The peer has restarted: what was measured is forgotten. Confirmation and settings stay.
    pub(crate) fn restarted(&self, config: &AssociationConfig) -> Path {
        let Path { id, settings, .. } = *self;
        let address = self.address.restarted();
        let (remote, local) = (address.remote(), address.local());
        let fresh = Path::new(id, remote, local, address.encapsulation(), config);
        let reachability = Reachability::new(self.is_confirmed());
        let mut path = Path { address, reachability, settings, ..fresh };
        path.change_mtu(|own, headers| *own = self.mtu.anew(&settings, headers));
        path
    }

    const fn headers(&self) -> Headers {
        Headers::new(self.address.remote(), self.address.encapsulation())
    }

    /// Sends to another UDP port of the peer, or on raw IP, from now on; `true` if that is news.
    pub(crate) fn encapsulate(&mut self, port: Option<u16>) -> bool {
        let is_news = self.address.encapsulate(port);
        if is_news {
            self.change_mtu(Mtu::on_headers);
        }
        is_news
    }

    /// Keeps this many bytes of each packet free.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.change_mtu(|own, headers| own.reserve(bytes, headers));
    }

    /// A router reports that no more than `mtu` bytes get through, 0 if it does not say how many. Returns the
    /// bytes for chunks in the largest packet that does; `None` if that is no news.
    pub(crate) fn lower_mtu(&mut self, now: Time, mtu: usize) -> Option<usize> {
        self.change_mtu(|own, headers| own.lower(now, mtu, headers))
    }

    /// Other settings of the MTU hold.
    pub(crate) fn configure_mtu(&mut self, now: Time) {
        let settings = self.settings;
        self.change_mtu(|own, headers| own.configure(now, &settings, headers));
    }

    /// Tries the configured MTU again: it is time.
    pub(crate) fn raise_mtu(&mut self) {
        let mtu = self.settings.mtu;
        self.change_mtu(|own, headers| own.raise(mtu, headers));
    }

    /// A timer of the search for the path MTU has expired: the size of the IP packet with the probe that leaves, if one
    /// does.
    pub(crate) fn search_mtu(&mut self, now: Time) -> Option<usize> {
        self.change_mtu(|own, headers| own.search_on(now, headers))
    }

    /// A probe of the path MTU has arrived.
    pub(crate) fn on_mtu_answer(&mut self, now: Time, info: HeartbeatInfo) {
        let times = (self.rtt.round_trip(), self.rtt.least());
        self.change_mtu(|own, headers| own.on_answer(now, info, times, headers));
        self.counters.mtu_probes_acked += 1;
    }

    /// The chunk that was timed is acknowledged: so large packets get through.
    pub(crate) fn on_timed(&mut self, now: Time, timed: Timing) {
        if let Some(len) = timed.packet.filter(|_| self.mtu.is_searched()) {
            self.change_mtu(|own, headers| own.on_data(now, timed.sent, len, headers));
        }
    }

    /// A packet of this many bytes leaves; `fragment` if routers may fragment it, or it is a probe: of those data tells nothing.
    #[inline]
    pub(crate) fn on_packet(&mut self, now: Time, bytes: usize, fragment: bool) {
        self.timed.on_packet(bytes, fragment);
        if self.mtu.is_searched() && !fragment {
            let headers = self.headers();
            self.mtu.on_packet(now, bytes, headers);
        }
    }

    /// A chunk of `size` bytes is acknowledged that was sent once, at `sent`.
    pub(crate) fn on_sent_once(&mut self, now: Time, sent: Time, size: usize) {
        let len = COMMON_HEADER_LEN + size;
        self.change_mtu(|own, headers| own.on_data(now, sent, len, headers));
    }

    //= RFC 8899 4.3-1
    /// A chunk is lost, perhaps for the size of its packet.
    pub(crate) fn on_lost_chunk(&mut self, now: Time, lost: LostChunk) {
        if self.mtu.is_searched() && self.change_mtu(|own, headers| own.on_lost(now, lost, headers))
        {
            self.on_black_hole(now);
        }
    }

    /// A chunk is lost, or was dropped for lack of room, of whatever size.
    pub(crate) fn on_dropped_chunk(&mut self, now: Time, lost: LostChunk) {
        if lost.timeout && self.mtu.is_searched() {
            self.change_mtu(|own, headers| own.on_dropped(now, lost, headers));
        }
    }

    /// A chunk was given up in flight, of which nobody will tell whether it has arrived.
    pub(crate) fn on_given_up(&mut self, now: Time) {
        let rto = self.rtt.fresh();
        if self.mtu.is_searched()
            && self.change_mtu(|own, headers| own.on_given_up(now, rto, headers))
        {
            self.on_black_hole(now);
        }
    }

    /// Something was not answered, or given up, perhaps lost for the size of its packet.
    pub(crate) fn doubt_size(&mut self, now: Time) {
        if self.mtu.is_searched() && self.change_mtu(|own, headers| own.doubt(now, headers)) {
            self.on_black_hole(now);
        }
    }

    /// RFC 8899 §4.3: large packets do not arrive.
    pub(crate) fn on_black_hole(&mut self, now: Time) {
        self.change_mtu(|own, headers| own.on_black_hole(now, headers));
        self.counters.mtu_black_holes += 1;
    }

    /// Bytes of the SCTP packet in an IP packet of this many.
    pub(crate) const fn packet_in(&self, ip: usize) -> usize {
        self.headers().max_packet(ip)
    }

    /// Bytes of the largest packet with a report of what has arrived.
    pub(crate) fn max_report(&self) -> usize {
        self.mtu.max_report(self.headers())
    }

    /// The path MTU may change, and with it what a packet holds (PMDCS), also for congestion control.
    fn change_mtu<T>(&mut self, change: impl FnOnce(&mut Mtu, Headers) -> T) -> T {
        let (before, headers) = (self.mtu.pmdcs(), self.headers());
        let result = change(&mut self.mtu, headers);
        if self.mtu.pmdcs() != before {
            self.window.set_pmdcs(self.mtu.pmdcs());
        }
        if self.mtu.pmdcs() < before && self.t3.in_a_row() > 0 {
            self.window.restore_threshold();
        }
        result
    }

    /// Smoothed RTT; or how long the measurement under way has taken, once that is more than RTO.
    pub(crate) fn round_trip(&self, now: Time) -> Option<Duration> {
        let pending = self.timed.age(now);
        self.rtt.srtt().max(pending.filter(|age| *age > self.rto()))
    }

    /// Its congestion control says at which rate packets leave.
    #[inline]
    pub(crate) fn sets_rate(&self) -> bool {
        self.bursts.is_paced() && self.window.control().pacing_rate().is_some()
    }

    /// Bytes per second that it carries, as far as is known: as they are paced, or a window each round trip.
    pub(crate) fn rate(&self) -> f64 {
        let paced = self.window.control().pacing_rate().or_else(|| self.window.measured_rate());
        let by_window = || {
            let srtt = self.rtt.srtt().map_or(1.0, |srtt| srtt.as_secs_f64().max(1e-6));
            self.window.limited() as f64 / srtt
        };
        paced.unwrap_or_else(by_window)
    }

    /// A packet with this many bytes of DATA left.
    pub(crate) fn pace(&mut self, now: Time, bytes: usize, profile: &Profile) {
        self.bursts.on_sent(now, bytes, profile, &self.window, self.rtt.srtt());
    }

    //= RFC 8899 3-21
    /// Packets leave from `local` from now on: another way, whose capacity is unknown, and what fits it. RTO stays until it
    /// is measured.
    pub(crate) fn leave_from(&mut self, now: Time, local: IpAddr, config: &AssociationConfig) {
        self.address.leave_from(now, local);
        self.mtu.start_over(now, &self.settings, self.headers());
        self.restart_congestion_control(config);
    }

    /// Another way through the network: nothing is known of it (RFC 9260 §7.2.5).
    pub(crate) fn restart_congestion_control(&mut self, config: &AssociationConfig) {
        let (pmdcs, ipv6) = (self.pmdcs(), self.address.remote().is_ipv6());
        self.window.start_over(Controller::new(&config.profile.congestion, pmdcs, ipv6));
    }

    /// Whether the source is to be left for another.
    pub(crate) fn doubts_source(&self) -> bool {
        self.address.is_doubtful(self.reachability.failures())
    }

    /// The source is left because data from there is not answered: heartbeats do not bring it back.
    pub(crate) fn shun_source(&mut self) {
        self.address.shun(self.reachability.failures());
    }

    /// Losses for each chunk that left here for the first time.
    pub(crate) fn loss_rate(&self) -> f64 {
        self.counters.lost_chunks as f64 / self.counters.data_chunks_sent.max(1) as f64
    }

    /// Bytes of memory that it holds.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Path>() + self.window.boxed()
    }

    /// Path MTU Data Chunk Size: bytes for chunks in one packet.
    #[inline]
    pub(crate) fn pmdcs(&self) -> usize {
        self.mtu.pmdcs()
    }

    pub(crate) fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Verified to belong to the peer (RFC 9260 §5.4).
    #[inline]
    pub(crate) const fn is_confirmed(&self) -> bool {
        self.reachability.is_confirmed()
    }

    #[inline]
    pub(crate) const fn usable(&self) -> bool {
        self.reachability.is_usable()
    }

    /// Usable, and nothing speaks against it.
    #[inline]
    pub(crate) fn preferred(&self) -> bool {
        self.state() == PathState::Active && !self.reachability.is_silent()
    }

    #[inline]
    pub(crate) const fn state(&self) -> PathState {
        self.reachability.state(&self.settings)
    }

    /// The state before, as it was told last, and the one that is told now.
    pub(crate) fn take_change(&mut self) -> (PathState, PathState) {
        self.reachability.take_change(&self.settings)
    }

    /// Takes other settings, and returns those before. They hold at once, also for errors that there are.
    pub(crate) fn configure(&mut self, settings: PathSettings) -> PathSettings {
        self.reachability.on_settings(&settings);
        std::mem::replace(&mut self.settings, settings)
    }

    /// Something was not answered; `true` if that changed the state. Only an error makes it inactive.
    pub(super) fn count_failure(&mut self, error: bool) -> bool {
        let before = self.state();
        self.reachability.on_failure(error, &self.settings);
        before != self.state()
    }

    /// An expiration of T3-rtx here was found to be spurious; `true` if that changed the state.
    pub(crate) fn on_spurious_timeout(&mut self, profile: &Profile) -> bool {
        let before = self.state();
        self.reachability.on_spurious_timeout(profile);
        before != self.state()
    }

    /// The timer of RFC 9260 has expired here (rule E2).
    pub(crate) fn back_off_standard(&mut self, pace: Pace) {
        self.rtt.back_off_standard(pace);
        self.reachability.on_missed(pace);
    }

    /// The peer answered over this path what was first sent at `sent`; `true` if that changed the state.
    ///
    /// RFC 9260 §8.2 counts for each destination. But what left from a source that is gone says nothing of the way from the one
    /// of today, though all of that may have been in vain.
    pub(crate) fn clear_errors(&mut self, sent: Time) -> bool {
        if self.address.is_from_lost(sent) {
            return false;
        }
        let before = self.state();
        self.address.on_answer(sent);
        self.reachability.on_answer();
        let changed = before != self.state();
        if changed {
            //= RFC 8899 3-24
            self.mtu.resume_search(sent);
        }
        changed
    }

    pub(crate) fn stats(&self, flight: usize, primary: bool) -> PathStats {
        PathStats {
            id: self.id,
            remote: self.address.remote(),
            local: self.address.local(),
            encapsulation: self.address.encapsulation(),
            state: self.state(),
            primary,
            cwnd: self.window.cwnd(),
            ssthresh: self.window.ssthresh(),
            flight,
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            rto: self.rto(),
            last_rtt: self.rtt.last(),
            min_rtt: self.rtt.least(),
            errors: self.reachability.errors(),
            settings: self.settings,
            mtu: self.mtu.bytes(),
            timeouts: self.t3.expirations(),
            heartbeats_sent: self.heartbeat.sent(),
            heartbeats_acked: self.heartbeat.acked(),
            counters: self.counters,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_under_way_counts_once_it_is_late() {
        let config = AssociationConfig::default();
        let mut path = Path::new(PathId(0), "10.0.0.1".parse().unwrap(), None, None, &config);
        assert_eq!(path.round_trip(Time::ZERO), None);
        path.rtt.sample(Duration::from_millis(50));
        let sent = Time::from_millis(1000);
        path.timed.on_sent(sent, 1, false);
        let after = |waited| path.round_trip(sent + waited).unwrap();
        assert_eq!(after(path.rto()), Duration::from_millis(50));
        let late = path.rto() + Duration::from_millis(1);
        assert_eq!(after(late), late);
    }

    #[test]
    fn what_left_from_a_source_that_is_gone_clears_no_error_of_the_next() {
        let config = AssociationConfig::default();
        let mut path = Path::new(PathId(0), "10.0.0.1".parse().unwrap(), None, None, &config);
        let taken = Time::from_millis(1000);
        // Another source that is merely better comes after the one that took the place of the lost one.
        for (gone, errors) in [(false, 0), (true, 1), (false, 1)] {
            path.leave_from(taken, "10.0.0.2".parse().unwrap(), &config);
            if gone {
                path.address.ask();
            }
            path.reachability.fail(1);
            path.clear_errors(Time::from_millis(999));
            assert_eq!(path.reachability.errors(), errors);
            path.clear_errors(taken);
            assert_eq!(path.reachability.errors(), 0);
        }
    }
}
