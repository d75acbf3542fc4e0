//! Allowlist of SQLite functions: the built-in ones that only compute.
//!
//! A test compares the lists with the functions of the linked SQLite, so that new functions are
//! reviewed before they are allowed. Excluded are functions that load code or access files, and
//! those that reveal the connection or the compile options.

use super::math_functions;

/// Scalar, aggregate and window functions, sorted.
const PLAIN: [&str; 106] = [
    "->",
    "->>",
    "abs",
    "avg",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "count",
    "cume_dist",
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "datetime",
    "dense_rank",
    "first_value",
    "format",
    "glob",
    "group_concat",
    "hex",
    "if",
    "ifnull",
    "iif",
    "json",
    "json_array",
    "json_array_insert",
    "json_array_length",
    "json_error_position",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_patch",
    "json_pretty",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_type",
    "json_valid",
    "jsonb",
    "jsonb_array",
    "jsonb_array_insert",
    "jsonb_extract",
    "jsonb_group_array",
    "jsonb_group_object",
    "jsonb_insert",
    "jsonb_object",
    "jsonb_patch",
    "jsonb_remove",
    "jsonb_replace",
    "jsonb_set",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "length",
    "like",
    "likelihood",
    "likely",
    "lower",
    "max",
    "min",
    "nth_value",
    "ntile",
    "nullif",
    "octet_length",
    "percent_rank",
    "printf",
    "quote",
    "random",
    "randomblob",
    "rank",
    "round",
    "row_number",
    "sign",
    "soundex",
    "sqlite_version",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "subtype",
    "sum",
    "time",
    "timediff",
    "total",
    "typeof",
    "unicode",
    "unistr",
    "unistr_quote",
    "unixepoch",
    "unlikely",
    "upper",
    "zeroblob",
    // Functions of full-text search.
    "bm25",
    "fts5_get_locale",
    "fts5_insttoken",
    "fts5_locale",
    "highlight",
    "match",
    "matchinfo",
    "offsets",
    "snippet",
];

/// Functions whose run time is the product of two arguments' sizes, within one instruction that
/// cannot be interrupted. They are allowed, but with a small limit on value sizes.
const SLOW: [&str; 6] = ["instr", "ltrim", "replace", "rtrim", "trim", "unhex"];

/// Table-valued functions, which SQLite treats as tables.
const TABLES: [&str; 4] = ["json_each", "json_tree", "jsonb_each", "jsonb_tree"];

/// Functions that views may call but queries may not, because they create values of any size in one
/// step.
const SIZED: [&str; 2] = ["randomblob", "zeroblob"];

/// Returns the functions that the text of a query may call.
pub(crate) fn of_texts() -> impl Iterator<Item = &'static str> {
    let all = PLAIN.into_iter().chain(SLOW).chain(TABLES);
    let all = all.chain(math_functions::names());
    all.filter(|name| !SIZED.contains(name))
}

/// Returns whether a query may call the function.
pub(super) fn is_allowed(name: &str) -> bool {
    let listed = |list: &[&str]| list.iter().any(|listed| listed.eq_ignore_ascii_case(name));
    let is_maths = math_functions::names().any(|maths| maths.eq_ignore_ascii_case(name));
    listed(&PLAIN) || listed(&SLOW) || is_maths
}

/// Returns the function's name if its run time is a product of sizes.
pub(super) fn slow(name: &str) -> Option<&'static str> {
    let mut slow = SLOW.iter().copied();
    slow.find(|slow| slow.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reviewed functions that are not allowed.
    const REFUSED: [&str; 20] = [
        "changes",
        "fts3_tokenizer",
        "fts5",
        "fts5_source_id",
        "last_insert_rowid",
        "load_extension",
        "optimize",
        "rtreecheck",
        "rtreedepth",
        "rtreenode",
        "sqlite_compileoption_get",
        "sqlite_compileoption_used",
        "sqlite_log",
        "sqlite_source_id",
        "total_changes",
        // Functions of other programs that embed SQLite.
        "edit",
        "eval",
        "fileio_read",
        "readfile",
        "writefile",
    ];

    /// Functions that exist only on full-text tables.
    const OF_TABLES: [&str; 5] = ["bm25", "highlight", "matchinfo", "offsets", "snippet"];

    #[test]
    fn every_function_of_this_sqlite_was_looked_at() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        math_functions::add(&connection).unwrap();
        let sql = "SELECT DISTINCT name FROM pragma_function_list";
        let mut statement = connection.prepare(sql).unwrap();
        let names = statement
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap();
        let names: Vec<String> = names.map(Result::unwrap).collect();
        assert!(names.len() > 100);
        let mut unknown: Vec<&String> = names.iter().collect();
        unknown.retain(|name| !is_allowed(name) && !REFUSED.contains(&name.as_str()));
        assert_eq!(unknown, [""; 0]);
        assert!(REFUSED.iter().all(|name| !is_allowed(name)));
        // Every listed function must also exist.
        let mut missing: Vec<&str> = of_texts().collect();
        missing.retain(|name| !names.iter().any(|it| it == name));
        missing.retain(|name| {
            let table = format!("SELECT 1 FROM {name}('{{}}')");
            !OF_TABLES.contains(name) && connection.prepare(&table).is_err()
        });
        assert_eq!(missing, [""; 0]);
    }
}
