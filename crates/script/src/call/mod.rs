//! One call of a model: settings, constraints, continuation, repair.
