//! Tries what `deploy/` gives a stranger, as far as one machine can: the configurations, the unit, and the three nodes.
//!
//! Everything goes through the binary and its command line, since that is what a stranger has. The configurations are taken
//! as they stand; only addresses and places are rewritten, to free ports on loopback and a folder that is removed again.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

#[path = "deploy/nodes.rs"]
mod nodes;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use campanile_cluster_tests::binary::{Answer, campanile, says};
use nodes::Nodes;
use serde_json::Value;

const NODES: [usize; 3] = [1, 2, 3];

fn deploy(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("deploy").join(file)
}

fn configuration(node: usize) -> String {
    fs::read_to_string(deploy(&format!("campanile-{node}.toml"))).unwrap()
}

/// `config check` with secrets that exist, given as the systemd unit gives them: by the environment.
fn config_check(text: &str) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("campanile.toml");
    fs::write(&file, text).unwrap();
    let (token, secret) = nodes::write_secrets(folder.path());
    let mut command = campanile(["config", "check"]);
    command.arg(file).env("CAMPANILE_API__TOKEN_FILE", token).env("CAMPANILE_PEER__SECRET_FILE", secret);
    says(command)
}

#[test]
fn each_configuration_passes_config_check() {
    for node in NODES {
        let answer = config_check(&configuration(node));
        assert_eq!(answer.code, Some(0), "campanile-{node}.toml: {answer}");
    }
}

#[test]
fn a_typo_in_a_configuration_is_exit_code_2_and_the_key_that_was_meant() {
    let typos = [
        ("advertise", "advertize"),
        ("election_min", "election_mni"),
        ("data_dir", "data_dri"),
        ("[dispatch]", "[dispach]"),
        ("token_file", "tokenfile"),
    ];
    for (meant, written) in typos {
        let answer =
            config_check(&configuration(1).replacen(&format!("\n{meant}"), &format!("\n{written}"), 1));
        let meant = meant.trim_matches(['[', ']']);
        assert_eq!(answer.code, Some(2), "{written}: {answer}");
        let line = answer.stderr.lines().find(|line| line.contains("did you mean")).unwrap_or_default();
        assert!(line.contains(meant), "{written}: no line asks for {meant}: {answer}");
    }
}

#[test]
fn the_configurations_differ_in_what_a_node_calls_itself_and_in_nothing_else() {
    let first: Vec<String> = configuration(1).lines().map(str::to_owned).collect();
    for node in NODES {
        let text = configuration(node);
        assert_eq!(text.lines().count(), first.len(), "campanile-{node}.toml");
        for (line, of_first) in text.lines().zip(&first).filter(|(line, _)| !line.starts_with('#')) {
            let as_first = if line.starts_with("advertise") {
                line.replace(&format!("node{node}."), "node1.")
            } else {
                line.into()
            };
            assert_eq!(&as_first, of_first, "campanile-{node}.toml");
        }
        let table: toml::Table = toml::from_str(&text).unwrap();
        let peers = table["cluster"]["peers"].as_array().unwrap();
        assert!(peers.contains(&table["peer"]["advertise"]), "campanile-{node}.toml does not list itself");
    }
}

#[test]
fn the_unit_hands_over_the_secrets_under_names_that_the_configuration_has() {
    let unit = fs::read_to_string(deploy("campanile.service")).unwrap();
    let table: toml::Table = toml::from_str(&configuration(1)).unwrap();
    let variables: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix("Environment=")).collect();
    assert_eq!(variables.len(), 2, "{variables:?}");
    for variable in variables {
        let (name, value) = variable.split_once('=').unwrap();
        let (section, key) = name.strip_prefix("CAMPANILE_").and_then(|name| name.split_once("__")).unwrap();
        let in_file = table[&section.to_lowercase()][&key.to_lowercase()].as_str().unwrap();
        let credential = value.strip_prefix("%d/").unwrap();
        assert!(
            unit.contains(&format!("LoadCredential={credential}:{in_file}\n")),
            "{variable} does not match {in_file}"
        );
    }
}

