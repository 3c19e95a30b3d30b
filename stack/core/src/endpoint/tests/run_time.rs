//! Settings that change at run time: each holds at once, for timers that run already, too.

use super::*;
use sent::types;

/// Gives the association of a script the profile `rfc9260` with other parameters.
fn reconfigure(script: &mut Script, overrides: &str) {
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", overrides) };
    script.end.reconfigure(script.now, script.id, config).unwrap();
}

const QUICK: &str = "[rto]\ninitial_ms = 100\nmin_ms = 50\nmax_ms = 400";

#[test]
fn lower_bounds_of_rto_shorten_every_timer_that_waits() {
    // T1-init, T1-cookie and T3-rtx (RFC 9260 §6.3.1 C1, C6, C7), backed off to 32 s before.
    for state in [State::CookieWait, State::CookieEchoed, State::Established] {
        let mut script = Script::in_state(state);
        if state == State::Established {
            script.send(100);
        }
        script.wait(secs(32));
        reconfigure(&mut script, QUICK);
        let sent = script.wait(ms(400));
        assert_eq!(sent.len(), 1, "{state:?}");
    }
    // T2-shutdown.
    for (state, kind) in [
        (State::ShutdownSent, ChunkType::SHUTDOWN),
        (State::ShutdownAckSent, ChunkType::SHUTDOWN_ACK),
    ] {
        let mut script = Script::in_state(state);
        script.wait(secs(32));
        reconfigure(&mut script, QUICK);
        assert_eq!(types(&script.wait(ms(400))), [[kind]]);
    }
}

#[test]
fn rto_follows_its_bounds_unless_it_was_backed_off() {
    let mut script = Script::connecting(&standard());
    script.now += ms(40);
    script.init_ack();
    script.cookie_ack();
    assert_eq!(script.path(0).rto, secs(1), "RTO.Min");
    reconfigure(&mut script, QUICK);
    let measured = script.path(0).rto;
    assert!(measured < ms(200), "what was measured counts: {measured:?}");
    reconfigure(&mut script, "[rto]\nmin_ms = 3000");
    assert_eq!(script.path(0).rto, secs(3));
    script.send(100);
    script.wait(secs(3));
    assert_eq!(script.path(0).rto, secs(6));
    reconfigure(&mut script, "");
    assert_eq!(script.path(0).rto, secs(6), "RFC 9260 §6.3.3: backed off until it is measured");
    // The timer that runs is not put off.
    let mut script = Script::connected(&standard());
    script.send(100);
    reconfigure(&mut script, "[rto]\nmin_ms = 30000");
    assert_eq!(script.wait(secs(1)).len(), 1);
}

/// RTO.Min is where it has moved (`dynamic_rto_min`), not where it began.
#[test]
fn a_bound_that_moves_outlives_other_settings() {
    let config = profile("rfc9260+dynamic-rto-min", "");
    let mut script = Script::connecting(&config);
    script.now += ms(40);
    script.init_ack();
    script.cookie_ack();
    let before = script.path(0).rto;
    assert!(before < secs(1), "{before:?}");
    let config = AssociationConfig { no_delay: true, ..config };
    script.end.reconfigure(script.now, script.id, config).unwrap();
    assert_eq!(script.path(0).rto, before);
}

#[test]
fn a_shorter_sack_delay_holds_for_a_sack_that_waits() {
    let mut script = Script::connected(&profile("rfc9260", "[sack]\ndelay_ms = 500"));
    script.data(10);
    assert!(script.data(10).is_empty());
    script.wait(ms(10));
    reconfigure(&mut script, "[sack]\ndelay_ms = 100");
    assert_eq!(types(&script.wait(ms(100))), [[ChunkType::SACK]]);
    assert!(script.data(10).is_empty());
    reconfigure(&mut script, "[sack]\ndelay_ms = 0");
    assert_eq!(types(&script.wait(ms(0))), [[ChunkType::SACK]]);
    reconfigure(&mut script, "[sack]\npackets = 3");
    assert!(script.data(10).is_empty() && script.data(10).is_empty());
    reconfigure(&mut script, "[sack]\npackets = 2");
    assert_eq!(types(&script.poll()), [[ChunkType::SACK]]);
    reconfigure(&mut script, "[sack]\nno_sack_delay = \"always\"");
    assert_eq!(types(&script.data(10)), [[ChunkType::SACK]]);
}

#[test]
fn limits_hold_from_the_next_error_on() {
    // Association.Max.Retrans, in T3-rtx and in T2-shutdown; Max.Init.Retransmits.
    for (state, limit, reason) in [
        (State::Established, "association_max_retrans", CloseReason::Unreachable),
        (State::ShutdownSent, "association_max_retrans", CloseReason::Unreachable),
        (State::CookieEchoed, "max_init_retransmits", CloseReason::SetupFailed),
    ] {
        let mut script = Script::in_state(state);
        if state == State::Established {
            script.send(100);
        }
        script.wait(secs(4)); // Two expirations.
        reconfigure(&mut script, &format!("[limits]\n{limit} = 2"));
        script.wait(ms(2900));
        assert_eq!(script.closed(), None, "{state:?}");
        script.wait(ms(200));
        assert_eq!(script.closed(), Some(&reason), "{state:?}");
    }
    // Path.Max.Retrans.
    let mut script = Script::multihomed(&standard(), 2);
    script.send(100);
    reconfigure(&mut script, "[limits]\npath_max_retrans = 0");
    script.wait(secs(1));
    assert_eq!(script.path(0).state, crate::PathState::Inactive);
}

#[test]
fn a_shorter_guard_holds_for_a_shutdown_under_way() {
    let mut script = Script::in_state(State::ShutdownSent);
    script.wait(secs(10));
    reconfigure(&mut script, "[limits]\nshutdown_guard_rto_max = 0.5");
    script.wait(ms(29_999));
    assert_eq!(script.closed(), None);
    script.wait(ms(1));
    assert_eq!(script.closed(), Some(&CloseReason::ShutdownTimeout));
}

#[test]
fn nagle_lets_go_when_it_is_switched_off() {
    let mut script = Script::connected(&profile("rfc9260", ""));
    assert_eq!(script.send(100).len(), 1);
    assert!(script.send(100).is_empty());
    reconfigure(&mut script, "");
    assert_eq!(script.poll().len(), 1);
}
