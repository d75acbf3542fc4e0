//! Jinja, as Hugging Face chat templates use it.
