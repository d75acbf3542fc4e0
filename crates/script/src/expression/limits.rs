//! Limits on expressions and their results.

/// Maximum nesting depth of an expression.
pub const MAX_NESTING: usize = 128;
/// Maximum length of a string that an expression creates, in bytes.
pub const MAX_BYTES: usize = 16 << 20;
/// Maximum number of entries in a list or object that an expression creates.
pub const MAX_ITEMS: usize = 1 << 20;
