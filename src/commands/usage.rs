//! What clap says of a command line that it cannot take, as one sentence.

use super::Exit;

/// Prints what the command line led to, help or a complaint, and says how the program ends.
pub(super) fn end(error: &clap::Error) -> Exit {
    if error.use_stderr() && error.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return super::fail(Exit::Usage, &sentence(&error.render().to_string()));
    }
    // Nobody is left to tell when even this cannot be printed.
    drop(error.print());
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}

/// The paragraphs before the usage, in one line.
fn sentence(text: &str) -> String {
    let end = ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|begin| text.find(begin)).min();
    let said = text[..end.unwrap_or(text.len())].trim_start_matches("error: ");
    let mut sentence = String::new();
    for line in said.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (between, line) = match line.strip_prefix("tip: ") {
            Some(tip) => ("; ", tip),
            None if sentence.is_empty() => ("", line),
            None => (" ", line),
        };
        sentence.push_str(between);
        sentence.push_str(line);
    }
    sentence + "; `--help` says more"
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::commands::CommandLine;

    fn complaint(arguments: &[&str]) -> String {
        let arguments = std::iter::once("mcm-migration-webhook").chain(arguments.iter().copied());
        sentence(&CommandLine::try_parse_from(arguments).unwrap_err().render().to_string())
    }

    #[test]
    fn each_complaint_is_one_line_that_names_the_flag() {
        let cases: [(&[&str], &str); 6] = [
            (
                &["arm"],
                "the following required arguments were not provided: <--namespace <NAME>|--all>; `--help` says more",
            ),
            (
                &["arm", "--al"],
                "unexpected argument '--al' found; a similar argument exists: '--all'; `--help` says more",
            ),
            (
                &["rollbak"],
                "unrecognized subcommand 'rollbak'; a similar subcommand exists: 'rollback'; `--help` says more",
            ),
            (
                &["arm", "--all", "--namespace=n"],
                "the argument '--all' cannot be used with '--namespace <NAME>'; `--help` says more",
            ),
            (
                &["serve", "--tls-self-managed", "--side-task=perhaps"],
                "invalid value 'perhaps' for '--side-task <BOOL>' [possible values: true, false]; `--help` says more",
            ),
            (
                &["serve", "--tls-self-managed", "--listen=foo"],
                "invalid value 'foo' for '--listen <ADDRESS>': `foo` is not an IP address with a port; write for example 127.0.0.1:8443 or [::]:8443; `--help` says more",
            ),
        ];
        for (arguments, wanted) in cases {
            assert_eq!(complaint(arguments), wanted);
        }
    }
}
