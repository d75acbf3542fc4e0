//! `quillet check` of prompts with labels.

use super::Work;
use crate::Place;

fn prompt(text: &str) -> String {
    serde_json::json!({ "userPrompt": text }).to_string()
}

#[test]
fn the_version_of_a_label_is_checked_in_place_of_that_of_readers() {
    let place = Place::new();
    for store in ["sqlite:s.db", "dir:s"] {
        std::fs::create_dir_all(place.path().join("s/prompts")).unwrap();
        let work = Work {
            place: &place,
            store,
        };
        work.by_hand("a", &prompt("Whole {{template \"b\" .}}"));
        work.by_hand("b", &prompt("Whole"));
        assert_eq!(work.run(&["check", "-s", store]).code, Some(0));
        work.out(&["log", "b"]);
        work.by_hand("b", &prompt("{{if}}"));
        work.out(&["label", "b", "staging"]);
        work.out(&["label", "b@1", "production"]);
        let check = |more: &[&str]| work.run(&[&["check", "-s", store], more].concat());

        let usual = check(&[]);
        assert_eq!(usual.code, Some(0), "{usual:?}");
        assert!(
            usual.err.contains("checked the served version"),
            "{usual:?}"
        );
        for (label, said) in [
            ("latest", "checked the newest version"),
            ("staging", "the version labelled staging"),
        ] {
            let done = check(&["--label", label]);
            assert_eq!(done.code, Some(3), "{label}: {done:?}");
            assert!(done.out.contains("missing value for if"), "{done:?}");
            assert!(done.err.contains(said), "{done:?}");
        }
        let done = check(&["--label", "production"]);
        assert_eq!(done.code, Some(0), "{done:?}");
        check(&["--label", "stagin"]).fails(
            2,
            &["unknown label \"stagin\": no prompt has it; known labels: production, staging, latest; did you mean \"staging\"?"],
        );
    }
}
