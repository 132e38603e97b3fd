//! Both sides of a connection in one thread: what is negotiated, what is refused, what comes through.

// Tests panic to fail.
#![allow(clippy::unwrap_used)]

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    RevokedCertParams, SerialNumber, date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion, version};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tls::{Channel, Context, Progress, Secured, Settings, certificates};

/// A folder with certificates in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("limpid-tls-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let names = ["localhost".to_string(), "127.0.0.1".to_string()];
        assert!(certificates::make_files(&path, "8.4.0", &names).unwrap());
        Folder(path)
    }

    fn settings(&self) -> Settings {
        Settings {
            ca: Some(self.0.join("ca.pem")),
            cert: self.0.join("server-cert.pem"),
            key: self.0.join("server-key.pem"),
            versions: "TLSv1.2,TLSv1.3".into(),
            ..Settings::default()
        }
    }

    fn context(&self) -> Context {
        Context::load(&self.settings()).unwrap().expect("versions")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A client that trusts the authority of `trusted`, and shows the certificate of `own`, if there is one.
fn client(
    trusted: &Path,
    own: Option<&Path>,
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(trusted.join("ca.pem")).unwrap()).unwrap();
    let builder =
        ClientConfig::builder_with_protocol_versions(versions).with_root_certificates(roots);
    Arc::new(match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let chain = vec![CertificateDer::from_pem_file(own.join("client-cert.pem")).unwrap()];
            let key = PrivateKeyDer::from_pem_file(own.join("client-key.pem")).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    })
}

const BOTH: [&SupportedProtocolVersion; 2] = [&version::TLS12, &version::TLS13];

struct Line {
    client: ClientConnection,
    server: Channel,
}

impl Line {
    fn new(config: &Arc<ClientConfig>, context: &Context) -> Line {
        let name = ServerName::try_from("localhost").unwrap();
        let client = ClientConnection::new(Arc::clone(config), name).unwrap();
        Line { client, server: Channel::new(context).unwrap() }
    }

    /// Carries bytes both ways until neither side has any; what went wrong, first of the server, then of the client.
    fn carry(&mut self) -> Result<(), String> {
        loop {
            let mut sent = Vec::new();
            while self.client.wants_write() {
                self.client.write_tls(&mut sent).unwrap();
            }
            let idle = sent.is_empty();
            let mut source = &sent[..];
            let mut failed = None;
            while !source.is_empty() && failed.is_none() {
                failed = self.server.read_from(&mut source).err();
            }
            let back = self.server.take().unwrap();
            let mut source = &back[..];
            while !source.is_empty() {
                self.client.read_tls(&mut source).unwrap();
                let taken = self.client.process_new_packets();
                if let (None, Err(error)) = (&failed, taken) {
                    return Err(format!("client: {error}"));
                }
            }
            match failed {
                Some(error) => return Err(format!("server: {error}")),
                None if idle && back.is_empty() => return Ok(()),
                None => {}
            }
        }
    }

    fn shaken(config: &Arc<ClientConfig>, context: &Context) -> (Line, Secured) {
        let mut line = Line::new(config, context);
        line.carry().unwrap();
        let secured = line.server.secured().unwrap();
        (line, secured)
    }
}

#[test]
fn both_versions_are_negotiated_and_bytes_come_through() {
    let folder = Folder::new("versions");
    let context = folder.context();
    assert!(context.ciphers.starts_with("TLS_AES_256_GCM_SHA384:"), "{}", context.ciphers);
    assert!(context.valid.0.ends_with("GMT") && context.valid.1.ends_with("GMT"));
    for (versions, name) in [(vec![BOTH[0]], "TLSv1.2"), (vec![BOTH[1]], "TLSv1.3")] {
        let (mut line, secured) = Line::shaken(&client(&folder.0, None, &versions), &context);
        assert_eq!((secured.version, secured.resumed), (name, false));
        assert!(context.ciphers.split(':').any(|c| c == secured.cipher), "{secured:?}");
        line.client.writer().write_all(b"SELECT 1").unwrap();
        line.carry().unwrap();
        let mut got = [0; 64];
        // As much as there is room for, then the rest, then nothing yet.
        assert_eq!(line.server.clear(&mut got[..6]).unwrap(), Some(6));
        assert_eq!(line.server.clear(&mut got[6..]).unwrap(), Some(2));
        assert_eq!(line.server.clear(&mut got[8..]).unwrap(), Some(0));
        assert_eq!(&got[..8], b"SELECT 1");
        let long: Vec<u8> = (0..700_000_u32).map(|n| n as u8).collect();
        let (mut sent, mut pieces) = (Vec::new(), 0);
        let send = |bytes: &[u8]| {
            sent.extend_from_slice(bytes);
            pieces += 1;
            Ok(())
        };
        line.server.write(&long, send).unwrap();
        assert_eq!(pieces, 3);
        let (mut source, mut came) = (&sent[..], Vec::new());
        while !source.is_empty() {
            line.client.read_tls(&mut source).unwrap();
            line.client.process_new_packets().unwrap();
            let _ = line.client.reader().read_to_end(&mut came);
        }
        assert_eq!(came, long);
        line.client.send_close_notify();
        line.carry().unwrap();
        assert_eq!(line.server.clear(&mut got).unwrap(), None);
    }
}

