//! Modules: files and packages are found as in Node, but only within the roots.

use std::fs;
use std::path::{Path, PathBuf};

use quillet_script::host::Grants;
use quillet_script::js::{
    ExportKind, FunctionSource, Js, JsErrorKind, JsOptions, JsTarget, JsValueRef,
};

use crate::js::{Names, shown};

/// A temporary folder, deleted on drop.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("quillet-js-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let folder = Folder(path);
        for (name, text) in files {
            let file = folder.0.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        folder
    }

    fn js(&self) -> Js {
        self.granted(Grants::default())
    }

    fn granted(&self, grants: Grants) -> Js {
        Js::new(JsOptions {
            roots: vec![self.0.join("app")],
            grants,
            ..JsOptions::default()
        })
    }

    fn script(&self) -> String {
        self.0
            .join("app/main.ai.yaml")
            .to_string_lossy()
            .into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the result of a function in a script of the folder.
async fn run(js: &Js, script: &str, body: &str) -> Result<String, (JsErrorKind, String)> {
    let dirname = Path::new(script)
        .parent()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let code = format!("async f() {{ {body} }}");
    let definition = FunctionSource {
        code,
        filename: script.to_owned(),
        dirname,
    };
    let id = js.define(definition).unwrap().id;
    let result = js.call(&id.into(), Vec::new(), &Names::default()).await;
    result
        .map(|result| shown(&result.value))
        .map_err(|error| (error.kind, error.message))
}

fn tree(name: &str) -> Folder {
    Folder::new(
        name,
        &[
            (
                "app/lib.js",
                "export function hello(n) { return 'hello ' + n }\nexport const x = {a: 1}\nexport class C {}\nexport default (a, {b}) => a",
            ),
            (
                "app/plain.js",
                "const path = require('path');\nmodule.exports = { base: (p) => path.basename(p), dir: __dirname, deep: { go() { return this.n }, n: 5 } };",
            ),
            (
                "app/one.cjs",
                "exports.early = 1; const two = require('./two'); exports.seen = two.seen; exports.done = true",
            ),
            (
                "app/two.cjs",
                "const one = require('./one.cjs'); exports.seen = one.early; exports.partly = one.done === undefined",
            ),
            (
                "app/es/index.mjs",
                "import { hello } from '../lib.js'; import data from '../data.json'; import cjs, { base } from '../plain.js'; export * from '../lib.js'; export { hello as hi }; export const all = [hello('x'), data.n, base('/a/b'), cjs.deep.n, import.meta.filename.endsWith('index.mjs')]",
            ),
            ("app/data.json", "{\"n\": 7}"),
            ("app/bad.json", "{n: 7}"),
            ("app/syntax.js", "export const a = ;"),
            ("app/throws.js", "throw new Error('at load')"),
            (
                "app/wait.mjs",
                "export const later = await Promise.resolve(3)",
            ),
            (
                "app/fn.js",
                "module.exports = function double(x) { return 2 * x }; module.exports.extra = 1",
            ),
            (
                "app/node_modules/main-only/package.json",
                r#"{"main": "lib/m"}"#,
            ),
            (
                "app/node_modules/main-only/lib/m.js",
                "exports.who = 'main'",
            ),
            (
                "app/node_modules/two-doors/package.json",
                r#"{"name": "two-doors", "exports": {".": {"import": "./i.mjs", "require": "./r.cjs"}, "./sub/*": "./s/*.js"}}"#,
            ),
            (
                "app/node_modules/two-doors/i.mjs",
                "export const who = 'import'",
            ),
            (
                "app/node_modules/two-doors/r.cjs",
                "exports.who = 'require'",
            ),
            ("app/node_modules/two-doors/s/a.js", "exports.who = 'sub a'"),
            (
                "app/node_modules/@scope/es/package.json",
                r#"{"type": "module", "module": "m.js", "main": "c.cjs"}"#,
            ),
            (
                "app/node_modules/@scope/es/m.js",
                "export const who = 'scoped'; export default 4",
            ),
            (
                "app/node_modules/@scope/es/c.cjs",
                "exports.who = 'scoped main'",
            ),
            ("outside.js", "exports.secret = 1"),
            ("app/main.ai.yaml", ""),
        ],
    )
}

#[tokio::test]
async fn functions_require_files_and_packages() {
    let folder = tree("require");
    let (js, script) = (folder.js(), folder.script());
    let cases = [
        (
            "return (await require(__dirname + '/lib.js')).hello('you')",
            "\"hello you\"",
        ),
        ("return require('./plain').base('/x/y.z')", "\"y.z\""),
        ("return require('./plain').deep.go()", "5"),
        (
            "return require('./plain') === require('./plain.js')",
            "true",
        ),
        (
            "return [require('./one.cjs'), require('./two')]",
            r#"[{"early":1,"seen":1,"done":true},{"seen":1,"partly":true}]"#,
        ),
        ("return require('./data.json').n", "7"),
        (
            "return (await require('./es')).all",
            r#"["hello x",7,"b",5,true]"#,
        ),
        ("return (await require('./es')).hi('y')", "\"hello y\""),
        (
            "return (await import('./es/index.mjs')).default === undefined",
            "true",
        ),
        ("return (await import('./wait.mjs')).later", "3"),
        ("return require('main-only').who", "\"main\""),
        (
            "return [require('two-doors').who, (await import('two-doors')).who, require('two-doors/sub/a').who]",
            r#"["require","import","sub a"]"#,
        ),
        (
            "return [(await import('@scope/es')).who, require('@scope/es').who]",
            r#"["scoped","scoped main"]"#,
        ),
        ("return (await import('path')).basename('/q/w')", "\"w\""),
        ("return (await import('node:path')).default.sep", "\"/\""),
        ("return typeof require('node:util').format", "\"function\""),
    ];
    for (body, expected) in cases {
        assert_eq!(
            run(&js, &script, body).await,
            Ok(expected.to_owned()),
            "{body}"
        );
    }
}

#[tokio::test]
async fn modules_that_cannot_be_had_say_why() {
    let folder = tree("refused");
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.0.join("outside.js"), folder.0.join("app/link.js")).unwrap();
    let (js, script) = (folder.js(), folder.script());
    let cases = [
        (
            "require('./nothere')",
            JsErrorKind::Module,
            "not found from",
        ),
        ("require('nothere')", JsErrorKind::Module, "node_modules"),
        (
            "require('pth')",
            JsErrorKind::Module,
            "did you mean `path`?",
        ),
        ("require('http')", JsErrorKind::Module, "use `fetch`"),
        (
            "require('node:nothere')",
            JsErrorKind::Module,
            "is not available to scripts",
        ),
        (
            "await import('child_process')",
            JsErrorKind::Module,
            "--allow-run",
        ),
        (
            "require('../outside.js')",
            JsErrorKind::Denied,
            "is outside of the folders",
        ),
        (
            "require('/etc/passwd')",
            JsErrorKind::Denied,
            "is outside of the folders",
        ),
        (
            "await import('../outside.js')",
            JsErrorKind::Denied,
            "is outside of the folders",
        ),
        #[cfg(unix)]
        (
            "require('./link.js')",
            JsErrorKind::Denied,
            "is outside of the folders",
        ),
        (
            "require('two-doors/i.mjs')",
            JsErrorKind::Module,
            "does not export `./i.mjs`",
        ),
        (
            "require('two-doors/../../../outside.js')",
            JsErrorKind::Module,
            "does not export",
        ),
        (
            "require('main-only/../../../outside.js')",
            JsErrorKind::Denied,
            "is outside of the folders",
        ),
        (
            "require('./bad.json')",
            JsErrorKind::Module,
            "is invalid JSON",
        ),
        (
            "await import('./syntax.js')",
            JsErrorKind::Syntax,
            "SyntaxError",
        ),
        ("require('./throws')", JsErrorKind::Thrown, "at load"),
        (
            "require('fs')",
            JsErrorKind::Denied,
            "`fs` needs a permission: --allow-read DIR",
        ),
    ];
    for (body, kind, words) in cases {
        let (found, message) = run(&js, &script, body).await.expect_err(body);
        assert_eq!(found, kind, "{body}: {message}");
        assert!(message.contains(words), "{body}: {message}");
    }
    let caught = "try { require('./nothere') } catch (e) { return e.message.length > 5 }";
    assert_eq!(run(&js, &script, caught).await, Ok("true".to_owned()));
}

