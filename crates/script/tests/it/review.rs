//! Cases that combine features, because errors often occur where features interact.

use std::path::Path;

use crate::cases::run_file;

#[test]
fn features_hold_together() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/scripts");
    let report = run_file(&folder.join("review.json"), |_| true).expect("cases");
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
}
