//! Allowlists of functions, types and relations, which the facts are compared with.

use super::facts::{FunctionFacts, RelationFacts, TypeFacts};
use super::references::{FunctionUse, TypeUse};
use crate::guard;

/// Author of the text that contains a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// The user of this query.
    Asker,
    /// The database owner, who wrote the view. Users of the query cannot change it.
    Owner,
}

/// Functions that SQL syntax calls under its own names: `COLLATION FOR`, `IS NORMALIZED`, window
/// frames.
const SYNTAX: [&str; 4] = ["in_range", "is_normalized", "pg_collation_for", "xmlexists"];

/// Allowed functions that are volatile but do nothing besides returning a value.
const CHANGING: [&str; 10] = [
    "array_sample",
    "array_shuffle",
    "clock_timestamp",
    "gen_random_uuid",
    "random",
    "random_normal",
    "timeofday",
    "uuid_generate_v4",
    "uuidv4",
    "uuidv7",
];

/// Extensions whose operators, casts and listed functions only compute.
const EXTENSIONS: [&str; 19] = [
    "btree_gin",
    "btree_gist",
    "citext",
    "cube",
    "earthdistance",
    "fuzzystrmatch",
    "hstore",
    "intarray",
    "isn",
    "ltree",
    "pg_trgm",
    "pgcrypto",
    "postgis",
    "seg",
    "tsm_system_rows",
    "tsm_system_time",
    "unaccent",
    "uuid-ossp",
    "vector",
];

/// System types that contain plain values. The others look up names in the catalogue, or are row
/// types of it.
const TYPES: &str = "
bool bytea char name int8 int2 int2vector int4 text oid tid xid cid oidvector json xml xid8 point lseg
path box polygon line float4 float8 unknown circle money macaddr inet cidr macaddr8 bpchar varchar date
time timestamp timestamptz interval timetz bit varbit numeric uuid pg_lsn tsvector tsquery regconfig
regdictionary jsonb jsonpath txid_snapshot pg_snapshot int4range numrange tsrange tstzrange daterange
int8range int4multirange nummultirange tsmultirange tstzmultirange datemultirange int8multirange record
";

/// Oids of the most common of these types and of their arrays (src/include/catalog/pg_type.dat),
/// which do not need a catalogue query.
pub(super) const PLAIN: [u32; 42] = [
    16, 17, 18, 19, 20, 21, 23, 25, 26, 27, 114, 142, 199, 700, 701, 790, 1000, 1001, 1003, 1005,
    1007, 1009, 1014, 1015, 1016, 1021, 1022, 1042, 1043, 1082, 1083, 1114, 1115, 1182, 1184, 1185,
    1186, 1231, 1700, 2249, 2950, 3802,
];

/// Relations that contain passwords or statistics with column values.
const SECRET: [&str; 9] = [
    "pg_authid",
    "pg_largeobject",
    "pg_shadow",
    "pg_statistic",
    "pg_statistic_ext_data",
    "pg_stats",
    "pg_user_mapping",
    "pg_user_mappings",
    "pg_file_settings",
];

