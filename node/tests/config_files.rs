//! What a configuration may hold, what is said about one that may not, and that a secret shows nowhere.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use campanile::cli::args::ServeArgs;
use campanile::config::{Config, Flags, Flaws, load_from};
use campanile::dispatch::egress::Rules;
use tempfile::TempDir;

struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    fn file(&self, text: &str) -> PathBuf {
        self.named("node.toml", text)
    }

    fn named(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// The flaws of a file, without the directory that it is in.
    fn flaws(&self, text: &str, environment: &[(&str, &str)]) -> Vec<String> {
        let environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let Flaws(flaws) =
            load_from(Some(&self.file(text)), environment, &Flags::default()).map(|_| ()).unwrap_err();
        let dir = format!("{}/", self.dir.path().display());
        flaws.into_iter().map(|flaw| flaw.replace(&dir, "")).collect()
    }

    fn load(&self, text: &str) -> Config {
        load_from(Some(&self.file(text)), Vec::new(), &Flags::default()).unwrap().config
    }
}

/// A file that is right, with one more line in it.
fn with(line: &str) -> String {
    format!("data_dir = \"d\"\n{line}\n")
}

#[test]
fn every_flaw_is_one_line_that_says_where_and_what_to_do() {
    let place = Place::new();
    for (text, flaw) in [
        ("", "data_dir is missing; write data_dir = \"/var/lib/campanile\""),
        ("data_dir = d", "node.toml:1: is no TOML"),
        (
            &with("dat_dir = \"x\""),
            "node.toml:2: dat_dir is no key of the configuration; did you mean \"data_dir\"?",
        ),
        (
            &with("listen = \"127.0.0.1:1\""),
            "node.toml:2: listen is no key of the configuration; did you mean \"listen\" in [api]?",
        ),
        (
            &with("[apii]\nlisten = \"127.0.0.1:1\""),
            "node.toml:2: [apii] is no section of the configuration; did you mean \"api\"?",
        ),
        (
            &with("[api]\nbind_to = \"127.0.0.1:1\""),
            "node.toml:3: api.bind_to is no key of the configuration; known are: listen, advertise, token_file",
        ),
        (
            &with("[api]\nlisen = \"127.0.0.1:1\""),
            "node.toml:3: api.lisen is no key of the configuration; did you mean \"listen\"?",
        ),
        (
            &with("[raft]\nper_host = 3"),
            "node.toml:3: raft.per_host is no key of the configuration; did you mean \"per_host\" in [dispatch]?",
        ),
        (&with("[api]\nlisten = 7700"), "node.toml:3: api.listen must be a text in quotes"),
        (
            &with("[api]\nlisten = true"),
            "node.toml:3: api.listen cannot be a boolean; write a text in quotes, a whole number, or a list of texts",
        ),
        (
            &with("[api]\nlisten = \"7700\""),
            "node.toml:3: api.listen \"7700\" is no address; write host:port, such as \"127.0.0.1:7700\" or \"[::1]:7700\"",
        ),
        (
            &with("[api]\nlisten = \"127.0.0.1:70000\""),
            "node.toml:3: api.listen \"127.0.0.1:70000\" is no address",
        ),
        (
            &with("[api]\nadvertise = \"node1:7700\""),
            "node.toml:3: api.advertise \"node1:7700\" is no URL of a node; write it like \"http://node1.example:7700\"",
        ),
        (
            &with("[api]\nlisten = \"0.0.0.0:7700\"\nadvertise = \"http://n:7700\""),
            "node.toml:3: api.listen 0.0.0.0:7700 would be open to everybody; set api.token_file, or listen on 127.0.0.1",
        ),
        (
            &with("[peer]\nlisten = \"10.0.0.1:7701\""),
            "node.toml:3: peer.listen 10.0.0.1:7701 would trust everybody as a node; set peer.secret_file, or listen on 127.0.0.1",
        ),
        (
            &with("[peer]\nlisten = \"127.0.0.1:7700\""),
            "node.toml:3: peer.listen 127.0.0.1:7700 is taken by api.listen; give each its own port",
        ),
        (
            &with("[api]\ntoken_file = \"/nowhere/token\""),
            "node.toml:3: api.token_file /nowhere/token cannot be read (No such file or directory (os error 2)); make it readable for this user",
        ),
        (
            &with("[cluster]\npeers = [\"a:1\", \"b:1\"]"),
            "node.toml:3: cluster.peers does not hold this node's own peer.advertise 127.0.0.1:7701 (it holds a:1, b:1); add it",
        ),
        (
            &with("[cluster]\npeers = [\"127.0.0.1:7701\", \"127.0.0.1:7701\"]"),
            "node.toml:3: cluster.peers names a node twice; name each once",
        ),
        (
            &with("[cluster]\nname = \"a b\""),
            "node.toml:3: cluster.name may hold up to 64 letters, digits, '.', '_' and '-' only",
        ),
        (
            &with("[cluster]\nfailover_grace = 30"),
            "node.toml:3: cluster.failover_grace needs a unit; write \"30s\" or \"30ms\"",
        ),
        (
            &with("[cluster]\nmax_clock_ahead = \"10ms\""),
            "node.toml:3: cluster.max_clock_ahead must be between 100ms, what clocks that NTP keeps may differ by, and 5m: a leader decides instants that much early",
        ),
        (
            &with("[raft]\nheartbeat = \"fast\""),
            "node.toml:3: raft.heartbeat \"fast\" is no duration; write it like \"50ms\", \"30s\" or \"1m30s\"",
        ),
        (
            &with("[raft]\nheartbeat = \"100ms\""),
            "raft.election_min 150ms lets one late heartbeat start an election; write at least twice raft.heartbeat (200ms)",
        ),
        (
            &with("[raft]\nelection_max = \"150ms\""),
            "node.toml:3: raft.election_max 150ms leaves no room for chance, so nodes would stand at the same moment; write more than raft.election_min (150ms)",
        ),
        (
            &with("[raft]\nsnapshot_bytes = \"64MB\""),
            "node.toml:3: raft.snapshot_bytes \"64MB\" is no size; write it like \"64MiB\" (B, KiB, MiB, GiB)",
        ),
        (
            &with("[raft]\nsnapshot_entries = \"many\""),
            "node.toml:3: raft.snapshot_entries \"many\" is no whole number; write digits only, such as 256",
        ),
        (
            &with("[watchdog]\ndisk_hand_over = \"500ms\""),
            "node.toml:3: watchdog.disk_hand_over 500ms is what a busy disk may take for a sync; write at least \"1s\", or \"0s\" for never",
        ),
        (
            &with("[watchdog]\ndisk_hand_over = \"30s\""),
            "watchdog.disk_stop 30s leaves no time to give the office away; write more than watchdog.disk_hand_over (30s), or \"0s\" for never",
        ),
        (
            &with("[watchdog]\nquorum_leases = 5"),
            "node.toml:3: watchdog.quorum_leases 5 is less than an election may take; write at least 6, or 0 for never",
        ),
        (
            &with("[ledger]\nretention = \"1h\""),
            "node.toml:3: ledger.retention must be between 8h, within which somebody may still ask what happened, and 3653d",
        ),
        (
            &with("[ledger]\nmax_bytes = \"64MiB\""),
            "node.toml:3: ledger.max_bytes is less than a few files of the ledger take, which go as a whole; write at least \"256MiB\"",
        ),
        (
            &with("[dispatch]\nmax_in_flight = 0"),
            "node.toml:3: dispatch.max_in_flight must be between 1 and 4096",
        ),
        (
            &with("[egress]\nallow = [\"jobs.internal\", \"10.1.2.3/8\"]"),
            "node.toml:3: egress.allow \"10.1.2.3/8\" has bits beyond its mask; write \"10.0.0.0/8\"",
        ),
        (
            &with("[egress]\ndeny = 10"),
            "node.toml:3: egress.deny must be a list of texts, such as [\"10.0.0.0/8\", \"jobs.internal\"]",
        ),
        (
            &with("[egress]\nallow = [\"10.0.0.0/8\"]\ndeny = [\"10.0.0.0/8\"]"),
            "node.toml:3: egress.allow holds \"10.0.0.0/8\", which stands in egress.deny too, and deny wins; keep one of them",
        ),
        (
            &with("[egress]\nallowed = []"),
            "node.toml:3: egress.allowed is no key of the configuration; did you mean \"allow\"?",
        ),
        (
            &with("[log]\nlevel = \"loud\""),
            "node.toml:3: log.level \"loud\" is no filter (\"loud\" is no level); write error, warn, info, debug or trace",
        ),
        (
            &with("[log]\nformat = \"xml\""),
            "node.toml:3: log.format \"xml\" is no format; write \"text\" or \"json\"",
        ),
    ] {
        let flaws = place.flaws(text, &[]);
        assert!(
            flaws.iter().any(|found| found.starts_with(flaw)),
            "{text}\nexpected: {flaw}\nfound: {flaws:#?}"
        );
        assert!(flaws.iter().all(|found| !found.contains('\n')), "{flaws:#?}");
    }
}

