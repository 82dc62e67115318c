//! The definitions of files: YAML or JSON, many documents, whole directories.

use std::path::{Path, PathBuf};

use campanile_core::definition::ScheduleName;
use serde_json::Value;

use super::Io;
use super::failure::Failure;
use super::session::read_file;

/// How a file of definitions ends, in a directory.
const ENDINGS: [&str; 4] = ["yaml", "yml", "json", "jsonl"];
/// Directories inside directories are followed so far.
const MAX_DEPTH: usize = 16;

/// What an answer adds to a definition; taken out again, so that what `get` printed can be put.
const ADDED: [&str; 6] = ["uid", "revision", "created_at", "updated_at", "updated_by", "status"];

/// One definition of a file.
pub(super) struct Document {
    /// Where it stood, for messages.
    pub(super) origin: String,
    pub(super) name: ScheduleName,
    pub(super) body: Value,
}

/// The definitions of files and directories, in order. Everything is read before anything is sent: a typing error in the
/// last file leaves the cluster as it was.
pub(super) fn read_all(io: &mut Io<'_>, paths: &[PathBuf]) -> Result<Vec<Document>, Failure> {
    let mut documents = Vec::new();
    for path in paths {
        let mut files = Vec::new();
        collect(path, MAX_DEPTH, &mut files)?;
        for file in files {
            documents.extend(read(io, &file)?);
        }
    }
    if documents.is_empty() {
        return Err(Failure::usage("there is no schedule in the input", ""));
    }
    Ok(documents)
}

/// The files of a directory by their names, those of directories inside where they stand; what is hidden is left out.
fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if path == Path::new("-") || !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let trouble = |error| Failure::usage(format!("cannot read {}: {error}", path.display()), "");
    let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(trouble)?;
    entries.sort();
    for entry in entries {
        let hidden = entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let known = entry.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
        if !hidden && (known || (entry.is_dir() && depth > 0)) {
            collect(&entry, depth.saturating_sub(1), files)?;
        }
    }
    Ok(())
}

/// The definitions of one file: YAML or JSON, many documents, or lists of them.
fn read(io: &mut Io<'_>, path: &Path) -> Result<Vec<Document>, Failure> {
    let bytes = read_file(io, path)?;
    let file = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{file} is not UTF-8 text"), ""))?;
    let values = parse(&text).map_err(|why| Failure::usage(format!("{file}: {why}"), ""))?;
    let definitions: Vec<Value> = values.into_iter().flat_map(unfold).collect();
    definitions
        .into_iter()
        .enumerate()
        .map(|(place, body)| {
            let origin = format!("{file}, schedule {}", place + 1);
            document(origin.clone(), body).map_err(|why| Failure::usage(format!("{origin} {why}"), ""))
        })
        .collect()
}

/// JSON documents one after the other (what `-o json` and `-o jsonl` print), or a stream of YAML.
fn parse(text: &str) -> Result<Vec<Value>, String> {
    if text.trim_start().starts_with(['{', '['])
        && let Ok(values) = serde_json::Deserializer::from_str(text).into_iter::<Value>().collect()
    {
        return Ok(values);
    }
    serde_saphyr::from_multiple::<Value>(text).map_err(|error| error.to_string())
}

/// A list of schedules, an answer with `items`, or one schedule; an empty document is none.
fn unfold(value: Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        Value::Object(mut map) if map.get("items").is_some_and(Value::is_array) => {
            match map.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        other => vec![other],
    }
}

/// Names a definition and takes out what only answers have.
fn document(origin: String, body: Value) -> Result<Document, String> {
    let Value::Object(mut fields) = body else { return Err("is no schedule: it has no fields".into()) };
    let Some(Value::String(name)) = fields.get("name") else {
        return Err("has no name, or one that is no text".into());
    };
    let name = match fields.get("namespace") {
        None | Some(Value::Null) => ScheduleName::parse(name),
        Some(Value::String(namespace)) => ScheduleName::new(namespace, name),
        Some(_) => return Err("has a namespace that is no text".into()),
    };
    let name = name.map_err(|bad| format!("has a bad name: the {} {}", bad.segment, bad.why))?;
    for added in ADDED {
        fields.remove(added);
    }
    fields.insert("namespace".into(), name.namespace().into());
    fields.insert("name".into(), name.name().into());
    Ok(Document { origin, name, body: Value::Object(fields) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(text: &str) -> Result<Vec<String>, String> {
        let values = parse(text)?;
        let documents = values.into_iter().flat_map(unfold).map(|body| document(String::new(), body));
        documents.map(|document| document.map(|document| document.name.to_string())).collect()
    }

    #[test]
    fn definitions_are_read_from_every_form_that_is_printed() {
        for text in [
            "name: a\n---\nnamespace: b\nname: c\n",
            "{\"name\": \"a\"}\n{\"namespace\": \"b\", \"name\": \"c\"}\n",
            "[{\"name\": \"a\"}, {\"name\": \"b/c\"}]",
            "- name: a\n- name: b/c\n",
            "items:\n- name: a\n- {name: b/c}\n",
            "{name: a}\n---\n---\n{name: b/c}\n",
        ] {
            assert_eq!(names(text), Ok(vec!["default/a".to_owned(), "b/c".to_owned()]), "{text}");
        }
        assert_eq!(names("# nothing\n"), Ok(vec![]));
    }

    #[test]
    fn what_is_no_definition_says_why() {
        for text in [
            "just text",
            "name: 5",
            "specs: []",
            "name: a b",
            "name: a\nnamespace: 5",
            "name: a\nname: b",
            "a: [",
        ] {
            assert!(names(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_only_answers_have_is_taken_out() {
        let answer = json!({"name": "a", "uid": "7", "revision": 2, "status": {}, "updated_by": "me", "labels": {"x": "y"}});
        let put = document(String::new(), answer).expect("a document").body;
        assert_eq!(put, json!({"namespace": "default", "name": "a", "labels": {"x": "y"}}));
    }
}
