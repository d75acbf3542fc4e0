//! Imports and exports of scripts.

use std::sync::Arc;

use quillet_script::library::import::{
    ImportItem, ImportKind, ImportNames, ImportedFunction, imports,
};
use quillet_script::library::{
    Binding, ExportItem, ExportedItem, Initialize, Library, Memory, ScriptExports, exported_items,
    exports, js_initializer, resolve,
};
use quillet_script::reader::read;
use quillet_script::syntax::{Script, ScriptSource};

fn script(name: &str, text: &str) -> Arc<Script> {
    let (name, path) = (name.to_owned(), Some(name.into()));
    let text = text.into();
    let read = read(Arc::new(ScriptSource { name, path, text }));
    assert_eq!(
        read.diagnostics,
        [],
        "{text:?}",
        text = read.script.source.text
    );
    Arc::new(read.script)
}

fn planned(import: &str) -> Result<Vec<ImportItem>, Vec<String>> {
    let script = script(
        "main.ai.yaml",
        &format!("---\nimport: {import}\n---\nuser: x\n"),
    );
    let found = imports(&script.config, &script.source);
    found.map_err(|findings| findings.iter().map(ToString::to_string).collect())
}

/// Formats an import on one line: kind and name, names, exclusions, initializer.
fn shown(import: &ImportItem) -> String {
    let mut shown = kind_shown(&import.kind);
    match &import.names {
        ImportNames::All => {}
        ImportNames::Namespace(name) => shown += &format!(" as {name}"),
        ImportNames::Listed(names) => {
            let names: Vec<String> = names.iter().map(name_shown).collect();
            shown += &format!(" [{}]", names.join(" "));
        }
    }
    if !import.except.is_empty() {
        shown += &format!(" without {}", import.except.join(" "));
    }
    match import.initialize {
        Some(true) => shown + " init",
        Some(false) => shown + " noinit",
        None => shown,
    }
}

fn kind_shown(kind: &ImportKind) -> String {
    match kind {
        ImportKind::JsPackage(name) => format!("js {name}"),
        ImportKind::JsFile(path) => format!("file {path}"),
        ImportKind::Wasm(path) => format!("wasm {path}"),
        ImportKind::Script(name) => format!("script {name}"),
        ImportKind::Package { name, file: None } => format!("package {name}"),
        ImportKind::Package {
            name,
            file: Some(file),
        } => format!("package {name}#{}", kind_shown(file)),
    }
}

fn name_shown(name: &ImportedFunction) -> String {
    let mark = if name.template { "#" } else { "" };
    if name.name == name.alias {
        format!("{}{mark}", name.name)
    } else {
        format!("{}:{}{mark}", name.name, name.alias)
    }
}

