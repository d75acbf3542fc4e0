//! `quillet fmt`: the canonical layout of a script.
