//! What is played natively is what the page shows.

use std::collections::BTreeSet;

use tresse_playground::{
    Event, Fault, Link, LostBy, Packet, Scenario, Side, SideStory, Story, Traffic, Way, catalogue,
    play, presets,
};

fn side(profile: &str) -> Side {
    Side { profile: profile.to_owned(), overrides: String::new() }
}

fn alone(profile: &str, scenario: Scenario) -> SideStory {
    play(&Scenario { sides: vec![side(profile)], ..scenario }).unwrap().sides.remove(0)
}

fn thin(messages: u32) -> Scenario {
    let traffic = Traffic::Thin { size: 100, interval_ms: 100.0, messages: Some(messages) };
    Scenario { traffic, ..Scenario::default() }
}

fn lost(story: &SideStory) -> Vec<(Way, u64, LostBy)> {
    story.packets.iter().filter_map(|p| Some((p.way, p.number, p.lost_by?))).collect()
}

fn data(story: &SideStory) -> impl Iterator<Item = &Packet> {
    story.packets.iter().filter(|packet| packet.data.is_some())
}

#[test]
fn the_same_seed_tells_the_same_story() {
    let link = Link { loss_there_percent: 10.0, loss_back_percent: 10.0, ..Link::default() };
    let scenario = Scenario { link, ..thin(30) };
    let text = |story: &Story| serde_json::to_string(story).unwrap();
    let first = play(&scenario).unwrap();
    assert_eq!(text(&first), text(&play(&scenario).unwrap()));
    let other = play(&Scenario { seed: 2, ..scenario }).unwrap();
    assert_ne!(lost(&first.sides[0]), lost(&other.sides[0]));
}

#[test]
fn a_loss_hits_exactly_that_packet() {
    for number in 1..=8 {
        let scenario = Scenario { events: vec![Event::LoseData { number }], ..thin(8) };
        let story = alone("rfc9260", scenario);
        let hit: Vec<&Packet> = story.packets.iter().filter(|p| p.lost_by.is_some()).collect();
        assert_eq!(hit.len(), 1);
        assert_eq!((hit[0].data, hit[0].chunks[0].tsn), (Some(number), Some(number as u32)));
        assert_eq!((hit[0].arrived_ms, hit[0].lost_by), (None, Some(LostBy::Event)));
        // It comes again, once, and not in vain.
        let summary = &story.summary;
        assert_eq!((summary.delivered, summary.again, summary.needless), (8, 1, 0));
        let again: Vec<&Packet> = data(&story).filter(|p| p.again.is_some()).collect();
        assert_eq!(again.len(), 1);
        assert!(
            again[0]
                .chunks
                .iter()
                .any(|c| (c.tsn, c.transmission) == (hit[0].chunks[0].tsn, Some(2)))
        );
    }
}

#[test]
fn packets_are_named_by_direction_and_number() {
    let events = vec![
        Event::LosePacket { way: Way::Back, number: 4 },
        Event::LosePacket { way: Way::There, number: 1 },
    ];
    let story = alone("tresse", Scenario { events, ..thin(8) });
    let expected = [(Way::There, 1, LostBy::Event), (Way::Back, 4, LostBy::Event)];
    assert_eq!(lost(&story), expected);
    // INIT is sent again after RTO.Initial.
    assert_eq!(story.packets[0].chunks[0].name, "INIT");
    assert_eq!(story.summary.delivered, 8);
}

#[test]
fn what_is_sent_in_a_span_is_lost_on_the_ways_that_it_names() {
    for (way, ways) in [
        (Way::There, &[Way::There][..]),
        (Way::Back, &[Way::Back]),
        (Way::Both, &[Way::There, Way::Back]),
    ] {
        let events = vec![Event::LoseBetween { way, from_ms: 350.0, to_ms: 600.0 }];
        let story = alone("rfc9260", Scenario { events, ..thin(20) });
        let inside = |p: &&Packet| (350.0..600.0).contains(&p.sent_ms) && ways.contains(&p.way);
        assert!(story.packets.iter().filter(inside).count() > 0);
        for packet in &story.packets {
            assert_eq!(packet.lost_by == Some(LostBy::Event), inside(&packet), "{packet:?}");
        }
    }
}

