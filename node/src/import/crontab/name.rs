//! A name for a command that has none: short, plain, and the same each time the same crontab is read.

/// Long enough to tell commands apart, short enough for a table.
const LONGEST: usize = 60;

/// Commands that only prepare for the one behind `&&` or `;`.
const PREPARATIONS: [&str; 10] = ["cd", "test", "[", "[[", "export", "source", ".", "set", "umask", "sleep"];
/// What stands before the command that matters.
const WRAPPERS: [&str; 17] = [
    "sudo", "nice", "ionice", "nohup", "env", "exec", "time", "chronic", "command", "timeout", "flock", "sh",
    "bash", "dash", "ksh", "zsh", "chrt",
];
/// What runs a script: the name of the script says more.
const INTERPRETERS: [&str; 8] = ["php", "python", "python2", "python3", "perl", "ruby", "node", "java"];
/// Endings that say how a program is written, not what it does.
const ENDINGS: [&str; 8] = [".sh", ".bash", ".py", ".pl", ".php", ".rb", ".js", ".jar"];

/// The program's name, without its path and ending: `nice -n 19 /opt/bin/backup.sh --all` is `backup`. `None` when
/// nothing plain is left.
pub(super) fn from_command(command: &str) -> Option<String> {
    let mut parts = command.split(['&', '|', ';']).filter(|part| !part.trim().is_empty());
    let part = parts.clone().find(|part| !is_preparation(part)).or_else(|| parts.next())?;
    let mut programs = part.split_whitespace().filter(|word| may_be_program(word)).map(plain);
    let program = programs.next()?;
    let name =
        if INTERPRETERS.contains(&program.as_str()) { programs.next().unwrap_or(program) } else { program };
    let name: String = name.chars().take(LONGEST).collect();
    let name = name.trim_matches(['-', '.']);
    (!name.is_empty()).then(|| name.to_owned())
}

fn is_preparation(part: &str) -> bool {
    let part = part.trim_start_matches(['(', '{', ' ', '\t']);
    part.split_whitespace().next().is_none_or(|word| PREPARATIONS.contains(&word))
}

/// Whether a word may be what is run: no option, number, duration, assignment, lock file or wrapper.
fn may_be_program(word: &str) -> bool {
    let plain = plain(word);
    let assignment = word.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
    !word.starts_with('-')
        && !word.starts_with(|letter: char| letter.is_ascii_digit())
        && !assignment
        && !plain.ends_with(".lock")
        && !plain.is_empty()
        && !WRAPPERS.contains(&plain.as_str())
}

/// The last segment of a path in lower case, without quotes, its ending, and whatever a name cannot hold.
fn plain(word: &str) -> String {
    let word = word.trim_matches(['"', '\'', '(', ')', '{', '}', '`']);
    let base = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_lowercase();
    let stem = ENDINGS.iter().find_map(|ending| base.strip_suffix(ending)).unwrap_or(&base);
    stem.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || ".-_".contains(letter) { letter } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_named_after_what_it_runs() {
        for (command, name) in [
            ("/usr/local/bin/backup.sh --full", Some("backup")),
            ("nice -n 19 ionice -c2 /opt/Backup.py", Some("backup")),
            ("cd /srv/app && ./bin/rotate >> log 2>&1", Some("rotate")),
            (
                "test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )",
                Some("run-parts"),
            ),
            ("/usr/bin/php /var/www/artisan schedule:run", Some("artisan")),
            ("flock -n /var/lock/sync.lock timeout 300 rsync -a a b", Some("rsync")),
            ("LANG=C TZ=UTC report", Some("report")),
            ("/bin/sh -c 'purge old'", Some("purge")),
            ("cd /srv", Some("cd")),
            ("python3", Some("python3")),
            ("größe", Some("gr--e")),
            ("'' ;", None),
        ] {
            assert_eq!(from_command(command).as_deref(), name, "{command}");
        }
    }
}
