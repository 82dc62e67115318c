//! `/v1/ledger/stream`: every row once, from any position, told in time when there is none, and bounded.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use axum::response::Response;
use campanile::service::stream::{BEHIND, STREAMS};
use campanile_core::time::Span;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tower::ServiceExt;

use crate::fake::{Api, SILENCE, minutely};

/// What comes on a stream, one block of text after the other.
struct Reader {
    body: BodyDataStream,
    text: String,
}

impl Reader {
    async fn open(api: &Api, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::of(api.open(path, headers).await).await
    }

    async fn of(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut reader = Self { body: response.into_body().into_data_stream(), text: String::new() };
        assert_eq!(reader.block().await.as_deref(), Some("retry: 1000"));
        reader
    }

    /// The next block; `None` at the end of the stream.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let block = block.to_owned();
                self.text = rest.to_owned();
                return Some(block);
            }
            let piece = timeout(Duration::from_secs(60), self.body.next()).await.expect("something comes");
            self.text.push_str(std::str::from_utf8(&piece?.unwrap()).unwrap());
        }
    }

    /// The next event: its id, its kind and its data.
    async fn event(&mut self) -> Option<(String, String, Value)> {
        let block = loop {
            let block = self.block().await?;
            if !block.starts_with(':') {
                break block;
            }
        };
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let data = serde_json::from_str(field("data: ")).unwrap_or_default();
        Some((field("id: ").to_owned(), field("event: ").to_owned(), data))
    }

    /// The next rows.
    async fn rows(&mut self, count: usize) -> Vec<Value> {
        let mut rows = Vec::new();
        while rows.len() < count {
            let (id, kind, row) = self.event().await.unwrap();
            assert_eq!((kind.as_str(), row["position"].as_str()), ("row", Some(id.as_str())), "{row}");
            rows.push(row);
        }
        rows
    }
}

impl Api {
    /// Asks for an answer that is read as it comes.
    pub(crate) async fn open(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }
}

/// Every row that `/v1/ledger` shows.
async fn all(api: &Api) -> Vec<Value> {
    api.get("/v1/ledger?limit=1000").await.body["items"].as_array().unwrap().clone()
}

/// A schedule of every minute, and some instants of it.
async fn some_rows(api: &Api, name: &str) {
    assert!(api.put(&format!("/v1/schedules/a/{name}"), &minutely()).await.status.is_success());
    for _ in 0..3 {
        api.log.pass(Span::from_secs(60));
        api.log.tick();
        api.log.work(campanile_core::attempt::Verdict::Succeeded);
    }
}

#[tokio::test]
async fn rows_come_as_they_are_decided_and_a_new_stream_goes_on_behind_the_last_one() {
    let api = Api::leader();
    some_rows(&api, "x").await;
    let mut reader = Reader::open(&api, "/v1/ledger/stream", &[]).await;
    let before = all(&api).await;
    assert_eq!(reader.rows(before.len()).await, before);
    some_rows(&api, "y").await;
    let after = all(&api).await;
    assert_eq!(reader.rows(after.len() - before.len()).await, after[before.len()..]);

    // The header of a reader that comes back goes before the address that it began with; any node will do.
    let follower = Api::follower_of(&api);
    for place in [0, 3, before.len() - 1, after.len() - 2] {
        let id = after[place]["position"].as_str().unwrap();
        let headers = [("last-event-id", id)];
        let mut again = Reader::open(&follower, "/v1/ledger/stream?after=1.0", &headers).await;
        assert_eq!(again.rows(after.len() - place - 1).await, after[place + 1..], "behind {id}");
        let mut named = Reader::open(&api, &format!("/v1/ledger/stream?after={id}"), &[]).await;
        assert_eq!(named.rows(1).await, after[place + 1..place + 2]);
    }
}

#[tokio::test]
async fn a_stream_begins_with_what_is_to_come_or_waits_for_a_position_that_this_node_has_not_reached() {
    let api = Api::leader();
    some_rows(&api, "x").await;
    let last = api.log.view().applied().0;
    let mut now = Reader::open(&api, "/v1/ledger/stream?after=now", &[]).await;
    let mut ahead = Reader::open(&api, &format!("/v1/ledger/stream?after={}", last + 1), &[]).await;
    api.log.fill(0);
    api.log.fill(0);
    let position = |row: &Value| row["position"].as_str().unwrap().to_owned();
    let came: Vec<String> = now.rows(2).await.iter().map(position).collect();
    assert_eq!(came, [format!("{}.0", last + 1), format!("{}.0", last + 2)]);
    assert_eq!(position(&ahead.rows(1).await[0]), format!("{}.0", last + 2));
}

