//! One line of a crontab, taken apart; nothing is judged here but whether the parts are there.

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Blank,
    Comment,
    /// `# name: x`
    Name(&'a str),
    /// `# campanile: x`
    Directive(&'a str),
    /// `NAME=value`
    Setting {
        name: &'a str,
        value: &'a str,
    },
    /// A command with its times.
    Entry(&'a str),
}

impl<'a> Line<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let trimmed = text.trim_matches(is_blank);
        if trimmed.is_empty() {
            return Self::Blank;
        }
        if let Some(comment) = trimmed.strip_prefix('#') {
            return Self::of_comment(comment.trim_matches(is_blank));
        }
        setting(trimmed).unwrap_or(Self::Entry(text))
    }

    fn of_comment(text: &'a str) -> Self {
        match text.split_once(':').map(|(key, value)| (key.trim(), value.trim())) {
            Some(("name", name)) if !name.is_empty() => Self::Name(name),
            Some(("campanile", directive)) => Self::Directive(directive),
            _ => Self::Comment,
        }
    }
}

/// cron parts words by spaces and tabs only.
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t')
}

/// As cron looks for it: a word, then `=` with or without space around it. `* * * * * A=b cmd` is no setting, since a
/// blank and something other than `=` follow its first word.
fn setting(text: &str) -> Option<Line<'_>> {
    let (name, rest) = match text.strip_prefix(['"', '\'']) {
        Some(quoted) => quoted.split_once(['"', '\''])?,
        None => text.split_at(text.find(|letter| is_blank(letter) || letter == '=')?),
    };
    let value = rest.trim_start_matches(is_blank).strip_prefix('=')?.trim_matches(is_blank);
    if name.is_empty() {
        return None;
    }
    let unquoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    Some(Line::Setting { name, value: unquoted.unwrap_or(value) })
}

/// How many time fields stand before a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    None,
    Five,
    Six,
}

/// A command line, taken apart.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    /// A `-` stood before it.
    pub(super) quiet: bool,
    pub(super) when: When,
    pub(super) user: Option<&'a str>,
    /// Up to the end of the line, `%` as it stands.
    pub(super) command: &'a str,
}

/// The time fields, joined by single spaces, and where each stood.
#[derive(Debug, Default)]
pub(super) struct When {
    text: String,
    /// Column in the line, column in the text; both of the first character, counted from 1.
    starts: Vec<(usize, usize)>,
}

/// Why a line is no entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Incomplete {
    pub(super) detail: String,
    pub(super) hint: &'static str,
}

impl<'a> Entry<'a> {
    pub(super) fn read(text: &'a str, shape: Shape, system: bool) -> Result<Self, Incomplete> {
        let mut words = Words { text, rest: text };
        let quiet = words.skip_dash();
        let wanted = match shape {
            Shape::None => 0,
            _ if words.rest.trim_start_matches(is_blank).starts_with('@') => 1,
            Shape::Five => 5,
            Shape::Six => 6,
        };
        let mut when = When::default();
        for had in 0..wanted {
            let (column, word) = words.next().ok_or_else(|| too_few(had, wanted))?;
            when.push(column, word);
        }
        let user =
            if system { Some(words.next().ok_or_else(|| without("user and command"))?.1) } else { None };
        let command = words.rest.trim_matches(is_blank);
        // cron takes this for what it mostly is: a field too many.
        if wanted == 5 && command.starts_with("* ") {
            return Err(Incomplete {
                detail: "has a `*` after its five time fields".to_owned(),
                hint: "cron has no seconds; if the first field is one, write '# campanile: seconds' above",
            });
        }
        if command.is_empty() {
            return Err(without("command"));
        }
        Ok(Self { quiet, when, user, command })
    }
}

/// The flags `-n`, `-q` and `-s` before a command, and the command. No command begins with a dash.
pub(super) fn flags(command: &str) -> (String, &str) {
    let (mut flags, mut rest) = (String::new(), command);
    while let Some((word, after)) = rest.split_once(is_blank) {
        match word.strip_prefix('-') {
            Some(letters) if !letters.is_empty() && letters.chars().all(|letter| "nqs".contains(letter)) => {
                flags.push_str(letters);
                rest = after.trim_start_matches(is_blank);
            }
            _ => break,
        }
    }
    (flags, rest)
}

