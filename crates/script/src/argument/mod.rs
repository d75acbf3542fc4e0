//! The text between the parentheses of a call: `a, k=v, |x|y:2`.
