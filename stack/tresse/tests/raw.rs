//! Several SCTP ports behind one UDP port.

use std::net::SocketAddr;
use std::time::Duration;

use tresse::{AssociationConfig, CloseReason, Config, Event, Events, PortConfig, RawEndpoint};

fn open() -> (RawEndpoint, Events) {
    let mut config = Config::client("127.0.0.1:0".parse().unwrap());
    config.sctp.local_port = 0;
    let (endpoint, events, driver) = RawEndpoint::open(config).unwrap();
    tokio::spawn(driver);
    (endpoint, events)
}

async fn next(events: &mut Events) -> Event {
    tokio::time::timeout(Duration::from_secs(20), events.recv()).await.unwrap().unwrap().1
}

#[tokio::test]
async fn an_endpoint_talks_to_its_own_ports_and_to_none_that_is_closed() {
    let (endpoint, mut events) = open();
    let to = AssociationConfig {
        encapsulation: Some(endpoint.local_addr().port()),
        ..AssociationConfig::default()
    };
    let peer = [endpoint.local_addr().ip()];
    endpoint.act(|core, now| {
        core.open_port(7, PortConfig { accept: true, ..PortConfig::default() }).unwrap();
        core.open_port(8, PortConfig::default()).unwrap();
        core.open_port(10, PortConfig::default()).unwrap();
        core.connect_from(now, 8, &peer, 7, to.clone()).unwrap();
    });
    let mut connected = Vec::new();
    while connected.len() < 2 {
        if let Event::Connected { accepted, .. } = next(&mut events).await {
            connected.push(accepted);
        }
    }
    connected.sort_unstable();
    assert_eq!(connected, [false, true]);
    for port in [8, 9] {
        // 8 does not listen, 9 is not open.
        endpoint.act(|core, now| core.connect_from(now, 10, &peer, port, to.clone()).unwrap());
        let event = next(&mut events).await;
        assert!(matches!(event, Event::Closed(CloseReason::PeerAborted { .. })), "{event:?}");
    }
}

/// Calls `there` from `here`, and sends this with the COOKIE ECHO; then dies without a word.
async fn call(here: SocketAddr, there: SocketAddr, what: &'static [u8]) {
    let mut config = Config::client(here);
    config.sctp.local_port = 6000;
    let (raw, _events, driver) = RawEndpoint::open(config).unwrap();
    let driver = tokio::spawn(driver);
    let association =
        AssociationConfig { encapsulation: Some(there.port()), ..AssociationConfig::default() };
    let id = raw.act(|endpoint, now| {
        let id = endpoint.connect(now, &[there.ip()], 7000, association).unwrap();
        let (stream, options) = (tresse::StreamId(0), tresse::SendOptions::default());
        endpoint.send(now, id, stream, tresse::Bytes::from_static(what), options).unwrap();
        id
    });
    let acknowledged = async {
        while raw.act(|endpoint, _| endpoint.stats(id).is_none_or(|s| s.send_buffered > 0)) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), acknowledged).await.unwrap();
    driver.abort();
    let _ = driver.await;
}

/// The driver polls an event before anybody hears of it: what came behind it waits for that.
#[tokio::test]
async fn what_is_behind_a_restart_waits_until_that_was_heard() {
    let config = Config::server("127.0.0.1:0".parse().unwrap(), 7000);
    let (endpoint, mut events, driver) = RawEndpoint::open(config).unwrap();
    let driver = tokio::spawn(driver);
    let here = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    call(here, endpoint.local_addr(), b"first").await;
    while events.try_recv().is_some() {}
    let id = endpoint.act(|core, _| core.associations()[0]);
    assert!(!endpoint.tells_of_reset(id));
    call(here, endpoint.local_addr(), b"second").await;
    assert!(endpoint.tells_of_reset(id));
    let told: Vec<_> = std::iter::from_fn(|| events.try_recv()).map(|(_, event)| event).collect();
    assert!(told.contains(&Event::Restarted), "{told:?}");
    assert!(!endpoint.tells_of_reset(id));
    let read: Vec<_> = endpoint.act(|core, now| {
        assert_eq!(core.unread_of_first_life(id), 1);
        std::iter::from_fn(|| core.recv(now, id)).map(|message| message.payload).collect()
    });
    assert_eq!(read, ["first", "second"]);
    driver.abort();
}
