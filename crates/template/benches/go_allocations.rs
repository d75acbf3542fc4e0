//! Allocations of the `go` format on four typical prompts. Separate from `go_template`, because
//! counting allocations takes time. Each line is `task TAB prompt TAB allocations TAB bytes`.

mod prompts;

fn main() {
    prompts::each(|what, name, work| {
        let found = allocation_counter::measure(work);
        println!(
            "{what}\t{name}\t{}\t{}",
            found.count_total, found.bytes_total
        );
    });
}
