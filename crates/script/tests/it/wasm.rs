//! wasm modules, assembled byte by byte according to the specification.

use std::sync::Arc;

use quillet_core::Value;
use quillet_script::js::{JsErrorKind, Wasm, WasmBounds};

const I32: u8 = 0x7f;
const I64: u8 = 0x7e;
const F32: u8 = 0x7d;
const F64: u8 = 0x7c;

fn section(id: u8, body: &[u8]) -> Vec<u8> {
    let mut section = vec![id, u8::try_from(body.len()).unwrap()];
    section.extend(body);
    section
}

fn list(items: &[u8]) -> Vec<u8> {
    let mut list = vec![u8::try_from(items.len()).unwrap()];
    list.extend(items);
    list
}

/// Builds a module with one exported function `f`, and optionally a memory with a number of pages.
fn module(parameters: &[u8], results: &[u8], code: &[u8], pages: Option<u8>) -> Vec<u8> {
    let mut bytes = b"\0asm\x01\0\0\0".to_vec();
    let kind = [&[1, 0x60][..], &list(parameters), &list(results)].concat();
    bytes.extend(section(1, &kind));
    bytes.extend(section(3, &[1, 0]));
    if let Some(pages) = pages {
        bytes.extend(section(5, &[1, 0, pages]));
    }
    bytes.extend(section(7, &[1, 1, b'f', 0, 0]));
    let body = [&[0][..], code, &[0x0b]].concat();
    bytes.extend(section(10, &[&[1][..], &list(&body)].concat()));
    bytes
}

async fn call(bytes: &[u8], arguments: &[Value]) -> Result<Option<Value>, JsErrorKind> {
    let wasm = Arc::new(
        Wasm::load(
            bytes,
            &WasmBounds {
                fuel: 1_000_000,
                memory: 1 << 20,
                ..WasmBounds::default()
            },
        )
        .map_err(|error| error.kind)?,
    );
    let arguments: Vec<Option<Value>> = arguments.iter().cloned().map(Some).collect();
    wasm.call("f", &arguments).await.map_err(|error| error.kind)
}

#[tokio::test]
async fn numbers_go_in_and_come_out() {
    let same = [0x20, 0];
    let cases: [(Vec<u8>, &[Value], Option<Value>); 11] = [
        (
            module(&[I32, I32], &[I32], &[0x20, 0, 0x20, 1, 0x6a], None),
            &[2.into(), 40.into()],
            Some(42.into()),
        ),
        (
            module(&[I32], &[I32], &same, None),
            &[Value::Float(-1.9)],
            Some((-1).into()),
        ),
        (
            module(&[I32], &[I32], &same, None),
            &[Value::Int(1 << 32 | 5)],
            Some(5.into()),
        ),
        (module(&[I32], &[I32], &same, None), &[], Some(0.into())),
        (
            module(&[I64], &[I64], &same, None),
            &[i64::MIN.into()],
            Some(i64::MIN.into()),
        ),
        (
            module(&[F32], &[F32], &same, None),
            &[Value::Float(0.5)],
            Some(Value::Float(0.5)),
        ),
        (
            module(&[F64], &[F64], &same, None),
            &[Value::Float(1e300)],
            Some(Value::Float(1e300)),
        ),
        (
            module(&[F64], &[F64], &same, None),
            &[3.into()],
            Some(3.into()),
        ),
        (module(&[I32], &[], &[], None), &[1.into()], None),
        (
            module(
                &[],
                &[I32, F64],
                &[0x41, 7, 0x44, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f],
                None,
            ),
            &[],
            Some(vec![7.into(), Value::Float(1.5)].into()),
        ),
        // `memory.grow` returns -1 at the limit.
        (
            module(&[I32], &[I32], &[0x20, 0, 0x40, 0], Some(1)),
            &[100.into()],
            Some((-1).into()),
        ),
    ];
    for (bytes, arguments, expected) in cases {
        assert_eq!(
            call(&bytes, arguments).await,
            Ok(expected),
            "{bytes:?} {arguments:?}"
        );
    }
}

#[tokio::test]
async fn what_it_may_not_do_is_an_error() {
    let import = [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, &[1, 0x60, 0, 0]),
        section(2, &[1, 3, b'e', b'n', b'v', 1, b'g', 0, 0]),
    ]
    .concat();
    let cases: [(Vec<u8>, &[Value], JsErrorKind); 8] = [
        (b"nothing".to_vec(), &[], JsErrorKind::Module),
        (import, &[], JsErrorKind::Module),
        (
            module(&[I32], &[I64], &[0x20, 0], None),
            &[],
            JsErrorKind::Module,
        ),
        // An endless loop: `loop br 0 end`.
        (
            module(&[], &[], &[0x03, 0x40, 0x0c, 0, 0x0b], None),
            &[],
            JsErrorKind::Time,
        ),
        // call 0
        (module(&[], &[], &[0x10, 0], None), &[], JsErrorKind::Stack),
        (module(&[], &[], &[0x00], None), &[], JsErrorKind::Thrown),
        (module(&[], &[], &[], Some(100)), &[], JsErrorKind::Memory),
        (
            module(&[I32], &[], &[], None),
            &["1".into()],
            JsErrorKind::Thrown,
        ),
    ];
    for (bytes, arguments, expected) in cases {
        assert_eq!(call(&bytes, arguments).await, Err(expected), "{bytes:?}");
    }
}

#[tokio::test]
async fn exports_are_told_by_their_kinds() {
    let bytes = module(&[I32, F64], &[I64], &[0x42, 1], None);
    let wasm = Arc::new(Wasm::load(&bytes, &WasmBounds::default()).unwrap());
    let [export] = wasm.exports() else {
        panic!("not one export")
    };
    assert_eq!(
        (&*export.name, &*export.parameters, &*export.results),
        ("f", &["i32", "f64"][..], &["i64"][..])
    );
    let error = wasm.call("g", &[]).await.unwrap_err();
    assert_eq!(error.message, "unknown function `g` of the wasm module");
    let error = Wasm::load(
        &bytes,
        &WasmBounds {
            bytes: 10,
            ..WasmBounds::default()
        },
    )
    .unwrap_err();
    assert_eq!(error.message, "the wasm module exceeds 10 bytes");
}