#[test]
fn all_flaws_are_found_in_one_pass() {
    let flaws =
        Place::new().flaws("[api]\nlisen = \"x\"\n[log]\nlevel = \"loud\"\n[dispatch]\nper_host = -1\n", &[]);
    assert_eq!(flaws.len(), 4, "a typo, a level, a number and the missing directory: {flaws:#?}");
}

#[test]
fn a_variable_that_sets_no_known_key_is_a_typing_error_too() {
    let flaws = Place::new().flaws(&with(""), &[("CAMPANILE_API__LISEN", "127.0.0.1:1")]);
    assert_eq!(flaws, ["CAMPANILE_API__LISEN: sets no known key; did you mean \"listen\"?"]);
    let flaws = Place::new().flaws(&with(""), &[("CAMPANILE_RAFT__HEARTBEAT", "fast")]);
    assert!(
        flaws[0].starts_with("CAMPANILE_RAFT__HEARTBEAT: raft.heartbeat \"fast\" is no duration"),
        "{flaws:#?}"
    );
}

#[test]
fn flags_stand_above_the_environment_and_that_above_the_file() {
    let place = Place::new();
    let file = place.file("data_dir = \"file\"\n[api]\nlisten = \"127.0.0.1:1\"\n[log]\nlevel = \"warn\"\n");
    let environment = vec![
        ("CAMPANILE_API__LISTEN".to_owned(), "127.0.0.1:2".to_owned()),
        ("CAMPANILE_LOG__LEVEL".to_owned(), "debug".to_owned()),
        ("CAMPANILE_CLUSTER__PEERS".to_owned(), "127.0.0.1:7701, b:1, c:1".to_owned()),
    ];
    let args = ServeArgs { listen: Some("127.0.0.1:3".into()), ..ServeArgs::default() };
    let config = load_from(Some(&file), environment, &Flags::of(&args)).unwrap().config;
    assert_eq!(config.api.listen.to_string(), "127.0.0.1:3");
    assert_eq!(config.api.advertise, "http://127.0.0.1:3");
    assert_eq!(config.log.level, "debug");
    assert_eq!(config.data_dir, PathBuf::from("file"));
    assert_eq!(config.cluster.peers, ["127.0.0.1:7701", "b:1", "c:1"]);
}

