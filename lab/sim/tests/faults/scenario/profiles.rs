//! Protocol behaviour: any built-in profile, any combination, and parameters of its own.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tresse_core::Profile;

use super::HostPlan;
use crate::limits;
use tresse_sim::Draw;

/// Sets the profile of a host; `shared` is the host whose profile it takes over.
pub(super) fn draw(
    draw: &mut Draw,
    mild: bool,
    shared: Option<&HostPlan>,
    host: &mut HostPlan,
    features: &mut BTreeSet<&'static str>,
) {
    if let Some(other) = shared {
        host.profile.clone_from(&other.profile);
        host.overrides.clone_from(&other.overrides);
        host.config.profile = Arc::clone(&other.config.profile);
        return;
    }
    let names: Vec<&'static str> = Profile::names().collect();
    let mut chosen = vec![draw.pick(&names)];
    if draw.chance(0.4) {
        // Any subset of the mechanisms must compose.
        features.insert("mechanisms combined");
        chosen.extend(Profile::mechanisms().filter(|_| draw.chance(0.3)));
        chosen.dedup();
    }
    if draw.chance(0.4) {
        // The same holds of those for concurrent transfer.
        chosen.extend(Profile::multipath_mechanisms().filter(|_| draw.chance(0.3)));
    }
    chosen.extend(Profile::congestion_controls().filter(|_| draw.chance(0.2)));
    chosen.extend(Profile::stream_schedulers().filter(|_| draw.chance(0.2)));
    while draw.chance(0.4) {
        let name = draw.pick(&names);
        if !chosen.contains(&name) {
            chosen.push(name);
        }
    }
    if chosen.len() > 1 {
        features.insert("profiles combined");
    }
    features.extend(&chosen);
    host.profile = chosen.join("+");
    let mut profile = Profile::named(&host.profile).expect("names are built-in ones");
    if draw.chance(0.25) {
        features.insert("parameters of its own");
        host.overrides = overrides(draw, mild);
        profile = profile
            .with_overrides(&host.overrides)
            .unwrap_or_else(|error| panic!("{error} in\n{}", host.overrides));
    }
    if mild && profile.dynamic_rto_min.floor_ms < 100.0 {
        // As below for RTO.Min: timeouts a few milliseconds apart, without backoff, exhaust
        // Association.Max.Retrans before one delayed SACK has come.
        // Without backoff even that is too short for a slow link with a queue.
        let floor = "[dynamic_rto_min]\nfloor_ms = 100\n[thin_no_backoff]\nexpirations = 2\n";
        profile = profile.with_overrides(floor).expect("it is within its range");
    }
    host.config.profile = Arc::new(profile);
}

/// Mechanisms that let timers expire sooner than those of RFC 9260, RTO.Min of a second, make
/// Association.Max.Retrans a matter of seconds (`limits.patience` says so). Who wants an association to
/// live through outages lets premature expirations be tries only.
pub(super) fn be_patient(host: &mut HostPlan, features: &mut BTreeSet<&'static str>) {
    let profile = &host.config.profile;
    let quick = limits::least_rto(profile) < Duration::from_secs(1);
    if !profile.limits.patience && (quick || profile.thin_no_backoff.enabled) {
        features.insert("patience");
        let patience = profile.with_overrides("[limits]\npatience = true\n");
        host.config.profile = Arc::new(patience.expect("it is a parameter"));
    }
}

/// Who keeps the source of each path, as ns-2 does, never learns of another one that works: its association
/// lives as long as the pairs of addresses that it began with, and sets up nothing from others (RFC 9260 §6.4
/// leaves that to the sender). No pair beyond those is promised to it.
pub(super) fn look_for_sources(host: &mut HostPlan) {
    let profile = &host.config.profile;
    if !profile.heartbeat.other_sources {
        let looks = profile.with_overrides("[heartbeat]\nother_sources = true\n");
        host.config.profile = Arc::new(looks.expect("it is a parameter"));
    }
}

/// Who never backs off (RFC 9260 §6.3.3 E2) fills a link that is slower than RTO, and gives up: that is
/// nothing mild.
pub(super) fn back_off(host: &mut HostPlan) {
    let profile = &host.config.profile;
    if profile.thin_no_backoff.enabled {
        let some = profile.with_overrides("[thin_no_backoff]\nexpirations = 2\n");
        host.config.profile = Arc::new(some.expect("it is a parameter"));
    }
}

/// All policies of `multipath.retransmission`.
const RETRANSMISSION: [&str; 6] =
    ["'same'", "'alternate'", "'largest-cwnd'", "'largest-ssthresh'", "'lowest-loss'", "'min-rtt'"];

