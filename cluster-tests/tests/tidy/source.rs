//! A Rust file taken apart far enough to ask which crates it names: comments and literals apart from code, code in tokens.
//!
//! No parser: it knows comments, literals, identifiers and punctuation, and the shape of a `use`. That is enough, since a
//! path names a crate only in its first segment.

/// A file in two layers and its tokens.
pub(crate) struct Source {
    /// The text of all comments, with their lines.
    pub(crate) comments: Vec<(usize, String)>,
    tokens: Vec<Token>,
}

/// An identifier, or one character of punctuation, and the line it stands in.
#[derive(Debug, Clone, PartialEq)]
struct Token {
    text: String,
    line: usize,
}

impl Token {
    fn is(&self, text: &str) -> bool {
        self.text == text
    }

    fn is_name(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

impl Source {
    pub(crate) fn read(text: &str) -> Self {
        let mut reader = Reader { rest: text, line: 1, comments: Vec::new(), tokens: Vec::new() };
        while reader.step() {}
        Self { comments: reader.comments, tokens: reader.tokens }
    }

    /// Where the sequence of `words` (one token each) stands in the code, by line.
    pub(crate) fn lines_with(&self, words: &[&str]) -> Vec<usize> {
        let hit = |window: &&[Token]| window.iter().zip(words).all(|(token, word)| token.is(word));
        self.tokens.windows(words.len()).filter(hit).map(|window| window[0].line).collect()
    }

    /// The modules that the file declares, with their lines.
    pub(crate) fn modules(&self) -> Vec<(usize, &str)> {
        self.tokens
            .windows(3)
            .filter(|window| {
                window[0].is("mod") && window[1].is_name() && (window[2].is(";") || window[2].is("{"))
            })
            .map(|window| (window[1].line, window[1].text.as_str()))
            .collect()
    }

    /// The lines in which a path begins with the crate `name`; a module of that name in the file hides the crate.
    pub(crate) fn lines_naming(&self, name: &str) -> Vec<usize> {
        let hidden = self.modules().iter().any(|(_, module)| *module == name);
        let mut lines: Vec<usize> = self
            .roots()
            .into_iter()
            .filter(|(token, in_use)| token.is(name) && (*in_use || !hidden))
            .map(|(token, _)| token.line)
            .collect();
        lines.dedup();
        lines
    }

    /// The first segment of every path, and whether it stands in a `use` (or an `extern crate`).
    fn roots(&self) -> Vec<(&Token, bool)> {
        let mut roots = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let token = &self.tokens[at];
            // `use<'a>` bounds what a returned type captures; it imports nothing.
            if token.is("use") && !self.tokens.get(at + 1).is_some_and(|next| next.is("<")) {
                at = self.roots_of_use(at + 1, &mut roots);
                continue;
            }
            if token.is_name() {
                let after_extern =
                    at >= 2 && self.tokens[at - 1].is("crate") && self.tokens[at - 2].is("extern");
                let first = !(self.is_colons(at.wrapping_sub(2)) && self.continues_a_path(at));
                if after_extern || (first && self.is_colons(at + 1)) {
                    roots.push((token, after_extern));
                }
            }
            at += 1;
        }
        roots
    }

    /// Whether the `::` before the token at `at` follows another segment; `::name` alone is a root.
    fn continues_a_path(&self, at: usize) -> bool {
        at.checked_sub(3).is_some_and(|before| self.tokens[before].is_name() || self.tokens[before].is(">"))
    }

    fn is_colons(&self, at: usize) -> bool {
        matches!((self.tokens.get(at), self.tokens.get(at.wrapping_add(1))), (Some(a), Some(b)) if a.is(":") && b.is(":"))
    }

    /// Reads the tree of a `use` from `at` to its `;`. A name is a root when no segment stands before it, on its own level
    /// or on one around it.
    fn roots_of_use<'a>(&'a self, mut at: usize, roots: &mut Vec<(&'a Token, bool)>) -> usize {
        let mut below_a_segment = vec![false];
        let mut segment_seen = false;
        while at < self.tokens.len() {
            let token = &self.tokens[at];
            match token.text.as_str() {
                ";" => return at + 1,
                "{" => below_a_segment.push(segment_seen),
                "}" => segment_seen = below_a_segment.pop().unwrap_or(false),
                "," => segment_seen = below_a_segment.last().copied().unwrap_or(false),
                "as" => at += 1,
                _ if token.is_name() => {
                    if !segment_seen {
                        roots.push((token, true));
                    }
                    segment_seen = true;
                }
                _ => {}
            }
            at += 1;
        }
        at
    }
}

/// Walks over the text, one lexical thing a step.
struct Reader<'a> {
    rest: &'a str,
    line: usize,
    comments: Vec<(usize, String)>,
    tokens: Vec<Token>,
}

