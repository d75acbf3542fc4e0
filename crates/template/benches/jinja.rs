//! CPU time of the `jinja` format and of minijinja on four typical prompts. Each line is `task TAB
//! prompt TAB minijinja's nanoseconds TAB ours`. `benches/run-jinja` adds the ratios.

mod jinja_prompts;
mod measure;

fn main() {
    jinja_prompts::each(|what, name, theirs, ours| {
        let [theirs, ours] = measure::nanoseconds([theirs, ours]);
        println!("{what}\t{name}\t{theirs}\t{ours}");
    });
}
