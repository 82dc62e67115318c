//! A crontab that looks like a real one: every line of it becomes a schedule or a remark that names it.

use std::collections::BTreeMap;

use campanile::import::crontab::{Options, read};
use campanile::import::{Import, Weight};
use campanile_core::cron::parse_instant;
use serde_json::{Value, json};

const CRONTAB: &str = include_str!("../data/crontab");
const SYSTEM: &str = include_str!("../data/crontab.system");

fn options() -> Options {
    Options {
        namespace: "shop".into(),
        url: "https://jobs.example/run".into(),
        time_zone: "UTC".into(),
        system: false,
        labels: BTreeMap::new(),
        now: parse_instant("2026-12-01T00:00:00Z").unwrap(),
    }
}

/// `line name specs` of each schedule.
fn schedules(import: &Import) -> Vec<String> {
    let shown = |spec: &Value| match spec {
        Value::Object(spec) if spec.contains_key("cron") => {
            format!("{} {}", spec["cron"].as_str().unwrap(), spec["time_zone"].as_str().unwrap())
        }
        other => other["every"].as_str().unwrap().to_owned(),
    };
    import
        .schedules
        .iter()
        .map(|found| {
            format!("{} {}: {}", found.line, found.draft.name, shown(&found.draft.to_json()["specs"][0]))
        })
        .collect()
}

/// `line[:column] detail` of each remark of a weight.
fn remarks(import: &Import, weight: Weight) -> Vec<String> {
    let of_weight = import.remarks.iter().filter(|remark| remark.weight == weight);
    of_weight
        .map(|remark| {
            let column = remark.column.map(|column| format!(":{column}")).unwrap_or_default();
            format!("{}{column} {}", remark.line, remark.detail)
        })
        .collect()
}

fn payload(import: &Import, name: &str) -> Value {
    import.schedules.iter().find(|found| found.draft.name == name).unwrap().draft.payload.clone().unwrap()
}

#[test]
fn every_command_line_that_can_be_carried_over_becomes_a_schedule() {
    assert_eq!(
        schedules(&read(CRONTAB.as_bytes(), &options())),
        [
            "7 sync-inventory: */5 * * * * UTC",
            "8 rotate-sessions: 0 * * * * UTC",
            "9 logrotate: 17 3 * * * UTC",
            "10 backup: 30 4 * * sun UTC",
            "11 backup-2: 30 4 * * 1-6 UTC",
            "12 certbot: @daily UTC",
            "13 thumbs: @hourly UTC",
            "16 month-end-invoices: 0 6 1 * * UTC",
            "17 close-month: 15 2 28-31 * * UTC",
            "18 mail: 0 9 * * 1 UTC",
            "23 export-orders: 30 2 * * * Europe/Berlin",
            "24 fetch-prices: 0 8,12,16 * * mon-fri Europe/Berlin",
            "25 leap-day: 0 0 29 2 * Europe/Berlin",
            "29 either-day: 0 12 1 * mon Europe/Berlin",
            "30 quiet: */15 * * * * Europe/Berlin",
            "39 open: 0 9 * * * America/New_York",
            "41 heartbeat: */10 * * * * * America/New_York",
            "43 reconcile: 1h30m",
            "47 sync-inventory-2: 45 23 * * * America/New_York",
            "49 tidy: 50 23 * * * America/New_York",
        ]
    );
}

#[test]
fn what_cannot_be_carried_over_is_named_with_its_line_and_its_reason() {
    let import = read(CRONTAB.as_bytes(), &options());
    let lost = remarks(&import, Weight::Lost);
    let lines: Vec<&str> = lost.iter().map(|text| text.split_once(' ').unwrap().0).collect();
    assert_eq!(lines, ["19", "26:3", "27:1", "28:5", "31:1", "32", "33", "37", "45"], "{lost:#?}");
    for (line, word) in [("19 ", "@reboot"), ("32 ", "no command"), ("33 ", "no command"), ("37 ", "line 36")]
    {
        assert!(
            lost.iter().any(|text| text.starts_with(line) && text.contains(word)),
            "{line}{word}: {lost:#?}"
        );
    }
    assert!(
        import.remarks.iter().filter(|remark| remark.column.is_some()).all(|remark| !remark.hint.is_empty())
    );
    assert_eq!(
        remarks(&import, Weight::Dropped),
        [
            "3 SHELL is not carried over",
            "4 PATH is not carried over",
            "5 MAILTO is not carried over",
            "30:1 the leading '-' is not carried over",
            "36 CRON_TZ: \"America/New_Yrok\" is not a time zone",
            "44 the directive \"sometimes\" is not understood",
            "50 the directive has no command line below it",
        ]
    );
}

#[test]
fn no_line_is_passed_over_in_silence() {
    let import = read(CRONTAB.as_bytes(), &options());
    let heard: Vec<usize> = import
        .schedules
        .iter()
        .map(|found| found.line)
        .chain(import.remarks.iter().map(|remark| remark.line))
        .collect();
    for (place, text) in CRONTAB.lines().enumerate() {
        let silent = text.is_empty() || text.starts_with('#') || text.starts_with("CRON_TZ");
        assert!(silent || heard.contains(&(place + 1)), "line {}: {text}", place + 1);
    }
}

