//! Generated values for those that a provider omits.

use uuid::Uuid;

/// Returns a new call id: `call_` and 24 hexadecimal digits.
pub(crate) fn call_id() -> String {
    let digits = Uuid::new_v4().simple().to_string();
    format!("call_{}", digits.get(..24).unwrap_or(&digits))
}

/// Returns a new answer id.
pub(crate) fn answer_id() -> String {
    format!("answer_{}", Uuid::new_v4().simple())
}

/// Returns the seconds since 1970.
pub(crate) fn now() -> u64 {
    quillet_core::clock::since_epoch().as_secs()
}
