//! Allocations of the `jinja` format and of minijinja, on four typical prompts. Apart from `jinja`
//! because counting them takes time. Each line is
//! `what TAB prompt TAB minijinja's allocations TAB ours`.

mod jinja_prompts;

fn main() {
    jinja_prompts::each(|what, name, theirs, ours| {
        let [theirs, ours] = [theirs, ours].map(|work| {
            // What is made once and kept does not count.
            work();
            allocation_counter::measure(work).count_total
        });
        println!("{what}\t{name}\t{theirs}\t{ours}");
    });
}
