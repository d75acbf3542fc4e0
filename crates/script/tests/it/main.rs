//! Everything that the script language promises, over real parts.

mod expression;