#[test]
fn a_record_that_is_not_the_clients_ends_a_secured_connection() {
    let folder = Folder::new("forged");
    let context = folder.context();
    for version in BOTH {
        let (mut line, _) = Line::shaken(&client(&folder.0, None, &[version]), &context);
        line.client.writer().write_all(b"SELECT 1").unwrap();
        let mut sent = Vec::new();
        line.client.write_tls(&mut sent).unwrap();
        // One bit of what was encrypted; words in clear.
        let mut forged = sent.clone();
        *forged.last_mut().unwrap() ^= 1;
        for wrong in [&forged[..], b"\x17\x03\x03\0\x09\x05\0\0\0\x03DO 0"] {
            let (mut line, _) = Line::shaken(&client(&folder.0, None, &[version]), &context);
            let mut source = wrong;
            assert!(line.server.read_from(&mut source).is_err());
            assert!(!line.server.take().unwrap().is_empty(), "an alert");
            let nothing = line.server.clear(&mut [0; 16]);
            assert!(matches!(nothing, Ok(Some(0) | None) | Err(_)), "{nothing:?}");
        }
    }
}

#[test]
fn a_second_connection_goes_on_with_the_keys_of_the_first() {
    let folder = Folder::new("resumed");
    let context = folder.context();
    for version in BOTH {
        let config = client(&folder.0, None, &[version]);
        assert!(!Line::shaken(&config, &context).1.resumed);
        assert!(Line::shaken(&config, &context).1.resumed);
    }
}

#[test]
fn certificates_of_another_authority_are_refused_on_both_sides() {
    let (folder, other) = (Folder::new("own"), Folder::new("other"));
    let context = folder.context();
    for version in BOTH {
        let own = client(&folder.0, Some(&folder.0), &[version]);
        Line::shaken(&own, &context);
        let distrusts = client(&other.0, None, &[version]);
        let refused = Line::new(&distrusts, &context).carry().unwrap_err();
        assert!(refused.contains("certificate"), "{refused}");
        let stranger = client(&folder.0, Some(&other.0), &[version]);
        let refused = Line::new(&stranger, &context).carry().unwrap_err();
        assert!(refused.starts_with("server: invalid peer certificate"), "{refused}");
    }
}

/// An authority in a folder, with a client's certificate by it.
struct Authority {
    folder: PathBuf,
    params: CertificateParams,
    key: KeyPair,
}

impl Authority {
    const SERIAL: u64 = 77;

    fn new(folder: &Path) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "who revokes");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let made = Authority { folder: folder.into(), params, key };
        made.write("ca.pem", &made.params.self_signed(&made.key).unwrap().pem());
        let mut client = CertificateParams::default();
        client.serial_number = Some(SerialNumber::from(Authority::SERIAL));
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        made.write("client-cert.pem", &client.signed_by(&key, &made.issuer()).unwrap().pem());
        made.write("client-key.pem", &key.serialize_pem());
        made
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).unwrap();
    }

    fn issuer(&self) -> Issuer<'_, &KeyPair> {
        Issuer::from_params(&self.params, &self.key)
    }

    /// A list of these serial numbers.
    fn revoke(&self, serials: &[u64], until_year: i32) {
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: date_time_ymd(2021, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(until_year, 1, 1),
            crl_number: SerialNumber::from(1_u64),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        self.write("crl.pem", &list.signed_by(&self.issuer()).unwrap().pem().unwrap());
    }
}

#[test]
fn revoked_certificates_are_refused() {
    let (folder, own) = (Folder::new("revokes"), Folder::new("revoked"));
    let authority = Authority::new(&own.0);
    let settings = Settings {
        ca: Some(own.0.join("ca.pem")),
        crl: Some(own.0.join("crl.pem")),
        ..folder.settings()
    };
    let lacks = || Context::load(&settings).unwrap_err().to_string();
    assert!(lacks().contains("crl.pem"), "{}", lacks());
    authority.write("crl.pem", "nothing");
    assert!(lacks().ends_with("crl.pem has no list of revoked certificates"), "{}", lacks());
    for version in BOTH {
        let shown = client(&folder.0, Some(&own.0), &[version]);
        let refused = || {
            let context = Context::load(&settings).unwrap().unwrap();
            // Who shows none is let in.
            Line::shaken(&client(&folder.0, None, &[version]), &context);
            Line::new(&shown, &context).carry().err().map(|error| error.to_ascii_lowercase())
        };
        authority.revoke(&[Authority::SERIAL + 1], 2100);
        assert_eq!(refused(), None);
        authority.revoke(&[Authority::SERIAL], 2100);
        assert!(refused().is_some_and(|why| why.contains("revoked")), "{:?}", refused());
        authority.revoke(&[], 2021);
        assert!(refused().is_some_and(|why| why.contains("expired")), "{:?}", refused());
    }
}

