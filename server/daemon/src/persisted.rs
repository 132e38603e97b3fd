//! What SET PERSIST keeps (`mysqld-auto.cnf`, an option file) and the server's identity (`auto.cnf`).

use crate::optfile;
use session::variables::{self, PersistStore, Value, VarId};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const NAME: &str = "mysqld-auto.cnf";
const IDENTITY: &str = "auto.cnf";

/// Persisted variables.
#[derive(Debug, Default)]
pub struct Persisted {
    /// Texts by variable.
    pub texts: BTreeMap<&'static str, String>,
    /// The same as values.
    pub values: Vec<(VarId, Value)>,
}

/// Where persisted variables are.
pub fn path(datadir: &Path) -> PathBuf {
    datadir.join(NAME)
}

/// Reads what was persisted; an unknown variable or value is an error naming its line.
pub fn read(datadir: &Path) -> Result<Persisted, String> {
    let path = path(datadir);
    if !path.exists() {
        return Ok(Persisted::default());
    }
    let mut kept = Persisted::default();
    for written in optfile::read(&path, &["mysqld"])? {
        let text = written.value.unwrap_or_default();
        let id = variables::find(&written.name)
            .ok_or_else(|| format!("{}: unknown variable '{}'", written.place, written.name))?;
        let v = id.get();
        let (value, _) = v.kind.parse(v.name, &text).map_err(|_| {
            format!("{}: '{text}' is no valid value for '{}'", written.place, v.name)
        })?;
        if let Some(reason) = v.lacks(&value) {
            return Err(format!(
                "{}: '{text}' is not supported as a value of '{}': {reason}",
                written.place, v.name
            ));
        }
        kept.texts.insert(v.name, text);
        kept.values.push((id, value));
    }
    Ok(kept)
}

/// Writes persisted variables durably: a new file, synced, then renamed over the old one.
pub struct Store {
    datadir: PathBuf,
}

impl Store {
    /// A store in a data folder.
    pub fn new(datadir: &Path) -> Self {
        Self { datadir: datadir.to_path_buf() }
    }
}

impl PersistStore for Store {
    fn save(&self, text: &str) -> io::Result<()> {
        write_durably(&self.datadir, NAME, text)
    }
}

fn write_durably(datadir: &Path, name: &str, text: &str) -> io::Result<()> {
    let temporary = datadir.join(format!(".{name}.new"));
    let mut file = File::create(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, datadir.join(name))?;
    File::open(datadir)?.sync_all()
}

/// The server's UUID: made at the first start, kept afterwards.
pub fn server_uuid(datadir: &Path) -> String {
    let path = datadir.join(IDENTITY);
    if let Ok(options) = optfile::read(&path, &["auto"])
        && let Some(uuid) = options.into_iter().find(|o| o.name == "server_uuid")
    {
        return uuid.value.unwrap_or_default();
    }
    let uuid = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let uuid = uuid.trim().to_string();
    // Without it the server would have another identity next time: no reason not to start.
    let _ = write_durably(datadir, IDENTITY, &format!("[auto]\nserver-uuid={uuid}\n"));
    uuid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_read_back() {
        let dir = std::env::temp_dir().join(format!("limpid-persist-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        assert!(read(&dir).unwrap().texts.is_empty());
        let globals =
            variables::Globals::new(&[], BTreeMap::new(), Some(Box::new(Store::new(&dir))));
        globals.persist(variables::id("wait_timeout"), &Value::UInt(5)).unwrap();
        globals.persist(variables::id("init_connect"), &Value::Text("a \"b\"\\c".into())).unwrap();
        let kept = read(&dir).unwrap();
        assert_eq!(kept.texts["wait_timeout"], "5");
        assert_eq!(kept.texts["init_connect"], "a \"b\"\\c");
        let uuid = server_uuid(&dir);
        assert_eq!((uuid.len(), server_uuid(&dir)), (36, uuid.clone()));
        fs::write(dir.join(NAME), "[mysqld]\nnosuch=1\n").unwrap();
        assert!(read(&dir).unwrap_err().contains("nosuch"));
        fs::remove_dir_all(&dir).unwrap();
    }
}
