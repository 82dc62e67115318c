//! Secrets: a text goes in, and nothing that is printed holds it.

use campanile::cli::Exit;
use serde_json::{Value, json};

use super::cli_support::{Asked, Node, Ran, answer, cli_reading, problem};
use super::{AT, ask, done};

const TEXT: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A node that takes every secret, and tells of one that is being exchanged.
fn secrets() -> Node {
    Node::start(|asked: &Asked| {
        let secret = json!({
            "name": "hook", "created_at": AT, "rotated_at": "2026-12-02T00:00:00Z", "previous_until": "2026-12-03T00:00:00Z",
            "users": 4,
        });
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", _) => answer(200, json!({"items": [secret]})),
            ("PUT", "/v1/secrets/new") => {
                answer(201, json!({"name": "new", "previous_until": null, "users": 0}))
            }
            ("PUT", _) => answer(200, secret),
            ("DELETE", "/v1/secrets/used") => {
                problem(409, "in_use", "used is in use; the first are shop/x, shop/y")
            }
            _ => answer(204, Value::Null),
        }
    })
}

/// Nothing that a command says holds the text of a secret.
fn is_silent(ran: &Ran) -> bool {
    !ran.out.contains("whsec_MfKQ") && !ran.err.contains("whsec_MfKQ")
}

#[test]
fn a_secret_is_put_from_standard_input_without_its_newline() {
    let node = secrets();
    let put = |input: &str, more: &[&str]| {
        let url = node.url();
        let put = ["secret", "put", "--from-file", "-", "--endpoint", &url];
        let ran = cli_reading(&[put.as_slice(), more].concat(), input);
        assert!(is_silent(&ran), "{ran:?}");
        ran
    };
    for input in [TEXT.to_owned(), format!("{TEXT}\n"), format!("{TEXT}\r\n")] {
        assert_eq!(put(&input, &["new"]).out, "created new\n");
        assert_eq!(node.asked().last().unwrap().body, json!({"secret": TEXT}));
    }
    let rotated = put(TEXT, &["hook", "--keep-previous", "48h"]);
    assert_eq!(rotated.out, "put hook; the text before signs beside it until 2026-12-03T00:00:00Z\n");
    assert_eq!(node.asked().last().unwrap().body, json!({"secret": TEXT, "keep_previous": "2d"}));
    let sent = node.asked().len();
    for bad in
        [String::new(), "\n".into(), format!("{TEXT}\n{TEXT}\n"), format!("{TEXT}\n\n"), TEXT.repeat(200)]
    {
        let ran = put(&bad, &["new"]);
        assert_eq!(ran.exit, Exit::Usage, "{}", ran.err);
        assert!(ran.err.contains("standard input"), "{}", ran.err);
    }
    assert_eq!(node.asked().len(), sent, "what cannot be a secret is not sent");
}

#[test]
fn a_text_that_is_given_instead_of_a_file_is_not_repeated() {
    let node = secrets();
    let ran = ask(&node, &["secret", "put", "new", "--from-file", TEXT]);
    assert_eq!(ran.exit, Exit::Usage);
    assert!(is_silent(&ran) && ran.err.contains("make another one"), "{}", ran.err);
    assert_eq!(ask(&node, &["secret", "put", "new"]).exit, Exit::Usage);
    assert_eq!(node.asked().len(), 0);
}

#[cfg(unix)]
#[test]
fn a_file_that_everybody_can_read_is_taken_with_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let node = secrets();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hook.key");
    std::fs::write(&file, format!("{TEXT}\n")).unwrap();
    for (mode, warns) in [(0o644, true), (0o640, false), (0o600, false)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let ran = ask(&node, &["secret", "put", "new", "-f", file.to_str().unwrap()]);
        assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "created new\n"), "{}", ran.err);
        assert_eq!(ran.err.contains("chmod 600"), warns, "{mode:o}: {}", ran.err);
        assert!(is_silent(&ran));
    }
    let none = ask(&node, &["secret", "put", "new", "-f", folder.path().join("none").to_str().unwrap()]);
    assert_eq!(none.exit, Exit::Usage, "{}", none.err);
}

#[test]
fn secrets_are_listed_and_those_that_nobody_uses_removed() {
    let node = secrets();
    let listed = done(&node, &["secret", "ls"]);
    for text in ["hook", "4", AT, "2026-12-03T00:00:00Z"] {
        assert!(listed.contains(text), "{text}: {listed}");
    }
    assert_eq!(done(&node, &["secret", "rm", "old"]), "removed old\n");
    let used = ask(&node, &["secret", "rm", "used"]);
    assert_eq!(used.exit, Exit::Conflict);
    assert!(used.err.contains("shop/x"), "{}", used.err);
}
