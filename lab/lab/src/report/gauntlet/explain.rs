//! One world, played alone and described.

use std::fmt::Write as _;

use tresse_gauntlet::{Measures, Played, World, judge, law};

use crate::error::LabError;
use crate::gauntlet::Request;

/// Plays one world with every profile of `request`, and tells what it is, what was measured in it, and what the laws
/// make of that.
///
/// # Errors
/// A wrong profile, or [`LabError::Option`] with the invariant that was broken.
pub fn explain(request: &Request, number: u64) -> Result<String, LabError> {
    let world = World::draw(number);
    let mut out = format!("{world}\n");
    for name in &request.profiles {
        let profile = request.profile(name)?;
        let measures = judge::measure(&world, &profile)
            .map_err(|e| LabError::Option(format!("world {number}: {e}")))?;
        let _ = writeln!(out, "\n{name}, means of {} runs:", measures.replications);
        runs(&mut out, &measures);
        if let Some((least, most)) = measures.fair_mbps() {
            let _ = writeln!(out, "  a fair flow has {least:.3} to {most:.3} Mbit/s");
        }
        let _ = writeln!(out, "  all paths can carry {:.3} Mbit/s", world.ideal_mbps());
        for verdict in law::judge(&world, &measures) {
            let _ = writeln!(
                out,
                "  law {}: {:.3} ({}), {} {:.3}: {}",
                verdict.law.name(),
                verdict.value,
                verdict.law.value(),
                if verdict.demand.at_most { "at most" } else { "at least" },
                verdict.demand.bound,
                if verdict.holds() { "holds" } else { "broken" }
            );
        }
    }
    Ok(out)
}

fn runs(out: &mut String, measures: &Measures) {
    played(out, "ours", &measures.ours);
    for (path, alone) in measures.alone.iter().enumerate() {
        played(out, &format!("path {} alone", path + 1), alone);
    }
    for without_us in &measures.without_us {
        played(out, "a competitor in our place", without_us);
    }
    if let Some(thin) = &measures.thin_alone {
        played(out, "the thin stream alone", thin);
    }
}

fn played(out: &mut String, what: &str, played: &Played) {
    let list = |values: &[f64], digits: usize| {
        let texts: Vec<String> = values.iter().map(|v| format!("{v:.digits$}")).collect();
        texts.join(" / ")
    };
    let _ = write!(
        out,
        "  {what}: {:.3} Mbit/s, delivery {:.1} ms (99 %: {:.1}), longest pause {:.0} ms, longest round trip {:.0} ms",
        played.goodput_mbps,
        played.delay_ms[0],
        played.delay_ms[1],
        played.pause_ms,
        played.round_trip_ms
    );
    if played.shares.len() > 1 {
        let _ = write!(out, ", paths {} %", list(&played.shares, 0));
    }
    if !played.others_mbps.is_empty() {
        let _ = write!(
            out,
            "; {:.3} Mbit/s at the bottleneck, others {}",
            played.bottleneck_mbps,
            list(&played.others_mbps, 3)
        );
    }
    if played.thin_ms[0] > 0.0 {
        let [due, sent] = played.thin_ms;
        let _ = write!(out, "; thin 99 % {due:.1} ms, {sent:.1} ms from its transmission");
    }
    let _ = writeln!(
        out,
        "; {} sent again, {} in vain, {} timeouts{}",
        played.retransmissions,
        played.duplicates,
        played.timeouts,
        if played.ended { ", ended" } else { "" }
    );
}