impl Reader<'_> {
    /// Takes the next thing; `false` at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.comment(end);
        } else if self.rest.starts_with("/*") {
            let end = block_comment(self.rest);
            self.comment(end);
        } else if let Some(end) = literal(self.rest) {
            self.skip(end);
        } else if first.is_alphabetic() || first == '_' {
            let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
            self.token(end);
        } else if first.is_ascii_digit() {
            // A number may carry a suffix; its letters are no name.
            let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
            self.skip(end);
        } else if first.is_whitespace() {
            self.skip(first.len_utf8());
        } else {
            self.token(first.len_utf8());
        }
        true
    }

    fn comment(&mut self, end: usize) {
        self.comments.push((self.line, self.rest[..end].to_owned()));
        self.skip(end);
    }

    fn token(&mut self, end: usize) {
        self.tokens.push(Token { text: self.rest[..end].to_owned(), line: self.line });
        self.skip(end);
    }

    fn skip(&mut self, end: usize) {
        self.line += self.rest[..end].matches('\n').count();
        self.rest = &self.rest[end..];
    }
}

/// The length of the block comment at the start of `text`; they nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        match &text.as_bytes()[at..(at + 2).min(text.len())] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of the string or character at the start of `text`, if one stands there. A lifetime is none.
fn literal(text: &str) -> Option<usize> {
    let unprefixed = text.trim_start_matches(['b', 'c', 'r']);
    let prefix = text.len() - unprefixed.len();
    let raw = prefix <= 2 && text[..prefix].contains('r');
    let hashes = unprefixed.len() - unprefixed.trim_start_matches('#').len();
    if raw && unprefixed[hashes..].starts_with('"') {
        let close = format!("\"{}", "#".repeat(hashes));
        let body = prefix + hashes + 1;
        return Some(text[body..].find(&close).map_or(text.len(), |end| body + end + close.len()));
    }
    if prefix <= 1 && unprefixed.starts_with('"') {
        return Some(prefix + quoted(unprefixed, '"'));
    }
    if prefix <= 1 && unprefixed.starts_with('\'') {
        let mut after = unprefixed[1..].chars();
        let character = matches!((after.next(), after.next()), (Some('\\'), _) | (Some(_), Some('\'')));
        return character.then(|| prefix + quoted(unprefixed, '\''));
    }
    None
}

/// The length of the quoted text at the start of `text`, both quotes included.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn a_crate_is_named_by_the_first_segment_of_a_path_only() {
        let named = [
            "use sled::Db;",
            "use sled;",
            "pub(crate) use ::sled::Db as Store;",
            "use {std::fmt, sled::{Db, Tree}};",
            "extern crate sled;",
            "fn f() { let db = sled::open(p); }",
            "fn f(db: &::sled::Db) {}",
            "impl From<sled::Error> for E {}",
            "mod log; use sled::Db;",
        ];
        let not_named = [
            "use crate::log::sled::Store;",
            "use crate::log::{sled::Store, memory};",
            "use crate::{log::{self, sled}, fmt};",
            "use store as sled;",
            "mod sled; fn f() { sled::open(p) }",
            "// sled::open\nfn f() {}",
            "/* use sled::Db; /* nested */ */",
            "fn f() { g(\"sled::open\", r#\"use sled::Db;\"#, b\"sled::\", '\"'); }",
            "fn f<'a>(x: &'a str) { self::sled::open(p); log::sled::open(p) }",
            "fn f() { sled.open() }",
            "struct S { sled: Db }",
        ];
        for text in named {
            assert_eq!(Source::read(text).lines_naming("sled"), [1], "{text}");
        }
        for text in not_named {
            assert_eq!(Source::read(text).lines_naming("sled"), [0; 0], "{text}");
        }
    }

    #[test]
    fn lines_are_counted_through_comments_and_literals() {
        let source =
            Source::read("//! one\nlet a = \"two\nthree\";\n/* four\nfive */ sled::open();\n// six TODO\n");
        assert_eq!(source.lines_naming("sled"), [5]);
        assert_eq!(source.comments.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 4, 6]);
    }
}
