//! Both ends of a connection that TLS secures, in one thread.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::io::{Read, Write};
use std::sync::Arc;
use testkit::TempDir;
use tls::{Channel, Context, Settings, certificates};

/// What a server offers, and a client that trusts it.
pub struct Ends {
    context: Context,
    config: Arc<ClientConfig>,
}

impl Ends {
    /// With certificates of their own.
    pub fn new() -> Ends {
        let folder = TempDir::new();
        let path = |name| folder.path().join(name);
        certificates::make_files(folder.path(), "8.4.0", &["localhost".to_string()]).unwrap();
        let settings = Settings {
            cert: path(certificates::SERVER_CERT),
            key: path(certificates::SERVER_KEY),
            versions: "TLSv1.2,TLSv1.3".into(),
            ..Settings::default()
        };
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(path(certificates::CA)).unwrap()).unwrap();
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        Ends { context: Context::load(&settings).unwrap().unwrap(), config: Arc::new(config) }
    }

    /// A connection whose handshake is over.
    pub fn connect(&self) -> Secured {
        let name = ServerName::try_from("localhost").unwrap();
        let client = ClientConnection::new(Arc::clone(&self.config), name).unwrap();
        let server = Channel::new(&self.context).unwrap();
        let mut line = Secured { client, server, wire: Vec::new() };
        while line.client.is_handshaking() || line.server.secured().is_none() {
            line.carry_out();
            let back = line.server.take().unwrap();
            line.carry_back(&back);
        }
        line
    }
}

/// Both ends.
pub struct Secured {
    client: ClientConnection,
    server: Channel,
    wire: Vec<u8>,
}

impl Secured {
    fn carry_out(&mut self) {
        self.wire.clear();
        while self.client.wants_write() {
            self.client.write_tls(&mut self.wire).unwrap();
        }
        let mut source = &self.wire[..];
        while !source.is_empty() {
            self.server.read_from(&mut source).unwrap();
        }
    }

    fn carry_back(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.client.read_tls(&mut bytes).unwrap();
            self.client.process_new_packets().unwrap();
        }
    }

    /// Sends a statement to the server, which sends it back; whether it is the same.
    pub fn echo(&mut self, statement: &[u8]) -> bool {
        self.client.writer().write_all(statement).unwrap();
        self.carry_out();
        let mut room = [0; 256];
        let came = self.server.clear(&mut room).unwrap().unwrap_or(0);
        let mut answer = Vec::new();
        let send = |bytes: &[u8]| {
            answer.extend_from_slice(bytes);
            Ok(())
        };
        self.server.write(&room[..came], send).unwrap();
        self.carry_back(&answer);
        let mut back = [0; 256];
        let n = self.client.reader().read(&mut back).unwrap_or(0);
        &back[..n] == statement
    }
}
