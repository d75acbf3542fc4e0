//! Wait time that a provider requests in the headers of its response.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Reads `retry-after-ms`, or `retry-after` in seconds or as a date (RFC 9110, 10.2.3).
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let milliseconds = text("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok());
    if let Some(wait) = milliseconds.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()) {
        return Some(wait);
    }
    let given = text(RETRY_AFTER.as_str())?.trim();
    if let Ok(seconds) = given.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = httpdate::parse_http_date(given).ok()?;
    // A date in the past means no wait.
    Some(at.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let now = httpdate::parse_http_date("Wed, 21 Oct 2015 07:28:00 GMT").unwrap();
        let cases = [
            ("retry-after", "2", Some(2000)),
            ("retry-after", " 0.5 ", Some(500)),
            ("retry-after", "Wed, 21 Oct 2015 07:28:09 GMT", Some(9000)),
            ("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("retry-after", "1e300", None),
            ("retry-after-ms", "250", Some(250)),
            ("x-other", "2", None),
        ];
        for (name, value, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            let wait = retry_after(&headers, now).map(|wait| wait.as_millis());
            assert_eq!(wait, expected, "{name}: {value}");
        }
    }
}
