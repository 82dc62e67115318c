//! `campanile schedule put`: the schedules of files, each put on its own.

use std::path::{Path, PathBuf};

use campanile_core::definition::ScheduleName;
use serde_json::Value;

use super::args::Format;
use super::failure::{Exit, Failure};
use super::session::{path_of, print_one, read_file, tell_warnings};
use super::{Io, cell};
use crate::client::{Call, Client, Condition};

/// What an answer adds to a definition; taken out again, so that what `get` printed can be put.
const ADDED: [&str; 6] = ["uid", "revision", "created_at", "updated_at", "updated_by", "status"];

/// One definition of a file.
pub(super) struct Document {
    /// Where it stood, for messages.
    pub(super) origin: String,
    pub(super) name: ScheduleName,
    pub(super) body: Value,
}

pub(super) async fn run(
    client: &Client,
    files: &[PathBuf],
    if_match: Option<String>,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    // Everything is read before anything is put: a typing error in the last file leaves the cluster as it was.
    let mut documents = Vec::new();
    for path in files {
        documents.extend(read(io, path)?);
    }
    if documents.is_empty() {
        return Err(Failure::usage("there is no schedule in the input", ""));
    }
    if if_match.is_some() && documents.len() > 1 {
        return Err(Failure::usage("--if-match names one revision, the input has several schedules", ""));
    }
    let condition = if_match.map_or(Condition::None, Condition::Unchanged);
    put_each(client, &documents, &condition, format, io).await
}

/// Puts each document, goes on after a refusal, and fails as the first one that was refused.
pub(super) async fn put_each(
    client: &Client,
    documents: &[Document],
    condition: &Condition,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let mut first_failure: Option<Exit> = None;
    for document in documents {
        let call = Call::put(path_of(&document.name), document.body.clone()).only_if(condition.clone());
        match client.send(&call).await {
            Ok(answer) => {
                let done = if answer.status == 201 { "created" } else { "put" };
                let name = &document.name;
                print_one(io, format, &answer.body, name.as_str(), |io, _| {
                    Ok(writeln!(io.out, "{done} {name}")?)
                })?;
                tell_warnings(io, name.as_str(), answer.body.pointer("/status/warnings"));
            }
            Err(error) => {
                let failure = Failure::Api(error);
                io.say(&format!("{} ({}):", document.name, cell::plain(&document.origin)));
                failure.tell(io);
                first_failure.get_or_insert(failure.exit());
                // What is not reached now is not reached for the next one either.
                if matches!(failure.exit(), Exit::Unreachable | Exit::TimedOut | Exit::Auth | Exit::Usage) {
                    break;
                }
            }
        }
    }
    first_failure.map_or(Ok(()), |exit| Err(Failure::Said(exit)))
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