fn too_few(had: usize, wanted: usize) -> Incomplete {
    Incomplete {
        detail: format!("has {had} of {wanted} time fields and no command"),
        hint: "a line is: minute hour day-of-month month day-of-week command",
    }
}

fn without(what: &str) -> Incomplete {
    Incomplete {
        detail: format!("has no {what} after its time fields"),
        hint: "a system crontab has a user before the command, a user's crontab has none",
    }
}

impl When {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn push(&mut self, column: usize, word: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.starts.push((column, self.text.chars().count() + 1));
        self.text.push_str(word);
    }

    /// Where a column of [`When::text`] stands in the line.
    pub(super) fn column_in_line(&self, column: usize) -> usize {
        let field = self.starts.iter().rev().find(|(_, start)| *start <= column);
        field.map_or(column, |(in_line, in_text)| in_line + column - in_text)
    }
}

/// The words of a line, with their columns.
struct Words<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn skip_dash(&mut self) -> bool {
        let dashed = self.rest.trim_start_matches(is_blank).strip_prefix('-');
        self.rest = dashed.unwrap_or(self.rest);
        dashed.is_some()
    }

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let rest = self.rest.trim_start_matches(is_blank);
        let column = self.text[..self.text.len() - rest.len()].chars().count() + 1;
        let (word, after) = rest.split_at(rest.find(is_blank).unwrap_or(rest.len()));
        self.rest = after;
        (!word.is_empty()).then_some((column, word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_told_apart_as_cron_does() {
        for (text, line) in [
            ("", Line::Blank),
            (" \t ", Line::Blank),
            ("# m h dom mon dow command", Line::Comment),
            ("  # name: nightly", Line::Name("nightly")),
            ("# campanile: every 15m", Line::Directive("every 15m")),
            ("PATH=/bin:/usr/bin", Line::Setting { name: "PATH", value: "/bin:/usr/bin" }),
            ("  MAILTO = \"a b\" ", Line::Setting { name: "MAILTO", value: "a b" }),
            ("MAILTO=\"\"", Line::Setting { name: "MAILTO", value: "" }),
            ("* * * * * A=b run", Line::Entry("* * * * * A=b run")),
            ("@daily x=1 run", Line::Entry("@daily x=1 run")),
            ("=x", Line::Entry("=x")),
        ] {
            assert_eq!(Line::of(text), line, "{text:?}");
        }
    }

    #[test]
    fn an_entry_keeps_its_command_as_it_stands_and_its_columns() {
        let entry =
            Entry::read(" -0\t5  * * mon   root  tar -czf /x  %y ", Shape::Five, true).expect("an entry");
        assert_eq!(
            (entry.when.text(), entry.user, entry.command),
            ("0 5 * * mon", Some("root"), "tar -czf /x  %y")
        );
        assert!(entry.quiet);
        // The hour stands in column 5 of the line and in column 3 of the text.
        assert_eq!(
            (entry.when.column_in_line(1), entry.when.column_in_line(3), entry.when.column_in_line(10)),
            (3, 5, 13)
        );
    }

    #[test]
    fn flags_stand_before_the_command_and_nowhere_else() {
        for (text, wanted) in [
            ("-n -q run -s", ("nq", "run -s")),
            ("-ns  run", ("ns", "run")),
            ("run -n", ("", "run -n")),
            ("-x run", ("", "-x run")),
            ("-n", ("", "-n")),
        ] {
            let (flags, rest) = flags(text);
            assert_eq!((flags.as_str(), rest), wanted, "{text}");
        }
    }

    #[test]
    fn what_lacks_a_part_says_which() {
        for (text, shape, system, wanted) in [
            ("* * *", Shape::Five, false, "3 of 5 time fields"),
            ("* * * * * *", Shape::Six, false, "no command"),
            ("* * * * *  ", Shape::Five, false, "no command"),
            ("@daily", Shape::Five, false, "no command"),
            ("@daily root", Shape::Five, true, "no command"),
            ("* * * * * * run", Shape::Five, false, "five time fields"),
            ("0 0 * * *", Shape::Five, true, "no user and command"),
        ] {
            let error = Entry::read(text, shape, system).expect_err(text);
            assert!(error.detail.contains(wanted), "{text:?}: {}", error.detail);
        }
    }
}
