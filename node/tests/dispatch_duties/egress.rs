//! What is called and what is not: every way to write an address that is not of the internet, names that resolve to one,
//! names that change their mind, and the doors of the cluster. A listener behind each counts who comes.

mod trap;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use campanile::dispatch::egress::{Egress, Rules};
use campanile_core::attempt::Verdict;
use campanile_core::event::{Event, Outcome};

use super::receiver::{Receiver, ok};
use super::stage::{Stage, on_demand, with_policy};
use trap::{Trap, names};

fn rules(allow: &[&str], deny: &[&str]) -> Rules {
    let entries = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    Rules { allow: entries(allow), deny: entries(deny) }
}

fn alone() -> Arc<dyn Fn() -> Vec<String> + Send + Sync> {
    Arc::new(Vec::new)
}

/// Fires once at each URL, with two attempts, and says what was reported of every attempt.
async fn reported(egress: Egress, urls: &[String]) -> Vec<Vec<(Verdict, String)>> {
    let stage = Stage::behind(egress);
    let mut fired = Vec::new();
    for (n, url) in urls.iter().enumerate() {
        let definition = with_policy(on_demand(url), |policy| policy.retry.max_attempts = 2);
        stage.put(&format!("a/n{n}"), &definition).await;
        fired.push(stage.trigger(&format!("a/n{n}")).await);
    }
    let ended = |event: &&Event| matches!(event, Event::Settled { outcome: Outcome::End { .. }, .. });
    let events = stage.events(|events| events.iter().filter(ended).count() == urls.len()).await;
    stage.close().await;
    let of = |id| {
        let report = |event: &Event| match event {
            Event::Settled { firing, report: Some(report), .. } if *firing == id => {
                Some((report.verdict, report.error.to_string()))
            }
            _ => None,
        };
        events.iter().filter_map(report).collect()
    };
    fired.into_iter().map(of).collect()
}

const ADD_LOOPBACK: &str = "add \"127.0.0.0/8\" or the host to egress.allow of every node";