#[test]
fn what_is_no_handshake_ends_the_connection_with_an_alert() {
    let folder = Folder::new("garbage");
    let context = folder.context();
    let hello = {
        let mut line = Line::new(&client(&folder.0, None, &BOTH), &context);
        let mut bytes = Vec::new();
        line.client.write_tls(&mut bytes).unwrap();
        bytes
    };
    let mut server = Channel::new(&context).unwrap();
    for byte in &hello[..hello.len() - 1] {
        assert_eq!(server.read_from(&mut &[*byte][..]).unwrap(), Some(Progress::Handshake));
    }
    assert_eq!(server.secured(), None, "half of a hello");
    assert_eq!(server.read_from(&mut &b""[..]).unwrap(), None, "the client has gone");

    // TLS 1.1 and 1.0 in place of what the list of versions has.
    let mut old = hello.clone();
    let list = [0, 43, 0, 5, 4, 3, 4, 3, 3];
    let at = old.windows(list.len()).position(|w| w == list).unwrap();
    old[at + 5..at + 9].copy_from_slice(&[3, 2, 3, 1]);
    for wrong in
        [&b"\x16\x03\x01\xFF\xFF"[..], b"\x01\0\0\x03\x0E", b"GET / HTTP/1.1\r\n\r\n", &old]
    {
        let mut server = Channel::new(&context).unwrap();
        let mut source = wrong;
        let mut failed = false;
        while !source.is_empty() && !failed {
            failed = server.read_from(&mut source).is_err();
        }
        assert!(failed, "{wrong:?}");
        let alert = server.take().unwrap();
        assert!(alert.first() == Some(&21), "{alert:?}");
    }
    let mut rng = stdx::rng::Rng::new(11);
    for _ in 0..500 {
        let mut damaged = hello.clone();
        let at = rng.below(damaged.len() as u64) as usize;
        damaged[at] = rng.next_u64() as u8;
        let mut server = Channel::new(&context).unwrap();
        let mut source = &damaged[..];
        while !source.is_empty() && server.read_from(&mut source).is_ok() {}
        let _ = server.take();
        assert_eq!(server.secured(), None);
    }
}

#[test]
fn settings_that_do_not_go_together_are_told() {
    let (folder, other) = (Folder::new("settings"), Folder::new("settings-other"));
    let refused = |settings: Settings| Context::load(&settings).unwrap_err().to_string();
    let good = || folder.settings();
    let missing = folder.0.join("nosuch.pem");
    assert!(refused(Settings { cert: missing.clone(), ..good() }).contains("nosuch.pem"));
    assert!(refused(Settings { ca: Some(missing), ..good() }).contains("nosuch.pem"));
    let keyless = Settings { key: folder.0.join("ca.pem"), ..good() };
    assert!(refused(keyless).ends_with("ca.pem has no key"));
    let keys = refused(Settings { key: other.0.join("server-key.pem"), ..good() });
    assert!(keys.contains("KeyMismatch") || keys.contains("inconsistent"), "{keys}");
    assert!(refused(Settings { versions: "TLSv1.1".into(), ..good() }).contains("tls_version"));
    assert!(refused(Settings { ciphers: "RC4-MD5".into(), ..good() }).contains("ssl_cipher"));
    assert!(Context::load(&Settings { versions: String::new(), ..good() }).unwrap().is_none());
    // One version, one cipher.
    let narrow = Settings {
        versions: "TLSv1.3".into(),
        suites: "TLS_CHACHA20_POLY1305_SHA256".into(),
        ..good()
    };
    let context = Context::load(&narrow).unwrap().unwrap();
    assert_eq!(context.ciphers, "TLS_CHACHA20_POLY1305_SHA256");
    let (_, secured) = Line::shaken(&client(&folder.0, None, &BOTH), &context);
    assert_eq!((secured.version, secured.cipher), ("TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256"));
    let too_old = Line::new(&client(&folder.0, None, &BOTH[..1]), &context).carry().unwrap_err();
    assert!(too_old.starts_with("server:"), "{too_old}");
}

#[test]
fn files_that_are_there_are_left_alone() {
    let folder = Folder::new("kept");
    let before = std::fs::read(folder.0.join("ca.pem")).unwrap();
    std::fs::remove_file(folder.0.join("server-cert.pem")).unwrap();
    assert!(!certificates::make_files(&folder.0, "8.4.0", &[]).unwrap());
    assert_eq!(std::fs::read(folder.0.join("ca.pem")).unwrap(), before);
    assert!(!folder.0.join("server-cert.pem").exists());
    let mode = |name: &str| {
        std::os::unix::fs::MetadataExt::mode(&folder.0.join(name).metadata().unwrap()) & 0o777
    };
    assert_eq!(
        (mode("server-key.pem"), mode("ca-key.pem"), mode("client-key.pem")),
        (0o600, 0o600, 0o600)
    );
}
