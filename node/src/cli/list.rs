//! Many values of one kind, page by page, in each format: nothing is collected that need not be.

use std::io;

use comfy_table::Table;
use comfy_table::presets::NOTHING as NO_LINES;
use serde_json::Value;

use super::args::Format;
use super::cell::shortened;
use super::{Io, document};

/// The widest cell on a terminal, in characters; a pipe gets everything.
const WIDEST: usize = 64;

/// One column of a table.
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) cell: fn(&Value) -> String,
}

/// How values of one kind are shown.
pub(super) struct Kind {
    /// For "no … found".
    pub(super) plural: &'static str,
    pub(super) columns: &'static [Column],
    /// For `-o name`.
    pub(super) name: fn(&Value) -> String,
}

/// A list that is being printed.
pub(super) struct List {
    kind: &'static Kind,
    format: Format,
    printed: usize,
}

impl List {
    pub(super) fn new(kind: &'static Kind, format: Format) -> Self {
        Self { kind, format, printed: 0 }
    }

    /// Prints a page.
    pub(super) fn page(&mut self, io: &mut Io<'_>, items: &[Value]) -> io::Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        match self.format {
            Format::Table => self.table(io, items)?,
            Format::Json => self.json(io, items)?,
            Format::Jsonl => items.iter().try_for_each(|item| writeln!(io.out, "{item}"))?,
            Format::Yaml => items.iter().enumerate().try_for_each(|(place, item)| {
                // Documents of one stream, so that `schedule put` reads what `schedule ls` printed.
                let rule = if self.printed + place > 0 { "---\n" } else { "" };
                write!(io.out, "{rule}{}", document::yaml(item)?)
            })?,
            Format::Name => {
                items.iter().try_for_each(|item| writeln!(io.out, "{}", (self.kind.name)(item)))?
            }
        }
        self.printed += items.len();
        io.out.flush()
    }

    /// Ends the list; says so when it was empty.
    pub(super) fn end(self, io: &mut Io<'_>) -> io::Result<()> {
        match (self.format, self.printed) {
            (Format::Json, 0) => writeln!(io.out, "[]"),
            (Format::Json, _) => writeln!(io.out, "\n]"),
            (Format::Table, 0) => {
                io.say(&format!("no {} found", self.kind.plural));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn table(&self, io: &mut Io<'_>, items: &[Value]) -> io::Result<()> {
        let longest = if io.terminal { WIDEST } else { usize::MAX };
        let mut table = plain_table();
        if self.printed == 0 {
            table.set_header(self.kind.columns.iter().map(|column| column.title));
        }
        for item in items {
            table.add_row(self.kind.columns.iter().map(|column| shortened((column.cell)(item), longest)));
        }
        write_table(io, &table)
    }

    fn json(&self, io: &mut Io<'_>, items: &[Value]) -> io::Result<()> {
        for (place, item) in items.iter().enumerate() {
            let before = if self.printed + place == 0 { "[\n" } else { ",\n" };
            let text = document::json(item)?.replace('\n', "\n  ");
            write!(io.out, "{before}  {text}")?;
        }
        Ok(())
    }
}

/// Pairs of a title and a text, under each other.
pub(super) fn pairs(
    io: &mut Io<'_>,
    pairs: impl IntoIterator<Item = (&'static str, String)>,
) -> io::Result<()> {
    let mut table = plain_table();
    for (title, text) in pairs {
        table.add_row([title.to_owned(), text]);
    }
    write_table(io, &table)
}

/// Columns parted by blanks, without lines or wrapping: the same for people, `awk` and `grep`.
fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(NO_LINES);
    table
}

fn write_table(io: &mut Io<'_>, table: &Table) -> io::Result<()> {
    for line in table.lines() {
        // The first column starts at the margin, and no line ends in blanks.
        writeln!(io.out, "{}", line.strip_prefix(' ').unwrap_or(&line).trim_end())?;
    }
    Ok(())
}
