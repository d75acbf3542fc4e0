//! CPU time of every format on the prompts of `benches/formats/prompts.py`.
//!
//! `benches/run-formats` compares the times with those of the reference implementations. The
//! argument is the file of prompts. Each line is `format TAB prompt TAB compile TAB render`, in
//! nanoseconds.

mod formats_prompts;
mod measure;

fn main() {
    formats_prompts::each(|format, prompt, compile, render| {
        let [compile] = measure::nanoseconds([compile]);
        let [render] = measure::nanoseconds([render]);
        println!("{format}\t{prompt}\t{compile}\t{render}");
    });
}
