//! Files that are no whole backup, and downloads that break off.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use campanile_cluster_tests::binary::{self, Answer, says};
use campanile_cluster_tests::seed::Seed;

use crate::small_backup;

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_a_cut_and_a_foreign_file_are_refused_with_a_sentence() {
    let seed = Seed::from_environment();
    let folder = tempfile::tempdir().unwrap();
    let file = small_backup(seed, folder.path()).await;
    let whole = fs::read(&file).unwrap();
    let good = verify(&file);
    assert_eq!(good.code, Some(0), "{good}");
    assert!(good.stdout.contains("Schedules") && good.stdout.contains("tested"), "{good}");
    assert_mode_is_private(&file);

    let place = seed.dice("the byte that is changed").below(whole.len() as u64) as usize;
    let mut changed = whole.clone();
    changed[place] ^= 0x10;
    for (what, bytes, says) in [
        ("cut", &whole[..whole.len() - 1], "cut off"),
        ("empty", &[][..], "cut off"),
        ("changed", &changed[..], ""),
        ("foreign", &b"not a backup, but long enough to be one"[..], "not an archive"),
    ] {
        let bad = folder.path().join(what);
        fs::write(&bad, bytes).unwrap();
        for answer in [verify(&bad), put(&bad, &folder.path().join("data"))] {
            assert_eq!(answer.code, Some(1), "{what}: {answer}");
            assert!(answer.stderr.contains("error:") && answer.stderr.contains(says), "{what}: {answer}");
            assert_eq!(answer.stdout, "", "{what}");
        }
        let left = fs::read_dir(folder.path().join("data")).unwrap().count();
        assert_eq!(left, 0, "{what}: a refused file leaves nothing in the directory");
    }
    let missing = verify(&folder.path().join("nowhere"));
    assert_eq!(missing.code, Some(2), "{missing}");
}

#[test]
fn a_download_that_breaks_off_is_told_and_not_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _read = connection.read(&mut request).unwrap();
        let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\nCMPARCH\n\r\n";
        connection.write_all(answer.as_bytes()).unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup");
    let answer = says(binary::campanile(["backup", file.to_str().unwrap(), "--endpoint", &url]));
    server.join().unwrap();
    assert_eq!(answer.code, Some(1), "{answer}");
    assert!(answer.stderr.contains("broke off after 8 bytes"), "{answer}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing of it is kept");
}

fn verify(file: &Path) -> Answer {
    says(binary::campanile(["restore", file.to_str().unwrap(), "--verify-only"]))
}

fn put(file: &Path, data: &Path) -> Answer {
    says(binary::campanile(["restore", file.to_str().unwrap(), "--data", data.to_str().unwrap()]))
}

fn assert_mode_is_private(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "secrets are in it, and others may read it: {mode:o}");
}