#[tokio::test]
async fn imports_list_what_there_is_and_stay_callable() {
    let folder = tree("import");
    let (js, script) = (folder.js(), folder.script());
    let names = Names::default();
    let cases = [
        ("./lib.js", "C:class default:(a,{b}) hello:(n) x:{\"a\":1}"),
        ("./plain.js", "base:(p) deep:{\"n\":5} dir:…"),
        ("./fn.js", "default:(x) extra:1"),
        ("two-doors", "who:\"import\""),
        ("./wait.mjs", "later:3"),
    ];
    for (specifier, expected) in cases {
        let module = js
            .import(specifier, &script, &names)
            .await
            .unwrap_or_else(|error| panic!("{specifier}: {error:?}"));
        let mut list: Vec<String> = module
            .exports
            .iter()
            .map(|export| format!("{}:{}", export.name, kind(&export.kind)))
            .collect();
        list.sort();
        assert_eq!(list.join(" "), expected, "{specifier}");
    }
    let lib = js.import("./lib.js", &script, &names).await.unwrap().module;
    let plain = js
        .import("./plain.js", &script, &names)
        .await
        .unwrap()
        .module;
    let path = js.import("path", &script, &names).await.unwrap().module;
    names
        .functions
        .lock()
        .unwrap()
        .insert("$lib".to_owned(), JsTarget::Export(lib, Vec::new()));
    names.functions.lock().unwrap().insert(
        "$hello".to_owned(),
        JsTarget::Export(lib, vec!["hello".to_owned()]),
    );
    let call = |module, path: &[&str]| {
        JsTarget::Export(module, path.iter().map(ToString::to_string).collect())
    };
    for _ in 0..2 {
        let bob = vec![JsValueRef::Value("bob".into())];
        let result = js.call(&call(lib, &["hello"]), bob, &names).await.unwrap();
        assert_eq!(shown(&result.value), "\"hello bob\"");
        let result = js
            .call(&call(plain, &["deep", "go"]), Vec::new(), &names)
            .await;
        assert!(result.is_ok(), "{result:?}");
        let result = js
            .call(
                &call(path, &["posix", "basename"]),
                vec![JsValueRef::Value("/a/b".into())],
                &names,
            )
            .await
            .unwrap();
        assert_eq!(shown(&result.value), "\"b\"");
        let value = js
            .evaluate(
                "this.$lib.hello('a') + '|' + $hello('b') + '|' + this.hello('c')",
                &names,
            )
            .await
            .unwrap();
        assert_eq!(shown(&value), "\"hello a|hello b|hello c\"");
        // Imported modules are available again after the worker was replaced.
        let error = js
            .evaluate(
                "(() => { let a = []; for (;;) a.push(new Array(1e5).fill(0)) })()",
                &names,
            )
            .await
            .unwrap_err();
        assert_eq!(error.kind, JsErrorKind::Memory);
    }
    let error = js
        .call(&call(lib, &["nothere"]), Vec::new(), &names)
        .await
        .unwrap_err();
    assert!(
        error.message.contains("not a function"),
        "{}",
        error.message
    );
}

