//! Lists in pages, as OpenAI's clients go through them.

use quillet_core::ErrorCode;

use crate::error::{ApiError, problem};

/// How many where nobody says.
const USUAL: usize = 20;

/// Longest id that was ever given.
const LONGEST_ID: usize = 128;

/// Which part of a list.
#[derive(Debug)]
pub(super) struct PageParams<'a> {
    pub(super) after: Option<&'a str>,
    pub(super) limit: usize,
}

impl PageParams<'_> {
    /// That part, and whether more follow.
    pub(super) fn of<T>(&self, all: Vec<T>, id: impl Fn(&T) -> &String) -> (Vec<T>, bool) {
        let place = self
            .after
            .and_then(|after| all.iter().position(|one| id(one) == after));
        // An unknown `after`, such as a deleted file, starts from the beginning.
        let skipped = place.map_or(0, |place| place + 1);
        let has_more = all.len() > skipped + self.limit;
        let part = all.into_iter().skip(skipped).take(self.limit);
        (part.collect(), has_more)
    }
}

/// A limit that may be.
pub(super) fn limit(limit: Option<usize>, most: usize) -> Result<usize, ApiError> {
    let limit = limit.unwrap_or(USUAL);
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    let message = format!("limit: must be 1 to {most}");
    Err(problem(ErrorCode::InvalidValue, message).with_param("limit"))
}

/// Whether an id may be one of ours.
pub(super) fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(plain)
}
