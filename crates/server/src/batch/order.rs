//! Creation and validation of batches.

use quillet_core::batch::{BatchOptions, BatchOrder};
use quillet_core::clock;
use uuid::Uuid;

/// The endpoints supported in batches.
pub(crate) const ENDPOINTS: [&str; 2] = ["/v1/chat/completions", "/v1/responses"];

/// The maximum duration of a batch in seconds.
const LONGEST: u64 = 30 * DAY;
const DAY: u64 = 86_400;

/// Returns the unique part of an id.
pub(crate) fn new_tag() -> String {
    // UUIDs of version 7 sort by creation time.
    Uuid::now_v7().simple().to_string()
}

/// Returns the time in seconds since 1970.
pub(crate) fn seconds() -> u64 {
    clock::millis() / 1000
}

/// Creates a batch.
pub(crate) fn order(
    owner: &str,
    input: &str,
    endpoint: &str,
    window: &str,
    time: u64,
    provider: bool,
    options: &BatchOptions,
) -> BatchOrder {
    let created = seconds();
    BatchOrder {
        id: format!("batch_{}", new_tag()),
        owner: owner.to_owned(),
        input: input.to_owned(),
        endpoint: endpoint.to_owned(),
        window: window.to_owned(),
        created,
        expires: created + time,
        keep: options.keep.as_secs(),
        provider,
        metadata: None,
    }
}

/// Parses a duration such as `24h`, `90m` or `7d` into seconds.
pub(crate) fn window(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = number.checked_mul(match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => DAY,
        _ => return None,
    })?;
    (1..=LONGEST).contains(&seconds).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_a_number_and_a_unit() {
        for (text, seconds) in [
            ("24h", Some(86_400)),
            ("90m", Some(5400)),
            ("7d", Some(604_800)),
            ("1s", Some(1)),
            ("0h", None),
            ("31d", None),
            ("24", None),
            ("h", None),
            ("", None),
            ("24小", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(window(text), seconds, "{text:?}");
        }
    }
}
