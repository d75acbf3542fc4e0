#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| quillet_fuzz::template(
    &["liquid", "semantic-kernel-liquid"],
    text
));
