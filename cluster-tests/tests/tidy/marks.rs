//! What a file must have (a header) and what must not be left in one: unfinished work, drawers, paths of one machine.

use crate::tree::{File, Tree};

/// Module names that attract whatever has no home.
const DRAWERS: [&str; 7] = ["util", "utils", "common", "helper", "helpers", "misc", "stuff"];
/// Code that says it is not finished.
const UNFINISHED: [&[&str]; 4] =
    [&["todo", "!"], &["unimplemented", "!"], &["#", "[", "ignore"], &["dbg", "!"]];
/// Comments that say it.
const NOTES: [&str; 3] = ["TODO", "FIXME", "XXX"];
/// Top folders of a machine on which somebody once worked; with slashes around them they are a path.
const MACHINE_FOLDERS: [&str; 2] = ["work", "root"];

/// Files whose first line is not a `//!` header.
pub(crate) fn headers(tree: &Tree) -> Vec<String> {
    tree.rust
        .iter()
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| format!("{}:1: no //! header (what it is for, then what it must not do)", file.path))
        .collect()
}

/// Marks of unfinished work, in code and in comments.
pub(crate) fn unfinished(tree: &Tree) -> Vec<String> {
    tree.rust.iter().flat_map(unfinished_in).collect()
}

fn unfinished_in(file: &File) -> Vec<String> {
    let source = file.source();
    let in_code = UNFINISHED.iter().flat_map(|words| {
        let what = words.concat();
        source.lines_with(words).into_iter().map(move |line| (line, what.clone()))
    });
    let in_comments = source.comments.iter().flat_map(|(line, text)| {
        NOTES.iter().filter(|note| has_word(text, note)).map(|note| (*line, (*note).to_owned()))
    });
    in_code
        .chain(in_comments)
        .map(|(line, what)| format!("{}:{line}: {what}: finish it or file it", file.path))
        .collect()
}

/// Modules, as files and as declarations, whose name says nothing.
pub(crate) fn drawers(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in &tree.rust {
        let by_path = file.path.trim_end_matches(".rs").split('/').find(|part| DRAWERS.contains(part));
        findings
            .extend(by_path.map(|name| format!("{}: `{name}` is a drawer: put it with its noun", file.path)));
        let source = file.source();
        let declared = source.modules().into_iter().filter(|(_, name)| DRAWERS.contains(name));
        findings.extend(
            declared.map(|(line, name)| {
                format!("{}:{line}: `{name}` is a drawer: put it with its noun", file.path)
            }),
        );
    }
    findings
}

/// Absolute paths into the folders of one machine, in any text.
pub(crate) fn machine_paths(tree: &Tree) -> Vec<String> {
    tree.rust
        .iter()
        .chain(&tree.texts)
        .flat_map(|file| file.text.lines().zip(1..).map(move |(line, number)| (file, line, number)))
        .filter(|(_, line, _)| MACHINE_FOLDERS.iter().any(|folder| names_absolute(line, folder)))
        .map(|(file, _, number)| format!("{}:{number}: a path of one machine", file.path))
        .collect()
}

/// Whether `line` has `/folder/` with nothing before it that makes it a relative path or a URL.
fn names_absolute(line: &str, folder: &str) -> bool {
    let needle = format!("/{folder}/");
    line.match_indices(&needle).any(|(at, _)| {
        !line[..at].ends_with(|before: char| {
            before.is_alphanumeric() || matches!(before, '.' | '_' | '-' | '}' | ')' | '*')
        })
    })
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|part| part == word)
}
