//! Marks beside losses, timeouts that were none, paths that fail, and TSNs that begin again.

use super::*;

/// An association with a peer that is ECN-capable, with this profile and `n` packets in flight; `more` wait.
fn in_flight(name: &str, n: usize, more: usize) -> Script {
    let profile = profile(name, "[limits]\nmax_burst = 0");
    let config = with_ecn(AssociationConfig { no_delay: true, ..profile });
    let mut script = opened(&config);
    script.grow(n);
    for _ in 0..n {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    assert_eq!(script.poll().len(), n);
    for _ in 0..more {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    script
}

/// A SACK for the first `count` chunks, in which the chunks of `duplicates` are reported.
fn sack_again(script: &mut Script, count: u32, duplicates: &[u32]) -> Vec<Sent> {
    let cumulative = script.tsn(count).wrapping_sub(1);
    let duplicates: Vec<Tsn> = duplicates.iter().map(|n| script.tsn(*n)).collect();
    script.give(|w| w.sack(cumulative, script::RWND, [].into_iter(), duplicates.into_iter()))
}

#[test]
fn a_timeout_that_was_none_gives_back_no_more_than_the_mark_before_it_left() {
    let mut script = in_flight("rfc9260+f-rto", 20, 0);
    echo(&mut script, 0, 1, 1);
    let marked = script.path(0).ssthresh;
    for _ in 0..9 {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    assert!(!script.wait_for_data().is_empty());
    assert_eq!(script.path(0).cwnd, PMDCS);
    script.sack(2, &[]);
    script.sack(3, &[]);
    assert_eq!((script.stats().timeouts, script.stats().spurious_timeouts), (1, 1));
    let path = script.path(0);
    assert!(path.cwnd > PMDCS, "something is given back");
    assert!(path.ssthresh <= marked, "{} after {marked}", path.ssthresh);
    assert!(path.cwnd <= marked, "{} after {marked}", path.cwnd);
}

#[test]
fn a_mark_between_two_timeouts_that_were_none_stays() {
    let mut script = in_flight("rfc9260+dup-tsn", 20, 0);
    script.wait_for_data();
    let cut = script.path(0).ssthresh;
    let tsn = script.tsn(3);
    script.give(|w| write_ecne(w, tsn, 1));
    script.wait_for_data();
    assert_eq!(script.stats().timeouts, 2);
    sack_again(&mut script, 20, &[0]);
    assert_eq!(script.stats().spurious_timeouts, 1);
    assert!(script.path(0).ssthresh <= cut, "{} after {cut}", script.path(0).ssthresh);
}

#[test]
fn a_probe_that_repaired_a_loss_in_the_window_of_a_mark_does_not_cut_it_again() {
    let mut script = in_flight("rfc9260+tail-loss-probe", 20, 0);
    script.now += ms(50);
    echo(&mut script, 0, 1, 1);
    script.sack(19, &[]);
    let cwnd = script.path(0).cwnd;
    let probe = script.wait_for_data();
    assert_eq!(script.numbers(&probe), [[19]]);
    script.now += ms(50);
    script.sack(20, &[]);
    script.send(FULL);
    script.sack(21, &[]);
    let stats = script.stats();
    assert_eq!((stats.timeouts, stats.tail_loss_probes, stats.cuts_by_marks), (0, 1, 1));
    assert!(script.path(0).cwnd >= cwnd, "{} after {cwnd}", script.path(0).cwnd);
}

#[test]
fn a_mark_raises_no_window() {
    for control in ["rfc9260", "cubic", "bbr", "lia", "olia", "balia", "cmt-rpv1", "cmt-rpv2"] {
        let name = if control == "rfc9260" { control.into() } else { format!("rfc9260+{control}") };
        let mut script =
            opened(&with_ecn(AssociationConfig { no_delay: true, ..profile(&name, "") }));
        for _ in 0..3 {
            script.try_send(0, FULL, SendOptions::default()).unwrap();
        }
        script.poll();
        let cwnd = script.path(0).cwnd;
        script.now += ms(50);
        assert_eq!(cwrs(&echo(&mut script, 0, 1, 0)).len(), 1);
        assert_eq!(script.stats().cuts_by_marks, 1);
        assert!(script.path(0).cwnd <= cwnd, "{control}: {} after {cwnd}", script.path(0).cwnd);
        // After a timeout, too.
        let mut script =
            opened(&with_ecn(AssociationConfig { no_delay: true, ..profile(&name, "") }));
        script.send(FULL);
        script.wait_for_data();
        script.sack(1, &[]);
        script.send(FULL);
        let cwnd = script.path(0).cwnd;
        script.now += ms(50);
        echo(&mut script, 1, 1, 1);
        assert!(script.path(0).cwnd <= cwnd, "{control}: {} after {cwnd}", script.path(0).cwnd);
    }
}

/// Ten messages of 100 bytes each 50 ms, `rounds` times.
fn chatter(pair: &mut Pair, a: AssociationId, rounds: usize) {
    for _ in 0..rounds {
        for _ in 0..10 {
            pair.send(Side::A, a, 0, vec![1; 100]);
        }
        pair.run(ms(50));
    }
}

/// This many rounds of chatter arrive whole on a way that lets no ECT packet through after the first `before` of them, and ECN
/// is given up after fewer timeouts than `most`.
fn is_given_up_where_ect_vanishes(before: usize, rounds: usize, most: u64) {
    let (mut pair, a, z) = Pair::connected(&config(), 1);
    chatter(&mut pair, a, before);
    pair.drop = Box::new(|p| p.to.ecn != Ecn::NotEct);
    chatter(&mut pair, a, rounds - before);
    pair.run(secs(30));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 10 * rounds);
    let stats = pair.end(Side::A).stats(a).unwrap();
    assert_eq!(stats.ecn_given_up, 1);
    assert!(stats.timeouts < most, "{} timeouts", stats.timeouts);
}

#[test]
fn small_messages_find_that_ect_packets_vanish() {
    is_given_up_where_ect_vanishes(0, 400, 6);
}

#[test]
fn a_way_on_which_ect_packets_begin_to_vanish_is_used_without() {
    is_given_up_where_ect_vanishes(20, 820, 10);
}

#[test]
fn losses_alone_do_not_give_it_up() {
    for seed in 0..20u64 {
        let (mut pair, a, z) = Pair::connected(&config(), 1);
        pair.drop = Box::new(move |p| {
            let n = (p.number ^ seed << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            p.from == Side::A && n % 100 < 5
        });
        chatter(&mut pair, a, 200);
        pair.run(secs(60));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 2000);
        let stats = pair.end(Side::A).stats(a).unwrap();
        assert_eq!(stats.ecn_given_up, 0, "seed {seed}");
        assert!(stats.retransmissions() > 0);
    }
}

#[test]
fn a_mark_of_a_path_that_fails_is_answered_over_another_one() {
    let (mut pair, a, z) = Pair::connected(&config(), 2);
    pair.run(secs(3));
    let first = addresses(Side::Z, 2)[0];
    let marked = std::rc::Rc::new(std::cell::Cell::new(false));
    let gone = std::rc::Rc::clone(&marked);
    pair.mark = Box::new(move |p| {
        let now = p.to.ecn == Ecn::Ect0 && !marked.replace(true);
        if now { Ecn::Ce } else { p.to.ecn }
    });
    // The marked packet itself arrives.
    let mut last = None;
    pair.drop = Box::new(move |p| {
        let lost = p.from == Side::A && p.to.destination == first && last.is_some();
        if gone.get() && last.is_none() {
            last = Some(p.number);
        }
        lost
    });
    for _ in 0..600 {
        pair.send(Side::A, a, 0, vec![1; 1000]);
        pair.run(ms(100));
    }
    pair.run(secs(200));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 600);
    let echoes = pair.end(Side::Z).stats(z).unwrap().ecn_echoes_sent;
    let answers = pair.end(Side::A).stats(a).unwrap().cwrs_sent;
    assert!(echoes > 0, "the mark was told");
    for _ in 0..100 {
        pair.send(Side::A, a, 0, vec![1; 1000]);
        pair.run(ms(100));
    }
    let later = pair.end(Side::Z).stats(z).unwrap().ecn_echoes_sent;
    assert_eq!(later - echoes, 0, "told for ever; {answers} answers");
}

#[test]
fn tsns_that_begin_again_leave_no_mark_behind() {
    let mut config = accepting();
    config.extensions.stream_reconfiguration = true;
    config.reconfiguration.reset_association = true;
    let mut script = Script::listening(&config);
    let mut parameters = ParameterWriter::new();
    parameters.ecn_capable().supported_extensions(&[ChunkType::RE_CONFIG.0]);
    script.join(&peer_fields(), &parameters.finish());
    data(&mut script, PEER_TSN, Ecn::Ce);
    script.wait(ms(300));
    let mut request = ParameterWriter::new();
    request.ssn_tsn_reset(tresse_wire::RequestNumber(PEER_TSN.0));
    let request = request.finish();
    let sent = script.give(|w| w.re_config(&request));
    assert!(sent.iter().any(|p| p.carries(ChunkType::RE_CONFIG)));
    // RFC 6525 §5.2.4 G1.
    let next = PEER_TSN.wrapping_add(1).wrapping_add(1 << 31);
    while script.recv().is_some() {}
    script.poll();
    let told = |script: &mut Script, n: u32, ecn| {
        let mut sent = data(script, next.wrapping_add(n), ecn);
        sent.extend(script.wait(ms(300)));
        assert!(sent.iter().any(|p| p.carries(ChunkType::SACK)));
        ecnes(&sent)
    };
    assert_eq!(told(&mut script, 0, Ecn::Ect0), [], "what was before the reset is over");
    let mark = Ecne { lowest_tsn: next.wrapping_add(1), packets: Some(1) };
    assert_eq!(told(&mut script, 1, Ecn::Ce), [mark]);
}

fn accepting() -> AssociationConfig {
    with_ecn(standard())
}
