//! What `%` means in a command: the first parts the command from its standard input, the others are its line ends.

/// Parts a command as cron does. `\%` is a plain `%`; another backslash stays as it is. Input ends with a line end, which
/// cron adds when it is missing; a `%` with nothing behind it is no input.
pub(super) fn split(text: &str) -> (String, Option<String>) {
    let mut parts = parts(text).into_iter();
    let command = parts.next().unwrap_or_default().trim_end().to_owned();
    let lines: Vec<String> = parts.collect();
    if lines.is_empty() || lines == [""] {
        return (command, None);
    }
    let mut input = lines.join("\n");
    if !input.ends_with('\n') {
        input.push('\n');
    }
    (command, Some(input))
}

/// What stands between the `%`s that are not escaped.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for letter in text.chars() {
        let part = parts.last_mut().expect("there is always one");
        match letter {
            '%' if escaped => {
                part.pop();
                part.push('%');
            }
            '%' => parts.push(String::new()),
            _ => part.push(letter),
        }
        escaped = letter == '\\' && !escaped;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_part_command_and_input_as_in_cron() {
        for (text, command, input) in [
            ("date", "date", None),
            (r"date +\%F", "date +%F", None),
            (r"grep a\\b", r"grep a\\b", None),
            ("cat%hello", "cat", Some("hello\n")),
            ("cat %one%two%", "cat", Some("one\ntwo\n")),
            (r"mail x%100\% done%", "mail x", Some("100% done\n")),
            (r"a\\%b", r"a\\", Some("b\n")),
            ("cat%", "cat", None),
            ("cat%%", "cat", Some("\n")),
        ] {
            assert_eq!(split(text), (command.to_owned(), input.map(str::to_owned)), "{text}");
        }
    }
}
