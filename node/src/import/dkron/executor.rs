//! What a job runs: an HTTP request is a webhook as it is, anything else travels to the webhook that runs it.

use std::collections::BTreeMap;

use campanile_core::time::Span;
use serde_json::{Map, Value, json};

use crate::client::draft::WebhookDraft;
use crate::import::robfig::duration;
use crate::import::tree::{Entry, Fields, Kind};
use crate::import::{Import, LONGEST_ATTEMPT, Place, Settings, Weight};

/// The methods that a webhook takes.
const METHODS: [&str; 5] = ["POST", "PUT", "PATCH", "GET", "DELETE"];
/// How long the http executor of Dkron waits when nothing is said.
const HTTP_TIMEOUT: &str = "30s";

/// Where a firing goes, and what it carries.
pub(super) struct Run {
    pub(super) webhook: WebhookDraft,
    pub(super) payload: Option<Value>,
}

/// Reads `executor` and `executor_config`; `None` after a remark that says why it cannot run here.
pub(super) fn read(
    job: &mut Fields<'_>,
    name: &str,
    settings: &Settings,
    import: &mut Import,
) -> Option<Run> {
    let executor = job.text("executor", import);
    let config = job.inner("executor_config", import);
    match executor {
        Some(("http", at)) => http(config, at, name, import),
        Some(("shell", at)) => {
            let url = settings.url_for(at, &format!("{name:?} runs a command"), import)?;
            Some(shell(config, url, import))
        }
        Some((other, at)) => {
            let url = settings.url_for(at, &format!("{name:?} runs by the executor {other:?}"), import)?;
            let texts = job.get("executor_config").map(|entry| entry.value.to_value());
            Some(Run { webhook: to(url), payload: Some(json!({ "executor": other, "config": texts })) })
        }
        None => {
            import.remark(job.place(), Weight::Lost, format!("{name:?} has no executor: nothing to run"), "");
            None
        }
    }
}

fn http(mut config: Fields<'_>, at: Place, name: &str, import: &mut Import) -> Option<Run> {
    let Some((url, _)) = config.text("url", import) else {
        import.remark(at, Weight::Lost, format!("the request of {name:?} has no url"), "");
        return None;
    };
    let (method, at) = config.text("method", import).unwrap_or(("GET", at));
    let method = method.to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        let detail = format!("{name:?} makes a {method} request, which a webhook does not");
        import.remark(at, Weight::Lost, detail, format!("known are {}", METHODS.join(", ")));
        return None;
    }
    let headers = headers(&mut config, import);
    let timeout = seconds(&mut config, import).unwrap_or_else(|| HTTP_TIMEOUT.to_owned());
    let payload = body(&mut config, import);
    for field in ["expectCode", "expectBody"] {
        config.leave(field, "an answer of 2xx is success, any other a failure", import);
    }
    config.pass(&["debug"]);
    config.close("", import);
    let webhook = WebhookDraft { url: url.to_owned(), method: Some(method), headers, timeout: Some(timeout) };
    Some(Run { webhook, payload })
}

/// A text with a JSON list of `Name: value` in it.
fn headers(config: &mut Fields<'_>, import: &mut Import) -> BTreeMap<String, String> {
    let Some((text, at)) = config.text("headers", import) else { return BTreeMap::new() };
    let Ok(lines) = serde_json::from_str::<Vec<String>>(text) else {
        let detail = "the headers are no JSON list of texts, so they are not carried over";
        import.remark(at, Weight::Dropped, detail, "such as [\"X-Env: prod\"]");
        return BTreeMap::new();
    };
    let mut headers = BTreeMap::new();
    for line in lines.iter().filter(|line| !line.is_empty()) {
        match line.split_once(':') {
            Some((name, value)) => {
                headers.insert(name.trim().to_owned(), value.trim().to_owned());
            }
            None => {
                let detail = format!("the header {line:?} has no colon, so it is not carried over");
                import.remark(at, Weight::Dropped, detail, "");
            }
        }
    }
    headers
}

/// The timeout of a request, a number in a text.
fn seconds(config: &mut Fields<'_>, import: &mut Import) -> Option<String> {
    let entry = config.get("timeout")?;
    match text_of(entry).parse::<u64>() {
        Ok(seconds) => Some(limited(Span::from_secs(seconds.max(1)), entry.place, import)),
        Err(_) => {
            let detail = format!("the timeout {:?} is no number of seconds", text_of(entry));
            import.remark(entry.place, Weight::Dropped, detail, "");
            None
        }
    }
}

/// A payload is JSON: a body that is none travels as a JSON text.
fn body(config: &mut Fields<'_>, import: &mut Import) -> Option<Value> {
    let (text, at) = config.text("body", import)?;
    Some(serde_json::from_str(text).unwrap_or_else(|_| {
        let detail = "the body is no JSON: it is sent as a JSON text, in quotes";
        import.remark(at, Weight::Advice, detail, "see that its receiver reads that");
        text.into()
    }))
}

fn shell(mut config: Fields<'_>, url: &str, import: &mut Import) -> Run {
    let mut webhook = to(url);
    let mut payload = Map::new();
    for field in ["command", "shell", "env", "cwd", "timeout"] {
        if let Some(entry) = config.get(field).filter(|entry| !text_of(entry).is_empty()) {
            payload.insert(field.to_owned(), text_of(entry).into());
            if field == "timeout" {
                webhook.timeout = time_limit(entry, import);
            }
        }
    }
    config.close("set it in what runs the commands", import);
    Run { webhook, payload: Some(Value::Object(payload)) }
}

/// The end of a command is waited for as long as the command may take.
fn time_limit(entry: &Entry, import: &mut Import) -> Option<String> {
    match duration(&text_of(entry)) {
        Some(limit) => Some(limited(limit.max(Span::from_secs(1)), entry.place, import)),
        None => {
            let detail = format!("the timeout {:?} is no duration", text_of(entry));
            import.remark(entry.place, Weight::Dropped, detail, "");
            None
        }
    }
}

fn limited(limit: Span, place: Place, import: &mut Import) -> String {
    if limit > LONGEST_ATTEMPT {
        let detail = format!("the timeout is {limit}, and one attempt takes at most {LONGEST_ATTEMPT}");
        import.remark(place, Weight::Dropped, detail, "what it calls has to answer before that");
    }
    limit.min(LONGEST_ATTEMPT).to_string()
}

fn to(url: &str) -> WebhookDraft {
    WebhookDraft { url: url.to_owned(), ..WebhookDraft::default() }
}

/// Dkron keeps every setting of an executor as a text; people write numbers and flags as well.
fn text_of(entry: &Entry) -> String {
    match &entry.value.kind {
        Kind::Text(text) => text.clone(),
        _ => entry.value.to_value().to_string(),
    }
}
