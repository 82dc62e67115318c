//! Holds the tree to its own drawing: the arrows between rooms, the walls around third-party crates, and the ratchet on size.
//!
//! Everything is read as text (`Cargo.toml`s and `.rs` files), so a wrong arrow is found whether it compiles or not. The
//! checks are themselves checked on small trees with planted faults. It must not judge style that rustfmt or clippy judge.
//!
//! A finding is one line: the place, what is wrong, what to do. `TIDY_UPDATE=1` records the present sizes of long files.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "tidy/arrows.rs"]
mod arrows;
#[path = "tidy/docs.rs"]
mod docs;
#[path = "tidy/fences.rs"]
mod fences;
#[path = "tidy/marks.rs"]
mod marks;
#[path = "tidy/planted.rs"]
mod planted;
#[path = "tidy/sizes.rs"]
mod sizes;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/tree.rs"]
mod tree;
#[path = "tidy/worlds.rs"]
mod worlds;

use std::path::Path;

use tree::Tree;

fn this_tree() -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    Tree::read(root)
}

#[track_caller]
fn assert_clean(findings: &[String]) {
    assert!(findings.is_empty(), "{} finding(s):\n  {}", findings.len(), findings.join("\n  "));
}

#[test]
fn rooms_depend_only_on_what_lies_below_them() {
    assert_clean(&arrows::findings(&this_tree()));
}

#[test]
fn third_party_types_stop_at_the_room_that_wraps_them() {
    assert_clean(&fences::findings(&this_tree()));
}

#[test]
fn rooms_that_are_simulated_take_time_and_chance_from_one_place() {
    assert_clean(&worlds::findings(&this_tree()));
}

#[test]
fn no_file_outgrows_its_recorded_size() {
    if std::env::var_os("TIDY_UPDATE").is_some() {
        sizes::record(&this_tree());
    }
    let judged = sizes::judge(&this_tree());
    for note in &judged.notes {
        println!("{note}");
    }
    assert_clean(&judged.findings);
}

#[test]
fn every_file_says_what_it_is_for() {
    assert_clean(&marks::headers(&this_tree()));
}

#[test]
fn nothing_unfinished_is_left_behind() {
    assert_clean(&marks::unfinished(&this_tree()));
}

#[test]
fn the_documents_lead_to_files_and_tests_that_exist() {
    assert_clean(&docs::findings(&this_tree()));
}

#[test]
fn no_module_is_a_drawer_for_anything() {
    assert_clean(&marks::drawers(&this_tree()));
}

#[test]
fn no_path_of_one_machine_is_written_down() {
    assert_clean(&marks::machine_paths(&this_tree()));
}
