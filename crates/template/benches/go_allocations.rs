//! Allocations of the `go` format on four typical prompts. Apart from
//! `go_template` because counting them takes time. Each line is
//! `what TAB prompt TAB allocations TAB bytes`.

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
