//! Permission patterns for tools.

use quillet_agent::{BadPermissions, Permissions};

#[test]
fn what_is_denied_goes_before_what_is_allowed() {
    let cases: &[(&[&str], &str, bool)] = &[
        (&["weather"], "weather", true),
        (&["weather"], "weather2", false),
        (&["w*"], "weather", true),
        (&["w*"], "wiki", true),
        (&["w*"], "now", false),
        (&["w*", "now"], "now", true),
        (&["*", "!search"], "search", false),
        (&["!search", "*"], "search", false),
        (&["search", "!s*"], "search", false),
        (&["*", "!search"], "searches", true),
        (&["*_read"], "file_read", true),
        (&["*_read"], "file_reader", false),
        (&["a*b*c"], "abc", true),
        (&["a*b*c"], "aXbYc", true),
        (&["a*b*c"], "acb", false),
        (&["a*a"], "a", false),
        (&["a*a"], "aa", true),
        (&["**"], "", true),
        (&["ü*"], "über", true),
        (&["W*"], "weather", false),
        (&[" w* "], "weather", true),
        (&[], "weather", false),
    ];
    for (patterns, name, allowed) in cases {
        let permissions = Permissions::parse(patterns).expect("patterns");
        assert_eq!(permissions.allows(name), *allowed, "{patterns:?} {name}");
    }
    assert!(Permissions::all().allows("anything"));
    assert!(!Permissions::default().allows("anything"));
}

#[test]
fn lists_that_cannot_be_meant_are_refused() {
    let long = "x".repeat(257);
    let cases: &[(&[&str], BadPermissions)] = &[
        (&["a", ""], BadPermissions::Empty { index: 1 }),
        (&["!"], BadPermissions::Empty { index: 0 }),
        (&["!search"], BadPermissions::OnlyDenied),
        (
            &["*", "!!search"],
            BadPermissions::NoName {
                index: 1,
                pattern: "!search".to_owned(),
            },
        ),
        (
            &["*", "!a b"],
            BadPermissions::NoName {
                index: 1,
                pattern: "a b".to_owned(),
            },
        ),
        (
            &[&long],
            BadPermissions::TooLong {
                index: 0,
                bytes: 257,
            },
        ),
    ];
    for (patterns, error) in cases {
        assert_eq!(
            Permissions::parse(patterns).as_ref(),
            Err(error),
            "{patterns:?}"
        );
    }
    let many = vec!["a"; 1_001];
    assert_eq!(
        Permissions::parse(&many),
        Err(BadPermissions::TooMany(1_001))
    );
}
