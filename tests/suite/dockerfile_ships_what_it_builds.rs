//! The image cannot be built in a test, but most of what breaks an image build shows in the Dockerfile itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

#[test]
fn every_copied_path_is_in_the_tree_and_reaches_the_build() {
    let ignored = Ignore::read();
    for stage in stages() {
        for copy in stage.all("COPY") {
            let (flags, mut paths): (Vec<_>, Vec<_>) = copy.split_whitespace().partition(|w| w.starts_with("--"));
            if flags.iter().any(|f| f.starts_with("--from=")) {
                continue;
            }
            paths.pop().expect("COPY has a destination");
            assert!(!paths.is_empty(), "COPY {copy} has no source");
            for path in paths {
                assert!(root().join(path).exists(), "COPY {path}: not in the tree");
                assert!(!ignored.covers(Path::new(path)), "COPY {path}: .dockerignore keeps it out");
            }
        }
    }
}

#[test]
fn every_file_that_cargo_compiles_is_copied() {
    let ignored = Ignore::read();
    let copied: Vec<String> = stages()
        .iter()
        .flat_map(|stage| stage.all("COPY"))
        .filter(|copy| !copy.contains("--from="))
        .flat_map(|copy| {
            let mut words: Vec<String> = copy.split_whitespace().map(String::from).collect();
            words.pop();
            words
        })
        .collect();
    // What cargo reads to know the packages, and every source of those that the binary is made of.
    let mut needed = vec![PathBuf::from("Cargo.lock")];
    let metadata = cargo_metadata();
    let packages = metadata["packages"].as_array().unwrap();
    for package in packages {
        needed.push(relative(package["manifest_path"].as_str().unwrap()));
        for target in package["targets"].as_array().unwrap() {
            needed.push(relative(target["src_path"].as_str().unwrap()));
        }
    }
    let of_the_binary: Vec<&Path> =
        packages.iter().filter(|package| is_in_the_binary(package, packages)).map(folder).collect();
    assert!(of_the_binary.contains(&root()) && of_the_binary.len() > 1, "{of_the_binary:?}");
    for folder in of_the_binary {
        let before = needed.len();
        sources(&folder.join("src"), &mut needed);
        assert!(needed.len() > before, "{} has no sources", folder.display());
    }
    for file in needed {
        assert!(copied.iter().any(|c| c == "." || file.starts_with(c)), "{} is not copied", file.display());
        assert!(!ignored.covers(&file), "{}: .dockerignore keeps it out", file.display());
    }
}

/// The package at the root, and what it depends on otherwise than for its tests.
fn is_in_the_binary(package: &Value, packages: &[Value]) -> bool {
    let main = packages.iter().find(|package| folder(package) == root()).unwrap();
    let mut needs = main["dependencies"].as_array().unwrap().iter().filter(|dependency| dependency["kind"].is_null());
    folder(package) == root() || needs.any(|dependency| dependency["name"] == package["name"])
}

fn folder(package: &Value) -> &Path {
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(relative(path.to_str().unwrap()));
        }
    }
}

#[test]
fn every_stage_that_is_copied_from_comes_before() {
    let stages = stages();
    for (index, stage) in stages.iter().enumerate() {
        for copy in stage.all("COPY") {
            let Some(from) = copy.split_whitespace().find_map(|w| w.strip_prefix("--from=")) else {
                continue;
            };
            assert!(
                stages[..index].iter().any(|s| s.name.as_deref() == Some(from)),
                "COPY --from={from}: no stage of this name above it"
            );
        }
    }
}

#[test]
fn the_image_runs_as_the_user_of_the_deployment_by_number() {
    let stages = stages();
    let user = stages.last().unwrap().one("USER");
    let (uid, gid) = user.split_once(':').expect("USER is <uid>:<gid>");
    let (uid, gid): (u64, u64) = (uid.parse().unwrap(), gid.parse().unwrap());
    assert_ne!(uid, 0, "the image must not run as root");

    let manifest = fs::read_to_string(root().join("manifests/base/deployment.yaml")).unwrap();
    let deployment: Value = serde_yaml_ng::from_str(&manifest).unwrap();
    let context = &deployment["spec"]["template"]["spec"]["securityContext"];
    assert_eq!(context["runAsUser"], uid);
    assert_eq!(context["runAsGroup"], gid);
}

