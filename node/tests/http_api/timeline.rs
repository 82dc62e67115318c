//! Timelines and statistics: what came of the instants of a stretch, counted here.

use campanile_core::attempt::Verdict;
use campanile_core::time::Span;
use serde_json::{Value, json};

use crate::fake::{Api, minutely, schedule};

/// Ten minutes of two schedules in two namespaces: one succeeds, one fails in its last minutes; then ten minutes without a
/// tick.
async fn twenty_minutes() -> Api {
    twenty_minutes_of(Api::leader()).await
}

async fn twenty_minutes_of(api: Api) -> Api {
    api.put("/v1/schedules/a/fine", &minutely()).await;
    let mut once = schedule(&json!([{"every": "2m"}]));
    once["retry"] = json!({"max_attempts": 1});
    api.put("/v1/schedules/b/fails", &once).await;
    for minute in 1..=10 {
        api.log.pass(Span::from_secs(60));
        api.log.tick();
        api.log.work(if minute > 6 && minute % 2 == 0 { Verdict::Refused } else { Verdict::Succeeded });
    }
    api.log.pass(Span::from_secs(600));
    api.log.tick();
    api
}

fn column(timeline: &Value, field: &str) -> Vec<u64> {
    let buckets = timeline["buckets"].as_array().unwrap();
    buckets.iter().map(|bucket| bucket.pointer(field).and_then(Value::as_u64).unwrap_or(0)).collect()
}

const WINDOW: &str = "after=2026-12-01T00:00:30Z&before=2026-12-01T00:20:30Z";

#[tokio::test]
async fn a_timeline_counts_every_instant_in_the_bucket_of_its_nominal() {
    let api = twenty_minutes().await;
    let of_all = api.get(&format!("/v1/timeline?{WINDOW}&buckets=4")).await;
    let timeline = &of_all.body;
    assert_eq!(timeline["bucket_ms"], 300_000, "{}", of_all.text);
    assert_eq!((&timeline["complete"], &timeline["next"]), (&json!(true), &Value::Null));
    assert_eq!(column(timeline, "/succeeded"), [7, 4, 0, 0]);
    assert_eq!(column(timeline, "/failed"), [0, 4, 0, 0]);
    // The last minute is inside the catch-up window: 00:19 and 00:20 fire late.
    assert_eq!(column(timeline, "/queued"), [0, 0, 0, 3]);
    assert_eq!(column(timeline, "/fired"), [7, 8, 0, 3]);
    assert_eq!(column(timeline, "/skipped/too_late"), [0, 0, 0, 12]);
    assert_eq!(timeline["buckets"][3]["lateness"], json!({"p50_ms": 0, "p99_ms": 60_000, "max_ms": 60_000}));
    assert_eq!(timeline["buckets"][2]["lateness"], Value::Null);
    assert_eq!(timeline["buckets"][1]["from"], "2026-12-01T00:05:30Z");

    for (only, fired) in
        [("namespace=b", [2, 3, 0, 1]), ("schedule=b/fails", [2, 3, 0, 1]), ("schedule=a/fine", [5, 5, 0, 2])]
    {
        let answer = api.get(&format!("/v1/timeline?{WINDOW}&buckets=4&{only}")).await;
        assert_eq!(column(&answer.body, "/fired"), fired, "{only}: {}", answer.text);
    }
}

#[tokio::test]
async fn what_is_to_come_is_counted_too() {
    let api = twenty_minutes().await;
    let window = "after=2026-12-01T00:15:00Z&before=2026-12-01T00:45:00Z&buckets=3";
    let all = api.get(&format!("/v1/timeline?{window}")).await.body;
    assert_eq!((column(&all, "/planned"), &all["planned_complete"]), (vec![6, 15, 15], &json!(true)));
    let one = api.get(&format!("/v1/timeline?{window}&schedule=b/fails")).await.body;
    assert_eq!(column(&one, "/planned"), [2, 5, 5]);
    // More instants than are walked through.
    api.put("/v1/schedules/c/often", &schedule(&json!([{"every": "1s"}]))).await;
    let often = api.get(&format!("/v1/timeline?{window}&schedule=c/often")).await.body;
    assert_eq!(column(&often, "/planned"), [299, 600, 600]);
}

