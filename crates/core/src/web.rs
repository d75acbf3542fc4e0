//! HTTP requests of scripts, and their responses.

/// An HTTP request of a script or a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebRequest {
    /// HTTP method; `GET` if empty.
    pub method: String,
    /// URL with the scheme `http` or `https`.
    pub url: String,
    /// Names and values, sent to the origin of `url` only.
    pub headers: Vec<(String, String)>,
    /// Request body.
    pub body: Option<Vec<u8>>,
}

/// The response to a [`WebRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebAnswer {
    /// HTTP status, which can be an error status.
    pub status: u16,
    /// Final URL after redirects.
    pub url: String,
    /// Names in lower case; values that are not text are omitted.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}
