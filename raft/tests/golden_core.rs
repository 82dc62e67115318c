//! What the log, the ledger and the images hold of core, byte by byte: a command of every kind, a fact of every kind, and the
//! image of a machine. A change here is a new level (`campanile_core::format`), and then the
//! file is written anew with `GOLDEN_UPDATE=1`; bytes that change under an old number part a mixed cluster silently.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod golden_core {
    pub(crate) mod commands;
    pub(crate) mod facts;
    pub(crate) mod machine;
    mod values;
}

use std::fmt::Write as _;
use std::path::Path;

use campanile_core::command::Command;
use campanile_core::event::Row;
use campanile_core::format::FormatLevel;
use campanile_raft::level;
use campanile_raft::types::Proposal;
use campanile_storage::codec::Kind;

/// The level of the file.
const LEVEL: FormatLevel = FormatLevel(4);

use golden_core::{commands, facts, machine};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The first word of a value: the name of its variant.
fn name(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").split([' ', '(', '{']).next().unwrap().to_owned()
}

#[test]
fn every_command_fact_and_image_keeps_its_bytes() {
    let mut text = String::new();
    for command in commands::commands() {
        let bytes = Proposal::of(LEVEL, &command).unwrap();
        assert_eq!(bytes.command().unwrap(), command, "read back");
        writeln!(text, "command {LEVEL} {} {}", name(&command.body), hex(bytes.bytes())).unwrap();
    }
    for row in facts::rows() {
        let bytes = level::write(Kind::Event, LEVEL, &row).unwrap();
        let back: Row = level::read(Kind::Event, &bytes).unwrap();
        assert_eq!(back, row, "read back");
        writeln!(text, "event {LEVEL} {} {}", name(&row.event), hex(&bytes)).unwrap();
    }
    let machine = machine::machine();
    let bytes = campanile_raft::image::machine_bytes(&machine).unwrap();
    assert!(campanile_raft::image::machine(&bytes).unwrap() == machine, "read back");
    writeln!(text, "image {LEVEL} Machine {}", hex(&bytes)).unwrap();
    assert_same(&text);
}

fn assert_same(text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden_core.txt");
    if std::env::var_os("GOLDEN_UPDATE").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let golden = std::fs::read_to_string(&file).unwrap();
    for (line, expected) in text.lines().zip(golden.lines()) {
        let what = line.rsplit_once(' ').map_or(line, |(what, _)| what);
        assert!(line == expected, "{what} is written otherwise than {}", file.display());
    }
    assert_eq!(text.lines().count(), golden.lines().count(), "a value more or less");
}

#[test]
fn the_bytes_of_the_file_are_read_as_the_same_values() {
    let golden = include_str!("data/golden_core.txt");
    let mut commands = commands::commands().into_iter();
    let mut rows = facts::rows().into_iter();
    for line in golden.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let bytes = unhex(words[3]);
        match words[0] {
            "command" => {
                let read: Command = Proposal::from_bytes(bytes.into()).command().unwrap();
                assert_eq!(Some(read), commands.next());
            }
            "event" => {
                let read: Row = level::read(Kind::Event, &bytes).unwrap();
                assert_eq!(Some(read), rows.next());
            }
            _ => assert!(campanile_raft::image::machine(&bytes).unwrap() == machine::machine()),
        }
    }
}

#[test]
fn a_command_of_another_schema_is_refused_and_never_guessed() {
    let mut bytes = Proposal::of(LEVEL, &commands::commands()[0]).unwrap().bytes().to_vec();
    for schema in [1_u16, FormatLevel::NEWEST.0 + 1] {
        bytes[1..3].copy_from_slice(&schema.to_le_bytes());
        let refused = Proposal::from_bytes(bytes.clone().into()).command().unwrap_err();
        assert_eq!(refused.to_string(), format!("schema {schema} of a command is unknown to this version"));
    }
}
