//! `campanile verify FILE`: offline, with an exit code for scripts and a table for people.

use campanile::cli::Exit;
use serde_json::{Value, json};

use crate::cli_support::{Answer, Asked, Node, answer, cli, dead_url};
use crate::story::Story;
use crate::{export, head};

pub(crate) fn run(bytes: &[u8], args: &[&str]) -> crate::cli_support::Ran {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.archive");
    std::fs::write(&path, bytes).unwrap();
    let path = path.display().to_string();
    cli(&[&["verify", &path], args].concat())
}

#[test]
fn an_export_that_is_right_ends_with_zero_and_says_how_much_it_holds() {
    let ran = run(&export(&Story::told().rows), &[]);
    assert_eq!(ran.exit, Exit::Done, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("every instant is accounted for"), "{}", ran.out);
    assert!(ran.out.contains("overlap="), "{}", ran.out);
    assert!(ran.out.contains(&format!("chain of {} rows whole", Story::told().rows.len())), "{}", ran.out);
    let json = run(&export(&Story::told().rows), &["-o", "json", "-n", "b"]);
    let verdict: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&verdict["clean"], &verdict["missing"]), (&Value::Bool(true), &Value::from(0)));
}

#[test]
fn an_export_with_a_hole_ends_with_one_and_a_table_of_the_first_offenders() {
    let mut rows = Story::told().rows.clone();
    rows.drain(1_000..1_020);
    let ran = run(&export(&rows), &[]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.out.contains("NOT every instant"), "{}", ran.out);
    assert!(ran.out.contains("FAULT") && ran.out.contains("missing"), "{}", ran.out);
    assert!(ran.out.contains("BROKEN"), "{}", ran.out);
}

#[test]
fn what_is_no_archive_is_refused_with_what_to_do() {
    let lines = run(b"{\"position\":\"1.0\"}\n", &[]);
    assert_eq!(lines.exit, Exit::Usage);
    assert!(lines.err.contains("JSON lines") && lines.err.contains("-o segments"), "{}", lines.err);
    let other = run(b"PNG and so on, which is long enough", &[]);
    assert_eq!(other.exit, Exit::Usage, "{}", other.err);
    assert!(other.err.contains("not an archive"), "{}", other.err);
    let whole = export(&Story::told().rows);
    let cut = run(&whole[..12], &[]);
    assert_eq!(cut.exit, Exit::Failed, "{}", cut.err);
    let missing = cli(&["verify", "/nonexistent/ledger"]);
    assert_eq!(missing.exit, Exit::Usage);
}

/// A node of a cluster of which the other one is down: it answers with the verdict on an export.
fn node(rows: &'static [campanile_storage::ledger::Row]) -> Node {
    let dead = dead_url();
    Node::start(move |asked: &Asked| {
        let own = format!("http://{}", asked.header("host").unwrap());
        if asked.path == "/v1/cluster" {
            let nodes = json!([{"id": 1, "api_address": own}, {"id": 2, "api_address": dead}]);
            return answer(200, json!({ "nodes": nodes }));
        }
        assert_eq!(
            (&*asked.path, asked.header("accept").as_deref()),
            ("/v1/verify", Some("text/event-stream"))
        );
        let verdict = crate::verdict(export(rows), campanile_core::verify::Scope::default());
        let verdict = serde_json::to_string(&verdict).unwrap();
        let body =
            format!("event: progress\ndata: {{\"rows\":1,\"of\":2}}\n\nevent: verdict\ndata: {verdict}\n\n");
        let headers = vec![("content-type", "text/event-stream".to_owned())];
        Answer { status: 200, headers, body }
    })
}

#[test]
fn each_node_of_a_cluster_is_asked_and_one_that_is_down_is_no_proof() {
    let node = node(&Story::told().rows);
    let url = node.url();
    let all = cli(&["verify", "--endpoint", &url, "-n", "a"]);
    assert_eq!(all.exit, Exit::Unreachable, "{}{}", all.out, all.err);
    assert!(all.out.contains("every instant is accounted for"), "{}", all.out);
    assert!(all.err.contains("not verified:"), "{}", all.err);
    assert_eq!(node.lines(), ["GET /v1/cluster?consistency=stale", "GET /v1/verify?namespace=a"]);
    // By the name that it had too.
    for only in [&["--only", "--endpoint", &url][..], &["--server", &url]] {
        let one = cli(&[&["verify", "-o", "json"], only].concat());
        assert_eq!(one.exit, Exit::Done, "{}{}", one.out, one.err);
        let verdicts: Value = serde_json::from_str(&one.out).unwrap();
        assert_eq!((&verdicts[0]["clean"], verdicts.as_array().unwrap().len()), (&Value::Bool(true), 1));
    }
    let head = head(Story::told().rows.last().unwrap()).to_string();
    cli(&["verify", "--only", "--endpoint", &url, "--head", &head]);
    assert_eq!(node.lines().last().unwrap(), &format!("GET /v1/verify?head={}", head.replace(':', "%3A")));
    let two = cli(&["verify", "--only", "--endpoint", &format!("{url},{}", dead_url())]);
    assert_eq!(two.exit, Exit::Unreachable, "each endpoint is asked: {}{}", two.out, two.err);
}

#[test]
fn where_no_row_was_heard_it_says_so_and_what_to_do() {
    let whole = export(&Story::told().rows);
    let (empty, cut) = (export(&[]), &whole[..100]);
    for (bytes, why) in [(&empty[..], "it holds no row"), (cut, "cut off")] {
        let ran = run(bytes, &[]);
        assert_eq!(ran.exit, Exit::Failed, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("NOTHING was judged") && ran.out.contains(why), "{}", ran.out);
        assert!(ran.err.contains("hint:") && !ran.out.contains("-29227"), "{}{}", ran.out, ran.err);
        let json: Value = serde_json::from_str(&run(bytes, &["-o", "json"]).out).unwrap();
        assert_eq!(json["until"], Value::Null);
    }
}

#[test]
fn one_node_with_a_hole_fails_the_whole() {
    let node = node(&Story::told().rows[2_000..]);
    let ran = cli(&["verify", "--endpoint", &node.url()]);
    assert_eq!(ran.exit, Exit::Failed, "{}{}", ran.out, ran.err);
}