#[tokio::test]
async fn statistics_name_the_latest_and_those_that_fail() {
    let api = twenty_minutes().await;
    let stats = api.get(&format!("/v1/stats?{WINDOW}")).await.body;
    let totals = &stats["totals"];
    assert_eq!(
        (&totals["fired"], &totals["succeeded"], &totals["failed"]),
        (&json!(18), &json!(11), &json!(4)),
        "{stats}"
    );
    assert_eq!((&totals["queued"], &totals["skipped"]), (&json!(3), &json!({"too_late": 12})));
    assert_eq!((&stats["schedules"], &stats["complete"]), (&json!(2), &json!(true)));
    let late = stats["late"].as_array().unwrap();
    assert_eq!((&late[0]["schedule"], &late[0]["lateness"]["max_ms"]), (&json!("a/fine"), &json!(60_000)));
    let failing = stats["failing"].as_array().unwrap();
    let named: Vec<_> = failing.iter().map(|it| (&it["schedule"], &it["failed"], &it["of"])).collect();
    assert_eq!(named, [(&json!("a/fine"), &json!(2), &json!(10)), (&json!("b/fails"), &json!(2), &json!(5))]);
    let worst = late[0]["worst"].as_str().unwrap();
    assert_eq!(api.get(&format!("/v1/firings/{worst}")).await.body["lateness_ms"], 60_000);
    let of_one = api.get(&format!("/v1/stats?{WINDOW}&namespace=b")).await.body;
    assert_eq!(of_one["totals"]["fired"], 6);
}

#[tokio::test]
async fn an_answer_that_was_cut_goes_on_where_it_stopped() {
    let api = Api::leader();
    let mut often = schedule(&json!([{"every": "1s"}]));
    often["catch_up"] = json!({"window": "unlimited"});
    api.put("/v1/schedules/a/often", &often).await;
    for _ in 0..8 {
        api.log.pass(Span::from_secs(1_000));
        api.log.tick();
        api.log.work(Verdict::Succeeded);
    }
    // Three rows a firing, and no more than 20,000 rows are looked at.
    let path =
        "/v1/timeline?schedule=a/often&buckets=1&after=2026-12-01T00:00:00Z&before=2026-12-01T03:00:00Z";
    let first = api.get(path).await.body;
    assert_eq!(first["complete"], false);
    let next = first["next"].as_str().unwrap();
    let second = api.get(&format!("{path}&next={next}")).await.body;
    assert_eq!((&second["complete"], &second["next"]), (&json!(true), &Value::Null));
    let sum = |field: &str| column(&first, field)[0] + column(&second, field)[0];
    assert_eq!((sum("/fired"), sum("/succeeded"), sum("/queued")), (8_000, 8_000, 0));
    assert!((6_000..7_000).contains(&column(&first, "/fired")[0]), "{first}");
    assert_eq!(sum("/planned"), 10_800 - 1 - 8_000);
}

#[tokio::test]
async fn windows_that_are_none_are_refused() {
    let api = Api::leader();
    for bad in [
        "timeline?after=2026-12-01T00:00:00Z&before=2026-12-01T00:00:00Z",
        "timeline?after=2020-12-01T00:00:00Z",
        "timeline?buckets=501",
        "timeline?buckets=0",
        "timeline?schedule=a/b/c",
        "timeline?next=x",
        "stats?next=x",
        "stats?schedule=a/b",
    ] {
        assert_eq!(api.get(&format!("/v1/{bad}")).await.problem().0, 400, "{bad}");
    }
    assert_eq!(api.get("/v1/timeline?schedule=a/b").await.problem(), (404, "not_found"));
    let empty = api.get("/v1/timeline").await.body;
    assert_eq!((empty["buckets"].as_array().unwrap().len(), &empty["complete"]), (60, &json!(true)));
}

