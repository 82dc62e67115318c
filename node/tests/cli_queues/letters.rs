//! Dead letters: listed, fired once more, put aside.

use campanile::cli::Exit;
use serde_json::{Value, json};

use super::cli_support::{Asked, Node, answer, problem};
use super::{AT, ask, done};

/// A node with one dead letter, one that cannot be run again, and 400 more.
fn letters() -> Node {
    Node::start(|asked: &Asked| {
        let letter = json!({
            "firing": "frg_1", "schedule": "shop/x", "queue": null, "kind": "scheduled", "state": "failed", "nominal": AT,
            "run": 0, "ended_at": AT, "attempts": 5, "status": 503, "error": "no\u{1b}[2J room",
        });
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", _) => answer(200, json!({"items": [letter]})),
            ("DELETE", _) => answer(204, Value::Null),
            ("POST", "/v1/dead_letters/discard") => answer(200, json!({"discarded": 12, "left": 0})),
            ("POST", "/v1/dead_letters/rerun") if asked.body["queue"] == "calm" => {
                answer(200, json!({"rerun": [{"firing": "frg_1", "as": "frg_2"}], "refused": [], "left": 0}))
            }
            ("POST", "/v1/dead_letters/rerun") => {
                let rerun = json!([{"firing": "frg_1", "as": "frg_2"}, {"firing": "frg_3", "as": "frg_4"}]);
                let refused = json!([{"firing": "frg_gone", "why": "its schedule is gone"}]);
                answer(200, json!({"rerun": rerun, "refused": refused, "left": 400}))
            }
            (_, "/v1/firings/frg_lost/rerun") => problem(403, "forbidden", "the right to write is missing"),
            (_, "/v1/firings/frg_gone/rerun") => problem(404, "not_found", "its schedule is gone"),
            _ => answer(200, json!({"id": "frg_2", "state": "queued"})),
        }
    })
}

#[test]
fn dead_letters_are_listed_by_what_they_have_in_common() {
    let node = letters();
    let listed = done(&node, &["dead-letter", "ls"]);
    for text in ["shop/x", "failed", "503", "frg_1", r"no\u{1b}[2J room"] {
        assert!(listed.contains(text), "{text}: {listed}");
    }
    let filter =
        ["-s", "shop/x", "-n", "shop", "-q", "batch", "--state", "timed_out", "--after", AT, "--before", AT];
    let named =
        done(&node, &[["dead-letter", "ls", "-o", "name", "--limit", "7"].as_slice(), &filter].concat());
    assert_eq!(named, "frg_1\n");
    let asked = "schedule=shop%2Fx&namespace=shop&queue=batch&state=timed_out&after=2026-12-01T00%3A00%3A00Z\
        &before=2026-12-01T00%3A00%3A00Z&limit=7";
    assert_eq!(
        node.lines(),
        ["GET /v1/dead_letters?limit=100".to_owned(), format!("GET /v1/dead_letters?{asked}")]
    );
    assert_eq!(ask(&node, &["dead-letter", "ls", "--state", "succeeded"]).exit, Exit::Usage);
}

#[test]
fn many_dead_letters_run_again_and_those_that_cannot_are_told() {
    let node = letters();
    let ran = ask(
        &node,
        &["dead-letter", "rerun", "-s", "shop/x", "--before", AT, "--max", "3", "--overlap", "allow"],
    );
    assert_eq!(ran.out, "frg_1 runs again as frg_2\nfrg_3 runs again as frg_4\n");
    assert_eq!(ran.exit, Exit::Failed, "one could not");
    assert!(ran.err.contains("frg_gone stays: its schedule is gone"), "{}", ran.err);
    assert!(ran.err.contains("400 more are left"), "{}", ran.err);
    let wanted = json!({"schedule": "shop/x", "before": AT, "max": 3, "overlap": "allow"});
    assert_eq!(node.asked()[0].body, wanted);
    done(&node, &["dead-letter", "rerun", "-q", "calm"]);
    assert_eq!(node.asked()[1].body, json!({"queue": "calm", "max": 100}));
    let all = ask(&node, &["dead-letter", "rerun", "--all", "-o", "name"]);
    assert_eq!(all.out, "frg_2\nfrg_4\n");
    assert_eq!(node.asked()[2].body, json!({"all": true, "max": 100}));
    assert!(node.asked().iter().all(|asked| asked.header("idempotency-key").is_some()));
}