#[test]
fn one_node_for_a_first_look_needs_no_file() {
    let args = ServeArgs { dev: true, ..ServeArgs::default() };
    let config = load_from(None, Vec::new(), &Flags::of(&args)).unwrap().config;
    assert_eq!(config.data_dir, PathBuf::from("campanile-data"));
    assert_eq!(config.api.listen.to_string(), "127.0.0.1:7700");
    assert_eq!(config.cluster.peers, std::slice::from_ref(&config.peer.advertise));
    assert!(config.api.token.is_none());
    assert_eq!(config.egress, Rules::for_this_machine(), "its receivers are near");
}

#[test]
fn what_webhooks_may_call_beside_the_internet_is_nothing_unless_it_is_listed() {
    let place = Place::new();
    assert_eq!(place.load(&with("")).egress, Rules::default());
    let text = with("[egress]\nallow = [\"10.0.0.0/8\", \"Jobs.Internal\"]\ndeny = [\"*.corp.example\"]");
    let config = place.load(&text);
    assert!(
        config
            .to_toml()
            .contains("[egress]\nallow = [\"10.0.0.0/8\", \"jobs.internal\"]\ndeny = [\"*.corp.example\"]\n"),
        "{}",
        config.to_toml()
    );
    let none = vec![("CAMPANILE_EGRESS__ALLOW".to_owned(), String::new())];
    let config = load_from(Some(&place.file(&text)), none, &Flags::default()).unwrap().config;
    assert_eq!(config.egress.allow, []);
    let everything = with("[egress]\nallow = [\"0.0.0.0/0\"]");
    let warnings = load_from(Some(&place.file(&everything)), Vec::new(), &Flags::default()).unwrap().warnings;
    assert!(
        warnings[0].starts_with("egress.allow \"0.0.0.0/0\" lets schedules call every machine"),
        "{warnings:?}"
    );
}

