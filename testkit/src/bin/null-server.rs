//! A server that does nothing, as a process: `null-server SOCKET` ([`testkit::null`]).

fn main() -> std::io::Result<()> {
    let socket = std::env::args_os().nth(1).ok_or(std::io::ErrorKind::InvalidInput)?;
    testkit::null::serve(std::path::Path::new(&socket))
}