#[tokio::test(flavor = "multi_thread")]
async fn no_way_to_write_an_inside_address_leads_there_and_no_retry_is_tried() {
    let trap = Trap::set().await;
    let never = |ip: &str| {
        format!(
            "is never called: nothing but an entry of exactly \"{ip}\" in egress.allow of every node would change that"
        )
    };
    let link =
        format!("169.254.169.254 is a link-local address (cloud metadata) and {}", never("169.254.169.254"));
    let loopback = format!("127.0.0.1 is a loopback address: {ADD_LOOPBACK}");
    let carried =
        |outer: &str| format!("{outer} stands for 127.0.0.1, which is a loopback address: {ADD_LOOPBACK}");
    let table = [
        ("127.0.0.1", loopback.clone()),
        ("2130706433", loopback.clone()),
        ("0x7f000001", loopback.clone()),
        ("0x7f.1", loopback.clone()),
        ("017700000001", loopback.clone()),
        ("127.1", loopback.clone()),
        ("127.0.0.1.", loopback.clone()),
        ("%31%32%37.0.0.1", loopback.clone()),
        ("１２７.0.0.1", loopback),
        ("0.0.0.0", format!("0.0.0.0 is an unspecified address and {}", never("0.0.0.0"))),
        ("0", format!("0.0.0.0 is an unspecified address and {}", never("0.0.0.0"))),
        ("[::]", format!(":: is an unspecified address and {}", never("::"))),
        ("[::1]", "::1 is a loopback address: add \"::1/128\" or the host to egress.allow of every node".into()),
        ("[::ffff:127.0.0.1]", carried("::ffff:127.0.0.1")),
        ("[::ffff:7f00:1]", carried("::ffff:127.0.0.1")),
        ("[::127.0.0.1]", carried("::127.0.0.1").replace("::127.0.0.1", "::7f00:1")),
        ("[64:ff9b::127.0.0.1]", carried("64:ff9b::7f00:1")),
        ("[2002:7f00:1::]", carried("2002:7f00:1::")),
        ("localhost", "localhost is a name of loopback addresses: add \"127.0.0.0/8\" or \"localhost\" to egress.allow of every node".into()),
        ("LOCALHOST.", "localhost is a name of loopback addresses: add \"127.0.0.0/8\" or \"localhost\" to egress.allow of every node".into()),
        ("a.localhost", "a.localhost is a name of loopback addresses: add \"127.0.0.0/8\" or \"a.localhost\" to egress.allow of every node".into()),
        ("10.1.2.3", "10.1.2.3 is a private address: add \"10.0.0.0/8\" or the host to egress.allow of every node".into()),
        ("169.254.169.254", link.clone()),
        ("2852039166", link),
        ("100.100.100.200", format!("100.100.100.200 is a cloud metadata address and {}", never("100.100.100.200"))),
        ("[fd00:ec2::254]", format!("fd00:ec2::254 is a cloud metadata address and {}", never("fd00:ec2::254"))),
        (
            "metadata.google.internal",
            format!("metadata.google.internal is a name of cloud metadata and {}", never("metadata.google.internal")),
        ),
    ];
    let urls: Vec<String> = table.iter().map(|(host, _)| format!("http://{host}:{}/", trap.port)).collect();
    let system = Egress::new(Rules::default(), alone());
    for ((host, why), seen) in table.into_iter().zip(reported(system, &urls).await) {
        assert_eq!(seen, [(Verdict::Refused, why)], "{host}");
    }
    assert_eq!(trap.came().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_resolves_inside_is_not_connected_to_and_tried_again() {
    let trap = Trap::set().await;
    let add = |net: &str| format!("add \"{net}\" or the host to egress.allow of every node");
    let table: [(&str, &[&str], String); 6] = [
        ("loop.example", &["127.0.0.1"], format!("loop.example resolves to 127.0.0.1, which is a loopback address: {ADD_LOOPBACK}")),
        ("two.example", &["10.0.0.7", "127.0.0.1"], format!("two.example resolves to 10.0.0.7, which is a private address: {}", add("10.0.0.0/8"))),
        (
            "mapped.example",
            &["::ffff:127.0.0.1"],
            format!("mapped.example resolves to ::ffff:127.0.0.1, which stands for 127.0.0.1, which is a loopback address: {ADD_LOOPBACK}"),
        ),
        (
            "meta.example",
            &["169.254.169.254"],
            "meta.example resolves to 169.254.169.254, which is a link-local address (cloud metadata) and is never called: nothing but an entry of exactly \"169.254.169.254\" in egress.allow of every node would change that".into(),
        ),
        ("empty.example", &[], "empty.example has no address".into()),
        ("unknown.example", &["127.0.0.1"], "unknown.example is not found: no such name".into()),
    ];
    let answers: Vec<[&[&str]; 1]> = table.iter().map(|(_, found, _)| [*found]).collect();
    let known: Vec<(&str, &[&[&str]])> =
        table.iter().zip(&answers).map(|((name, ..), answer)| (*name, &answer[..])).take(5).collect();
    let urls: Vec<String> = table.iter().map(|(name, ..)| format!("http://{name}:{}/", trap.port)).collect();
    let egress = Egress::looking_up(Rules::default(), alone(), names(&known));
    for ((name, _, why), seen) in table.into_iter().zip(reported(egress, &urls).await) {
        let expected = (Verdict::NotSent, why);
        assert_eq!(seen, [expected.clone(), expected], "{name}");
    }
    assert_eq!(trap.came().await, 0);
}

/// A receiver at 127.0.0.2 stands for the internet, and is gone after each answer, so that the next try connects anew.
async fn outside(port: u16) -> Receiver {
    fn once(_: u32) -> Response {
        (StatusCode::SERVICE_UNAVAILABLE, [("connection", "close")]).into_response()
    }
    Receiver::at(&format!("127.0.0.2:{port}"), once).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_changes_its_answer_is_connected_to_where_it_was_let_pass() {
    let inside = Receiver::at("127.0.0.1:0", ok).await;
    let port = inside.port();
    let outside = outside(port).await;
    let url = format!("http://rebind.example:{port}/");
    let mixed = format!("http://mixed.example:{port}/");
    let lookup = names(&[
        ("rebind.example", &[&["127.0.0.2"], &["127.0.0.1"]]),
        ("mixed.example", &[&["127.0.0.1", "127.0.0.2"]]),
    ]);
    let egress = Egress::looking_up(rules(&["127.0.0.2"], &[]), alone(), lookup);
    let seen = reported(egress, &[url, mixed]).await;
    let again = (Verdict::Retry { not_before: None }, String::new());
    let why = format!("rebind.example resolves to 127.0.0.1, which is a loopback address: {ADD_LOOPBACK}");
    assert_eq!(seen, [vec![again.clone(), (Verdict::NotSent, why)], vec![again.clone(), again]]);
    assert_eq!((outside.seen().len(), inside.seen().len()), (3, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_allowed_is_called_and_what_is_denied_is_not_even_then() {
    let receiver = Receiver::start(ok).await;
    let port = receiver.port();
    let lookup = names(&[
        ("jobs.internal", &[&["127.0.0.1"]]),
        ("a.corp.example", &[&["127.0.0.1"]]),
        ("evil.corp.example", &[&["127.0.0.1"]]),
        ("meta.corp.example", &[&["169.254.169.254"]]),
        ("other.example", &[&["127.0.0.1"]]),
    ]);
    let allow = ["jobs.internal", "*.corp.example"];
    let egress = Egress::looking_up(rules(&allow, &["evil.corp.example", "127.0.0.9"]), alone(), lookup);
    let hosts = [
        "jobs.internal",
        "JOBS.internal.",
        "a.corp.example",
        "evil.corp.example",
        "meta.corp.example",
        "other.example",
        "127.0.0.9",
    ];
    let urls: Vec<String> = hosts.iter().map(|host| format!("http://{host}:{port}/")).collect();
    let verdicts: Vec<Verdict> = reported(egress, &urls).await.iter().map(|seen| seen[0].0).collect();
    let [done, later, refused] = [Verdict::Succeeded, Verdict::NotSent, Verdict::Refused];
    assert_eq!(verdicts, [done, done, done, refused, later, later, refused]);
    let nets = Egress::new(rules(&["127.0.0.0/8"], &["127.0.0.1"]), alone());
    let seen = reported(nets, &[format!("http://127.0.0.1:{port}/")]).await;
    let denied = "127.0.0.1 is denied by \"127.0.0.1\" in egress.deny: call another host, or take the entry out on every node";
    assert_eq!(seen, [[(Verdict::Refused, denied.to_owned())]]);
    assert_eq!(receiver.seen().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_widest_allow_lets_in_private_and_loopback_but_no_metadata() {
    let receiver = Receiver::start(ok).await;
    let wide = || rules(&["0.0.0.0/0", "::/0"], &[]);
    let port = receiver.port();
    let hosts = [
        "127.0.0.1",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
        "169.254.1.1",
        "0.0.0.0",
        "[fe80::1]",
        "[2002:a9fe:a9fe::]",
    ];
    let urls: Vec<String> = hosts.iter().map(|host| format!("http://{host}:{port}/")).collect();
    let verdicts: Vec<Verdict> =
        reported(Egress::new(wide(), alone()), &urls).await.iter().map(|seen| seen[0].0).collect();
    let [done, refused] = [Verdict::Succeeded, Verdict::Refused];
    assert_eq!(verdicts, [done, done, refused, refused, refused, refused, refused]);
    let exact = Egress::new(rules(&["169.254.169.254"], &[]), alone());
    let listed = "http://169.254.169.254/".parse().unwrap();
    assert_eq!(exact.judge_url(&listed), Ok(()), "its own entry lets it in");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ports_of_the_cluster_are_never_called_whatever_is_allowed() {
    let (api, peer) = (Trap::set().await, Trap::set().await);
    let doors = [format!("http://127.0.0.1:{}", api.port), format!("node1.example:{}", peer.port)];
    let (members, lookup) = (
        Arc::new(move || doors.to_vec()),
        names(&[
            ("node1.example", &[&["127.0.0.7"]]),
            ("alias.example", &[&["127.0.0.7"]]),
            ("far.example", &[&["10.9.9.9"]]),
        ]),
    );
    let egress = Egress::looking_up(
        rules(&["0.0.0.0/0", "::/0", "alias.example", "node1.example"], &[]),
        members,
        lookup,
    );
    let own = |port: u16, host: &str| {
        format!(
            "{host}:{port} is a port of this cluster and is never called: name the receiver's own address and port"
        )
    };
    let (a, p) = (api.port, peer.port);
    let alias = "alias.example resolves to 127.0.0.7, where a node of this cluster has that port, which is never called: name the receiver's own address and port";
    let table = [
        (format!("http://127.0.0.1:{a}/"), Verdict::Refused, own(a, "127.0.0.1")),
        (format!("http://0.0.0.0:{a}/"), Verdict::Refused, own(a, "0.0.0.0")),
        (format!("http://localhost:{a}/"), Verdict::Refused, own(a, "localhost")),
        (format!("http://[::ffff:127.0.0.1]:{a}/"), Verdict::Refused, own(a, "[::ffff:7f00:1]")),
        (format!("http://127.0.0.7:{p}/"), Verdict::Refused, own(p, "127.0.0.7")),
        (format!("http://node1.example:{p}/"), Verdict::Refused, own(p, "node1.example")),
        (format!("http://alias.example:{p}/"), Verdict::NotSent, alias.to_owned()),
    ];
    let urls: Vec<String> = table.iter().map(|(url, ..)| url.clone()).collect();
    for ((url, verdict, why), seen) in table.into_iter().zip(reported(egress, &urls).await) {
        assert_eq!(seen[0], (verdict, why), "{url}");
    }
    assert_eq!((api.came().await, peer.came().await), (0, 0));
}

#[test]
fn a_port_number_that_a_node_has_too_may_be_called_at_another_address() {
    let members = Arc::new(|| vec!["10.255.255.1:8080".to_owned()]);
    let judge = Egress::new(rules(&["0.0.0.0/0"], &[]), members);
    let judged = |url: &str| judge.judge_url(&url.parse().unwrap()).is_ok();
    assert!(judged("http://10.255.255.2:8080/") && !judged("http://10.255.255.1:8080/"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_carries_the_users_headers_and_ours_and_no_others() {
    let (stage, receiver) = (Stage::open(), Receiver::start(ok).await);
    stage.put("a/b", &on_demand(&receiver.url)).await;
    stage.trigger("a/b").await;
    let seen = receiver.wait_for(1).await.remove(0);
    let names: Vec<&str> = seen.headers.keys().map(String::as_str).collect();
    // Above all no `authorization` and no `cookie`: whatever the node itself may do, a user's URL is not told how.
    let ours = [
        "accept",
        "campanile-attempt",
        "campanile-fencing-token",
        "campanile-firing",
        "campanile-kind",
        "campanile-node",
        "campanile-nominal",
        "campanile-run",
        "campanile-schedule",
        "content-length",
        "content-type",
        "host",
        "idempotency-key",
        "traceparent",
        "user-agent",
        "webhook-id",
        "webhook-timestamp",
        "x-env",
    ];
    assert_eq!(names, ours);
    stage.close().await;
}
