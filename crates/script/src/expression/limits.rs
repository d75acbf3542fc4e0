//! Limits on expressions and on what they make.

/// Maximum nesting of an expression.
pub const MAX_NESTING: usize = 128;
/// Maximum length in bytes of a text that an expression makes.
pub const MAX_BYTES: usize = 16 << 20;
/// Maximum number of entries of a list or object that an expression makes.
pub const MAX_ITEMS: usize = 1 << 20;