#[test]
fn named_dead_letters_run_again_one_by_one_past_a_refusal() {
    let node = letters();
    let ran = ask(&node, &["dead-letter", "rerun", "frg_1", "frg_gone", "frg_5", "--overlap", "queue_all"]);
    assert_eq!((ran.exit, ran.out.lines().count()), (Exit::NotFound, 2), "{}", ran.out);
    assert!(ran.err.contains("frg_gone:") && ran.err.contains("its schedule is gone"), "{}", ran.err);
    assert_eq!(
        node.lines(),
        ["frg_1", "frg_gone", "frg_5"].map(|firing| format!("POST /v1/firings/{firing}/rerun"))
    );
    assert_eq!(node.asked()[2].body, json!({"overlap": "queue_all"}));
    let json: Value =
        serde_json::from_str(&ask(&node, &["dead-letter", "rerun", "frg_gone", "frg_1", "-o", "json"]).out)
            .unwrap();
    let wanted = json!({
        "rerun": [{"firing": "frg_1", "as": "frg_2"}],
        "refused": [{"firing": "frg_gone", "why": "its schedule is gone"}],
        "left": 0,
    });
    assert_eq!(json, wanted);
}

#[test]
fn those_that_were_not_answered_for_are_left_and_not_refused() {
    let node = letters();
    let args = ["dead-letter", "rerun", "frg_1", "frg_gone", "frg_lost", "frg_5", "-o", "json"];
    let ran = ask(&node, &args);
    assert_eq!((ran.exit, node.asked().len()), (Exit::NotFound, 3), "{}", ran.err);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let count = |field: &str| json[field].as_array().map(Vec::len);
    assert_eq!((count("rerun"), count("refused"), json["left"].as_u64()), (Some(1), Some(1), Some(2)));
    assert!(ran.err.contains("frg_lost:"), "{}", ran.err);
}

#[test]
fn dead_letters_are_put_aside_by_name_by_filter_or_all() {
    let node = letters();
    assert_eq!(
        done(&node, &["dead-letter", "discard", "frg_1", "frg_3"]),
        "discarded frg_1\ndiscarded frg_3\n"
    );
    assert_eq!(
        done(&node, &["dead-letter", "discard", "-n", "shop", "--state", "unknown"]),
        "discarded 12\n"
    );
    done(&node, &["dead-letter", "discard", "--all"]);
    assert_eq!(
        node.lines(),
        [
            "DELETE /v1/dead_letters/frg_1",
            "DELETE /v1/dead_letters/frg_3",
            "POST /v1/dead_letters/discard",
            "POST /v1/dead_letters/discard"
        ]
    );
    assert_eq!(node.asked()[2].body, json!({"namespace": "shop", "state": "unknown"}));
    assert_eq!(node.asked()[3].body, json!({"all": true}));
}

#[test]
fn nothing_is_done_to_dead_letters_that_were_not_clearly_meant() {
    let node = letters();
    for verb in ["rerun", "discard"] {
        for bad in [
            [].as_slice(),
            &["--all", "-q", "batch"],
            &["--all", "frg_1"],
            &["frg_1", "-s", "shop/x"],
            &["../firings"],
            &["frg_"],
        ] {
            let ran = ask(&node, &[["dead-letter", verb].as_slice(), bad].concat());
            assert_eq!(ran.exit, Exit::Usage, "{verb} {bad:?}: {}", ran.err);
        }
    }
    for bad in [["--all", "--max", "0"], ["--all", "--max", "1001"], ["frg_1", "--max", "5"]] {
        assert_eq!(
            ask(&node, &[["dead-letter", "rerun"].as_slice(), &bad].concat()).exit,
            Exit::Usage,
            "{bad:?}"
        );
    }
    assert_eq!(node.asked().len(), 0);
}
