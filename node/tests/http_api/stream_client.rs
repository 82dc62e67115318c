//! Following and exporting the ledger with the client and the command line.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::to_bytes;
use campanile::cli::Exit;
use campanile::client::{Client, Endpoint, Error, LedgerEvent, Options, Wanted};
use campanile_core::attempt::Verdict;
use campanile_core::time::Span;
use campanile_storage::archive::ArchiveReader;
use serde_json::{Value, json};

use crate::cli_support::{Answer, Node, Ran, answer, cli, dead_url, exit_of, problem};
use crate::export::Served;
use crate::fake::{Api, minutely};

fn client(urls: &[String]) -> Client {
    let endpoints = urls.iter().map(|url| Endpoint::parse(url).unwrap()).collect();
    Client::new(Options { endpoints, token: None, timeout: Duration::from_secs(10) }).unwrap()
}

fn events(text: &str) -> Answer {
    Answer { status: 200, headers: vec![("content-type", "text/event-stream".into())], body: text.into() }
}

fn row(position: &str) -> String {
    format!("id: {position}\nevent: row\ndata: {{\"position\": \"{position}\"}}\n\n")
}

fn came(position: &str) -> LedgerEvent {
    LedgerEvent::Row { position: position.into(), row: json!({ "position": position }) }
}

#[tokio::test]
async fn a_client_that_loses_its_node_goes_on_behind_the_last_row_at_another() {
    let turn = AtomicUsize::new(0);
    let node = Node::start(move |_| match turn.fetch_add(1, Ordering::SeqCst) {
        0 => events(&format!("retry: 1000\n\n{}{}id: 3.0", row("1.0"), row("2.0"))),
        1 => problem(429, "rate_limited", "full"),
        2 => events(": nothing new\n\nid: 4.0\nevent: at\ndata: {}\n\nevent: later\ndata: {}\n\n"),
        _ => events(&format!(
            "event: behind\ndata: {{\"rows\": 7}}\n\n{}event: expired\ndata: {{}}\n\n",
            row("5.0")
        )),
    });
    let client = client(&[dead_url(), node.url()]);
    let wanted =
        Wanted { after: Some("0.0".into()), types: vec!["fired".into()], schedule: Some("a/x".into()) };
    let mut stream = client.follow(wanted);
    assert_eq!(stream.next().await, Ok(came("1.0")));
    assert_eq!(stream.next().await, Ok(came("2.0")));
    assert_eq!(stream.next().await, Ok(LedgerEvent::At { position: "4.0".into() }));
    assert_eq!(stream.next().await, Ok(LedgerEvent::Behind { rows: 7 }));
    assert_eq!(stream.next().await, Ok(came("5.0")));
    assert_eq!(stream.position(), Some("5.0"));
    let Err(Error::Problem(expired)) = stream.next().await else { panic!("rows are gone") };
    assert_eq!(expired.code, "watch_expired");

    let asked = node.asked();
    let ids: Vec<_> = asked.iter().map(|asked| asked.header("last-event-id")).collect();
    let two = Some("2.0".to_owned());
    assert_eq!(ids, [None, two.clone(), two, Some("4.0".to_owned())]);
    assert_eq!(asked[0].line(), "GET /v1/ledger/stream?after=0.0&type=fired&schedule=a%2Fx");
}

