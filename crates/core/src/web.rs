//! A request to an address, as scripts make them and tools answer them.

/// An HTTP request of a script or a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebRequest {
    /// `GET`, `POST`…; `GET` where it is empty.
    pub method: String,
    /// An http or https address.
    pub url: String,
    /// Names and values, sent to that origin only.
    pub headers: Vec<(String, String)>,
    /// What is sent.
    pub body: Option<Vec<u8>>,
}

/// The response to a [`WebRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebAnswer {
    /// The status: answers of 400 and above are answers.
    pub status: u16,
    /// The address that answered, after redirects.
    pub url: String,
    /// Names in lower case, and values that are text.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}
