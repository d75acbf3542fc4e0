//! The complete acceptance cases of third parties, which are not part of this repository.

use std::path::PathBuf;

use crate::cases::report::Report;
use crate::cases::run_file;

const FILES: [&str; 7] = [
    "cases_01_dialogue",
    "cases_02_templates_io",
    "cases_03_ai_chain",
    "cases_04_control",
    "cases_05_fn_import_format",
    "cases_06_events_chat_tools",
    "parse_spec_blocks",
];

/// Runs a file and returns its report, or `None` if the file does not exist.
fn report(name: &str) -> Option<Report> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/ppe");
    let path = folder.join(name).with_extension("json");
    if !path.exists() {
        println!("left out: {} is not here", path.display());
        return None;
    }
    Some(run_file(&path, |_| true).expect("the file holds cases"))
}

#[test]
fn what_text_and_reference_agree_on_holds_and_nearly_all_of_the_text() {
    let (mut right, mut all) = (0, 0);
    for name in FILES {
        let Some(report) = report(name) else {
            return;
        };
        // The test output shows this if an assertion below fails.
        report.print(false);
        assert_eq!(
            report.unexplained(),
            [""; 0],
            "neither passed nor explained"
        );
        assert_eq!(
            report.stale(),
            [""; 0],
            "listed as known differences, and pass"
        );
        let failed = |basis: &str| {
            let of = report
                .verdicts
                .iter()
                .filter(|verdict| verdict.basis == basis);
            let failed = of.filter(|verdict| !verdict.passed());
            failed.map(|verdict| verdict.id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            failed("both"),
            [""; 0],
            "{name}: agreed by text and reference"
        );
        let text = report
            .verdicts
            .iter()
            .filter(|verdict| verdict.basis == "spec");
        all += text.count();
        right += report
            .verdicts
            .iter()
            .filter(|v| v.basis == "spec" && v.passed())
            .count();
    }
    assert!(
        right * 100 >= all * 95,
        "{right} of {all} cases of the text"
    );
}