#[tokio::test]
async fn a_position_that_retention_has_passed_is_refused_and_a_stream_there_ends() {
    let api = Api::leader();
    some_rows(&api, "x").await;
    let mut reader = Reader::open(&api, "/v1/ledger/stream?after=1.0", &[]).await;
    api.log.forget();
    let gone = api.get("/v1/ledger/stream?after=0").await;
    api.log.fill(1);
    assert_eq!(gone.problem(), (410, "watch_expired"));
    let refused = api.get("/v1/ledger/stream?after=1.0").await;
    assert_eq!(refused.problem(), (410, "watch_expired"));
    // Whoever asks for a page is told the same, and where to begin.
    for path in ["/v1/ledger?after=1.0", "/v1/ledger?page_token=1.0", "/v1/ledger?after=1.0&type=fired"] {
        assert_eq!(api.get(path).await.body, refused.body, "{path}");
    }
    let oldest = all(&api).await[0]["position"].as_str().unwrap().to_owned();
    let detail = refused.body["detail"].as_str().unwrap();
    assert!(detail.contains(&format!("the oldest that is kept is {oldest}")), "{detail}");
    let (id, kind, data) = reader.event().await.unwrap();
    assert_eq!((id.as_str(), kind.as_str(), data), ("", "expired", json!({"code": "watch_expired"})));
    assert_eq!(reader.event().await, None);
    // Whoever names no position gets what there is.
    let mut fresh = Reader::open(&api, "/v1/ledger/stream", &[]).await;
    assert_eq!(fresh.rows(2).await, all(&api).await);
}

#[tokio::test]
async fn retention_under_a_reader_ends_its_stream_instead_of_leaving_a_hole() {
    let api = Api::leader();
    api.log.fill(600);
    let mut reader = Reader::open(&api, "/v1/ledger/stream", &[]).await;
    let first = reader.rows(1).await;
    assert_eq!(first[0]["position"], "1.0");
    api.log.forget();
    api.log.fill(1);
    // The page that was read is still told, and nothing behind it.
    let mut told = 1;
    let end = loop {
        let (_, kind, row) = reader.event().await.unwrap();
        if kind != "row" {
            break kind;
        }
        assert_eq!(row["position"], if told == 0 { "1.0".into() } else { format!("2.{}", told - 1) });
        told += 1;
    };
    assert_eq!(end, "expired");
    assert!(told < 600, "{told}");
}

/// Some entries of many rows, and those rows.
async fn many_entries(api: &Api) -> Vec<Value> {
    (0..18).for_each(|_| api.log.fill(50));
    all(api).await
}

#[tokio::test]
async fn an_image_of_a_peer_under_open_streams_leaves_nothing_out_and_repeats_nothing() {
    let api = Api::leader();
    let rows = many_entries(&api).await;
    let mut slow = Reader::open(&api, "/v1/ledger/stream", &[]).await;
    let mut level = Reader::open(&api, "/v1/ledger/stream?after=now", &[]).await;
    assert_eq!(slow.rows(30).await, rows[..30]);
    // Nothing of the files that they read from is left; the slow one has a page of 500 rows, up to the tenth entry.
    api.log.take_image(6);
    assert_eq!(slow.rows(rows.len() - 30).await, rows[30..]);
    api.log.fill(3);
    let came = level.rows(4).await;
    assert_eq!(slow.rows(4).await, came);
    assert_eq!(came[0]["position"], "20.0");
}

#[tokio::test]
async fn an_image_that_begins_behind_a_reader_ends_its_stream_instead_of_leaving_a_hole() {
    let api = Api::leader();
    let rows = many_entries(&api).await;
    let mut slow = Reader::open(&api, "/v1/ledger/stream", &[]).await;
    assert_eq!(slow.rows(30).await, rows[..30]);
    api.log.take_image(15);
    let mut told = 30;
    let end = loop {
        let (_, kind, row) = slow.event().await.unwrap();
        if kind != "row" {
            break kind;
        }
        assert_eq!(row, rows[told]);
        told += 1;
    };
    assert_eq!((end.as_str(), told), ("expired", 500), "the page that was read is still told");
    let mut fresh = Reader::open(&api, "/v1/ledger/stream", &[]).await;
    assert_eq!(fresh.rows(1).await[0]["position"], "15.0");
}

#[tokio::test]
async fn a_silent_stream_says_from_time_to_time_that_it_lives() {
    let api = Api::leader();
    let mut reader = Reader::open(&api, "/v1/ledger/stream?after=now", &[]).await;
    for _ in 0..3 {
        let begun = Instant::now();
        assert_eq!(reader.block().await.as_deref(), Some(": nothing new"));
        assert!(begun.elapsed() >= SILENCE);
    }
    api.log.fill(0);
    assert_eq!(reader.rows(1).await.len(), 1);
}

