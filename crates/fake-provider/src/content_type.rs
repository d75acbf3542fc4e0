//! Content types of responses.

pub(crate) fn json_type() -> (String, String) {
    ("content-type".to_owned(), "application/json".to_owned())
}
