//! What stands inside of a message: prefixes, holes, templates, biases.
