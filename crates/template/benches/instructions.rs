//! Compiles or renders one prompt in one format a given number of times, for a tool that counts
//! instructions.
//!
//! `benches/run-instructions` runs each task under callgrind with two repeat counts and takes the
//! difference. Unlike a time, an instruction count does not depend on the load of the machine.

mod formats_prompts;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let [format, prompt, work, times] = arguments.as_slice() else {
        // Without arguments, list all formats and prompts, one pair per line.
        formats_prompts::each(|format, prompt, _, _| println!("{format}\t{prompt}"));
        return;
    };
    let times: u32 = times.parse().expect("a number of times");
    formats_prompts::each(|of_format, of_prompt, compile, render| {
        if (of_format, of_prompt) != (format.as_str(), prompt.as_str()) {
            return;
        }
        let work = if work == "compile" { compile } else { render };
        for _ in 0..times {
            work();
        }
    });
}
