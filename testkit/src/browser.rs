//! A headless Chromium that a test looks through: a page's document, a picture of it, and what its console and network saw.
//!
//! It is spoken to through a pair of pipes (`--remote-debugging-pipe`): messages in JSON, each ended by a zero byte. Texts
//! come back in base64, so that nothing has to be unescaped.

use crate::TempDir;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    input: File,
    messages: Receiver<String>,
    last: u32,
    session: String,
    /// Messages that were no answers.
    events: Vec<String>,
    _folder: TempDir,
}

/// The text behind `"name":"` in a message.
fn field<'m>(message: &'m str, name: &str) -> Option<&'m str> {
    let (_, rest) = message.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}

impl Browser {
    /// Starts one with a window of this size.
    ///
    /// # Panics
    /// When there is no `chromium`, or it does not answer.
    pub fn start(width: u32, height: u32) -> Browser {
        let folder = TempDir::new();
        let (to, from) = (folder.path().join("to"), folder.path().join("from"));
        for pipe in [&to, &from] {
            assert!(Command::new("mkfifo").arg(pipe).status().expect("mkfifo").success());
        }
        let line = format!(
            "exec chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
             --remote-debugging-pipe --user-data-dir={} 3<{} 4>{}",
            folder.path().join("profile").display(),
            to.display(),
            from.display()
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = shell.spawn().expect("a shell");
        // In the shell's order: each opening waits for the other side's.
        let input = File::options().write(true).open(&to).expect("the shell opens it");
        let output = File::open(&from).expect("the shell opens it");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                if sender.send(String::from_utf8_lossy(&message).into_owned()).is_err() {
                    return;
                }
            }
        });
        let (session, events) = (String::new(), Vec::new());
        let mut browser =
            Browser { child, input, messages, last: 0, session, events, _folder: folder };
        let made = browser.call("Target.createTarget", "\"url\":\"about:blank\"");
        let target = field(&made, "targetId").expect("a page").to_string();
        let attached = browser
            .call("Target.attachToTarget", &format!("\"targetId\":\"{target}\",\"flatten\":true"));
        browser.session = field(&attached, "sessionId").expect("a session").to_string();
        for part in ["Runtime", "Log", "Network", "Page"] {
            browser.call(&format!("{part}.enable"), "");
        }
        let size = format!(
            "\"width\":{width},\"height\":{height},\"deviceScaleFactor\":1,\"mobile\":false"
        );
        browser.call("Emulation.setDeviceMetricsOverride", &size);
        browser
    }

    /// Sends a command and waits for its answer.
    fn call(&mut self, method: &str, parameters: &str) -> String {
        self.last += 1;
        let id = self.last;
        let session = match self.session.as_str() {
            "" => String::new(),
            session => format!("\"sessionId\":\"{session}\","),
        };
        let text = format!(
            "{{\"id\":{id},{session}\"method\":\"{method}\",\"params\":{{{parameters}}}}}\0"
        );
        self.input.write_all(text.as_bytes()).expect("the browser is there");
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message =
                self.messages.recv_timeout(left).unwrap_or_else(|e| panic!("{method}: {e}"));
            if message.starts_with(&format!("{{\"id\":{id},")) {
                assert!(!message.contains("\"error\":{"), "{method}: {message}");
                return message;
            }
            self.events.push(message);
        }
    }

    /// Goes to a page.
    ///
    /// # Panics
    /// When the browser does not answer.
    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", &format!("\"url\":\"{url}\""));
    }

    /// Evaluates an expression of text.
    ///
    /// # Panics
    /// When it is none, or the browser does not answer. Quotes in it are single ones.
    pub fn text(&mut self, expression: &str) -> String {
        let coded = format!("btoa(unescape(encodeURIComponent({expression})))");
        let answer = self.call(
            "Runtime.evaluate",
            &format!("\"expression\":\"{coded}\",\"returnByValue\":true"),
        );
        let value = field(&answer, "value").unwrap_or_else(|| panic!("{expression}: {answer}"));
        String::from_utf8_lossy(&STANDARD.decode(value).expect("base64")).into_owned()
    }

    /// The document as it is now.
    ///
    /// # Panics
    /// When the browser does not answer.
    pub fn document(&mut self) -> String {
        // Between two pages there is none.
        self.text("(document.documentElement || {outerHTML: ''}).outerHTML")
    }

    /// Moves the mouse to a place of the page, in pixels.
    ///
    /// # Panics
    /// When the browser does not answer.
    pub fn point_at(&mut self, x: u32, y: u32) {
        self.call(
            "Input.dispatchMouseEvent",
            &format!("\"type\":\"mouseMoved\",\"x\":{x},\"y\":{y}"),
        );
    }

    /// A picture of the page, as PNG.
    fn picture(&mut self) -> Vec<u8> {
        let answer = self.call("Page.captureScreenshot", "\"format\":\"png\"");
        STANDARD.decode(field(&answer, "data").expect("a picture")).expect("base64")
    }

    /// Keeps a picture of the page as `target/screenshots/NAME.png`; its bytes.
    ///
    /// # Panics
    /// When the browser does not answer, or the file cannot be written.
    pub fn keep(&mut self, name: &str) -> Vec<u8> {
        let picture = self.picture();
        // target/PROFILE/deps/TEST
        let test = std::env::current_exe().expect("path of the test");
        let folder = test.ancestors().nth(3).expect("target folder").join("screenshots");
        std::fs::create_dir_all(&folder).expect("a folder for pictures");
        std::fs::write(folder.join(name).with_extension("png"), &picture).expect("a picture");
        picture
    }

    /// Errors and messages of the console, exceptions of scripts.
    pub fn console(&self) -> Vec<&str> {
        let kinds =
            ["\"Runtime.exceptionThrown\"", "\"Runtime.consoleAPICalled\"", "\"Log.entryAdded\""];
        let said = |event: &&String| {
            kinds.iter().any(|kind| event.contains(&format!("\"method\":{kind}")))
        };
        self.events.iter().filter(said).map(String::as_str).collect()
    }

    /// Every address that the page asked for.
    pub fn requests(&self) -> Vec<&str> {
        let sent =
            self.events.iter().filter(|e| e.contains("\"method\":\"Network.requestWillBeSent\""));
        sent.filter_map(|event| field(event.split_once("\"request\":")?.1, "url")).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.input.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let until = Instant::now() + Duration::from_secs(5);
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) && Instant::now() < until {
            crate::pause(50);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
