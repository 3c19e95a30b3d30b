//! The search, on paths of many sizes.

use super::*;
use crate::ids::PathId;

const RTT: Duration = Duration::from_millis(100);
const TRIP: RoundTrip = RoundTrip { srtt: RTT, rttvar: Duration::from_millis(5) };
const TIMES: [Option<Duration>; 2] = [Some(RTT), Some(Duration::from_millis(300))];

/// Plays a search on a path that takes packets of up to `real` bytes, lossless, whose routers tell that or not.
/// Gives PLPMTU in the end, probes and seconds.
fn play(search: &mut Search, mut size: usize, real: usize, tells: bool) -> (usize, u32, u64) {
    let (mut now, mut probes) = (Time::ZERO, 0);
    search.reach(now, true);
    while search.phase != MtuSearchState::Complete {
        now = search.due().expect("it goes on until it is complete");
        let (verdict, probe) = search.on_timer(now, size);
        if let Some(Verdict::TooLarge { .. }) = verdict {
            size = 512;
        }
        let Some(probe) = probe else { continue };
        probes += 1;
        let info = HeartbeatInfo { path: PathId(0), sent: now, nonce: u64::from(probes) };
        search.on_sent(now, info, probe, TIMES);
        let back = now + RTT;
        if probe <= real {
            assert!(search.knows(info));
            if let Some(Verdict::Fits(fits)) = search.on_answer(back, info, size, Some(TRIP), None)
            {
                assert!(fits <= real && fits >= size);
                size = fits;
            }
        } else if tells {
            search.on_too_big(back, real, size);
        }
        assert!(probes < 100, "no end");
    }
    (size, probes, now.since(Time::ZERO).as_secs())
}

//= RFC 8899 3-7 3-8 3-21 5.3.2-1
/// RFC 8899 §5.1.4: each phase, on paths of many sizes.
#[test]
fn the_largest_common_size_is_found() {
    for (max, real, found) in [
        (1500, 1500, 1500),
        (1500, 1499, 1492),
        (1500, 1420, 1420),
        (1500, 1280, 1280),
        (9000, 1500, 1500),
        (9000, 9000, 9000),
        (9000, 8999, 8500),
        (9000, 1460, 1460),
        (65_535, 65_535, 65_535),
    ] {
        let (size, probes, seconds) = play(&mut Search::new(1500, max), 1280, real, false);
        assert_eq!(size, found, "{real} of {max}");
        assert!(probes <= 16 && seconds <= 8, "{real}: {probes} probes, {seconds} s");
        let (size, told, _) = play(&mut Search::new(1500, max), 1280, real, true);
        assert!(size == real || size == found && found == max, "told {real}: {size}");
        assert!(told <= probes, "told {real}: {told} probes, else {probes}");
    }
}

//= RFC 8899 3-22 3-23 5.1.1-1 5.1.1-2 5.2-1 6.2.1.3-1
#[test]
fn three_probes_in_a_row_end_the_search_for_ten_minutes() {
    let mut search = Search::new(1500, 9000);
    let (size, ..) = play(&mut search, 1280, 1500, false);
    let due = search.due().unwrap();
    let (verdict, probe) = search.on_timer(due, size);
    assert_eq!((verdict, probe), (None, Some(2002)), "a larger one is tried again");
    let ended = due;
    for n in 0..3 {
        let now = search.due().filter(|due| *due > ended).unwrap_or(ended);
        if n > 0 {
            assert_eq!(search.on_timer(now, size).1, Some(2002));
        }
        let info = HeartbeatInfo { path: PathId(0), sent: now, nonce: 100 + n };
        search.on_sent(now, info, 2002, TIMES);
        assert_eq!(search.due(), Some(now + SHORTEST_WAIT), "no less than a second");
    }
    let now = search.due().unwrap();
    assert_eq!(search.on_timer(now, size), (None, None));
    assert_eq!(search.due(), Some(now + MtuDiscovery::RAISE_AFTER));
    // The answer to one of them comes late.
    let late = HeartbeatInfo { path: PathId(0), sent: ended, nonce: 100 };
    assert_eq!(search.on_answer(now, late, size, Some(TRIP), None), Some(Verdict::Fits(2002)));
    assert_eq!(search.due(), Some(now), "and it goes on");
    assert_eq!(search.on_answer(now, late, 2002, Some(TRIP), None), None, "once");
}

//= RFC 8899 5.1.2-1
/// RFC 8899 §5.2, ERROR: until packets of the base get through.
#[test]
fn a_path_below_the_base_is_probed_ever_more_rarely() {
    let mut search = Search::new(1500, 1500);
    search.reach(Time::ZERO, true);
    let (mut now, mut narrow, mut sent) = (Time::ZERO, 0, Vec::new());
    for n in 0..20 {
        now = search.due().unwrap();
        let (verdict, probe) = search.on_timer(now, 512);
        narrow += u32::from(verdict == Some(Verdict::TooLarge { proved: 0 }));
        assert_eq!(probe, Some(BASE));
        let info = HeartbeatInfo { path: PathId(0), sent: now, nonce: n };
        search.on_sent(now, info, BASE, TIMES);
        sent.push(info);
    }
    assert_eq!(narrow, 1);
    assert_eq!(search.due(), Some(now + MtuDiscovery::RAISE_AFTER));
    assert_eq!(search.on_answer(now, sent[19], 512, Some(TRIP), None), Some(Verdict::Fits(BASE)));
    assert_eq!(search.on_timer(now, BASE).1, Some(1500));
}

