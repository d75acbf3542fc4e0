//! Tests of the formatting. The expected texts are from Go 1.27.

use super::super::collection::{GoList, GoMap};
use super::*;

fn list() -> GoValue {
    let item = GoValue::Map(GoMap::core([("k", true.into())].into_iter().collect()));
    GoValue::List(GoList::new(vec![
        GoValue::Int(1),
        "x".into(),
        GoValue::Nil,
        item,
    ]))
}

fn formatted(format: &str, operands: &[GoValue]) -> String {
    let mut out = Vec::new();
    printf(&mut out, 1 << 20, format.as_bytes(), operands).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn verbs_and_flags_write_what_go_writes() {
    let int = |value| GoValue::Int(value);
    let float = |value| GoValue::Float(value);
    let str = |value: &str| GoValue::from(value);
    let cases = [
        (
            "%d|%5d|%-5d|%05d|%+d",
            vec![int(42); 5],
            "42|   42|42   |00042|+42",
        ),
        (
            "%x|%#X|%o|%#o|%O|%b|%#b",
            vec![int(42); 7],
            "2a|0X2A|52|052|0o52|101010|0b101010",
        ),
        (
            "%05d|%.3d|%8.3d|%.0d|",
            vec![int(-7), int(-7), int(-7), int(0)],
            "-0007|-007|    -007||",
        ),
        (
            "%c %q %U %#U",
            vec![int(0x4e16); 4],
            "世 '世' U+4E16 U+4E16 '世'",
        ),
        (
            "%q %+q",
            vec![int(-1), int(0x1f600)],
            "'\u{fffd}' '\\U0001f600'",
        ),
        (
            "%v %v %v %v",
            vec![float(999_999.0), float(1e6), float(0.0001), float(0.00001)],
            "999999 1e+06 0.0001 1e-05",
        ),
        (
            "%g %G %.3g %#.3g",
            vec![float(1e21), float(1e-7), float(1234.5), float(1.0)],
            "1e+21 1E-07 1.23e+03 1.00",
        ),
        (
            "%f %.0f %.1f %8.2f|%-8.2f|",
            vec![float(2.5); 5],
            "2.500000 2 2.5     2.50|2.50    |",
        ),
        (
            "%e %.0e %08.3f %+.1f % f",
            vec![float(-1.5); 5],
            "-1.500000e+00 -2e+00 -001.500 -1.5 -1.500000",
        ),
        (
            "%x %.2x %b %X",
            vec![float(1.1); 4],
            "0x1.199999999999ap+00 0x1.1ap+00 4953959590107546p-52 0X1.199999999999AP+00",
        ),
        ("%v", vec![float(0.1 + 0.2)], "0.30000000000000004"),
        (
            "%v",
            vec![float(1_142_120_172_963_280.0 + 0.25)],
            "1.1421201729632802e+15",
        ),
        (
            "%5v|%05f|%+v",
            vec![float(f64::INFINITY); 3],
            " +Inf| +Inf|+Inf",
        ),
        (
            "%v %.2f %5.1g",
            vec![GoValue::Complex(1.0, -2.0); 3],
            "(1-2i) (1.00-2.00i) (    1   -2i)",
        ),
        (
            "%s|%6s|%-6s|%.2s|%06s",
            vec![str("héé"); 5],
            "héé|   héé|héé   |hé|000héé",
        ),
        (
            "%x|% X|%#x|% #x",
            vec![str("hé"); 4],
            "68c3a9|68 C3 A9|0x68c3a9|0x68 0xc3 0xa9",
        ),
        (
            "%q %#q %+q",
            vec![str("a\"é\n"), str("a\"é"), str("a\"é")],
            "\"a\\\"é\\n\" `a\"é` \"a\\\"\\u00e9\"",
        ),
        ("%t %5t %v", vec![GoValue::Bool(true); 3], "true  true true"),
        ("%v %d %T", vec![GoValue::Nil; 3], "<nil> %!d(<nil>) <nil>"),
        ("%v", vec![list()], "[1 x <nil> map[k:true]]"),
        (
            "%#v",
            vec![list()],
            r#"[]interface {}{1, "x", interface {}(nil), map[string]interface {}{"k":true}}"#,
        ),
        (
            "%d",
            vec![list()],
            "[1 %!d(string=x) <nil> map[%!d(string=k):%!d(bool=true)]]",
        ),
        ("%3v", vec![list()], "[  1   x <nil> map[  k:true]]"),
        ("%T %p", vec![list(), int(1)], "[]interface {} %!p(int=1)"),
        ("%[2]d %[1]d|%[2]*[1]d", vec![int(1), int(2)], "2 1| 1"),
        (
            "%*d|%-*d|%.*f",
            vec![int(4), int(1), int(-4), int(1), int(1), float(0.25)],
            "   1|1   |0.2",
        ),
        ("%d %d", vec![int(1)], "1 %!d(MISSING)"),
        (
            "%d",
            vec![int(1), str("a"), GoValue::Nil],
            "1%!(EXTRA string=a, <nil>)",
        ),
        (
            "%[3]d %[x]d %",
            vec![int(1)],
            "%!d(BADINDEX) %!d(BADINDEX) %!(NOVERB)",
        ),
        (
            "%!|%z|%w|%%",
            vec![int(1), str("s"), int(2)],
            "%!!(int=1)|%!z(string=s)|%!w(int=2)|%",
        ),
        (
            "%*d %.*d",
            vec![str("a"), int(1), int(-1), int(2)],
            "%!(BADWIDTH)1 %!(BADPREC)2",
        ),
        ("%99999999d", vec![int(1)], "%!(NOVERB)%!(EXTRA int=1)"),
    ];
    for (format, operands, expected) in cases {
        assert_eq!(formatted(format, &operands), expected, "{format}");
    }
}

#[test]
fn spaces_stand_between_operands_that_are_no_strings() {
    let operands = [
        GoValue::Int(1),
        GoValue::Int(2),
        "a".into(),
        "b".into(),
        GoValue::Nil,
        GoValue::Bool(true),
    ];
    let mut out = Vec::new();
    print(&mut out, 100, &operands).unwrap();
    println(&mut out, 100, &operands).unwrap();
    assert_eq!(out, b"1 2ab<nil> true1 2 a b <nil> true\n");
}

#[test]
fn nothing_grows_past_the_limit() {
    let operands = [GoValue::Int(1), "text".into(), GoValue::Float(0.1), list()];
    let formats = [
        "%1000000[1]d",
        "%.1000000[3]f",
        "%999999[2]s",
        "%[2]q%[2]q%[2]x",
        "%[4]v%[4]v",
    ];
    for format in formats {
        let mut out = b"begin".to_vec();
        let result = printf(&mut out, 20, format.as_bytes(), &operands);
        assert_eq!(result, Err(BufferFullError), "{format}");
        assert!(out.len() <= 20 && out.capacity() < 1000, "{format}");
    }
}

#[test]
fn a_tools_answer_prints_as_its_one_value() {
    let answer: quillet_core::Map = [("title", "T".into())].into_iter().collect();
    let value = quillet_core::Value::Map(answer.with_display_key("title"));
    let mut out = Vec::new();
    append_value(&mut out, 100, &GoValue::from(&value)).unwrap();
    append_core(&mut out, 100, &value).unwrap();
    assert_eq!(out, b"TT");
}