/// Checks whether a function may be called; the error is the reason.
pub(super) fn function(
    function: &FunctionFacts,
    how: FunctionUse,
    author: Author,
    listed: &[String],
) -> Result<(), String> {
    let qualified = format!("{}.{}", function.schema, function.name);
    if listed
        .iter()
        .any(|l| *l == function.name || *l == qualified)
    {
        return Ok(());
    }
    // SECURITY DEFINER is checked even for built-in functions, because it bypasses the privileges
    // of the role.
    if function.definer {
        return Err(format!(
            "{} runs with the privileges of its owner (SECURITY DEFINER)",
            function.signature
        ));
    }
    let named =
        guard::is_function_listed(&function.name) || SYNTAX.contains(&function.name.as_str());
    let steady = !function.volatile || CHANGING.contains(&function.name.as_str());
    let by_rule = match how {
        FunctionUse::Call => named && steady && !function.odd,
        FunctionUse::Cast => function.is_cast && !function.volatile,
        FunctionUse::Support | FunctionUse::Sample => !function.volatile,
    };
    let system = function.built_in && function.schema == "pg_catalog";
    let extension = function.extension.as_deref();
    let known = extension.is_some_and(|name| EXTENSIONS.contains(&name));
    let may = match author {
        Author::Asker => (system || known) && (by_rule || (how == FunctionUse::Sample)),
        Author::Owner => by_rule && system || !function.volatile || (system && named && steady),
    };
    match (may, system, extension) {
        (true, ..) => Ok(()),
        (_, true, _) if function.volatile => Err(format!(
            "{} does more than compute (VOLATILE) and is not on the list of allowed functions",
            function.signature
        )),
        (_, true, _) => Err(format!(
            "{} is not on the list of allowed functions",
            function.signature
        )),
        (_, _, Some(extension)) => Err(format!(
            "{} belongs to the extension {extension} and is not an allowed function",
            function.signature
        )),
        _ => Err(format!("{} is a user-defined function", function.signature)),
    }
}

/// Checks whether a value of a type may be created or read; the error is the reason.
pub(super) fn kind(kind: &TypeFacts, of: TypeUse, author: Author) -> Result<(), String> {
    let own = matches!(
        kind.schema.as_str(),
        "pg_catalog" | "pg_toast" | "information_schema"
    );
    if !kind.built_in || !own || author == Author::Owner {
        return Ok(());
    }
    if kind.composite && (of == TypeUse::Made || kind.schema != "information_schema") {
        return Err(format!(
            "the type {} is a row of the system catalogue",
            kind.name
        ));
    }
    // An array is checked by its element type, which is also in the list of types.
    let is_array = kind.name.starts_with('_');
    let plain = is_array
        || kind.schema == "information_schema"
        || TYPES.split_whitespace().any(|name| name == kind.name);
    if plain || of == TypeUse::Seen {
        Ok(())
    } else {
        Err(format!("the type {} reads the system catalogue", kind.name))
    }
}

