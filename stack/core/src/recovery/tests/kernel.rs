//! Linux 2.6.15 as Pedersen 2006 recorded it.

use std::time::Duration;

use crate::endpoint::tests::{Pair, Side, profile};
use crate::event::TraceEvent;
use crate::ids::LossCause;
use crate::time::Time;

use super::traces;

/// A message of 100 bytes every 256 ms, of which the third is lost `times` times: when it was sent again, in
/// milliseconds after it was sent, and why.
fn sent_again(overrides: &str, times: usize) -> Vec<(f64, LossCause)> {
    let mut config = profile("lksctp-2.6.15", overrides);
    config.no_delay = true;
    let mut pair = Pair::new(&config, 1);
    let (a, _) = pair.connect(&config);
    // "[264461.498] TSN: 1008", "[264564.135] SACK ... GAP ACKED: 1008-1008".
    pair.delay = Duration::from_micros(51_300);
    let mut first = None;
    let mut sent: Option<Time> = None;
    let mut again = Vec::new();
    for message in 0..20 {
        if message == 2 {
            let lost = first.expect("two messages were sent") + 2;
            let mut left = times;
            pair.drop = Box::new(move |packet| {
                let lose = packet.tsns().contains(&lost) && left > 0;
                left -= usize::from(lose);
                lose
            });
        }
        pair.send(Side::A, a, 0, vec![0; 100]);
        pair.run(Duration::from_millis(256));
        for (at, event) in traces(&mut pair) {
            let TraceEvent::Sent { tsn, cause, .. } = event else { continue };
            let first = *first.get_or_insert(tsn.0);
            match cause.filter(|_| tsn.0 == first + 2) {
                Some(cause) => {
                    let since = at.since(sent.expect("it was sent before"));
                    again.push((since.as_secs_f64() * 1e3, cause));
                }
                None if tsn.0 == first + 2 => sent = Some(at),
                None => {}
            }
        }
    }
    again
}

#[test]
fn lksctp_sends_again_when_figure_3_10_says() {
    // The SACK of TSN 1006 comes 298.7 ms after it: 102.6 ms of round trip, and 49 ticks of SACK delay.
    let again = sent_again("[sack]\ndelay_ms = 196", 3);
    let figure = [
        (1040.019, LossCause::Timeout),
        (1894.808, LossCause::FastRetransmit), // Four SACKs after the timeout.
        (2040.088, LossCause::Timeout), // 1000 ms after the first: not doubled, not restarted.
    ];
    assert_eq!(again.len(), figure.len(), "{again:?}");
    for ((ours, cause), (theirs, expected)) in again.iter().zip(figure) {
        // One tick is what the phase of its clock decides.
        assert!((ours - theirs).abs() < 4.0 && *cause == expected, "{again:?}");
    }
}

#[test]
fn without_its_faults_the_timer_doubles_before_it_starts() {
    let again = sent_again("[t3_rtx]\nbacks_off_late = false\n[fast_retransmit]\nthreshold = 9", 2);
    let [(first, _), (second, _)] = again[..] else { panic!("{again:?}") };
    assert!((second - first - 2000.0).abs() < 4.0, "{again:?}");
}
