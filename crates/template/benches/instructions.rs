//! The work of one format on one prompt, a given number of times, for a tool that counts instructions.
//!
//! `benches/run-instructions` runs it under callgrind, twice for each piece of work, and takes the
//! difference: a count does not move with what else the machine does, as times do.

mod formats_prompts;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let [format, prompt, work, times] = arguments.as_slice() else {
        // Without a piece of work: what there is, a line each.
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