#[test]
fn the_unit_of_a_worker_starts_a_worker_that_is_told_its_queue_command_and_token() {
    let unit = fs::read_to_string(deploy("campanile-worker@.service")).unwrap();
    let line =
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/campanile ")).unwrap();
    // As systemd reads it: each variable as many words as it has.
    let line = line.replace("%i", "batch").replace("$WORKER_OPTIONS", "--concurrency 4 --ttl 2m");
    let line = line.replace("$WORKER_COMMAND", "/nowhere/job --full");
    let answer = says(campanile(line.split_whitespace()));
    assert_eq!(answer.code, Some(2), "{answer}");
    assert!(answer.stderr.contains("there is no /nowhere/job"), "every flag is known: {answer}");
    for line in [
        "LoadCredential=worker.token:/etc/campanile/worker.token",
        "Environment=CAMPANILE_TOKEN_FILE=%d/worker.token",
        "KillMode=mixed",
        "RestartPreventExitStatus=2",
    ] {
        assert!(unit.lines().any(|found| found == line), "{line}");
    }
}

#[test]
fn systemd_accepts_the_units() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("SKIPPED: systemd-analyze is not installed, so the units are NOT verified here");
        return;
    }
    for name in ["campanile.service", "campanile-worker@.service"] {
        let folder = tempfile::tempdir().unwrap();
        let unit = folder.path().join(name);
        let text = fs::read_to_string(deploy(name)).unwrap();
        // The verifier wants the binary to exist; ours is not installed on the machine that tests.
        fs::write(&unit, text.replace("/usr/local/bin/campanile ", "/bin/true ")).unwrap();
        let mut command = Command::new("systemd-analyze");
        command.arg("verify").arg("--man=no").arg(unit);
        let answer = says(command);
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{name}: {answer}");
    }
}

#[test]
fn the_compose_file_gives_each_node_its_configuration_a_disk_and_the_name_that_its_peers_call() {
    let compose = fs::read_to_string(deploy("compose.yaml")).unwrap();
    for node in NODES {
        let start = compose.find(&format!("\n  node{node}:\n    <<: *node")).unwrap();
        let service = compose[start + 1..].split("\n\n").next().unwrap();
        for part in [
            format!("./campanile-{node}.toml:/etc/campanile/campanile.toml:ro"),
            format!("node{node}:/var/lib/campanile"),
            format!("aliases: [node{node}.example]"),
        ] {
            assert!(service.contains(&part), "node{node} has no {part}:\n{service}");
        }
    }
}

#[test]
fn the_three_configurations_started_on_loopback_form_one_cluster() {
    let nodes = Nodes::start(&NODES.map(configuration));
    nodes.assert_ready();

    let views: Vec<Value> = NODES.map(|node| nodes.ask_json(node, &["cluster", "status"])).into();
    for view in &views {
        assert_eq!(view["name"], "prod", "{view}");
        assert_eq!(view["nodes"].as_array().map(Vec::len), Some(3), "{view}");
        assert!(view["leader"].is_u64(), "{view}");
    }
    let mut answered: Vec<&Value> = views.iter().map(|view| &view["node"]).collect();
    answered.dedup();
    assert_eq!(answered.len(), 3, "three processes, three ids: {answered:?}");

    let created =
        nodes.ask(1, &["schedule", "create", "hello", "--every", "1h", "--url", "http://127.0.0.1:9/hello"]);
    assert_eq!(created.code, Some(0), "{created}");
    for node in NODES {
        let schedule = nodes.ask_json(node, &["schedule", "get", "default/hello"]);
        assert_eq!(schedule["name"], "hello", "written through node 1, read through node {node}: {schedule}");
    }
}

#[test]
fn a_user_without_the_token_is_turned_away() {
    let nodes = Nodes::start(&NODES.map(configuration));
    nodes.assert_ready();
    let answer = nodes.ask_without_token(2, &["schedule", "ls"]);
    assert_eq!(answer.code, Some(5), "exit code 5 is: not allowed; {answer}");
}
