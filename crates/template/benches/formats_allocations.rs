//! Allocations of every format on the prompts of `benches/formats/prompts.py`. Separate from
//! `formats`, because counting allocations takes time. Each line is `format TAB prompt TAB compile
//! TAB render`.

mod formats_prompts;

fn main() {
    formats_prompts::each(|format, prompt, compile, render| {
        let compile = allocation_counter::measure(compile).count_total;
        let render = allocation_counter::measure(render).count_total;
        println!("{format}\t{prompt}\t{compile}\t{render}");
    });
}