#[tokio::test]
async fn a_reader_that_wants_little_is_told_where_it_is_so_that_it_can_go_on_from_there() {
    let api = Api::leader();
    for name in ["x", "y", "x"] {
        some_rows(&api, name).await;
    }
    let deleted = api.ask("DELETE", "/v1/schedules/a/x", &[], "").await;
    assert!(deleted.status.is_success(), "{}", deleted.text);
    let rows = all(&api).await;
    let uid = rows.iter().find(|row| row["schedule"] == "a/x").unwrap()["uid"].clone();
    let wanted: Vec<Value> = rows.iter().filter(|row| row["uid"] == uid).cloned().collect();
    assert!(wanted.len() > 10 && wanted.len() < rows.len());
    let mut of_one = Reader::open(&api, "/v1/ledger/stream?schedule=a/x", &[]).await;
    assert_eq!(of_one.rows(wanted.len()).await, wanted, "of a schedule that is gone by now");

    let fired: Vec<Value> =
        wanted.iter().filter(|row| row["type"] == "fired" || row["type"] == "deleted").cloned().collect();
    let path = "/v1/ledger/stream?schedule=a/x&type=fired,deleted";
    let mut of_some = Reader::open(&api, path, &[]).await;
    assert_eq!(of_some.rows(fired.len()).await, fired);
    // Pages take the same filters.
    for limit in [1, 3, 1000] {
        let (mut came, mut token) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/ledger?schedule=a/x&type=fired,deleted&limit={limit}{token}");
            let page = api.get(&path).await.body;
            let items = page["items"].as_array().unwrap();
            assert!(items.len() <= limit, "{page:#}");
            came.extend(items.iter().cloned());
            let Some(next) = page["next_page_token"].as_str() else { break };
            token = format!("&page_token={next}");
        }
        assert_eq!(came, fired, "{limit} at a time");
    }

    let mut of_none = Reader::open(&api, "/v1/ledger/stream?type=queue_paused", &[]).await;
    let (id, kind, data) = of_none.event().await.unwrap();
    let last = rows.last().unwrap()["position"].as_str().unwrap().to_owned();
    assert_eq!((id, kind.as_str(), data), (last.clone(), "at", json!({ "position": last })));
    assert_eq!(of_none.block().await.as_deref(), Some(": nothing new"), "it is told once");
    // Many rows that nobody wants are told of before the silence.
    api.log.fill(2_000);
    assert_eq!(of_none.event().await.unwrap().1, "at");
}

#[tokio::test]
async fn a_reader_that_is_far_behind_is_told_how_far() {
    let api = Api::leader();
    api.log.fill(BEHIND * 2);
    let mut reader = Reader::open(&api, "/v1/ledger/stream?after=1.0", &[]).await;
    let (id, kind, data) = reader.event().await.unwrap();
    let rows = data["rows"].as_u64().unwrap();
    assert_eq!((id.as_str(), kind.as_str()), ("", "behind"));
    assert!(rows > BEHIND * 19 / 10 && rows <= BEHIND * 2, "{rows}");
    // It is told once, and every row comes all the same.
    let came = reader.rows(BEHIND as usize * 2 + 1).await;
    assert_eq!(came.last().unwrap()["position"], format!("2.{}", BEHIND * 2));
}

#[tokio::test]
async fn streams_are_bounded_and_a_place_that_is_left_is_free() {
    let api = Api::leader();
    let mut open = Vec::new();
    for _ in 0..STREAMS {
        open.push(api.open("/v1/ledger/stream", &[]).await);
    }
    assert!(open.iter().all(|stream| stream.status() == 200));
    assert_eq!(api.get("/v1/ledger/stream").await.problem(), (429, "rate_limited"));
    open.pop();
    assert_eq!(api.open("/v1/ledger/stream", &[]).await.status(), 200);
}

#[tokio::test]
async fn a_node_that_stops_ends_its_streams_and_opens_none() {
    let api = Api::leader();
    let mut reader = Reader::open(&api, "/v1/ledger/stream?after=now", &[]).await;
    api.stop();
    assert_eq!(reader.block().await, None);
    assert_eq!(api.get("/v1/ledger/stream").await.problem(), (503, "not_ready"));
}

#[tokio::test]
async fn what_is_no_position_type_or_schedule_is_refused() {
    let api = Api::leader();
    for (query, hint) in [
        ("after=later", "index.n"),
        ("type=fird", "fired"),
        ("type=fired,skiped", "skipped"),
        ("schedule=x/y/z", "schedule"),
        ("afer=1.0", "after"),
    ] {
        for path in ["/v1/ledger/stream", "/v1/ledger"] {
            let refused = api.get(&format!("{path}?{query}")).await;
            assert_eq!(refused.problem(), (400, "bad_request"), "{query}");
            assert!(refused.body["detail"].as_str().unwrap().contains(hint), "{query}: {}", refused.text);
        }
    }
}
