//! Paths separated by slashes, like Go's `path` package.

use super::super::{FunctionContext, FunctionError, GoFunction, GoType, GoValue};
use super::{args, cost};

type FnResult = Result<GoValue, FunctionError>;

const STRING: GoType = GoType::String;

/// Path functions. The `os` variants use Unix paths on all systems.
pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("base", &[STRING], base),
    GoFunction::new("dir", &[STRING], dir),
    GoFunction::new("clean", &[STRING], clean),
    GoFunction::new("ext", &[STRING], ext),
    GoFunction::new("isAbs", &[STRING], is_abs),
    GoFunction::new("osBase", &[STRING], base),
    GoFunction::new("osDir", &[STRING], dir),
    GoFunction::new("osClean", &[STRING], clean),
    GoFunction::new("osExt", &[STRING], ext),
    GoFunction::new("osIsAbs", &[STRING], is_abs),
];

fn base(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let path = args::chars(args, 0);
    cost::build(cx, path.len())?;
    Ok(last(&path).into())
}

fn last(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    match path.trim_end_matches('/') {
        "" => "/",
        path => path.rsplit('/').next().unwrap_or(path),
    }
}

fn dir(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let path = args::chars(args, 0);
    cost::build_many(cx, path.len(), 2)?;
    let parent = path.rfind('/').map_or("", |slash| &path[..=slash]);
    Ok(cleaned(parent).into())
}

fn clean(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let path = args::chars(args, 0);
    cost::build_many(cx, path.len(), 2)?;
    Ok(cleaned(&path).into())
}

/// Returns the shortest equivalent path. The file system is not accessed.
fn cleaned(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", Some(last)) if *last != ".." => {
                parts.pop();
            }
            ("..", None) if rooted => {}
            _ => parts.push(part),
        }
    }
    let body = parts.join("/");
    match (rooted, body.is_empty()) {
        (true, _) => format!("/{body}"),
        (false, true) => ".".to_owned(),
        (false, false) => body,
    }
}

fn ext(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let path = args::chars(args, 0);
    cost::build(cx, path.len())?;
    let name = path.rsplit('/').next().unwrap_or_default();
    Ok(name.rfind('.').map_or("", |dot| &name[dot..]).into())
}

fn is_abs(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(args::text(args, 0).starts_with(b"/").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_cleans_them() {
        let cases = [
            ("", "."),
            ("a/../b//c", "b/c"),
            ("/../a", "/a"),
            ("../../a", "../../a"),
            ("a/..", "."),
            ("/", "/"),
            ("a/b/../../..", ".."),
        ];
        for (path, wanted) in cases {
            assert_eq!(cleaned(path), wanted, "{path}");
        }
        assert_eq!(last("a/b/"), "b");
        assert_eq!(last("//"), "/");
        assert_eq!(last(""), ".");
    }
}
