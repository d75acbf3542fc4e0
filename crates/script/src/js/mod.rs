//! JavaScript in QuickJS, within limits, and functions in other languages.
