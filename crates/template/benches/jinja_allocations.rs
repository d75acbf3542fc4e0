//! Allocations of the `jinja` format and of minijinja on four typical prompts. Separate from
//! `jinja`, because counting allocations takes time. Each line is `task TAB prompt TAB minijinja's
//! allocations TAB ours`.

mod jinja_prompts;

fn main() {
    jinja_prompts::each(|what, name, theirs, ours| {
        let [theirs, ours] = [theirs, ours].map(|work| {
            // The first run fills caches, whose allocations must not count.
            work();
            allocation_counter::measure(work).count_total
        });
        println!("{what}\t{name}\t{theirs}\t{ours}");
    });
}
