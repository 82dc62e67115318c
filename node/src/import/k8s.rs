//! Kubernetes manifests: each `CronJob` becomes a schedule, everything else a remark.
//!
//! ```text
//! YAML stream ──▶ objects, lists taken apart ──▶ job: when, overlap, catch-up, retry ──▶ draft
//!                                                 └─ pod: containers ──▶ payload
//! ```
//!
//! A container does not run here: it travels in the payload to a webhook that runs it. Values of environment variables stay
//! behind, since every reader of a schedule sees its payload.

mod job;

mod pod;

use super::names::Names;
use super::tree::{Fields, Kind, Node};
use super::{Import, Settings, Unreadable, Weight};

/// The versions whose fields are known.
const VERSIONS: [&str; 3] = ["batch/v1", "batch/v1beta1", "batch/v2alpha1"];

/// Reads a stream of manifests.
///
/// # Errors
/// When the text is not YAML at all; what is wrong inside one object is a remark.
pub fn read(text: &[u8], settings: &Settings) -> Result<Import, Unreadable> {
    let text = std::str::from_utf8(text).map_err(|_| Unreadable::not_text())?;
    let mut reader = Reader { settings, names: Names::default(), import: Import::default() };
    for document in Node::all_from_yaml(text)? {
        reader.object(&document, None);
    }
    Ok(reader.import.in_order())
}

struct Reader<'a> {
    settings: &'a Settings,
    names: Names,
    import: Import,
}

impl Reader<'_> {
    /// One object, or a list of them; `kind` is what it is when it does not say.
    fn object(&mut self, node: &Node, kind: Option<&str>) {
        if !matches!(node.kind, Kind::Map(_)) {
            self.import.remark(node.place, Weight::Lost, "is no Kubernetes object: it has no fields", "");
            return;
        }
        let mut fields = Fields::of(node, "");
        let version = fields.text("apiVersion", &mut self.import).map(|(version, _)| version);
        let kind = fields.text("kind", &mut self.import).map(|(kind, _)| kind).or(kind);
        match kind {
            Some("CronJob") if version.is_none_or(|version| VERSIONS.contains(&version)) => {
                job::carry(fields, self.settings, &mut self.names, &mut self.import);
            }
            Some("CronJob") => {
                let detail = format!("a CronJob of {} is not known", version.unwrap_or_default());
                self.import.remark(
                    node.place,
                    Weight::Lost,
                    detail,
                    format!("known are {}", VERSIONS.join(", ")),
                );
            }
            Some("List") => self.items(&mut fields, None),
            Some("CronJobList") => self.items(&mut fields, Some("CronJob")),
            Some(kind) => {
                let name = fields.inner("metadata", &mut self.import).text("name", &mut self.import);
                let name = name.map(|(name, _)| format!(" {name:?}")).unwrap_or_default();
                let detail = format!("the {kind}{name} is no CronJob, so it is left where it is");
                self.import.remark(node.place, Weight::Dropped, detail, "");
            }
            None => {
                self.import.remark(node.place, Weight::Lost, "is no Kubernetes object: it has no kind", "")
            }
        }
    }

    fn items(&mut self, fields: &mut Fields<'_>, kind: Option<&str>) {
        for item in fields.list("items", &mut self.import) {
            // A list in a list is allowed, and their depth is bounded by that of the tree.
            self.object(item, kind);
        }
    }
}
