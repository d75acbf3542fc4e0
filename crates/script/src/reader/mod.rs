//! From text to syntax tree: front matter, the line rules, YAML, classification.
