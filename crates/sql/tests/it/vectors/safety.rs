//! Checks the verdicts of the guard.

use quillet_sql::SqlDialect;
use quillet_sql::guard::{self, GuardMode, Policy};
use serde_json::Value;

use super::text;

/// Returns the difference from the expected verdict, and from the expected code if the case has
/// one.
pub(super) fn difference(_: &Value, case: &Value) -> Option<String> {
    let Some(dialect) = SqlDialect::from_name(text(case, "dialect")) else {
        return Some("unknown dialect".to_owned());
    };
    let mode = match text(case, "mode") {
        "explore" => GuardMode::Explore,
        _ => GuardMode::Select,
    };
    let policy = Policy {
        mode,
        ..Policy::default()
    };
    let sql = text(case, "sql");
    let verdict = guard::check(sql, dialect, None, &policy);
    let expected_code = case["code"].as_str();
    match (text(case, "verdict"), verdict) {
        ("allow", Ok(_)) => None,
        ("deny", Err(error)) if expected_code.is_none_or(|code| error.code == code) => None,
        // Another layer stops this query, but the guard may also reject it.
        (_, Err(_))
            if case
                .get("runtime_guard")
                .is_some_and(|guard| !guard.is_null()) =>
        {
            None
        }
        (expected, Ok(approved)) => Some(format!("expected {expected}, allowed: {}", approved.sql)),
        (expected, Err(error)) => Some(format!(
            "expected {expected} {}, refused by {}: {error}: {sql}",
            expected_code.unwrap_or_default(),
            error.code
        )),
    }
}