#[test]
fn nothing_overtakes_a_spike() {
    let spike =
        |height_ms| Event::Spike { way: Way::There, from_ms: 400.0, to_ms: 700.0, height_ms };
    let plain = alone("rfc9260", thin(20));
    for height in [None, Some(150.0)] {
        let story = alone("rfc9260", Scenario { events: vec![spike(height)], ..thin(20) });
        let arrivals = |story: &SideStory| -> Vec<f64> {
            let there = story.packets.iter().filter(|p| p.way == Way::There);
            there.filter_map(|p| p.arrived_ms).collect()
        };
        assert!(arrivals(&story).is_sorted(), "{height:?}");
        let held: Vec<&Packet> = story.packets.iter().filter(|p| p.held_ms > 0.0).collect();
        assert!(held.len() >= 3, "{height:?}");
        let expected = |p: &Packet| height.unwrap_or(700.0 - p.sent_ms);
        // Behind the spike, packets wait for those that it still holds.
        let first = held[0];
        assert!((first.held_ms - expected(first)).abs() < 1e-6, "{height:?} {first:?}");
        assert!(story.summary.max_ms > plain.summary.max_ms);
        assert!(lost(&story).is_empty());
    }
}

#[test]
fn a_packet_that_is_late_is_overtaken() {
    let events = vec![Event::DelayData { number: 3, by_ms: 250.0 }];
    let story = alone("rfc9260", Scenario { events, ..thin(8) });
    let arrived =
        |number| data(&story).find(|p| p.data == Some(number)).unwrap().arrived_ms.unwrap();
    assert!(arrived(4) < arrived(3) && arrived(5) < arrived(3));
    assert!(lost(&story).is_empty());
}

#[test]
fn a_queue_that_is_full_and_chance_are_told_apart() {
    let link =
        Link { rate_kbps: 200.0, queue_packets: 3, loss_there_percent: 3.0, ..Link::default() };
    let traffic = Traffic::Bulk { size: 1000, messages: None };
    let story = alone("rfc9260", Scenario { link, traffic, seconds: 20.0, ..Scenario::default() });
    let summary = &story.summary;
    assert!(summary.lost_in_queue > 0 && summary.lost_by_chance > 0);
    assert_eq!(summary.lost_by_events, 0);
    let count = |by| lost(&story).iter().filter(|l| l.2 == by).count() as u64;
    assert_eq!(count(LostBy::Queue), summary.lost_in_queue);
    assert_eq!(count(LostBy::Chance), summary.lost_by_chance);
    // Every packet ended somehow, but for those under way at the end.
    let open = story.packets.iter().filter(|p| p.lost_by.is_none() && p.arrived_ms.is_none());
    assert!(open.into_iter().all(|p| p.sent_ms > story.ended_ms - 1000.0));
}

#[test]
fn retransmissions_in_vain_are_those_whose_original_arrived() {
    // Everything from the receiver is lost for a while: the timer expires though all has arrived.
    let events = vec![Event::LoseBetween { way: Way::Back, from_ms: 300.0, to_ms: 3000.0 }];
    let story = alone("rfc9260", Scenario { events, ..thin(4) });
    let summary = &story.summary;
    assert!(summary.again > 0 && summary.again == summary.needless, "{summary:?}");
    assert!(data(&story).filter(|p| p.again.is_some()).all(|p| p.needless));
    assert!(summary.timeouts >= 1);
}

#[test]
fn decisions_say_what_and_why() {
    let scenario = Scenario { events: vec![Event::LoseData { number: 2 }], ..thin(10) };
    let story = alone("rfc9260", scenario);
    let said: Vec<String> =
        story.decisions.iter().map(|d| format!("{}: {}", d.what, d.why)).collect();
    assert!(said.iter().any(|s| s.starts_with("TSN 2 is lost: 3 SACKs reported")), "{said:#?}");
    assert!(
        said.iter().any(|s| s.starts_with("cwnd") && s.ends_with("fast recovery begins")),
        "{said:#?}"
    );
    let last = Scenario { events: vec![Event::LoseData { number: 10 }], ..thin(10) };
    let story = alone("rfc9260", last.clone());
    let timeout = story.decisions.iter().find(|d| d.what.starts_with("T3-rtx expired")).unwrap();
    assert!(timeout.at_ms - timeout.since_ms.unwrap() >= 999.0, "{timeout:?}");
    let story = alone("rfc9260+rack-tlp", last);
    assert!(
        story.decisions.iter().any(|d| d.why.contains("tail loss probe")),
        "{:#?}",
        story.decisions
    );
    assert_eq!(story.summary.timeouts, 0);
}

#[test]
fn every_profile_plays() {
    let catalogue = catalogue();
    let joined = catalogue.overlays.iter().map(|overlay| format!("rfc9260+{overlay}"));
    let profiles: Vec<String> =
        catalogue.profiles.iter().map(ToString::to_string).chain(joined).collect();
    assert!(profiles.len() > 60);
    let link = Link { loss_there_percent: 5.0, loss_back_percent: 5.0, ..Link::default() };
    for profile in profiles {
        let story = alone(&profile, Scenario { link: link.clone(), seconds: 30.0, ..thin(20) });
        assert_eq!(story.summary.delivered, 20, "{profile}");
    }
}

