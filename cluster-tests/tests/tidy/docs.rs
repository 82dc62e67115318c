//! What the documents point at must be there: files, folders, and the tests that are named as proof.
//!
//! Read are links and code spans of Markdown. A span counts when it is a path into one of the rooms with an ending, or with
//! a slash at its end; `file.rs::name` asks for that test in that file.

use crate::tree::Tree;

/// Top folders that a code span can lead into.
const ROOMS: [&str; 7] = ["core/", "storage/", "raft/", "node/", "cluster-tests/", "deploy/", "docs/"];

/// Every pointer that leads nowhere.
pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.texts.iter().filter(|file| file.path.ends_with(".md")) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let prose = without_code_blocks(&file.text);
        let links = between(&prose, "](", ")").filter(|link| !link.contains("://") && !link.starts_with('#'));
        let links = links.map(|link| resolve(folder, link.split('#').next().unwrap_or(link)));
        let spans = between(&prose, "`", "`").filter(|span| is_path(span)).map(str::to_owned);
        let lost = links.chain(spans).filter(|pointer| !leads_somewhere(tree, pointer));
        findings.extend(lost.map(|pointer| format!("{}: {pointer} does not exist", file.path)));
    }
    findings
}

fn leads_somewhere(tree: &Tree, pointer: &str) -> bool {
    let (path, test) = pointer.split_once("::").map_or((pointer, None), |(path, test)| (path, Some(test)));
    let mut files = tree.rust.iter().chain(&tree.texts);
    match test {
        _ if path.ends_with('/') => files.any(|file| file.path.starts_with(path)),
        Some(test) => files.any(|file| file.path == path && file.text.contains(&format!("fn {test}("))),
        None => files.any(|file| file.path == path),
    }
}

fn is_path(span: &str) -> bool {
    let path = span.split("::").next().unwrap_or(span);
    let last = path.rsplit('/').next().unwrap_or(path);
    ROOMS.iter().any(|room| path.starts_with(room))
        && !path.contains([' ', '*'])
        && (last.is_empty() || last.contains('.'))
}

/// A relative link as a path from the root.
fn resolve(folder: &str, link: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn without_code_blocks(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// The texts between pairs of marks, on one line each.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().flat_map(move |line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            let start = rest.find(open)? + open.len();
            let end = start + rest[start..].find(close)?;
            let found = &rest[start..end];
            rest = &rest[end + close.len()..];
            Some(found)
        })
    })
}
