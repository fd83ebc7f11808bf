//! What a request line names: the operation and the IDs in the path.

use crate::operation::Operation;

/// Method and path, taken apart. IDs are as they were sent; whether they are well-formed is checked later, so that a call
/// with a malformed ID has an operation too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) operation: Operation,
    pub(crate) project: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) network: Option<String>,
    pub(crate) nic: Option<String>,
    pub(crate) volume: Option<String>,
}

impl Target {
    fn nothing(operation: Operation) -> Self {
        Self { operation, project: None, region: None, server: None, network: None, nic: None, volume: None }
    }

    /// `selected` says that the query has a `label_selector`.
    pub(crate) fn of(method: &str, path: &str, selected: bool) -> Self {
        if path == "/token" && method == "POST" {
            return Self::nothing(Operation::Token);
        }
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let ["v2", "projects", project, "regions", region, rest @ ..] = parts.as_slice() else {
            return Self::nothing(Operation::Unknown);
        };
        let mut target = Self {
            project: Some((*project).to_owned()),
            region: Some((*region).to_owned()),
            ..Self::nothing(Operation::Unknown)
        };
        let id = |text: &str| Some(text.to_owned());
        target.operation = match (method, rest) {
            ("GET", ["servers"]) if selected => Operation::ListServersBySelector,
            ("GET", ["servers"]) => Operation::ListServers,
            ("POST", ["servers"]) => Operation::CreateServer,
            (_, ["servers", server]) => {
                target.server = id(server);
                match method {
                    "GET" => Operation::GetServer,
                    "PATCH" => Operation::PatchServer,
                    "DELETE" => Operation::DeleteServer,
                    _ => Operation::Unknown,
                }
            }
            ("GET", ["servers", server, "nics"]) => {
                target.server = id(server);
                Operation::ListServerNics
            }
            ("GET", ["servers", server, "volume-attachments"]) => {
                target.server = id(server);
                Operation::ListAttachments
            }
            (_, ["servers", server, "volume-attachments", volume]) => {
                (target.server, target.volume) = (id(server), id(volume));
                match method {
                    "GET" => Operation::GetAttachment,
                    "PATCH" => Operation::PatchAttachment,
                    _ => Operation::Unknown,
                }
            }
            ("GET", ["nics"]) => Operation::ListProjectNics,
            ("GET", ["networks", network, "nics"]) => {
                target.network = id(network);
                Operation::ListNetworkNics
            }
            (_, ["networks", network, "nics", nic]) => {
                (target.network, target.nic) = (id(network), id(nic));
                match method {
                    "GET" => Operation::GetNic,
                    "PATCH" => Operation::PatchNic,
                    "DELETE" => Operation::DeleteNic,
                    _ => Operation::Unknown,
                }
            }
            ("GET", ["volumes"]) => Operation::ListVolumes,
            (_, ["volumes", volume]) => {
                target.volume = id(volume);
                match method {
                    "GET" => Operation::GetVolume,
                    "PATCH" => Operation::PatchVolume,
                    "DELETE" => Operation::DeleteVolume,
                    _ => Operation::Unknown,
                }
            }
            _ => Operation::Unknown,
        };
        target
    }

    /// Every ID of the path, for the check of its form.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        [&self.project, &self.server, &self.network, &self.nic, &self.volume].into_iter().filter_map(|id| id.as_deref())
    }
}