#[test]
fn commands_and_their_input_travel_as_cron_would_have_run_them() {
    let import = read(CRONTAB.as_bytes(), &options());
    assert_eq!(
        payload(&import, "month-end-invoices"),
        json!({"command": "php /srv/shop/artisan invoices:send --month=$(date +%Y-%m)"})
    );
    assert_eq!(
        payload(&import, "mail"),
        json!({
            "command": "mail -s \"Weekly report\" boss@example.com",
            "stdin": "Hello,\n\nsee https://reports.example.com/weekly\n",
        })
    );
}

#[test]
fn names_that_were_asked_for_and_could_not_be_given_are_told() {
    let advice = remarks(&read(CRONTAB.as_bytes(), &options()), Weight::Advice);
    for (line, word) in
        [("47 ", "sync-inventory is taken"), ("49 ", "no good"), ("29 ", "day of month and day of week")]
    {
        assert!(
            advice.iter().any(|text| text.starts_with(line) && text.contains(word)),
            "{line}{word}: {advice:#?}"
        );
    }
}

#[test]
fn the_system_form_has_a_user_before_each_command() {
    let import = read(SYSTEM.as_bytes(), &Options { system: true, ..options() });
    assert_eq!(
        schedules(&import),
        [
            "4 run-parts: 17 * * * * UTC",
            "5 run-parts-2: 25 6 * * * UTC",
            "6 cron: */10 * * * * UTC",
            "8 snapshot: 1h",
        ]
    );
    assert_eq!(
        payload(&import, "cron"),
        json!({"command": "/usr/bin/php /var/www/cron.php", "user": "www-data"})
    );
    assert_eq!(remarks(&import, Weight::Lost), ["9 has no command after its time fields"]);

    // Debian's cron and cronie give it to the commands, and keep to the clock of the machine.
    assert_eq!(
        remarks(&import, Weight::Dropped),
        ["2 SHELL is not carried over", "3 TZ is not carried over"]
    );

    let mistaken = remarks(&read(SYSTEM.as_bytes(), &options()), Weight::Advice);
    assert!(mistaken.iter().any(|text| text.starts_with("4 ") && text.contains("root")), "{mistaken:#?}");
}

#[test]
fn reading_the_same_crontab_again_gives_the_same_schedules() {
    assert_eq!(read(CRONTAB.as_bytes(), &options()), read(CRONTAB.as_bytes(), &options()));
}

#[test]
fn foreign_line_ends_and_bytes_spoil_no_other_line() {
    let import = read(b"0 1 * * * one\r\n0 2 * * * \xff\n\n0 3 * * * three", &options());
    assert_eq!(schedules(&import), ["1 one: 0 1 * * * UTC", "4 three: 0 3 * * * UTC"]);
    assert_eq!(payload(&import, "one"), json!({"command": "one"}));
    assert_eq!(remarks(&import, Weight::Lost), ["2:11 is not UTF-8 text"]);
}

#[test]
fn what_only_some_crons_know_is_carried_over_or_told() {
    let text = "RANDOM_DELAY=45\nCRON_TZ = 'Europe/Berlin'\n0~59 3 * * * /bin/spread\n@daily -n -s one\n\
                5-0~9 * * * * bad\n0 22-2 * * * night\n* * * * * * six\n@every_minute x\n'A B'=\"c d\"\n0 1 * * * cat%\n";
    let import = read(text.as_bytes(), &options());
    let berlin = schedules(&import);
    assert_eq!(berlin.len(), 3, "{berlin:#?}");
    assert!(
        berlin[0].starts_with("3 spread: ") && berlin[0].ends_with(" 3 * * * Europe/Berlin"),
        "{berlin:#?}"
    );
    assert_eq!(berlin[1..], ["4 one: @daily Europe/Berlin", "10 cat: 0 1 * * * Europe/Berlin"]);
    assert_eq!(import.schedules[1].draft.overlap.as_deref(), Some("skip"));
    assert_eq!(payload(&import, "cat"), json!({"command": "cat"}));
    assert_eq!(
        remarks(&import, Weight::Dropped),
        ["4 the flag -n is not carried over", "9 A B is not carried over"]
    );
    assert!(import.schedules.iter().all(|found| found.draft.jitter.as_deref() == Some("45m")));
    let lines: Vec<String> = remarks(&import, Weight::Lost);
    let lines: Vec<&str> = lines.iter().map(|text| text.split(' ').next().unwrap()).collect();
    assert_eq!(lines, ["5", "6:3", "7", "8:1"]);
    let advice = remarks(&import, Weight::Advice);
    assert!(advice.iter().any(|text| text.starts_with("3 cron chooses a time")), "{advice:#?}");
}
