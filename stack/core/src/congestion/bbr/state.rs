//! What BBR does at present, and how fast (draft-ietf-ccwg-bbr-06 §2.4, §5.6).

/// StartupPacingGain: 4 ln 2.
pub(super) const STARTUP_GAIN: f64 = 2.77;
/// What it does at present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    pub(super) const fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => STARTUP_GAIN,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Up => 1.25,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    pub(super) const fn cwnd_gain(self) -> f64 {
        match self {
            State::Up => 2.25,
            State::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }

    pub(super) const fn probes_bandwidth(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
}