/// Some parameters, in TOML. A mild scenario keeps those that decide when to give up.
fn overrides(draw: &mut Draw, mild: bool) -> String {
    let mut text = String::new();
    let yes_or_no = |draw: &mut Draw| draw.chance(0.5).to_string();
    if draw.chance(0.5) {
        let max = if mild { 60_000 } else { draw.log_whole(1_000, 60_000) };
        let initial = draw.log_whole(if mild { 200 } else { 10 }, 3_000);
        // One side alone with a tiny RTO.Min repeats its SHUTDOWN Association.Max.Retrans times
        // while the other one waits for its T3-rtx; then the peer is rightly unreachable (§9.2).
        let min = draw.log_whole(if mild { 100 } else { 5 }, 1_000);
        let _ = writeln!(text, "[rto]\ninitial_ms = {initial}\nmin_ms = {min}\nmax_ms = {max}");
    }
    let sack = [
        ("delay_ms", draw.between(0, 500).to_string()),
        ("packets", draw.log_whole(1, 20).to_string()),
    ];
    table(draw, &mut text, "sack", &sack);
    let limits = [
        ("association_max_retrans", draw.between(0, 12).to_string()),
        ("path_max_retrans", draw.between(0, 6).to_string()),
        ("max_init_retransmits", draw.between(0, 10).to_string()),
        ("cookie_life_ms", draw.log_whole(20, 60_000).to_string()),
        ("shutdown_guard_rto_max", format!("{:.2}", draw.log(0.2, 6.0))),
    ];
    if !mild {
        table(draw, &mut text, "limits", &limits);
    }
    if !text.contains("[limits]") && draw.chance(0.3) {
        let _ = writeln!(text, "[limits]\nmax_burst = {}", draw.between(0, 8));
    }
    let heartbeat = [
        ("enabled", yes_or_no(draw)),
        ("interval_ms", draw.log_whole(100, 30_000).to_string()),
        ("max_burst", draw.between(0, 3).to_string()),
    ];
    table(draw, &mut text, "heartbeat", &heartbeat);
    let congestion = [
        ("initial_window", draw.pick(&["'rfc9260'", "'rfc2960'"]).to_string()),
        ("ssthresh_floor", draw.between(1, 4).to_string()),
        ("slow_start_limit", draw.between(1, 8).to_string()),
        ("growth_needs_cumulative_advance", yes_or_no(draw)),
        ("idle_decay", yes_or_no(draw)),
    ];
    table(draw, &mut text, "congestion", &congestion);
    let fast_retransmit = [
        ("threshold", draw.between(0, 6).to_string()),
        ("htna", yes_or_no(draw)),
        ("fast_recovery", yes_or_no(draw)),
        ("repeat", yes_or_no(draw)),
        ("restart_t3", yes_or_no(draw)),
    ];
    table(draw, &mut text, "fast_retransmit", &fast_retransmit);
    let early = [
        ("enabled", yes_or_no(draw)),
        ("count", draw.pick(&["'in-flight'", "'not-cumulatively-acked'"]).to_string()),
    ];
    table(draw, &mut text, "early_retransmit_packets", &early);
    let limited = [("enabled", yes_or_no(draw)), ("packets", draw.between(0, 4).to_string())];
    table(draw, &mut text, "limited_transmit", &limited);
    let thin = [
        ("detector", draw.pick(&["'estimate'", "'exact'"]).to_string()),
        ("below_packets", draw.between(0, 20).to_string()),
    ];
    table(draw, &mut text, "thin_stream", &thin);
    let restart = [("below_packets", draw.between(0, 8).to_string())];
    table(draw, &mut text, "rto_restart", &restart);
    let dynamic = [
        ("tick_ms", draw.between(1, 10).to_string()),
        ("bootstrap", draw.between(0, 4).to_string()),
        ("start_ms", draw.between(0, 1000).to_string()),
        ("floor_ms", draw.between(if mild { 100 } else { 5 }, 500).to_string()),
    ];
    table(draw, &mut text, "dynamic_rto_min", &dynamic);
    let eifel = [("cover_ack", yes_or_no(draw)), ("ack_rcvd", yes_or_no(draw))];
    table(draw, &mut text, "eifel_timestamp", &eifel);
    table(draw, &mut text, "eifel_retransmit_bit", &eifel[..1]);
    let response = [("enabled", yes_or_no(draw)), ("decay", format!("{:.2}", draw.unit()))];
    table(draw, &mut text, "spurious_response", &response);
    let rack = [("reordering_window", format!("{:.2}", draw.unit()))];
    table(draw, &mut text, "rack", &rack);
    let multipath = [
        ("cwnd_update", yes_or_no(draw)),
        ("split_fast_retransmit", yes_or_no(draw)),
        ("smart_fast_retransmit", yes_or_no(draw)),
        ("retransmission", draw.pick(&RETRANSMISSION).to_string()),
        ("buffer_splitting", draw.pick(&["'none'", "'outstanding'", "'buffered'"]).to_string()),
        ("chunk_rescheduling", draw.pick(&["'off'", "'lowest'", "'blocking'"]).to_string()),
        ("rescheduling_threshold", format!("{:.2}", draw.unit())),
        ("queue_limit_packets", draw.between(0, 20).to_string()),
        ("pacing", format!("{:.2}", 3.0 * draw.unit())),
    ];
    table(draw, &mut text, "multipath", &multipath);
    let reserve = format!("{:.2}", draw.unit());
    table(draw, &mut text, "streams", &[("reserve", reserve)]);
    let least = if mild { 1.5 } else { 1.0 };
    let backoff = format!("{:.2}", least + (3.0 - least) * draw.unit());
    table(draw, &mut text, "t3_rtx", &[("backoff", backoff)]);
    text
}

/// Writes a table with some of the settings, or none.
fn table(draw: &mut Draw, text: &mut String, name: &str, settings: &[(&str, String)]) {
    let mut lines = String::new();
    for (key, value) in settings {
        if draw.chance(0.3) {
            let _ = writeln!(lines, "{key} = {value}");
        }
    }
    if !lines.is_empty() {
        let _ = write!(text, "[{name}]\n{lines}");
    }
}
