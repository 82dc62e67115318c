//! What nobody meant to be imported: one clear error, exit code 2, and nothing on standard output.

use campanile::cli::Exit;

use crate::cli_support::cli_reading;

fn refused(format: &str, text: &str, word: &str) {
    let ran = cli_reading(&["import", format, "-", "--url", "http://h/"], text);
    let start: String = text.chars().take(40).collect();
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""), "{format} {start:?}: {}", ran.err);
    assert!(ran.err.starts_with("error: -:") && ran.err.contains(word), "{format} {start:?}: {}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

#[test]
fn what_is_not_of_the_format_is_one_error() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(200_000), close.repeat(200_000));
    let bomb = (1..12).fold("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, n| {
        let before = format!("*a{}", n - 1);
        format!("{text}a{n}: &a{n} [{}]\n", [before.as_str(); 10].join(", "))
    });
    for text in ["a: [", "kind: CronJob\n\tx: y", "a: 1\na: 2", &deep("[", "]"), &deep("{a: ", "}"), &bomb] {
        refused("k8s", text, "is no YAML");
    }
    for text in ["{", "[1,]", "name: a", "[1] [2]", &deep("[", "]"), &deep("{\"a\":", "}"), "[1e999]"] {
        refused("dkron", text, "is no JSON");
    }
}

#[test]
fn a_file_with_nothing_in_it_is_said_to_be_empty() {
    for format in ["crontab", "k8s"] {
        for text in ["", "\n", "# only words\n"] {
            refused(format, text, "there is nothing to import");
        }
    }
    refused("k8s", "---\n---\n", "there is nothing to import");
    refused("dkron", "[]", "there is nothing to import");
    refused("dkron", "{\"jobs\": []}", "there is nothing to import");
    refused("dkron", "", "is no JSON");
}

#[test]
fn numbers_and_texts_of_any_size_are_taken_as_they_come() {
    let job = |piece: &str| {
        format!("kind: CronJob\nmetadata: {{name: a}}\nspec: {{schedule: '@daily', {piece}}}\n")
    };
    let huge = "9".repeat(400);
    for piece in [
        format!("startingDeadlineSeconds: {huge}"),
        format!("startingDeadlineSeconds: {}", u64::MAX),
        format!("jobTemplate: {{spec: {{backoffLimit: {}, activeDeadlineSeconds: {}}}}}", u64::MAX, u64::MAX),
        "startingDeadlineSeconds: .inf".to_owned(),
    ] {
        let ran = cli_reading(&["import", "k8s", "-", "--url", "http://h/"], &job(&piece));
        assert!(matches!(ran.exit, Exit::Done | Exit::Usage), "{piece}: {}", ran.err);
    }
    let large = format!("args: ['{}']", "x".repeat(100_000));
    let large = job(&format!("jobTemplate: {{spec: {{template: {{spec: {{containers: [{{{large}}}]}}}}}}}}"));
    let ran = cli_reading(&["import", "k8s", "-", "--strict", "--url", "http://h/"], &large);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Failed, ""));
    assert!(ran.err.contains("its payload would have"), "{}", ran.err);
}
