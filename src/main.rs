//! The Limpid binary: hands its arguments to the daemon, or to a tool named by the first of them.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((word, rest)) if word == "inspect" => inspect::main(rest),
        Some((word, rest)) if word == "lab" => lab::main(rest),
        Some((word, rest)) if word == "doctor" => doctor::main(rest),
        _ => daemon::main(&args),
    }
}
