mod input;
mod report;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use self::input::Input;
use self::report::Report;
use super::{Exit, fail};
use crate::admission;
use crate::world::folder;
use mcm_migration_core::review;

/// Flags of `review`.
#[derive(Debug, Args)]
pub(super) struct ReviewFlags {
    /// What is known: a folder of manifests, as `kubectl get -o yaml` writes them
    #[arg(long, value_name = "DIR", env = "MCM_MIGRATION_OBJECTS")]
    objects: PathBuf,

    /// One AdmissionReview, Machine or Worker, as JSON or YAML; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Prints the decision. 0: it would migrate, or has migrated; 2: it would not; 64: there is nothing to evaluate.
pub(super) fn run(flags: &ReviewFlags) -> Exit {
    let input = match Input::read(&flags.file) {
        Ok(input) => input,
        Err(error) => return fail(Exit::Usage, &error),
    };
    let world = match folder::load(&flags.objects) {
        Ok(world) => world,
        Err(error) => return fail(Exit::Usage, &error),
    };
    let body = input.review.to_string();
    let request = match review::parse(body.as_bytes()) {
        Ok(request) => request,
        Err(error) => return fail(Exit::Usage, &error),
    };
    let decision = admission::evaluate(input.path, &request, &world, false);
    let object = input.review.pointer("/request/object").cloned().unwrap_or(Value::Null);
    let reasons = admission::reasons(input.path, &request, &world, &decision);
    match Report::new(&request, decision, reasons, object) {
        Ok(report) => match write!(std::io::stdout().lock(), "{report}") {
            Ok(()) => report.exit(),
            Err(error) => fail(Exit::Failed, &format_args!("cannot write to standard output: {error}")),
        },
        Err(error) => fail(Exit::Failed, &error),
    }
}
