//! Every row of the tables of next instants and of refused texts, posted to a node over real HTTP.

use std::net::SocketAddr;

use campanile_core::cron::parse_instant;
use campanile_core::time::Timestamp;
use serde_json::{Value, json};

use crate::bad_input::{column, rejects};
use crate::fake::{Api, schedule};

const TABLES: [(&str, &str, usize); 2] = [
    ("next.tsv", include_str!("../../../core/tests/data/next.tsv"), 100),
    ("random.tsv", include_str!("../../../core/tests/data/random.tsv"), 2_400),
];

/// One row of a table of next instants.
struct Row {
    id: &'static str,
    cron: &'static str,
    time_zone: &'static str,
    after: &'static str,
    next: Vec<Timestamp>,
}

fn rows(text: &'static str) -> Vec<Row> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [id, cron, time_zone, after, next] = cells[..] else { panic!("five cells: {line}") };
            let next = next.split_whitespace().map(|instant| parse_instant(instant).unwrap()).collect();
            Row { id, cron, time_zone, after, next }
        })
        .collect()
}

/// A node that serves on loopback until the runtime of the test ends.
async fn serve() -> (Api, SocketAddr) {
    let api = Api::leader();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, api.router.clone()).into_future());
    (api, address)
}

/// A client that keeps its connection.
fn client() -> reqwest::Client {
    campanile::client::Client::new(campanile::client::Options {
        endpoints: vec![campanile::client::Endpoint::parse("http://localhost").unwrap()],
        token: None,
        timeout: std::time::Duration::from_secs(1),
    })
    .unwrap(); // It installs the cryptography that any client of this process needs.
    reqwest::Client::builder().no_proxy().tls_certs_only(std::iter::empty()).build().unwrap()
}

async fn ask(client: &reqwest::Client, request: reqwest::RequestBuilder) -> (u16, Value) {
    let answer = client.execute(request.build().unwrap()).await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_public_api_gives_every_instant_of_the_tables() {
    let (_api, address) = serve().await;
    let client = client();
    for (table, text, least) in TABLES {
        let rows = rows(text);
        assert!(rows.len() >= least, "{table} has {} rows", rows.len());
        for row in rows {
            let question = json!({"specs": [{"cron": row.cron, "time_zone": row.time_zone}], "after": row.after, "count": row.next.len()});
            let request = client.post(format!("http://{address}/v1/preview")).json(&question);
            let (status, answer) = ask(&client, request).await;
            assert_eq!(status, 200, "{table} {}: {answer}", row.id);
            let next: Vec<Timestamp> = answer["next"]
                .as_array()
                .unwrap()
                .iter()
                .map(|next| parse_instant(next["nominal"].as_str().unwrap()).unwrap())
                .collect();
            assert_eq!(
                next, row.next,
                "{table} {}: {} in {} after {}",
                row.id, row.cron, row.time_zone, row.after
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_public_api_refuses_every_text_of_the_table_with_its_place() {
    let (api, address) = serve().await;
    let client = client();
    for (kind, text, why) in rejects() {
        let (spec, pointer) = match kind {
            "cron" => (json!({"cron": text}), "/specs/0/cron"),
            _ => (json!({"cron": "0 2 * * *", "time_zone": text}), "/specs/0/time_zone"),
        };
        let put = client.put(format!("http://{address}/v1/schedules/a/b")).json(&schedule(&json!([spec])));
        let preview = client.post(format!("http://{address}/v1/preview")).json(&json!({"specs": [spec]}));
        for request in [put, preview] {
            let (status, answer) = ask(&client, request).await;
            assert_eq!((status, &answer["code"]), (422, &json!("invalid_schedule")), "{text:?} ({why})");
            let flaw = &answer["errors"][0];
            assert_eq!(flaw["pointer"], pointer, "{text:?} ({why})");
            assert!(flaw["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{text:?} ({why})");
            if kind == "cron" {
                assert_eq!(flaw["column"].as_u64(), column(&text), "{text:?} ({why})");
            }
        }
    }
    assert_eq!(api.log.committed(), 0);
}
