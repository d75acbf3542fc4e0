//! Row of the example of a third-party format.

use super::super::{ROW, Row};

pub(super) const BRACKETS: Row = Row {
    format: "brackets",
    hello: "Hi [x], [m.k]!",
    print: "[x]",
    ten: "[echo n0][echo n1][echo n2][echo n3][echo n4][echo n5][echo n6][echo n7][echo n8][echo n9]",
    chain: Some("[plus plus plus x]"),
    fails: "text\n\n  [crash x][echo x]",
    fails_at: 3,
    mistake: Some(("text\n  [x", 3)),
    unknown: Some("[ehco x]"),
    missing: "[nothing]",
    elements: false,
    ..ROW
};
