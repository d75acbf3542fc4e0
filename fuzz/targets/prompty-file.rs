#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| quillet_fuzz::prompt_file("x.prompty", text));