//= RFC 8899 3-11 4.6.2-1 8-4
#[test]
fn what_routers_say_is_probed_and_not_believed() {
    let mut search = Search::new(1500, 1500);
    search.on_too_big(Time::ZERO, 1400, BASE);
    assert_eq!(search.due(), None, "nothing was probed");
    search.reach(Time::ZERO, true);
    search.on_black_hole(Time::ZERO, Some(1432));
    let info = |nonce| HeartbeatInfo { path: PathId(0), sent: Time::ZERO, nonce };
    for (nonce, expected) in [(1, BASE), (2, 1432)] {
        let (_, probe) = search.on_timer(Time::ZERO, if nonce == 1 { 1500 } else { BASE });
        assert_eq!(probe, Some(expected));
        search.on_sent(Time::ZERO, info(nonce), expected, TIMES);
        search.on_too_big(Time::ZERO, 1500, BASE);
        assert_eq!(search.due(), Some(Time::ZERO + SHORTEST_WAIT), "no news");
        assert!(search.on_answer(Time::ZERO, info(nonce), BASE, Some(TRIP), None).is_some());
    }
    assert_eq!(search.on_timer(Time::ZERO, 1432), (None, None), "nothing above");
}

//= RFC 8899 3-12 8-1
#[test]
fn a_round_trip_is_between_probes_whatever_routers_say() {
    let mut search = Search::new(1500, 9000);
    search.reach(Time::ZERO, true);
    let info = |nonce| HeartbeatInfo { path: PathId(0), sent: Time::ZERO, nonce };
    search.on_timer(Time::ZERO, BASE);
    search.on_sent(Time::ZERO, info(1), BASE, TIMES);
    let now = Time::ZERO + RTT;
    search.on_answer(now, info(1), BASE, Some(TRIP), None);
    assert_eq!(search.due(), Some(now));
    assert_eq!(search.on_timer(now, BASE).1, Some(1500));
    search.on_sent(now, info(2), 1500, TIMES);
    search.on_too_big(now, 1400, BASE);
    assert_eq!(search.due(), Some(now + RTT), "the own system answers at once");
}

/// A packet of 65 535 bytes takes half a minute at 14 kbit/s.
#[test]
fn what_would_block_a_slow_link_is_not_probed() {
    for (kbps, found) in [(14, 1500), (100, 1500), (1_000, 9000), (100_000, 65_535)] {
        let mut search = Search::new(1500, 65_535);
        search.reach(Time::ZERO, true);
        let mut size = BASE;
        for nonce in 0..100 {
            let now = search.due().unwrap();
            let Some(probe) = search.on_timer(now, size).1 else { break };
            let info = HeartbeatInfo { path: PathId(0), sent: now, nonce };
            search.on_sent(now, info, probe, TIMES);
            let link = Duration::from_micros(probe as u64 * 8_000 / kbps);
            let verdict = search.on_answer(now + RTT + link, info, size, Some(TRIP), None);
            let Some(Verdict::Fits(fits)) = verdict else { panic!("{verdict:?}") };
            size = fits;
        }
        assert_eq!(size, found, "{kbps} kbit/s");
    }
}

/// At 8 kbit/s, where data waits in a queue for longer than most probes are under way.
#[test]
fn a_queue_does_not_hide_how_slow_the_link_is() {
    let mut search = Search::new(1500, 65_535);
    search.reach(Time::ZERO, true);
    let (mut size, mut most) = (BASE, 0);
    let least = Some(Duration::from_millis(1_900));
    let [srtt, rttvar] = [5_300, 600].map(Duration::from_millis);
    for nonce in 0..100 {
        let now = search.due().unwrap();
        let Some(probe) = search.on_timer(now, size).1 else { break };
        most = most.max(probe);
        let info = HeartbeatInfo { path: PathId(0), sent: now, nonce };
        search.on_sent(now, info, probe, [Some(srtt), Some(srtt + 4 * rttvar)]);
        let link = Duration::from_millis(1_800 + probe as u64);
        let round_trip = Some(RoundTrip { srtt, rttvar });
        if let Some(Verdict::Fits(fits)) =
            search.on_answer(now + link, info, size, round_trip, least)
        {
            size = fits;
        }
    }
    assert!((1500..=9_000).contains(&most), "{most}");
}

