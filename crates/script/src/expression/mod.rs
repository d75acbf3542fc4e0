//! JavaScript expressions that need no JavaScript engine, and key paths.
