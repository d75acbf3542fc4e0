//! The patterns of `$match` and the ranges of `$for`.