#[tokio::test]
async fn a_client_tells_what_no_moment_mends_at_once_and_no_node_after_its_timeout() {
    for (status, code) in [(410, "watch_expired"), (401, "unauthenticated"), (400, "bad_request")] {
        let node = Node::start(move |_| problem(status, code, "no"));
        let client = client(&[node.url()]);
        let Err(Error::Problem(problem)) = client.ledger_stream(None).next().await else { panic!("{code}") };
        assert_eq!((problem.status, problem.code.as_str()), (status, code));
        assert_eq!(node.asked().len(), 1);
    }
    let endpoints = vec![Endpoint::parse(&dead_url()).unwrap()];
    let client =
        Client::new(Options { endpoints, token: None, timeout: Duration::from_millis(300) }).unwrap();
    let error = client.ledger_stream(None).next().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn the_client_reads_every_row_of_a_node() {
    let served = Served::start().await;
    served.api.log.fill(5_000);
    let client = client(std::slice::from_ref(&served.url));
    let mut stream = client.ledger_stream(None);
    let mut rows = Vec::new();
    while rows.len() < 5_002 {
        if let LedgerEvent::Row { row, .. } = stream.next().await.unwrap() {
            rows.push(row);
        }
    }
    served.api.log.fill(0);
    assert_eq!(
        stream.next().await,
        Ok(LedgerEvent::Row { position: "3.0".into(), row: last_of(&served.api).await })
    );
    assert_eq!(
        rows[..1000],
        served.api.get("/v1/ledger?limit=1000").await.body["items"].as_array().unwrap()[..]
    );
}

async fn last_of(api: &Api) -> Value {
    api.get("/v1/ledger?after=2").await.body["items"][0].clone()
}

#[tokio::test]
async fn an_export_in_segments_has_every_row_and_its_end() {
    let api = Api::leader();
    api.log.fill(1_234);
    let response = api.open("/v1/ledger/export", &[]).await;
    assert_eq!(response.headers()["content-type"], "application/octet-stream");
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let mut archive = ArchiveReader::open(&bytes[..]).unwrap();
    let note: Value = serde_json::from_slice(archive.note()).unwrap();
    assert_eq!(
        (&note["content"], &note["rows"], &note["end"]),
        (&json!("ledger"), &json!(1_236), &json!("2.1234"))
    );
    let mut rows = 0;
    while archive.next_row().unwrap().is_some() {
        rows += 1;
    }
    assert_eq!((rows, archive.head().rows), (1_236, 1_236));
}

async fn exported(api: &Api) -> Vec<u8> {
    let response = api.open("/v1/ledger/export", &[]).await;
    to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()
}

#[tokio::test]
async fn an_export_begins_with_the_oldest_row_that_is_kept_whatever_the_files_still_hold() {
    let api = Api::leader();
    (0..5).for_each(|_| api.log.fill(7));
    // The file of the dropped rows stands, since newer ones are in it too.
    api.log.drop_before(4);
    let holding = exported(&api).await;
    let mut archive = ArchiveReader::open(&holding[..]).unwrap();
    let note: Value = serde_json::from_slice(archive.note()).unwrap();
    assert_eq!((&note["rows"], archive.base().rows), (&json!(24), 17));
    let first = archive.next_row().unwrap().unwrap().position;
    assert_eq!(first.to_string(), api.get("/v1/ledger?limit=1").await.body["items"][0]["position"]);
    // A node that was given an image has no such file: the same bytes.
    api.log.take_image(4);
    assert_eq!(exported(&api).await, holding);
}

#[tokio::test]
async fn the_command_line_shows_the_facts_that_are_wanted() {
    let served = Served::start().await;
    for name in ["x", "y"] {
        served.api.put(&format!("/v1/schedules/a/{name}"), &minutely()).await;
    }
    for _ in 0..4 {
        served.api.log.pass(Span::from_secs(60));
        served.api.log.tick();
        served.api.log.work(Verdict::Succeeded);
    }
    let all = served.api.get("/v1/ledger?limit=1000").await.body["items"].as_array().unwrap().clone();
    let uid = all.iter().find(|row| row["schedule"] == "a/x").unwrap()["uid"].clone();
    let of = |types: &[&str], only_x: bool| -> Vec<Value> {
        let wanted = |row: &&Value| types.contains(&row["type"].as_str().unwrap());
        all.iter().filter(wanted).filter(|row| !only_x || row["uid"] == uid).cloned().collect()
    };
    let lines = |ran: &Ran| -> Vec<Value> {
        assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let export = served.cli(&["ledger", "export", "--type", "fired,settled", "-s", "a/x"], "").await;
    assert_eq!(lines(&export), of(&["fired", "settled"], true));
    let tail = ["ledger", "tail", "-o", "jsonl", "-n", "3", "--type", "fired"];
    let newest = served.cli(&tail, "").await;
    assert_eq!(lines(&newest), of(&["fired"], false)[5..]);
    let none = served.cli(&["ledger", "tail", "--type", "queue_paused", "-o", "jsonl"], "").await;
    assert_eq!(lines(&none), Vec::<Value>::new());

    // Rows that are gone are told, and the newest are shown all the same.
    served.api.log.drop_before(4);
    let gone = served.cli(&["ledger", "export", "--after", "1.0"], "").await;
    assert_eq!(gone.exit, Exit::Failed, "{}", gone.out);
    assert!(
        gone.err.contains("the oldest that is kept is 4.0") && gone.err.contains("without --after"),
        "{}",
        gone.err
    );
    let left = served.cli(&["ledger", "tail", "-n", "1000", "-o", "jsonl"], "").await;
    assert_eq!(lines(&left)[0]["position"], "4.0");

    for (args, hint) in [
        (&["tail", "--type", "fird"][..], "fired"),
        (&["tail", "-s", "a/b/c"], "--schedule"),
        (&["export", "-o", "segments", "--type", "fired"], "-o jsonl"),
    ] {
        let refused = served.cli(&[&["ledger"], args].concat(), "").await;
        assert_eq!(refused.exit, Exit::Usage, "{args:?}");
        assert!(refused.err.contains(hint), "{args:?}: {}", refused.err);
    }
}

#[test]
fn a_tail_that_follows_goes_on_behind_what_it_has_shown_with_the_same_filter() {
    let node = Node::start(|asked| match asked.path.as_str() {
        "/v1/ledger" => {
            let mut page = answer(200, json!({"items": [{"position": "40.1", "type": "fired"}]}));
            page.headers[1].1 = "42".into();
            page
        }
        _ => events(&format!("{}event: expired\ndata: {{}}\n\n", row("43.0"))),
    });
    let args =
        ["ledger", "tail", "-f", "-o", "jsonl", "--type", "fired", "-s", "a/x", "--endpoint", &node.url()];
    let ran = cli(&args);
    assert_eq!(ran.exit, Exit::Failed, "{}", ran.err);
    assert!(ran.out.contains("40.1") && ran.out.contains("43.0"), "{}", ran.out);
    assert_eq!(
        node.lines().last().unwrap(),
        "GET /v1/ledger/stream?after=42&type=fired&schedule=a%2Fx",
        "every entry up to 42 was looked at"
    );
}

#[tokio::test]
async fn the_command_line_writes_an_export_and_knows_one_that_was_cut_off() {
    let served = Served::start().await;
    served.api.log.fill(3_000);
    let url = served.url.clone();
    let (exit, out, err) = tokio::task::spawn_blocking(move || export_from(&url)).await.unwrap();
    let head = served.api.get("/v1/cluster").await.body["ledger"]["hash"].as_str().unwrap().to_owned();
    assert_eq!(exit, Exit::Done);
    assert!(err.starts_with("3002 facts up to 2.3000, whole\n"), "{err}");
    assert!(err.ends_with(&format!(" --head 2.3000:{head}\n")), "{err}");

    let node = Node::start(move |_| Answer {
        status: 200,
        headers: vec![("content-type", "application/octet-stream".into())],
        body: String::new(),
    });
    let (exit, _, err) = tokio::task::spawn_blocking(move || export_from(&node.url())).await.unwrap();
    assert_eq!(exit, Exit::Failed);
    assert!(err.contains("not whole") && err.contains("cut off"), "{err}");
    assert!(ArchiveReader::open(&out[..]).is_ok());
}

#[test]
fn an_export_in_segments_is_whole_or_none() {
    let refused = cli(&["ledger", "export", "-o", "segments", "--after", "1.0", "--endpoint", &dead_url()]);
    assert_eq!(refused.exit, Exit::Usage, "{}", refused.err);
}

fn export_from(url: &str) -> (Exit, Vec<u8>, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["ledger", "export", "-o", "segments", "--endpoint", url];
    let exit = exit_of(&args, &mut out, &mut err, &mut std::io::empty());
    (exit, out, String::from_utf8(err).unwrap())
}
