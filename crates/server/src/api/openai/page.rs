//! Pages of lists for OpenAI's clients.

use quillet_core::ErrorCode;

use crate::error::{ApiError, problem};

/// The default number of items per page.
const USUAL: usize = 20;

/// The maximum length of an id.
const LONGEST_ID: usize = 128;

/// The position and size of a page.
#[derive(Debug)]
pub(super) struct PageParams<'a> {
    pub(super) after: Option<&'a str>,
    pub(super) limit: usize,
}

impl PageParams<'_> {
    /// Returns the items of the page, and whether more follow.
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

/// Validates a page limit.
pub(super) fn limit(limit: Option<usize>, most: usize) -> Result<usize, ApiError> {
    let limit = limit.unwrap_or(USUAL);
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    let message = format!("limit: must be 1 to {most}");
    Err(problem(ErrorCode::InvalidValue, message).with_param("limit"))
}

/// Returns whether an id has the format of ids of this server.
pub(super) fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(plain)
}
