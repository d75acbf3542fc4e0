//! The identity that authentication establishes for a request.

/// The authenticated caller: a token by its index, or anonymous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    /// A token by its index. The tokens of `server.tokens` precede the named ones.
    Token(usize),
    /// An anonymous caller, if no tokens are configured or the route does not require one.
    Anyone,
}
