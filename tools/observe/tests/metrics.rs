//! The metrics server over real sockets.

mod common;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use common::Pair;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tresse_observe::{MetricsServer, Snapshot, prometheus};

async fn get(address: SocketAddr, target: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Samples by their name with labels.
fn samples(text: &str) -> BTreeMap<&str, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name, value.parse().unwrap())
        })
        .collect()
}

/// What a dashboard asks for is there, under that name and with these labels.
#[tokio::test]
async fn the_dashboard_of_grafana_asks_for_what_there_is() {
    let dashboard = include_str!("../grafana/tresse.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    let pair = Pair::new(None).await;
    pair.send(20, 2000).await;
    let text = prometheus(&pair.server.monitor().metrics(10), None);
    let samples = samples(&text);
    let mut asked = 0;
    let panels = dashboard["panels"].as_array().unwrap().iter();
    for target in panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten()) {
        let query = target["expr"].as_str().unwrap();
        let name = &query[query.find("tresse_").expect(query)..query.find('{').expect(query)];
        let of = samples.keys().filter(|sample| sample.split('{').next() == Some(name));
        let of: Vec<&&str> = of.collect();
        assert!(!of.is_empty() || name.ends_with("_chunks_total"), "{name} is no metric");
        for label in ["association", "path", "cause", "state"] {
            let wanted =
                query.contains(&format!("{label}=")) || query.contains(&format!("({label}"));
            let has = of.iter().all(|sample| sample.contains(&format!("{label}=\"")));
            assert!(!wanted || has, "{name} has no label {label}");
        }
        asked += 1;
    }
    assert!(asked > 20, "{asked}");
    // Nothing is lost here, so no cause is listed, but the metrics are.
    for name in ["tresse_totals_lost_chunks", "tresse_totals_retransmitted_chunks"] {
        assert!(text.contains(&format!("# TYPE {name} counter")), "{text}");
    }
    pair.end().await;
}

#[tokio::test]
async fn figures_are_those_of_the_association() {
    let pair = Pair::new(None).await;
    pair.send(20, 2000).await;
    let server = MetricsServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = server.local_addr();
    let task = tokio::spawn(server.run(pair.server.monitor(), None));
    let (stats, paths) = (pair.theirs.stats(), pair.theirs.path_stats());
    let id = tresse::association_name(pair.theirs.id());

    let (head, text) = get(address, "/metrics").await;
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("openmetrics-text"), "{head}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    let samples = samples(&text);
    assert_eq!(samples["tresse_totals_messages_sent_total"], 20.0);
    assert_eq!(samples["tresse_totals_user_bytes_sent_total"], 40_000.0);
    assert_eq!(samples["tresse_associations{state=\"established\"}"], 1.0);
    let sent = format!("tresse_association_data_chunks_sent_total{{association=\"{id}\"}}");
    assert_eq!(samples[sent.as_str()], stats.data_chunks_sent as f64);
    let path = |name: &str| format!("tresse_path_{name}{{association=\"{id}\",path=\"0\"}}");
    assert_eq!(samples[path("cwnd_bytes").as_str()], paths[0].cwnd as f64);
    assert_eq!(samples[path("rto_seconds").as_str()], paths[0].rto.as_secs_f64());
    let wait = paths[0].queueing_delay().unwrap();
    assert_eq!(samples[path("queueing_delay_seconds").as_str()], wait.as_secs_f64());

    let (head, text) = get(address, "/metrics.json?pretty").await;
    assert!(head.contains("application/json"), "{head}");
    let snapshot: Snapshot = serde_json::from_str(&text).unwrap();
    let association = &snapshot.associations[0];
    assert_eq!((association.id.as_str(), association.state.as_str()), (&*id, "established"));
    assert_eq!(association.counters["messages_sent"], 20);
    assert_eq!(association.counters["data_chunks_sent"], stats.data_chunks_sent);
    let seen = &association.paths[0];
    assert_eq!(seen.remote, paths[0].remote);
    assert_eq!(seen.counters["packets_sent"], stats.packets_sent);
    assert_eq!(seen.counters["packets_received"], stats.packets_received);
    assert!(seen.min_rtt_ms.unwrap() <= seen.srtt_ms.unwrap());
    assert_eq!(seen.mtu_bytes, 1500);

    assert!(get(address, "/nothing").await.0.starts_with("HTTP/1.1 404"));
    task.abort();
    let monitor = pair.server.monitor();
    pair.end().await;
    // Counters stay when their association goes.
    let metrics = monitor.metrics(10);
    assert_eq!(metrics.associations.len(), 0);
    assert_eq!(metrics.totals.messages_sent, 20);
    assert_eq!((metrics.endpoint.associations_begun, metrics.endpoint.associations_ended), (1, 1));
    assert!(prometheus(&metrics, None).contains("tresse_totals_messages_sent_total 20\n"));
}

#[tokio::test(start_paused = true)]
async fn clients_that_say_nothing_are_dropped() {
    let pair = tresse::Endpoint::bind(tresse::Config::client("127.0.0.1:0".parse().unwrap()));
    let server = MetricsServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = server.local_addr();
    tokio::spawn(server.run(pair.unwrap().monitor(), None));
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    // More than are served at a time: this one waits until they are given up.
    let answer = tokio::time::timeout(Duration::from_secs(60), get(address, "/")).await;
    assert!(answer.unwrap().0.starts_with("HTTP/1.1 200"));
}