/// Adds every count of `more`, in whatever it stands.
fn add(sum: &mut Value, more: &Value) {
    match (sum, more) {
        (Value::Object(sum), Value::Object(more)) => {
            for (name, value) in more.iter().filter(|(name, _)| *name != "lateness") {
                add(sum.entry(name.clone()).or_insert(json!(0)), value);
            }
        }
        (sum, Value::Object(_)) => {
            *sum = json!({});
            add(sum, more);
        }
        (sum, Value::Array(more)) => {
            if !sum.is_array() {
                *sum = more.iter().map(|_| json!({})).collect();
            }
            let sums = sum.as_array_mut().unwrap();
            sums.iter_mut().zip(more).for_each(|(sum, more)| add(sum, more));
        }
        (sum, more) => *sum = json!(sum.as_u64().unwrap_or(0) + more.as_u64().unwrap_or(0)),
    }
}

/// The counts of an answer that is not cut, and the sums of one that is.
async fn whole_and_sum(whole: &Api, cut: &Api, path: &str, counts: &str) -> (Value, Value) {
    let all = whole.get(path).await.body;
    assert_eq!((&all["complete"], &all["next"]), (&json!(true), &Value::Null), "{path}");
    let (mut wanted, mut sum, mut parts, mut next) = (json!(0), json!(0), 0, String::new());
    add(&mut wanted, all.pointer(counts).unwrap());
    loop {
        let part = cut.get(&format!("{path}{next}")).await.body;
        add(&mut sum, part.pointer(counts).unwrap());
        parts += 1;
        let Some(token) = part["next"].as_str() else {
            assert_eq!(part["complete"], true, "{path}");
            break;
        };
        assert_eq!(part["complete"], false, "{path}: there is more");
        next = format!("&next={token}");
    }
    assert!(parts > 2, "{path}: {parts}");
    (wanted, sum)
}

#[tokio::test]
async fn counts_that_are_cut_say_so_and_add_up_to_the_whole() {
    let (whole, cut) = (twenty_minutes().await, twenty_minutes_of(Api::counting_at_most(7)).await);
    for (path, counts) in [
        (format!("/v1/stats?{WINDOW}"), "/totals"),
        (format!("/v1/timeline?{WINDOW}&buckets=4"), "/buckets"),
        (format!("/v1/timeline?{WINDOW}&buckets=4&schedule=b/fails"), "/buckets"),
    ] {
        let (wanted, sum) = whole_and_sum(&whole, &cut, &path, counts).await;
        assert_eq!(sum, wanted, "{path}");
    }
    let refused = cut.get(&format!("/v1/stats?{WINDOW}&next=x")).await;
    assert_eq!(refused.problem(), (400, "bad_request"));
}

#[tokio::test]
async fn an_end_that_lies_behind_every_part_of_a_cut_count_is_counted_once() {
    let (whole, cut) = (Api::leader(), Api::counting_at_most(7));
    for api in [&whole, &cut] {
        for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            api.put(&format!("/v1/schedules/a/{name}"), &minutely()).await;
        }
        api.log.pass(Span::from_secs(60));
        api.log.tick();
        let begun = api.log.begin();
        api.log.settle(&begun[1..], Verdict::Succeeded);
        // Later than rows are looked through for this window.
        api.log.pass(Span::from_secs(1_800));
        api.log.settle(&begun[..1], Verdict::Succeeded);
    }
    let path = "/v1/stats?after=2026-12-01T00:00:30Z&before=2026-12-01T00:01:30Z";
    let (wanted, sum) = whole_and_sum(&whole, &cut, path, "/totals").await;
    assert_eq!((&wanted["fired"], &wanted["succeeded"]), (&json!(8), &json!(8)));
    assert_eq!(sum, wanted);
}
