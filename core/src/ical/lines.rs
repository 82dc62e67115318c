//! Content lines: unfolded, and cut into name, parameters and value.
//!
//! Must not know what a property means.

/// One content line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Of the first of its lines in the text, from 1.
    pub(super) number: u32,
    /// In capitals.
    pub(super) name: String,
    /// Names in capitals, values without their quotes.
    parameters: Vec<(String, String)>,
    pub(super) value: String,
}

impl Line {
    /// The value of a parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A text value for people: unescaped, on one line, and short.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut letters = self.value.chars();
        while let Some(letter) = letters.next() {
            text.push(match letter {
                '\\' => match letters.next() {
                    Some('n' | 'N') | None => ' ',
                    Some(letter) => letter,
                },
                letter if letter.is_control() => ' ',
                letter => letter,
            });
        }
        text.trim().to_owned()
    }

    fn read(number: u32, text: &str) -> Option<Self> {
        let (head, value) = cut(text, ':')?;
        let mut pieces = Pieces { rest: Some(head) };
        let name = pieces.next()?.trim().to_ascii_uppercase();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
        if name.is_empty() || !name.bytes().all(is_name) {
            return None;
        }
        // vCard's groups (`item1.DTSTART`) are not iCalendar's, but Apple has written them.
        let name = name.rsplit('.').next().unwrap_or_default().to_owned();
        let parameters = pieces
            .filter_map(|piece| piece.split_once('='))
            .map(|(name, value)| (name.trim().to_ascii_uppercase(), value.replace('"', "")))
            .collect();
        Some(Self { number, name, parameters, value: value.to_owned() })
    }
}

/// The pieces between semicolons that are not quoted.
struct Pieces<'a> {
    rest: Option<&'a str>,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest.take()?;
        match cut(rest, ';') {
            Some((piece, rest)) => {
                self.rest = Some(rest);
                Some(piece)
            }
            None => Some(rest),
        }
    }
}

/// What stands before and behind the first mark that is not quoted.
fn cut(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut quoted = false;
    let place = text.char_indices().find(|(_, letter)| {
        quoted ^= *letter == '"';
        *letter == mark && !quoted
    });
    place.map(|(place, _)| (&text[..place], &text[place + mark.len_utf8()..]))
}

/// All content lines of a text in their order; the number of a line that is none.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Result<Line, u32>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut raw = (1_u32..)
        .zip(text.split('\n'))
        .map(|(number, line)| (number, line.strip_suffix('\r').unwrap_or(line)))
        .peekable();
    std::iter::from_fn(move || {
        loop {
            let (number, first) = raw.next()?;
            let mut whole = first.to_owned();
            while let Some((_, more)) = raw.next_if(|(_, line)| line.starts_with([' ', '\t'])) {
                whole.push_str(&more[1..]);
            }
            if !whole.trim().is_empty() {
                return Some(Line::read(number, &whole).ok_or(number));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_and_quoted_lines_are_put_together_and_cut_where_they_end() {
        let text = "\u{feff}DTSTART;TZID=\"Odd;Zone:1\";X=y:2026\r\n 1225T0900\r\n\t00\r\n\r\nSUMMARY:a\\, b\\nc\nno line\n";
        let found: Vec<_> = lines(text).collect();
        let [Ok(start), Ok(summary), Err(6)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            (start.number, start.name.as_str(), start.value.as_str()),
            (1, "DTSTART", "20261225T090000")
        );
        assert_eq!(start.parameter("TZID"), Some("Odd;Zone:1"));
        assert_eq!(start.parameter("X"), Some("y"));
        assert_eq!((summary.number, summary.text()), (5, "a, b c".to_owned()));
    }
}
