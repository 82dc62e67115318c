//! Every call goes where a definition of its schedule says: a redirect is never followed, and nothing is sent elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Fault, Finding};
use crate::ledger::{Fact, Row};
use crate::receiver::Call;

pub(super) fn check(rows: &[Row], calls: &[Call], findings: &mut Vec<Finding>) {
    let mut paths: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        if let Fact::Defined { schedule, definition, .. } = &row.fact {
            gather(definition, paths.entry(schedule).or_default());
        }
    }
    for call in calls {
        // What has no URL stands in a queue, and its workers are told by no definition where to go.
        if let Some(paths) = paths.get(&*call.schedule)
            && !paths.is_empty()
            && !paths.contains(&*call.path)
        {
            let Call { schedule, firing, attempt, path, .. } = call;
            let detail = format!("{schedule}: attempt {attempt} of {firing} went to {path}");
            findings.push(Finding { fault: Fault::Astray, detail });
        }
    }
}

/// The paths of all URLs in a definition: of its target, and of what follows its end.
fn gather<'a>(json: &'a Value, paths: &mut BTreeSet<&'a str>) {
    match json {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str().filter(|_| name == "url") {
                    Some(url) => drop(paths.insert(path_of(url))),
                    None => gather(value, paths),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, paths)),
        _ => {}
    }
}

fn path_of(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    let path = behind.find('/').map_or("/", |slash| &behind[slash..]);
    path.split(['?', '#']).next().unwrap_or(path)
}
