//! Dkron jobs, as its API shows them: each becomes a schedule or a remark.
//!
//! ```text
//! JSON ──▶ one job, a list, or {"jobs": …} ──▶ job: when, overlap, retry ──▶ draft
//!                                               └─ executor: http ──▶ the webhook itself
//!                                                            other ──▶ payload for `--url`
//! ```

mod executor;

mod job;

mod tilde;

use super::names::Names;
use super::tree::{Fields, Kind, Node};
use super::{Import, Settings, Unreadable, Weight};

/// Reads what `GET /v1/jobs` answers, one job of it, or `{"jobs": […]}`.
///
/// # Errors
/// When the text is not JSON at all; what is wrong inside one job is a remark.
pub fn read(text: &[u8], settings: &Settings) -> Result<Import, Unreadable> {
    let text = std::str::from_utf8(text).map_err(|_| Unreadable::not_text())?;
    let root = Node::from_json(text)?;
    let mut import = Import::default();
    let mut names = Names::default();
    for node in jobs(&root, &mut import) {
        if matches!(node.kind, Kind::Map(_)) {
            job::carry(Fields::of(node, ""), settings, &mut names, &mut import);
        } else {
            import.remark(node.place, Weight::Lost, "is no job: it has no fields", "");
        }
    }
    Ok(import.in_order())
}

fn jobs<'a>(root: &'a Node, import: &mut Import) -> Vec<&'a Node> {
    match &root.kind {
        Kind::List(items) => items.iter().collect(),
        Kind::Map(entries) if entries.iter().any(|entry| entry.key == "jobs") => {
            let mut fields = Fields::of(root, "");
            let jobs = fields.list("jobs", import).iter().collect();
            fields.close("", import);
            jobs
        }
        _ => vec![root],
    }
}