#[test]
fn the_entrypoint_is_the_binary_that_was_built() {
    let stages = stages();
    let last = stages.last().unwrap();
    let entrypoint: Vec<String> = serde_json::from_str(last.one("ENTRYPOINT")).unwrap();
    let command: Vec<String> = serde_json::from_str(last.one("CMD")).unwrap();
    assert_eq!(command, ["serve"]);
    let [path] = entrypoint.as_slice() else { panic!("ENTRYPOINT is the binary alone") };
    let (folder, binary) = path.rsplit_once('/').unwrap();

    let build = stages
        .iter()
        .flat_map(|s| s.all("RUN"))
        .find(|run| run.starts_with("cargo build "))
        .expect("a RUN builds the binary");
    let option = |name: &str| {
        let mut words = build.split_whitespace().skip_while(|w| *w != name);
        words.nth(1).unwrap_or_else(|| panic!("cargo build has {name}"))
    };
    assert_eq!(option("--bin"), binary);
    assert!(build.contains("--locked"), "the image holds the versions of Cargo.lock");
    let profile = option("--profile");
    let cargo_toml = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(cargo_toml.contains(&format!("[profile.{profile}]")), "Cargo.toml has no profile {profile}");

    let gather = format!("cp target/{profile}/{binary} /rootfs{folder}/");
    assert!(
        stages.iter().flat_map(|s| s.all("RUN")).any(|run| run.contains(&gather)),
        "no RUN puts the binary where ENTRYPOINT looks: {gather}"
    );
    assert!(last.all("COPY").any(|copy| copy.ends_with("/rootfs/ /")));
}

#[test]
fn the_compiler_of_the_image_is_new_enough_for_the_crate() {
    let stages = stages();
    let image = stages[0].all("FROM").next().unwrap().to_owned();
    let version = image.strip_prefix("rust:").unwrap().split(['-', ' ']).next().unwrap();
    let metadata = cargo_metadata();
    let wanted = metadata["packages"][0]["rust_version"].as_str().unwrap();
    assert!(minor(version) >= minor(wanted), "the image's Rust {version} is older than rust-version {wanted}");
}

fn minor(version: &str) -> u32 {
    version.split('.').nth(1).unwrap().parse().unwrap()
}

/// One stage of the Dockerfile: its instructions in order, with continued lines joined.
struct Stage {
    name: Option<String>,
    instructions: Vec<(String, String)>,
}

impl Stage {
    fn all<'a>(&'a self, keyword: &'a str) -> impl Iterator<Item = &'a str> {
        self.instructions.iter().filter(move |(k, _)| k == keyword).map(|(_, arguments)| arguments.as_str())
    }

    fn one<'a>(&'a self, keyword: &'a str) -> &'a str {
        let mut all = self.all(keyword);
        let first = all.next().unwrap_or_else(|| panic!("the last stage has no {keyword}"));
        assert!(all.next().is_none(), "{keyword} stands twice");
        first
    }
}

fn stages() -> Vec<Stage> {
    let text = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with('#')).collect();
    let joined = lines.join("\n").replace("\\\n", " ");
    let mut stages: Vec<Stage> = Vec::new();
    for line in joined.lines().filter(|l| !l.trim().is_empty()) {
        let (keyword, arguments) = line.trim().split_once(' ').expect("an instruction has arguments");
        if keyword == "FROM" {
            let name = arguments.split_once(" AS ").map(|(_, name)| name.to_owned());
            stages.push(Stage { name, instructions: Vec::new() });
        }
        let stage = stages.last_mut().expect("a Dockerfile begins with FROM");
        stage.instructions.push((keyword.to_owned(), arguments.trim().to_owned()));
    }
    assert!(!stages.is_empty());
    stages
}

/// The patterns of `.dockerignore`: plain paths, `**/` in front, and `*.ending`. Others fail the test that meets them.
struct Ignore(Vec<String>);

impl Ignore {
    fn read() -> Self {
        let text = fs::read_to_string(root().join(".dockerignore")).unwrap();
        let patterns: Vec<String> =
            text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).map(String::from).collect();
        for pattern in &patterns {
            let plain = pattern.trim_start_matches("**/").trim_start_matches('*');
            assert!(!plain.contains(['*', '?', '[', '!']), "{pattern}: this test does not understand the pattern");
        }
        Self(patterns)
    }

    fn covers(&self, path: &Path) -> bool {
        let parts: Vec<&str> = path.iter().map(|p| p.to_str().unwrap()).collect();
        self.0.iter().any(|pattern| match pattern.strip_prefix("**/") {
            Some(name) => parts.iter().any(|part| match name.strip_prefix('*') {
                Some(ending) => part.ends_with(ending),
                None => *part == name,
            }),
            None => path.starts_with(pattern),
        })
    }
}

fn cargo_metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn relative(path: &str) -> PathBuf {
    Path::new(path).strip_prefix(root()).unwrap().to_owned()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
