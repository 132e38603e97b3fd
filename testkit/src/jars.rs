//! Java programs and what they need, from the registry through Maven, kept between runs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Artifacts as `group:name:version`, with everything they depend on but the artifacts of `without` (`group:name`), in a
/// folder of their own under `home`: the folder. What was fetched in whole is not fetched again.
///
/// # Errors
/// What Maven says, or that there is none.
pub fn fetched(home: &Path, artifacts: &[&str], without: &[&str]) -> Result<PathBuf, String> {
    let (pom, jars, ready) = (home.join("pom.xml"), home.join("jars"), home.join("ready"));
    let wanted = project(artifacts, without)?;
    let old = std::fs::read_to_string(&pom).unwrap_or_default();
    if ready.exists() && old == wanted {
        return Ok(jars);
    }
    let failed = |e: std::io::Error| format!("{}: {e}", home.display());
    let _ = std::fs::remove_dir_all(home);
    std::fs::create_dir_all(home).map_err(failed)?;
    std::fs::write(&pom, wanted).map_err(failed)?;
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"]);
    let output = maven.current_dir(home).output().map_err(|e| format!("mvn: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    std::fs::write(ready, "").map_err(failed)?;
    Ok(jars)
}

/// A project that depends on the artifacts and does nothing.
fn project(artifacts: &[&str], without: &[&str]) -> Result<String, String> {
    let mut excluded = String::new();
    for artifact in without {
        let (group, name) = artifact.split_once(':').ok_or("group:name")?;
        let tags = format!("<groupId>{group}</groupId><artifactId>{name}</artifactId>");
        excluded += &format!("<exclusion>{tags}</exclusion>");
    }
    let mut dependencies = String::new();
    for artifact in artifacts {
        let parts: Vec<&str> = artifact.split(':').collect();
        let [group, name, version] = parts[..] else { return Err("group:name:version".into()) };
        dependencies += &format!(
            "<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>\
             <exclusions>{excluded}</exclusions></dependency>\n"
        );
    }
    Ok(format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\n\
         <groupId>limpid</groupId><artifactId>fetched</artifactId><version>1</version><packaging>pom</packaging>\n\
         <dependencies>\n{dependencies}</dependencies></project>\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_names_what_it_takes_and_what_it_leaves_out() {
        let text = project(&["org.one:two:3", "four:five:6"], &["old:one"]).unwrap();
        assert_eq!(text.matches("<dependency>").count(), 2);
        assert!(
            text.contains(
                "<groupId>four</groupId><artifactId>five</artifactId><version>6</version>"
            )
        );
        assert_eq!(
            text.matches("<exclusion><groupId>old</groupId><artifactId>one</artifactId>").count(),
            2
        );
        assert!(project(&["two:3"], &[]).is_err() && project(&[], &["one"]).is_err());
    }
}
