//! Where settings come from, lowest first: the file, the environment, the flags. What leaves is text with its origin, so
//! that every later complaint can say where to look.
//!
//! It judges spelling of keys and the shape of values (text, number, list); what they mean is the reader's business.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, de::Error};

use super::key;
use crate::cli::args::ServeArgs;

/// What flags say, by key.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// One node, on loopback, with its data in `./campanile-data`.
    pub dev: bool,
    given: Vec<(&'static str, &'static str, String)>,
}

impl Flags {
    /// Those of `campanile serve`.
    #[must_use]
    pub fn of(args: &ServeArgs) -> Self {
        let data_dir = args.data_dir.as_ref().map(|dir| dir.display().to_string());
        let flags = [
            ("data_dir", "--data-dir", data_dir),
            ("api.listen", "--listen", args.listen.clone()),
            ("peer.listen", "--peer-listen", args.peer_listen.clone()),
            ("log.level", "--log", args.log.clone()),
            ("log.format", "--log-format", args.log_format.clone()),
        ];
        let given = flags.into_iter().filter_map(|(key, flag, text)| Some((key, flag, text?))).collect();
        Self { dev: args.dev, given }
    }
}

/// Where a setting was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    File { name: String, line: usize },
    Variable(String),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, line } => write!(out, "{name}:{line}"),
            Self::Variable(name) => out.write_str(name),
            Self::Flag(flag) => out.write_str(flag),
        }
    }
}

/// The shape of a value before anybody asked what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Raw {
    Text(String),
    Number(String),
    List(Vec<String>),
}

#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) raw: Raw,
    pub(super) origin: Origin,
}

/// Every setting that was made, the highest source of each key.
#[derive(Debug, Default)]
pub(super) struct Settings(BTreeMap<&'static str, Setting>);

impl Settings {
    pub(super) fn gather(
        file: Option<&Path>,
        environment: Vec<(String, String)>,
        flags: &Flags,
        flaws: &mut Vec<String>,
    ) -> Self {
        let mut settings = Self::default();
        if let Some(path) = file {
            settings.add_file(path, flaws);
        }
        settings.add_environment(environment, flaws);
        for (key, flag, text) in &flags.given {
            settings.0.insert(key, Setting { raw: Raw::Text(text.clone()), origin: Origin::Flag(flag) });
        }
        settings
    }

    pub(super) fn get(&self, key: &str) -> Option<&Setting> {
        self.0.get(key)
    }

    /// Where a key was set, or its name when it was not.
    pub(super) fn place(&self, key: &str) -> String {
        self.get(key).map_or_else(|| key.to_owned(), |setting| format!("{}: {key}", setting.origin))
    }

    fn add_file(&mut self, path: &Path, flaws: &mut Vec<String>) {
        let name = path.display().to_string();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                return flaws.push(format!("{name}: cannot be read ({error}): give the path of a TOML file"));
            }
        };
        match DeTable::parse(&text) {
            Ok(table) => File { name: &name, text: &text }.add_top(table.get_ref(), self, flaws),
            Err(error) => flaws.push(File { name: &name, text: &text }.broken(&error)),
        }
    }

    fn add_environment(&mut self, environment: Vec<(String, String)>, flaws: &mut Vec<String>) {
        for (variable, text) in environment {
            let name = variable.trim_start_matches("CAMPANILE_").replace("__", ".").to_ascii_lowercase();
            match key::known(&name) {
                Some(key) => {
                    self.0.insert(key, Setting { raw: Raw::Text(text), origin: Origin::Variable(variable) });
                }
                None => flaws.push(format!("{variable}: sets no known key; {}", key::hint(&name))),
            }
        }
    }
}

/// The variables that mean the configuration: `CAMPANILE_SECTION__KEY`, and `CAMPANILE_DATA_DIR`. Others with our prefix
/// belong to the command line and to workers.
pub(super) fn environment(all: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    all.filter(|(name, _)| {
        name.starts_with("CAMPANILE_") && (name.contains("__") || name == &key::variable("data_dir"))
    })
    .collect()
}

/// A file that is being read, for its lines.
struct File<'a> {
    name: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn add_top(&self, table: &DeTable<'_>, settings: &mut Settings, flaws: &mut Vec<String>) {
        for (name, value) in table {
            let section = name.get_ref();
            match value.get_ref() {
                DeValue::Table(keys) if key::is_section(section) => {
                    for (name, value) in keys {
                        self.add(&format!("{section}.{}", name.get_ref()), name, value, settings, flaws);
                    }
                }
                DeValue::Table(_) => flaws.push(format!(
                    "{}: [{section}] is no section of the configuration; {}",
                    self.at(name),
                    key::section_hint(section)
                )),
                _ => self.add(section, name, value, settings, flaws),
            }
        }
    }

    fn add<T>(
        &self,
        path: &str,
        name: &Spanned<T>,
        value: &Spanned<DeValue<'_>>,
        settings: &mut Settings,
        flaws: &mut Vec<String>,
    ) {
        let origin = self.at(name);
        let Some(key) = key::known(path) else {
            return flaws
                .push(format!("{origin}: {path} is no key of the configuration; {}", key::hint(path)));
        };
        match raw(value.get_ref()) {
            Some(raw) => {
                settings.0.insert(key, Setting { raw, origin });
            }
            None => flaws.push(format!(
                "{origin}: {key} cannot be a {}; write a text in quotes, a whole number, or a list of texts",
                value.get_ref().type_str()
            )),
        }
    }

    fn at<T>(&self, spanned: &Spanned<T>) -> Origin {
        Origin::File { name: self.name.to_owned(), line: self.line(spanned.span().start) }
    }

    fn line(&self, offset: usize) -> usize {
        1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
    }

    /// A file that is no TOML, as one line.
    fn broken(&self, error: &Error) -> String {
        let line = error.span().map_or(1, |span| self.line(span.start));
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        format!("{}:{line}: is no TOML ({message}): correct this line", self.name)
    }
}

fn raw(value: &DeValue<'_>) -> Option<Raw> {
    match value {
        DeValue::String(text) => Some(Raw::Text(text.to_string())),
        DeValue::Integer(number) if number.radix() == 10 => Some(Raw::Number(number.as_str().to_owned())),
        DeValue::Array(items) => {
            let text = |item: &Spanned<DeValue<'_>>| item.get_ref().as_str().map(str::to_owned);
            items.iter().map(text).collect::<Option<Vec<_>>>().map(Raw::List)
        }
        _ => None,
    }
}
