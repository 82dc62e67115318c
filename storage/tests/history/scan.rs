//! Reading the index.

use campanile_storage::history::{Order, Window};

use super::*;

#[test]
fn a_scan_answers_one_schedule_by_nominal_within_its_window() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(dir.path(), 101);
    let indexer = caught_up(dir.path(), &ledger);
    let history = indexer.history();
    let window = Window { after: Some(-3), before: Some(3) };
    let cases = [
        (Window::default(), 3, Order::Ascending, vec![-49, -48, -47]),
        (Window::default(), 3, Order::Descending, vec![50, 49, 48]),
        (window, 100, Order::Ascending, vec![-2, -1, 0, 1, 2]),
        (window, 100, Order::Descending, vec![2, 1, 0, -1, -2]),
        (window, 2, Order::Descending, vec![2, 1]),
        (Window { after: Some(50), before: None }, 100, Order::Ascending, vec![]),
        (Window { after: Some(9), before: Some(-9) }, 100, Order::Ascending, vec![]),
        (Window { after: Some(9), before: Some(9) }, 100, Order::Descending, vec![]),
    ];
    for (window, limit, order, wanted) in cases {
        assert_eq!(nominals(&history.scan(2, window, limit, order).unwrap()), wanted, "{window:?} {order:?}");
    }
    assert_eq!(history.scan(4, Window::default(), 10, Order::Ascending).unwrap(), vec![]);
}

#[test]
fn pages_go_on_behind_their_last_row_without_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(dir.path(), 101);
    let indexer = caught_up(dir.path(), &ledger);
    let history = indexer.history();
    for order in [Order::Ascending, Order::Descending] {
        let whole = history.scan(3, Window::default(), usize::MAX, order).unwrap();
        let mut paged = history.scan(3, Window::default(), 7, order).unwrap();
        while let Some(last) = paged.last() {
            let page = history.scan_from(last.key, Window::default(), 7, order).unwrap();
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, whole);
        assert_eq!(whole.len(), 100);
    }
}

#[test]
fn the_story_of_one_firing_is_its_rows_in_log_order() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(dir.path(), 101);
    let indexer = caught_up(dir.path(), &ledger);
    let story = indexer.history().scan_firing(3, 2, 1).unwrap();
    let indexes: Vec<u64> = story.iter().map(|entry| entry.key.position.index).collect();
    assert_eq!(indexes, (70..80).collect::<Vec<_>>());
    assert_eq!(indexer.history().scan_firing(3, 2, 0).unwrap(), vec![]);
}

#[test]
fn a_reader_can_wait_until_an_entry_is_indexed() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = ledger(dir.path(), 2);
    let indexer = caught_up(dir.path(), &ledger);
    for index in 2..200 {
        fill(&mut ledger, index..index + 1);
        assert!(indexer.wait_for(index, PATIENCE));
        assert_eq!(indexer.history().progress().unwrap().position, ledger.head().position.unwrap());
    }
    // An entry that is not there cannot be waited for: everything that is there is indexed.
    assert!(indexer.wait_for(1_000_000, PATIENCE));
}

#[test]
fn rows_that_retention_dropped_leave_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = ledger(dir.path(), 600);
    let indexer = caught_up(dir.path(), &ledger);
    ledger.drop_prefix(400);
    let first = ledger.reader().base().position.unwrap().index as i64;
    // The round that indexes the second of these began after the drop, with the forgetting.
    for index in [600, 601] {
        fill(&mut ledger, index..index + 1);
        assert!(indexer.wait_for(index, PATIENCE));
    }
    let found = indexer.history().scan(1, Window::default(), usize::MAX, Order::Ascending).unwrap();
    assert_eq!(nominals(&found), (first + 1..=601).map(|index| index - 50).collect::<Vec<_>>());
    assert!(first > 300);
}
