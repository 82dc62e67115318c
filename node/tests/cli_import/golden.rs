//! A realistic file of each format, and everything that the command line says about it.

use std::path::Path;

use campanile::cli::Exit;

use crate::cli_support::cli_reading;

/// Compares what an import of `tests/data/FILE` prints with `tests/data/FILE.imported`.
fn compare(format: &str, file: &str, more: &[&str]) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let text = std::fs::read_to_string(data.join(file)).unwrap();
    let args = [&["import", format, "-", "--url", "https://jobs.internal/run"], more].concat();
    let ran = cli_reading(&args, &text);
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let made = format!("{}=== told on standard error ===\n{}", ran.out, ran.err);
    let path = data.join(format!("{file}.imported"));
    if std::env::var_os("IMPORT_UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "{} is not what the import says; if the change is meant, run\n\
         IMPORT_UPDATE=1 cargo test -p campanile --test cli_import golden\n{made}",
        path.display()
    );
}

#[test]
fn cron_jobs_of_kubernetes_are_imported_as_committed() {
    compare("k8s", "k8s.yaml", &["-l", "from=k8s"]);
}

#[test]
fn jobs_of_dkron_are_imported_as_committed() {
    compare("dkron", "dkron.json", &["-n", "ops"]);
}

#[test]
fn a_crontab_is_imported_as_committed() {
    compare("crontab", "crontab", &["--tz", "Europe/Vienna"]);
    compare("crontab", "crontab.system", &["--system", "--attempt-timeout", "10m"]);
}