#[test]
fn every_preset_shows_a_difference() {
    let mut names = BTreeSet::new();
    for preset in presets() {
        assert!(names.insert(preset.name));
        let story = play(&preset.scenario).unwrap();
        let [ours, other] = &story.sides[..] else { panic!("two sides") };
        assert_ne!(ours.summary, other.summary, "{}", preset.name);
        assert_eq!((ours.packets_left_out, &ours.note), (0, &None), "{}", preset.name);
        let sent = ours.summary.messages;
        assert_eq!((sent, ours.summary.delivered), (sent, sent), "{}", preset.name);
        // What is shared as an address comes back the same.
        let text = serde_json::to_string(&preset.scenario).unwrap();
        assert_eq!(Scenario::from_json(&text).unwrap(), preset.scenario);
    }
}

#[test]
fn parameters_can_be_overridden() {
    let last = || Scenario { events: vec![Event::LoseData { number: 10 }], ..thin(10) };
    let with = |overrides: &str| {
        let side = Side { overrides: overrides.to_owned(), ..side("rfc9260") };
        play(&Scenario { sides: vec![side], ..last() })
    };
    let plain = with("").unwrap();
    let quick = with("rto.min_ms = 200\n[sack]\ndelay_ms = 20").unwrap();
    assert!(quick.sides[0].summary.max_ms < plain.sides[0].summary.max_ms);
}

#[test]
fn what_cannot_be_played_is_refused_in_one_line() {
    let refused = |text: &str| {
        let fault = Scenario::from_json(text).and_then(|scenario| play(&scenario)).unwrap_err();
        let line = fault.to_string();
        assert!(!line.contains('\n') && line.len() < 500, "{line}");
        line
    };
    for (text, part) in [
        ("", "this is no scenario"),
        ("{\"seconds\": \"x\u{7}\"}", "this is no scenario"),
        (r#"{"second": 1}"#, "unknown field `second`"),
        (r#"{"seconds": 1e300}"#, "the duration must be 0.1 to 600 seconds"),
        (r#"{"seconds": -1}"#, "not -1"),
        (r#"{"sides": []}"#, "the number of sides must be 1 or 2, not 0"),
        (r#"{"sides": [{"profile": "tresse"}, {"profile": "trese"}]}"#, "side B: unknown profile"),
        (r#"{"sides": [{"profile": "tresse", "overrides": "rto.min_ms = \"x\""}]}"#, "side A: "),
        (r#"{"sides": [{"profile": "tresse", "overrides": "rto = = 3"}]}"#, "side A: "),
        (r#"{"link": {"rate_kbps": 0}}"#, "the rate must be"),
        (r#"{"link": {"there_ms": 1e9}}"#, "the delay there must be"),
        (r#"{"link": {"loss_back_percent": 101}}"#, "the loss back must be"),
        (r#"{"link": {"queue_packets": 0}}"#, "the queue must be"),
        (r#"{"traffic": {"kind": "thin", "size": 4, "interval_ms": 1}}"#, "the size of messages"),
        (
            r#"{"traffic": {"kind": "bursts", "size": 40, "interval_ms": 1, "burst": 0}}"#,
            "the burst",
        ),
        (r#"{"events": [{"what": "lose-data", "number": 0}]}"#, "the packet of event 1"),
        (
            r#"{"events": [{"what": "lose-packet", "way": "both", "number": 2}]}"#,
            "the packet of event 1",
        ),
        (
            r#"{"events": [{"what": "lose-between", "from_ms": 5, "to_ms": 4}]}"#,
            "the end of event 1",
        ),
        (r#"{"events": [{"what": "rain"}]}"#, "unknown variant `rain`"),
    ] {
        let line = refused(text);
        assert!(line.contains(part), "{text}: {line}");
    }
    let many =
        Scenario { events: vec![Event::LoseData { number: 1 }; 1001], ..Scenario::default() };
    assert!(matches!(play(&many), Err(Fault::Range { .. })));
}

#[test]
fn too_much_traffic_ends_early_and_says_so() {
    let link = Link {
        rate_kbps: 1e6,
        there_ms: 0.0,
        back_ms: 0.0,
        queue_packets: 1000,
        ..Link::default()
    };
    let traffic = Traffic::Bulk { size: 1400, messages: None };
    let story = alone("tresse", Scenario { link, traffic, seconds: 600.0, ..Scenario::default() });
    let note = story.note.unwrap();
    assert!(note.contains("more traffic than a page can show"), "{note}");
    assert!(story.packets_left_out > 0 && story.ended_ms < 600_000.0);
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let events = vec![Event::LoseBetween { way: Way::Both, from_ms: 400.0, to_ms: 600_000.0 }];
    let story = alone("rfc9260", Scenario { events, seconds: 600.0, ..thin(20) });
    assert!(story.note.unwrap().contains("gave the peer up"));
    assert!(story.summary.delivered < 20);
}
