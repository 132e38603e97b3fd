//! The lab without the server's binary around it: give it one by `--binary`.

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    lab::main(&arguments)
}
