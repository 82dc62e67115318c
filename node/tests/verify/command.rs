//! `campanile verify FILE`: offline, with an exit code for scripts and a table for people.

use campanile::cli::Exit;
use serde_json::Value;

use crate::cli_support::cli;
use crate::export;
use crate::story::Story;

fn run(bytes: &[u8], args: &[&str]) -> crate::cli_support::Ran {
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