fn kind(kind: &ExportKind) -> String {
    match kind {
        ExportKind::Class => "class".to_owned(),
        ExportKind::Value(JsValueRef::Value(value))
            if value.as_str().is_some_and(|text| text.starts_with('/')) =>
        {
            "…".to_owned()
        }
        ExportKind::Value(value) => shown(value),
        ExportKind::Function(parameters) => {
            let names = parameters.iter().map(|parameter| {
                if parameter.object {
                    format!("{{{}}}", parameter.keys.join(","))
                } else {
                    parameter.name.clone()
                }
            });
            format!("({})", names.collect::<Vec<_>>().join(","))
        }
    }
}

#[tokio::test]
async fn files_are_read_and_written_where_it_is_granted() {
    let folder = tree("files");
    fs::create_dir_all(folder.0.join("out")).unwrap();
    fs::create_dir_all(folder.0.join("data/sub")).unwrap();
    fs::write(folder.0.join("data/a.txt"), "äö\u{0}").unwrap();
    let script = folder.script();
    let js = folder.granted(Grants {
        read: vec![folder.0.join("data")],
        write: vec![folder.0.join("out")],
        ..Grants::default()
    });
    let root = folder.0.to_string_lossy().into_owned();
    let allowed = [
        (
            "fs.readFileSync(root + '/data/a.txt', 'utf8')",
            "\"äö\\u0000\"",
        ),
        ("fs.readFileSync(root + '/data/a.txt').length", "5"),
        (
            "fs.readFileSync(__dirname + '/data.json', {encoding: 'utf8'})",
            "\"{\\\"n\\\": 7}\"",
        ),
        ("fs.readdirSync(root + '/data')", "[\"a.txt\",\"sub\"]"),
        ("fs.statSync(root + '/data/sub').isDirectory()", "true"),
        (
            "[fs.existsSync(root + '/data/a.txt'), fs.existsSync(root + '/data/b'), fs.existsSync('/etc/passwd')]",
            "[true,false,false]",
        ),
        (
            "(fs.writeFileSync(root + '/out/n.txt', 'é1'), fs.appendFileSync(root + '/out/n.txt', Buffer.from([50])), 1)",
            "1",
        ),
        (
            "(fs.mkdirSync(root + '/out/p/q', {recursive: true}), fs.renameSync(root + '/out/n.txt', root + '/out/p/m.txt'))",
            "error",
        ),
        ("fs.rmSync(root + '/out/p', {recursive: true})", "error"),
        (
            "await fs.promises.readFile(root + '/data/a.txt', 'latin1')",
            "\"Ã¤Ã¶\\u0000\"",
        ),
        (
            "await require('fs/promises').stat(root + '/data/a.txt').then((s) => s.size)",
            "5",
        ),
        (
            "await new Promise((done) => fs.readFile(root + '/data/none', 'utf8', (error) => done(error.code)))",
            "\"ENOENT\"",
        ),
        (
            "await fs.promises.readFile(root + '/data/sub').catch((error) => error.code)",
            "\"EISDIR\"",
        ),
    ];
    for (code, expected) in allowed {
        let body = format!("const fs = require('fs'); const root = {root:?}; return {code}");
        let result = run(&js, &script, &body).await;
        match expected {
            // These read files for which only writing was granted.
            "error" => assert!(
                matches!(&result, Err((JsErrorKind::Denied, _))),
                "{code}: {result:?}"
            ),
            _ => assert_eq!(result, Ok(expected.to_owned()), "{code}"),
        }
    }
    assert_eq!(
        fs::read_to_string(folder.0.join("out/n.txt")).unwrap(),
        "é12"
    );
    let denied = [
        "fs.readFileSync('/etc/passwd')",
        "fs.readFileSync(root + '/data/../outside.js')",
        "fs.readFileSync(root + '/out/n.txt')",
        "fs.writeFileSync(root + '/data/a.txt', 'x')",
        "fs.writeFileSync(root + '/out/../data/a.txt', 'x')",
        "fs.writeFileSync(root + '/app/lib.js', 'x')",
        "fs.unlinkSync(root + '/data/a.txt')",
        "fs.renameSync(root + '/data/a.txt', root + '/out/a.txt')",
        "fs.statSync('/nothere/at/all')",
    ];
    for code in denied {
        let body = format!("const fs = require('fs'); const root = {root:?}; return {code}");
        let result = run(&js, &script, &body).await;
        assert!(
            matches!(&result, Err((JsErrorKind::Denied, _))),
            "{code}: {result:?}"
        );
    }
    assert_eq!(
        fs::read_to_string(folder.0.join("data/a.txt")).unwrap(),
        "äö\u{0}"
    );
}
