//! What an editor asks of a script: diagnostics, hover, completion, definitions.