#[test]
fn every_written_form_is_read() {
    let table = [
        ("\"js:lodash\"", "js lodash"),
        ("\"js:@scope/x\"", "js @scope/x"),
        ("\"js:node:path\"", "js path"),
        ("\"js:./tools\"", "file ./tools"),
        ("[\"js:path\", \"./a.js\"]", "js path; file ./a.js"),
        ("{\"js:path\": \"*\"}", "js path as path"),
        ("{\"js:path\": aPath}", "js path as aPath"),
        ("{\"js:path\": \"$aPath\"}", "js path as aPath"),
        ("{\"js:@scope/x\": \"*\"}", "js @scope/x as x"),
        (
            "[{\"js/script/path.js\": ['func1', 'func2', {func3: 'asFunc3'}]}]",
            "file js/script/path.js [func1 func2 func3:asFunc3]",
        ),
        (
            "{\"a.js\": {func1: true, func2: asFunc2, func3: false}}",
            "file a.js [func1 func2:asFunc2] without func3",
        ),
        (
            "{\"a.js\": [$func1, {$func2: $two}]}",
            "file a.js [func1 func2:two]",
        ),
        ("{\"a.js\": [{f: {type: template}}]}", "file a.js [f#]"),
        (
            "{\"a.js\": [{f: {type: 'template', as: g}}, \"template$h\"]}",
            "file a.js [f:g# template$h:h#]",
        ),
        ("{\"a.js\": {f: {disable: true}}}", "file a.js without f"),
        ("{\"a.js\": {disable: true}, \"b.mjs\": null}", "file b.mjs"),
        ("{\"a.cjs\": [$initializeModule, f]}", "file a.cjs [f] init"),
        (
            "{\"ai:pkg\": {$initializeModule: {disable: true}}}",
            "package pkg noinit",
        ),
        (
            "[{\"ai:pkg\": [{$initializeExec: {disable: true}}, some]}]",
            "package pkg [some] noinit",
        ),
        ("\"ai:pkg\"", "package pkg"),
        ("\"./pkg/\"", "package ./pkg"),
        (
            "{\"ai:package_path#./some.ai.js\": \"*\"}",
            "package package_path#file ./some.ai.js as some",
        ),
        ("\"ai:pkg#id.ai.yaml\"", "package pkg#script id.ai.yaml"),
        ("\"ai:pkg#maths.ai.wasm\"", "package pkg#wasm maths.ai.wasm"),
        ("{\"my.ai.wasm\": \"*\"}", "wasm my.ai.wasm as my"),
        ("\"maths.wasm\"", "wasm maths.wasm"),
        (
            "{\"agent.ai.yaml\": asName}",
            "script agent.ai.yaml as asName",
        ),
        ("\"agent.ai.yml\"", "script agent.ai.yml"),
        ("\"../agent\"", "script ../agent"),
        ("translator", "script translator"),
        ("\"some.ai.js\"", "file some.ai.js"),
        ("[]", ""),
        ("", ""),
    ];
    for (text, expected) in table {
        let plan = planned(text).unwrap();
        let plan: Vec<String> = plan.iter().map(shown).collect();
        assert_eq!(plan.join("; "), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_imported_is_told_with_its_place_and_the_mend() {
    let table = [
        (
            "ruby-funcs.rb",
            "main.ai.yaml:2:9: cannot import \"ruby-funcs.rb\": imports must be JavaScript, wasm or scripts (write the function in the script",
        ),
        ("\"rb:ruby_package\"", "cannot import"),
        ("\"py:numpy\"", "cannot import"),
        ("./tool.py", "cannot import"),
        ("./tool.ts", "compile it to JavaScript"),
        ("pack.ai.pack", "binary packs"),
        (
            "path",
            "unknown kind of import: \"path\" (write an npm package as \"js:path\")",
        ),
        ("\"@scope/x\"", "(write an npm package as \"js:@scope/x\")"),
        ("\"jss:path\"", "(did you mean js:path?"),
        ("/etc/passwd", "is absolute"),
        ("\"js:../../x.js\\0\"", "control character"),
        ("'C:\\x.js'", "is absolute"),
        ("[[1]]", "invalid import: expected a string, not a list"),
        ("{\"a.js\": 3}", "\"3\" is not a valid name for an import"),
        ("{\"a.js\": [{f: {type: macro}}]}", "unknown type"),
        ("{\"a.js\": [\"x y\"]}", "is not a valid function name"),
    ];
    for (text, expected) in table {
        let findings = planned(text).unwrap_err();
        assert!(findings[0].contains(expected), "{text}: {findings:?}");
        assert!(findings[0].starts_with("main.ai.yaml:2:"), "{findings:?}");
    }
    assert_eq!(planned("[a.rb, js:x, b.py]").unwrap_err().len(), 2);
}

#[test]
fn exports_are_read_in_every_form() {
    let text = "---\nexport:\n  - $one\n  - $two: asTwo\n  - \"js:path\": ['basename', 'extname']\n  - .\n  - ./dobby.ai.yaml\n  - three\n---\n!fn |-\n  three() {}\n";
    let found = exports(&script("x.ai.yaml", text)).unwrap();
    let shown: Vec<String> = found.iter().map(export_shown).collect();
    let expected = [
        "$one as one",
        "$two as asTwo",
        "module js path [basename extname]",
        "itself",
        "script ./dobby.ai.yaml",
        "$three as three",
    ];
    assert_eq!(shown, expected);
    assert_eq!(exports(&script("x.ai.yaml", "user: x\n")).unwrap(), []);
    let wrong = script("x.ai.yaml", "---\nexport: [[a], 5, $x: {}, x.rb]\n---\n");
    assert_eq!(exports(&wrong).unwrap_err().len(), 4);
}

fn export_shown(export: &ExportItem) -> String {
    match export {
        ExportItem::Function { name, alias, .. } => format!("${name} as {alias}"),
        ExportItem::Module(import) => format!("module {}", shown(import)),
        ExportItem::Itself => "itself".to_owned(),
        ExportItem::Script(import) => shown(import),
    }
}

/// Returns the exports of the first import in `main`.
async fn given(import: &str, file: &str, text: &str) -> Result<ScriptExports, Vec<String>> {
    let main = format!("---\nimport: {import}\n---\nuser: x\n");
    let library = Memory::new([("main.ai.yaml", main.as_str()), (file, text)]);
    let main = library.find("main", None).await.unwrap().unwrap();
    let import = imports(&main.config, &main.source).unwrap().remove(0);
    let name = match &import.kind {
        ImportKind::Script(name) | ImportKind::Package { name, file: None } => name.clone(),
        ImportKind::Package {
            name,
            file: Some(file),
        } => match file.as_ref() {
            ImportKind::Script(file) => format!("{name}/{file}"),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let found = library
        .find(&name, Some(&main.source))
        .await
        .unwrap()
        .unwrap();
    let resolved = resolve(found, &library).await.unwrap();
    let found = exported_items(&resolved, &import, &main.source);
    found.map_err(|findings| findings.iter().map(ToString::to_string).collect())
}

fn gives_shown(gives: &ScriptExports) -> String {
    let mut parts: Vec<String> = gives.bindings.iter().map(binding_shown).collect();
    if let Some(namespace) = &gives.namespace {
        parts.insert(0, format!("{namespace}:"));
    }
    parts.extend(gives.initialize.iter().map(|step| match step {
        Initialize::Itself => "; run".to_owned(),
        Initialize::Function(name) => format!("; call {name}"),
    }));
    parts.join(" ").replace(" ;", ";")
}

fn binding_shown(binding: &Binding) -> String {
    let mark = if binding.template { "#" } else { "" };
    match &binding.what {
        ExportedItem::Itself => format!("{}=itself{mark}", binding.name),
        ExportedItem::Function(name) => format!("{}=${name}{mark}", binding.name),
        ExportedItem::Module(import) => format!("({})", shown(import)),
    }
}

#[tokio::test]
async fn importing_a_script_gives_itself_its_exports_and_its_initialization() {
    let plain = "user: hi\n";
    let exporting = "---\nexport: [$hi, $two: second, {\"js:path\": [basename]}]\n---\n!fn |-\n  hi() {}\n!fn |-\n  two() {}\n";
    let hook = "---\nexport: [$hi]\n---\n!fn |-\n  hi() {}\n!fn |-\n  $initializeModule(data, caller) {}\n";
    let table = [
        ("agent.ai.yaml", "agent.ai.yaml", plain, "agent=itself"),
        (
            "{agent.ai.yaml: asName}",
            "agent.ai.yaml",
            plain,
            "asName: agent=itself",
        ),
        (
            "{agent.ai.yaml: '*'}",
            "agent.ai.yaml",
            plain,
            "agent: agent=itself",
        ),
        (
            "{agent.ai.yaml: [{agent: bob}]}",
            "agent.ai.yaml",
            plain,
            "bob=itself",
        ),
        ("ai:pkg", "pkg/pkg.ai.yaml", plain, "pkg=itself; run"),
        ("./pkg", "pkg/pkg.ai.yaml", plain, "pkg=itself; run"),
        (
            "{ai:pkg: {$initializeModule: {disable: true}}}",
            "pkg/pkg.ai.yaml",
            plain,
            "pkg=itself",
        ),
        (
            "ai:pkg#in.ai.yaml",
            "pkg/in.ai.yaml",
            exporting,
            "in=itself hi=$hi second=$two (js path [basename])",
        ),
        (
            "lib.ai.yaml",
            "lib.ai.yaml",
            exporting,
            "lib=itself hi=$hi second=$two (js path [basename]); run",
        ),
        (
            "{lib.ai.yaml: [hi, {basename: base}]}",
            "lib.ai.yaml",
            exporting,
            "hi=$hi (js path [basename:base]); run",
        ),
        (
            "{lib.ai.yaml: {hi: {disable: true}}}",
            "lib.ai.yaml",
            exporting,
            "lib=itself second=$two (js path [basename]); run",
        ),
        (
            "{lib.ai.yaml: [{hi: {type: template}}]}",
            "lib.ai.yaml",
            exporting,
            "hi=$hi# (js path []); run",
        ),
        (
            "lib.ai.yaml",
            "lib.ai.yaml",
            hook,
            "lib=itself hi=$hi; call initializeModule",
        ),
        (
            "ai:pkg",
            "pkg/pkg.ai.yaml",
            hook,
            "pkg=itself hi=$hi; call initializeModule",
        ),
    ];
    for (import, file, text, expected) in table {
        let gives = given(import, file, text).await.unwrap();
        assert_eq!(gives_shown(&gives), expected, "{import} of {file}");
    }
    let error = given(
        "{lib.ai.yaml: [hy]}",
        "lib.ai.yaml",
        "---\nexport: $hi\n---\n!fn |-\n  hi() {}\n",
    )
    .await;
    assert_eq!(
        error.unwrap_err(),
        ["main.ai.yaml:2:10: \"lib.ai.yaml\" does not export $hy (did you mean $hi?)"]
    );
}

#[tokio::test]
async fn a_script_says_how_it_is_initialized() {
    let function = "---\n!fn |-\n  initializeModule() {}\n!fn |-\n  start() {}\n";
    let table = [
        ("$initializeModule: false", ""),
        ("$initializeExec: false", ""),
        ("$initializeModule: {disable: true}", ""),
        ("$initializeModule: start", "; call start"),
        ("$initializeModule: $start", "; call start"),
        ("title: x", "; call initializeModule"),
        (
            "runSelfBeforeInitModule: true",
            "; run; call initializeModule",
        ),
        (
            "runSelfBeforeInitializeExec: true",
            "; run; call initializeModule",
        ),
        ("runSelfBeforeInitModule: false", "; call initializeModule"),
    ];
    for (config, expected) in table {
        let text = format!("---\n{config}\n{function}");
        let gives = given("ai:pkg", "pkg/pkg.ai.yaml", &text).await.unwrap();
        assert_eq!(
            gives_shown(&gives),
            format!("pkg=itself{expected}"),
            "{config}"
        );
    }
}

#[test]
fn a_javascript_module_is_initialized_if_its_initializer_is_imported() {
    let exported = ["hello", "$initializeModule"];
    let table = [
        ("./a.js", true),
        ("{./a.js: '*'}", true),
        ("{./a.js: [hello]}", false),
        ("{./a.js: [hello, $initializeModule]}", true),
        ("{./a.js: {$initializeModule: {disable: true}}}", false),
        ("\"ai:pkg#./a.ai.js\"", false),
    ];
    for (text, runs) in table {
        let import = planned(text).unwrap().remove(0);
        assert_eq!(js_initializer(&import, exported).is_some(), runs, "{text}");
        assert_eq!(js_initializer(&import, ["hello"]), None);
    }
}