#[test]
fn each_watchdog_is_switched_off_by_a_zero() {
    let place = Place::new();
    for (lines, shown) in [
        ("", "[watchdog]\ndisk_hand_over = \"5s\"\ndisk_stop = \"30s\"\nquorum_leases = 10\n"),
        ("disk_hand_over = \"0s\"", "disk_hand_over = \"0s\"\ndisk_stop = \"30s\"\n"),
        ("disk_stop = \"0s\"", "disk_hand_over = \"5s\"\ndisk_stop = \"0s\"\n"),
        ("quorum_leases = 0", "quorum_leases = 0\n"),
    ] {
        let text = place.load(&with(&format!("[watchdog]\n{lines}"))).to_toml();
        assert!(text.contains(shown), "{shown} is not in\n{text}");
    }
}

#[test]
fn what_is_shown_reads_back_as_the_same_and_holds_no_secret() {
    let place = Place::new();
    let secret = "correct-horse-battery-staple";
    let token = place.named("token", &format!("{secret}\n"));
    let config = place.load(&format!(
        "data_dir = \"a b\"\n[api]\nlisten = \"[::1]:7700\"\ntoken_file = {token:?}\n[raft]\nsnapshot_bytes = 3000000\n"
    ));
    assert_eq!(config.api.token.as_ref().unwrap().expose(), secret);
    let shown = config.to_toml();
    assert!(!shown.contains(secret) && !format!("{config:?}").contains(secret), "{shown}\n{config:?}");
    assert_eq!(place.load(&shown).to_toml(), shown);
}

#[test]
fn a_secret_is_long_enough_and_one_word() {
    let place = Place::new();
    for (text, why) in
        [("tiny-one\n", "is shorter than 16 characters"), ("sixteen letters and more", "has white space")]
    {
        let token = place.named("token", text);
        let flaws = place.flaws(&with(&format!("[peer]\nsecret_file = {token:?}")), &[]);
        assert!(flaws[0].contains(why), "{flaws:#?}");
        assert!(!flaws[0].contains(text.trim()), "a secret is shown in no error: {flaws:#?}");
    }
}

#[test]
fn a_secret_that_everybody_may_read_and_an_even_number_of_nodes_are_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let token = place.named("token", "0123456789abcdef");
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    let text = format!(
        "data_dir = \"d\"\n[api]\ntoken_file = {token:?}\n[cluster]\npeers = [\"127.0.0.1:7701\", \"b:1\"]\n"
    );
    let warnings = load_from(Some(&place.file(&text)), Vec::new(), &Flags::default()).unwrap().warnings;
    assert!(
        warnings[0].contains("can be read by every user of this machine; run: chmod 600"),
        "{warnings:?}"
    );
    assert_eq!(warnings[1], "2 nodes survive no more losses than 1 do; use an odd number");
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let warnings = load_from(Some(&place.file(&text)), Vec::new(), &Flags::default()).unwrap().warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}
