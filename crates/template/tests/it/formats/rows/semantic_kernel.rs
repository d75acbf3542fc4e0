//! Row of Semantic Kernel's template language. Arguments are only values and variables, so calls
//! cannot depend on each other. The language has no blocks.

use super::super::{ROW, Row};

pub(super) const SEMANTIC_KERNEL: Row = Row {
    format: "semantic-kernel",
    hello: "Hi {{$x}}!",
    paths: false,
    print: "{{$x}}",
    ten: "{{echo '0'}}{{echo '1'}}{{echo '2'}}{{echo '3'}}{{echo '4'}}{{echo '5'}}{{echo '6'}}{{echo '7'}}{{echo '8'}}{{echo '9'}}",
    fails: "text\n\n  {{crash 'a'}}{{echo 'b'}}",
    fails_at: 5,
    mistake: Some(("text\n  {{$x $y}}", 8)),
    unknown: Some("{{ehco 'a'}}"),
    missing: "{{$nothing}}",
    ..ROW
};
