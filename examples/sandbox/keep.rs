//! What one can look at when everything keeps running.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::replica::READY;
use crate::scene::REGION;
use crate::screen::{Screen, Style};
use crate::setup::Sandbox;

/// Says how to look around, and waits for Enter (at a terminal) or Ctrl-C.
pub(crate) async fn keep(sandbox: &Sandbox, screen: &Screen) -> Result<()> {
    screen.title("Everything keeps running. In another terminal:")?;
    let (kubectl, kubeconfig) = (sandbox.assets.kubectl.display(), sandbox.server.admin_kubeconfig().display());
    screen.line(&format!("  export KUBECONFIG={kubeconfig}"))?;
    screen.line(&format!("  k={kubectl}"))?;
    let explain = |what: &str| screen.styled(Style::Dim, &format!("# {what}"));
    let prod = &sandbox.scenes.first().context("there is no scene")?.shoot;
    let (namespace, class) = (prod.namespace(), prod.class());
    let back = format!("$k -n {namespace} patch machineclass {class} --type=merge -p '{{\"provider\":\"OpenStack\"}}'");
    let wait = format!("$k -n {namespace} wait --for=condition=Complete mmig/openstack-to-stackit");
    let servers = format!(
        "curl -s -H \"Authorization: Bearer $(cat {})\" {}/v2/projects/{}/regions/{REGION}/servers",
        token(sandbox).await?.display(),
        sandbox.simulator.iaas_url(),
        prod.project_id(),
    );
    for (what, commands) in [
        ("how far the shoots are", &["$k get mmig -A -w", &wait][..]),
        (
            "all Machines and Workers",
            &[
                "$k get machines -A -o custom-columns=NAME:.metadata.name,ID:.spec.providerID",
                "$k get machine,worker -A -o yaml",
            ],
        ),
        (
            "lift the pause of paused: it completes within seconds",
            &[
                "$k -n shoot--garden--paused patch mmig openstack-to-stackit --type=merge -p '{\"spec\":{\"paused\":false}}'",
            ],
        ),
        ("try the way back to OpenStack: the guard refuses it", &[&back]),
        ("the servers of prod in the simulated cloud, with their labels", &[&servers]),
    ] {
        screen.line(&format!("  {}", explain(what)))?;
        commands.iter().try_for_each(|command| screen.line(&format!("  {command}")))?;
    }
    screen.line(&format!("  {}", explain("the replicas' metrics")))?;
    for replica in &sandbox.replicas {
        screen.line(&format!("  curl -s http://{}/metrics", replica.address("admin", READY).await?))?;
    }
    let at_terminal = std::io::stdin().is_terminal();
    screen.line(if at_terminal { "\nEnter or Ctrl-C ends it all." } else { "\nCtrl-C ends it all." })?;
    tokio::select! {
        () = enter(), if at_terminal => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot listen for Ctrl-C"),
    }
}

/// Waits for a line of standard input, or its end.
async fn enter() {
    let (ended, wait) = tokio::sync::oneshot::channel();
    // A thread of its own: the runtime would wait for a read that never ends.
    std::thread::spawn(move || {
        // An error ends the wait as well, and whoever waited may be gone.
        let _ = std::io::stdin().read_line(&mut String::new());
        let _ = ended.send(());
    });
    // The sender goes only after it has sent.
    let _ = wait.await;
}

/// A file with an access token for the project of the first shoot, good for an hour.
async fn token(sandbox: &Sandbox) -> Result<PathBuf> {
    let project = sandbox.scenes.first().context("there is no scene")?.shoot.project_id();
    let assertion = sandbox.stage.cloud.add_key(&project).assertion(&json!({}))?;
    let form = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", &assertion)];
    let client = reqwest::Client::builder().no_proxy().build()?;
    let answer = client.post(sandbox.simulator.token_url()).form(&form).send().await?.text().await?;
    let answer: Value = serde_json::from_str(&answer).context("the simulator gave no token")?;
    let file = sandbox.server.folder().join("stackit-token");
    std::fs::write(&file, answer["access_token"].as_str().context("the simulator gave no token")?)?;
    Ok(file)
}
