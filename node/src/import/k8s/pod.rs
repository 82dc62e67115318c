//! The containers of a job as the payload of a firing: what a receiver needs to run them, without secrets.

use serde_json::{Map, Value, json};

use super::job::HINT_RUNNER;
use crate::import::tree::{Fields, Kind, Node};
use crate::import::{Import, Weight};

/// `{"containers": [{"name", "image", "command", "args", "env"}], …}` from the pod template of a job.
pub(super) fn payload(job: &mut Fields<'_>, deadline: Option<u64>, import: &mut Import) -> Value {
    let mut template = job.inner("template", import);
    template.inner("metadata", import).close(HINT_RUNNER, import);
    let mut pod = template.inner("spec", import);
    template.close("", import);
    let mut payload = Map::new();
    for (field, name) in [("initContainers", "init_containers"), ("containers", "containers")] {
        let path = pod.at(field);
        let containers = pod.list(field, import);
        if !containers.is_empty() {
            let each = containers.iter().enumerate();
            let shown = each.map(|(n, node)| container(node, &format!("{path}[{n}]"), import));
            payload.insert(name.to_owned(), shown.collect());
        }
    }
    if !payload.contains_key("containers") {
        let detail = "the CronJob has no containers: its firings carry nothing to run";
        import.remark(pod.place(), Weight::Advice, detail, "");
    }
    if let Some(seconds) = deadline {
        payload.insert("active_deadline_seconds".to_owned(), seconds.into());
    }
    pod.close(HINT_RUNNER, import);
    Value::Object(payload)
}

fn container(node: &Node, path: &str, import: &mut Import) -> Value {
    let mut fields = Fields::of(node, path);
    let mut shown = Map::new();
    for field in ["name", "image", "workingDir"] {
        if let Some((text, _)) = fields.text(field, import) {
            shown.insert(if field == "workingDir" { "working_dir" } else { field }.to_owned(), text.into());
        }
    }
    for field in ["command", "args"] {
        let words = fields.list(field, import);
        if !words.is_empty() {
            shown.insert(field.to_owned(), words.iter().map(word).collect());
        }
    }
    if let Some(names) = env(&mut fields, import) {
        shown.insert("env".to_owned(), names);
    }
    fields.close(HINT_RUNNER, import);
    Value::Object(shown)
}

/// A word of a command line. YAML takes `args: [5, true]` for other things than texts; Kubernetes refuses those.
fn word(node: &Node) -> Value {
    match &node.kind {
        Kind::Text(text) => text.clone().into(),
        _ => node.to_value().to_string().into(),
    }
}

/// The names of the variables, and a remark about their values.
fn env(fields: &mut Fields<'_>, import: &mut Import) -> Option<Value> {
    let path = fields.at("env");
    let place = fields.get("env")?.place;
    let variables = fields.list("env", import);
    let names: Vec<&str> = variables
        .iter()
        .filter_map(|variable| variable.entries().iter().find(|entry| entry.key == "name")?.value.text())
        .collect();
    if names.is_empty() {
        return None;
    }
    let detail = format!("the values of {path} are not carried over, only their names: {}", names.join(", "));
    import.remark(place, Weight::Dropped, detail, HINT_RUNNER);
    Some(json!(names))
}
