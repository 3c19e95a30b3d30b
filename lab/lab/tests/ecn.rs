//! Links that mark, and ends that listen: `tresse/ecn`, shorter.

mod estimates;

use estimates::estimates;

#[test]
fn marks_spare_what_drops_cost() {
    let text = include_str!("../experiments/tresse/ecn.toml")
        .replace("duration_s = 60", "duration_s = 12")
        .replace("count = 10", "count = 3");
    let rows = estimates(&text);
    // Of each sender.
    let metric = |queue: &str, ecn: &str, name: &str| {
        let found = rows.iter().filter(|row| row["cell"]["queue"] == queue);
        let found = found.filter(|row| row["cell"]["ECN"] == ecn);
        let values = found.map(|row| row["metrics"][name]["value"].as_f64().unwrap());
        values.collect::<Vec<f64>>()
    };
    let both = |queue: &str, name: &str| ["off", "on"].map(|ecn| metric(queue, ecn, name));
    // What cannot mark is no different.
    for name in ["transfer_ms.p99", "beside_ms.mean", "retransmitted_percent"] {
        let [without, with] = both("drop tail", name);
        assert_eq!((without.len(), &without), (2, &with), "{name}");
    }
    for queue in ["RED", "CoDel"] {
        let [without, with] = both(queue, "retransmitted_percent");
        assert_eq!(without.len(), 2);
        for (without, with) in without.iter().zip(&with) {
            assert!(*with < without / 4.0, "{queue}: {without} and {with} % sent again");
        }
    }
}
