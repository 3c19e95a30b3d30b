//! Clocks: one that two processes of a host share, and the processor time used.

use std::time::Duration;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the system's monotonic clock.
#[cfg(unix)]
pub(crate) fn monotonic_nanos() -> u64 {
    nanos(ClockId::Monotonic)
}

/// Processor time that this process has used, user and system together.
#[cfg(unix)]
pub(crate) fn cpu_time() -> Duration {
    Duration::from_nanos(nanos(ClockId::ProcessCPUTime))
}

#[cfg(unix)]
fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// Nanoseconds since the first call.
#[cfg(not(unix))]
pub(crate) fn monotonic_nanos() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64
}

/// Not known here.
#[cfg(not(unix))]
pub(crate) fn cpu_time() -> Duration {
    Duration::ZERO
}

/// Names the monotonic clock: two processes with the same name share it. `None` where that
/// cannot be told.
pub(crate) fn name() -> Option<String> {
    // Linux: the clock starts with the system, and a time namespace shifts it.
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_run_forward() {
        let (a, cpu) = (monotonic_nanos(), cpu_time());
        assert!(monotonic_nanos() >= a && cpu_time() >= cpu);
        assert_eq!(name(), name());
    }
}
