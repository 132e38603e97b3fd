//! The stock `mariadb` client: one statement list at a time, or a session that stays open.

use crate::Server;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Longest argument given to a program; Linux refuses from 128 KiB.
const ARGUMENT_BYTES_MAX: usize = 100_000;

/// What a client run printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Exit status zero.
    pub ok: bool,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Answer {
    /// Output without the last line end.
    pub fn text(&self) -> &str {
        self.out.trim_end_matches('\n')
    }
}

/// Runs a program to its end.
///
/// # Panics
/// When it cannot be started.
pub fn run(command: &mut Command) -> Answer {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    Answer {
        ok: output.status.success(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A file without a name that holds the bytes.
fn tempfile(bytes: &[u8]) -> std::fs::File {
    let folder = crate::TempDir::new();
    let mut file = std::fs::File::options()
        .create_new(true)
        .read(true)
        .write(true)
        .open(folder.path().join("statements"))
        .expect("a file in a fresh folder");
    file.write_all(bytes).expect("room for the statements");
    file
}

/// The locale of stock clients, which take their character set from it: it is not everywhere the same.
pub const LOCALE: [(&str, &str); 1] = [("LC_ALL", "C.UTF-8")];

/// The stock client.
pub fn stock_client() -> Command {
    let mut command = Command::new("mariadb");
    command.envs(LOCALE);
    command
}

impl Server {
    /// The stock client over the Unix socket, without options of its own but that it asks for no TLS: a client process takes 30 ms
    /// for a handshake.
    pub fn client(&self) -> Command {
        let mut command = stock_client();
        command.arg("--no-defaults").arg(format!("--socket={}", self.socket().display())).args([
            "--user=root",
            "--batch",
            "--skip-column-names",
            "--skip-ssl",
        ]);
        command
    }

    /// The stock client over TCP, as [`Server::client`].
    pub fn tcp_client(&self) -> Command {
        let mut command = stock_client();
        command
            .args(["--no-defaults", "--host=127.0.0.1", "--protocol=tcp", "--user=root"])
            .arg(format!("--port={}", self.port()))
            .args(["--batch", "--skip-column-names", "--skip-ssl"]);
        command
    }

    /// Runs statements through the stock client.
    pub fn try_sql(&self, sql: &str) -> Answer {
        if sql.len() < ARGUMENT_BYTES_MAX {
            return run(self.client().arg("--execute").arg(sql));
        }
        let mut file = tempfile(sql.as_bytes());
        std::io::Seek::rewind(&mut file).expect("a file");
        run(self.client().stdin(file))
    }

    /// Runs statements that must succeed; their output, tab-separated.
    ///
    /// # Panics
    /// When a statement fails.
    pub fn sql(&self, sql: &str) -> String {
        let answer = self.try_sql(sql);
        assert!(answer.ok, "{sql}\n{}\n{}", answer.err, self.log());
        answer.text().to_string()
    }

    /// Runs a statement that must fail; the client's error line.
    ///
    /// # Panics
    /// When it succeeds.
    pub fn sql_error(&self, sql: &str) -> String {
        let answer = self.try_sql(sql);
        assert!(!answer.ok, "{sql} succeeded: {}", answer.out);
        answer.err.trim().to_string()
    }

    /// Waits until a session runs a statement that has this text in it; its number.
    ///
    /// # Panics
    /// When none does for some seconds.
    pub fn find_session(&self, text: &str) -> String {
        self.find_running(text, |_, info| info.contains(text))
    }

    /// Waits until a session runs this statement, in this state of the process list; its number.
    ///
    /// # Panics
    /// When none is for some seconds.
    pub fn find_state(&self, statement: &str, state: &str) -> String {
        self.find_running(statement, |is, info| is == state && info == statement)
    }

    fn find_running(&self, what: &str, wanted: impl Fn(&str, &str) -> bool) -> String {
        let list = "SELECT id, state, info FROM information_schema.processlist \
                    WHERE command = 'Query' AND id <> CONNECTION_ID()";
        let mut last = String::new();
        for _ in 0..500 {
            last = self.sql(list);
            for line in last.lines() {
                let mut fields = line.splitn(3, '\t').map(str::to_string);
                let mut next = || fields.next().unwrap_or_default();
                let (id, is, info) = (next(), next(), next());
                if wanted(&is, &info) {
                    return id;
                }
            }
            crate::pause(10);
        }
        panic!("no session runs {what:?} as expected:\n{last}");
    }

    /// `mariadb-admin` with a command.
    pub fn admin(&self, command: &str) -> Answer {
        let socket = format!("--socket={}", self.socket().display());
        run(Command::new("mariadb-admin").args(["--no-defaults", &socket, "--user=root", command]))
    }

    /// sysbench with the options that name this server; `tcp` instead of the socket.
    pub fn sysbench(&self, tcp: bool, arguments: &[&str]) -> Answer {
        let mut command = Command::new("sysbench");
        command.args(["--db-driver=mysql", "--mysql-user=root", "--mysql-db=sbtest"]);
        if tcp {
            command.args(["--mysql-host=127.0.0.1", &format!("--mysql-port={}", self.port())]);
        } else {
            command.arg(format!("--mysql-socket={}", self.socket().display()));
        }
        run(command.args(arguments))
    }

    /// A session of the stock client that stays open.
    pub fn converse(&self) -> Conversation {
        Conversation::open(self)
    }
}

/// A client session: statements go in one at a time, answers come back until a marker line.
#[derive(Debug)]
pub struct Conversation {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u32,
}

impl Conversation {
    fn open(server: &Server) -> Conversation {
        let mut command = server.client();
        command.args(["--unbuffered", "--force"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("mariadb client");
        let input = child.stdin.take().expect("piped above");
        let output = BufReader::new(child.stdout.take().expect("piped above"));
        Conversation { child, input, output, number: 0 }
    }

    /// Sends a statement without waiting for its answer.
    ///
    /// # Panics
    /// When the client is gone.
    pub fn send(&mut self, sql: &str) {
        self.number += 1;
        let marked = format!("{sql};\nSELECT 'answered {}';\n", self.number);
        self.input.write_all(marked.as_bytes()).expect("client is there");
        self.input.flush().expect("client is there");
    }

    /// Reads the rows of the last statement sent; errors are on the client's standard error.
    ///
    /// # Panics
    /// When the client is gone.
    pub fn receive(&mut self) -> Vec<String> {
        let marker = format!("answered {}", self.number);
        let mut rows = Vec::new();
        loop {
            let mut line = String::new();
            let n = self.output.read_line(&mut line).expect("client output");
            assert!(n > 0, "the client ended; rows so far: {rows:?}");
            let line = line.trim_end_matches('\n');
            if line == marker {
                return rows;
            }
            rows.push(line.to_string());
        }
    }

    /// Sends a statement and reads its rows.
    pub fn ask(&mut self, sql: &str) -> Vec<String> {
        self.send(sql);
        self.receive()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