/// Checks whether a relation may be read; the error is the reason.
pub(super) fn relation(relation: &RelationFacts, author: Author) -> Result<(), String> {
    let name = relation.name.as_str();
    let system = relation.schema.starts_with("pg_");
    let refused = match (author, relation.schema.as_str()) {
        (_, "information_schema") => !(relation.built_in && guard::describes_schema(name)),
        (Author::Asker, _) => system,
        (Author::Owner, _) => system && SECRET.contains(&name),
    };
    if refused {
        Err(format!("{}.{name} belongs to the system", relation.schema))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_function(name: &str) -> FunctionFacts {
        FunctionFacts {
            oid: 1,
            operator: None,
            schema: "pg_catalog".to_owned(),
            name: name.to_owned(),
            signature: format!("{name}(text)"),
            volatile: false,
            definer: false,
            extension: None,
            is_cast: false,
            odd: false,
            built_in: true,
            parts: Vec::new(),
        }
    }

    #[test]
    fn functions_are_held_against_the_lists() {
        use Author::{Asker, Owner};
        use FunctionUse::{Call, Cast, Support};
        let plain = || a_function("lower");
        let user = || FunctionFacts {
            built_in: false,
            schema: "app".to_owned(),
            ..a_function("lower")
        };
        let of = |extension: &str| FunctionFacts {
            extension: Some(extension.to_owned()),
            ..user()
        };
        for (what, subject, how, author, may) in [
            ("on the list", plain(), Call, Asker, true),
            (
                "not on it",
                a_function("pg_get_viewdef"),
                Call,
                Asker,
                false,
            ),
            (
                "not on it, by the owner",
                a_function("pg_get_viewdef"),
                Call,
                Owner,
                true,
            ),
            ("an operator's", a_function("textcat"), Support, Asker, true),
            (
                "an operator's by its name",
                a_function("int4pl"),
                Call,
                Asker,
                false,
            ),
            (
                "no cast's",
                a_function("pg_get_viewdef"),
                Cast,
                Asker,
                false,
            ),
            (
                "volatile",
                FunctionFacts {
                    volatile: true,
                    ..plain()
                },
                Call,
                Asker,
                false,
            ),
            (
                "random",
                FunctionFacts {
                    volatile: true,
                    ..a_function("random")
                },
                Call,
                Asker,
                true,
            ),
            (
                "odd arguments",
                FunctionFacts {
                    odd: true,
                    ..plain()
                },
                Call,
                Asker,
                false,
            ),
            (
                "definer",
                FunctionFacts {
                    definer: true,
                    ..plain()
                },
                Call,
                Asker,
                false,
            ),
            (
                "definer, by the owner",
                FunctionFacts {
                    definer: true,
                    ..user()
                },
                Call,
                Owner,
                false,
            ),
            (
                "a user's under a name on the list",
                user(),
                Call,
                Asker,
                false,
            ),
            ("a user's operator", user(), Support, Asker, false),
            ("a user's, by the owner", user(), Call, Owner, true),
            (
                "a user's volatile, by the owner",
                FunctionFacts {
                    volatile: true,
                    ..user()
                },
                Call,
                Owner,
                false,
            ),
            ("a known extension's", of("hstore"), Call, Asker, true),
            (
                "a known extension's operator",
                of("citext"),
                Support,
                Asker,
                true,
            ),
            ("another extension's", of("dblink"), Call, Asker, false),
            (
                "another extension's operator",
                of("dblink"),
                Support,
                Asker,
                false,
            ),
        ] {
            let verdict = function(&subject, how, author, &[]);
            assert_eq!(verdict.is_ok(), may, "{what}: {verdict:?}");
            if !may {
                let listed = [subject.name.clone()];
                assert_eq!(function(&subject, how, author, &listed), Ok(()), "{what}");
            }
        }
        let listed = ["app.lower".to_owned()];
        assert_eq!(function(&user(), Call, Asker, &listed), Ok(()));
        assert!(function(&of("dblink"), Call, Asker, &["public.lower".to_owned()]).is_err());
    }

    #[test]
    fn types_and_relations_are_held_against_the_lists() {
        let a_type = |name: &str, composite| TypeFacts {
            root: 1,
            schema: "pg_catalog".to_owned(),
            name: name.to_owned(),
            built_in: true,
            composite,
        };
        for (name, composite, of, may) in [
            ("int4", false, TypeUse::Made, true),
            ("_int4", false, TypeUse::Made, true),
            ("regclass", false, TypeUse::Made, false),
            ("regtype", false, TypeUse::Seen, true),
            ("regconfig", false, TypeUse::Made, true),
            ("aclitem", false, TypeUse::Made, false),
            ("pg_authid", true, TypeUse::Made, false),
            ("pg_authid", true, TypeUse::Seen, false),
        ] {
            let verdict = kind(&a_type(name, composite), of, Author::Asker);
            assert_eq!(verdict.is_ok(), may, "{name} {of:?}");
        }
        for (schema, name, author, may) in [
            ("public", "users", Author::Asker, true),
            ("pg_catalog", "pg_class", Author::Asker, false),
            ("pg_toast", "pg_toast_1", Author::Asker, false),
            ("information_schema", "tables", Author::Asker, true),
            (
                "information_schema",
                "user_mapping_options",
                Author::Asker,
                false,
            ),
            ("pg_catalog", "pg_class", Author::Owner, true),
            ("pg_catalog", "pg_authid", Author::Owner, false),
        ] {
            let subject = RelationFacts {
                oid: 1,
                schema: schema.to_owned(),
                name: name.to_owned(),
                built_in: schema != "public",
                row_security: false,
                rule: None,
            };
            assert_eq!(relation(&subject, author).is_ok(), may, "{schema}.{name}");
        }
    }
}
