//! Our shims of Node's modules, against what Node itself answers.

use quillet_core::json;
use quillet_script::js::{FunctionSource, Js, JsOptions, JsValueRef};

use crate::js::{Names, shown};

/// `[module, code, answer]`: made by `scripts/node-answers.mjs` with Node 20.
const ANSWERS: &str = include_str!("node_answers.json");

#[tokio::test]
async fn shims_answer_as_node_does() {
    let js = Js::new(JsOptions::default());
    let answers = json::parse(ANSWERS).unwrap();
    let quillet_core::Value::List(answers) = answers else {
        panic!("not a list")
    };
    let mut wrong = Vec::new();
    for answer in answers.iter() {
        let quillet_core::Value::List(answer) = answer else {
            panic!("not a list")
        };
        let [module, code, expected] = answer.as_slice() else {
            panic!("not three")
        };
        let (module, code) = (module.as_str().unwrap(), code.as_str().unwrap());
        let body = format!(
            "async f() {{ const m = require('{module}'); const {{ inspect }} = require('util');
               try {{ const value = await ({code}); return typeof value === 'string' ? value : JSON.stringify(value) }}
               catch (error) {{ return 'throws ' + (error.code ?? error.name) }} }}"
        );
        let id = js
            .define(FunctionSource {
                code: body,
                ..FunctionSource::default()
            })
            .unwrap()
            .id;
        let found = match js.call(&id.into(), Vec::new(), &Names::default()).await {
            // JSON has no `undefined`.
            Ok(result) if result.value == JsValueRef::Undefined => "null".to_owned(),
            Ok(result) => shown(&result.value),
            Err(error) => format!("{error:?}"),
        };
        let expected = json::to_string(expected);
        if found != expected {
            wrong.push(format!(
                "{module}: {code}\n   node {expected}\n   ours {found}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        answers.len(),
        wrong.join("\n")
    );
    assert!(answers.len() > 300, "only {} answers", answers.len());
}
