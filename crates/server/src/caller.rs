//! The identity that authentication establishes for a request.

/// The authenticated caller: a token by its index, or anonymous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    /// The token at this index: those of `server.tokens` first, then the named ones.
    Token(usize),
    /// An anonymous caller: no tokens are configured, or the route needs none.
    Anyone,
}
