//! A way to the API server that can be cut.

use anyhow::Result;
use rig::{ApiProxy, ApiServer, objects};
use serde_json::json;

const ACCOUNT: &str = "mcm-stand-in";

/// A proxy, and the kubeconfig of an account that may do everything, through it.
pub(crate) async fn proxied(server: &ApiServer, namespace: &str) -> Result<(ApiProxy, std::path::PathBuf)> {
    let client = server.admin_client().await?;
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "namespace": namespace, "name": ACCOUNT } });
    objects::apply(&client, &account).await?;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": format!("{ACCOUNT}-{namespace}") },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "namespace": namespace, "name": ACCOUNT }],
    });
    objects::apply(&client, &binding).await?;
    let proxy = ApiProxy::start(server)?;
    let token = server.service_account_kubeconfig(namespace, ACCOUNT).await?;
    let kubeconfig = proxy.kubeconfig_for(&token)?;
    Ok((proxy, kubeconfig))
}
