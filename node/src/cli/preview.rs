//! Instants to come, as `explain` and `schedule next` show them: `{text, next: [{nominal, local, note}], warnings}`.

use serde_json::Value;

use super::Io;
use super::args::Format;
use super::cell::{self, at};
use super::document;
use super::failure::Failure;
use super::list::{Column, Kind, List};
use super::session::tell_warnings;

static INSTANTS: Kind = Kind {
    plural: "instants to come",
    columns: &[
        Column { title: "NOMINAL", cell: |next| at(next, "/nominal") },
        Column { title: "LOCAL", cell: |next| at(next, "/local") },
        Column { title: "NOTE", cell: note },
    ],
    name: |next| at(next, "/nominal"),
};

/// Prints a preview; its warnings are talk.
pub(super) fn print(io: &mut Io<'_>, format: Format, preview: &Value) -> Result<(), Failure> {
    let next = preview.get("next").or_else(|| preview.get("items")).and_then(Value::as_array);
    let next = next.map(Vec::as_slice).unwrap_or_default();
    match format {
        Format::Json => writeln!(io.out, "{}", document::json(preview)?)?,
        Format::Yaml => write!(io.out, "{}", document::yaml(preview)?)?,
        Format::Table | Format::Jsonl | Format::Name => {
            if let (Format::Table, Some(text)) = (format, preview.get("text").and_then(Value::as_str)) {
                writeln!(io.out, "{}\n", cell::plain(text))?;
            }
            let mut list = List::new(&INSTANTS, format);
            list.page(io, next)?;
            list.end(io)?;
        }
    }
    tell_warnings(io, "", preview.get("warnings"));
    Ok(())
}

/// Said only where daylight saving does something.
fn note(next: &Value) -> String {
    match next.get("note").and_then(Value::as_str) {
        None | Some("normal") => String::new(),
        Some("moved_from_gap") => "moved: this wall time does not exist, clocks go forward".to_owned(),
        Some("first_pass") => "first pass: this wall time exists twice, clocks go back".to_owned(),
        Some("second_pass") => "second pass: this wall time exists twice, clocks go back".to_owned(),
        Some(other) => cell::plain(other),
    }
}