/// Sends what is due, until the search is complete or this many have left; gives PLPMTU in the end, and how the probes were padded.
fn padded(
    search: &mut Search,
    mut size: usize,
    most: usize,
    is_answered: impl Fn(usize, Padding) -> bool,
) -> (usize, Vec<Padding>) {
    let (mut now, mut sent) = (Time::ZERO, Vec::new());
    search.reach(now, true);
    while search.phase != MtuSearchState::Complete && sent.len() < most {
        now = search.due().unwrap();
        let (verdict, probe) = search.on_timer(now, size);
        if let Some(Verdict::TooLarge { proved }) = verdict {
            size = proved.max(512);
        }
        let Some(probe) = probe else { continue };
        let (padding, nonce) = (search.padding(), sent.len() as u64);
        sent.push(padding);
        let info = HeartbeatInfo { path: PathId(0), sent: now, nonce };
        search.on_sent(now, info, probe, TIMES);
        if is_answered(probe, padding) {
            let verdict = search.on_answer(now + RTT, info, size, Some(TRIP), None);
            size = if let Some(Verdict::Fits(fits)) = verdict { fits } else { size };
        }
    }
    (size, sent)
}

/// RFC 9260 §3.2 has a chunk of PAD's type skipped; there are peers that drop the packet.
#[test]
fn a_peer_that_drops_packets_with_pad_is_probed_without() {
    let mut search = Search::new(1500, 9000);
    let (size, sent) =
        padded(&mut search, BASE, 50, |size, padding| padding == Padding::Info && size <= 8500);
    assert_eq!(size, 8500);
    assert_eq!(sent[..2], [Padding::Chunk, Padding::Info], "the base");
    assert_eq!(sent[2..6], [Padding::Info; 4], "1500, 2002, 4352 and 8500");
    assert_eq!(sent[6..], [Padding::Info, Padding::Chunk, Padding::Info], "9000, in vain");
}

/// As RFC 8899 §6.2 recommends: what has a PAD chunk is answered by a small packet, whose way may be narrower.
#[test]
fn a_peer_that_has_answered_pad_gets_nothing_else() {
    let mut search = Search::new(1500, 9000);
    let (size, sent) = padded(&mut search, BASE, 50, |size, _| size <= 1400);
    assert_eq!(size, 1400);
    assert!(sent.len() > 6 && sent.iter().all(|padding| *padding == Padding::Chunk), "{sent:?}");
    // The first probe of the base is lost.
    let mut search = Search::new(1500, 1500);
    let lost = std::cell::Cell::new(false);
    let (size, sent) = padded(&mut search, BASE, 50, |size, padding| {
        lost.replace(true) && (padding == Padding::Chunk || size <= BASE)
    });
    assert_eq!(size, 1500, "the way back takes 1280 bytes");
    assert_eq!(sent, [Padding::Chunk, Padding::Info, Padding::Info, Padding::Chunk]);
}

#[test]
fn nothing_is_gone_below_what_data_has_proved() {
    let never = |_, _| false;
    for (proved, least) in [(0, 512), (700, 700), (BASE, BASE)] {
        let mut search = Search::new(1500, 1500);
        search.reach(Time::ZERO, true);
        assert_eq!(search.on_data(Time::ZERO + RTT, Time::ZERO, proved), None);
        let size = lost_base(&mut search, BASE);
        assert_eq!(size, least, "{proved} bytes were acknowledged");
        assert_eq!(search.phase == MtuSearchState::Error, proved < BASE);
    }
    // Data of the base that is acknowledged later ends the error.
    let mut search = Search::new(1500, 1500);
    let (size, _) = padded(&mut search, BASE, 4, never);
    assert_eq!((size, search.phase), (512, MtuSearchState::Error));
    let now = Time::from_millis(9000);
    assert_eq!(search.on_data(now, Time::ZERO, BASE), Some(Verdict::Fits(BASE)));
    assert_eq!(search.phase, MtuSearchState::Searching);
    // What left before a black hole, or before a router said that the base is too large, says nothing of the path since.
    search.on_black_hole(now, None);
    search.on_data(now, now - RTT, BASE);
    assert_eq!(lost_base(&mut search, BASE), 512);
    search.on_narrow(now);
    assert_eq!(search.on_data(now, now - RTT, BASE), None);
    assert_eq!(search.phase, MtuSearchState::Error);
}

/// Probes of the base leave, and none is answered. Gives PLPMTU behind them.
fn lost_base(search: &mut Search, size: usize) -> usize {
    for nonce in 0..3 {
        let now = search.due().unwrap();
        assert_eq!(search.on_timer(now, size), (None, Some(BASE)));
        search.on_sent(now, HeartbeatInfo { path: PathId(0), sent: now, nonce }, BASE, TIMES);
    }
    match search.on_timer(search.due().unwrap(), size) {
        (Some(Verdict::TooLarge { proved }), Some(BASE)) => proved.max(512),
        (None, Some(1500)) => size,
        other => panic!("{other:?}"),
    }
}

/// For days.
#[test]
fn a_base_that_is_never_answered_is_probed_on() {
    let mut search = Search::new(1500, 1500);
    search.reach(Time::ZERO, true);
    for nonce in 0..2000 {
        let now = search.due().expect("it goes on");
        if let (_, Some(size)) = search.on_timer(now, 512) {
            let info = HeartbeatInfo { path: PathId(0), sent: now, nonce };
            search.on_sent(now, info, size, TIMES);
        }
    }
    assert_eq!(search.state(), MtuSearchState::Error);
}
