//! What a model answered, read as the script asked for it: JSON, YAML, NObj, choices, thinking.
