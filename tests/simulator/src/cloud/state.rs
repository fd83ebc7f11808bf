//! Everything that the simulator knows.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::cloud::region::Region;
use crate::faults::Faults;
use crate::journal::Journal;
use crate::labels::LabelMode;
use crate::reply::Reply;
use crate::target::Target;
use crate::tokens::{Caller, Refused, Tokens};

/// Regions that exist without anything in them; others exist once something was put there.
const REGIONS: [&str; 2] = ["eu01", "eu02"];

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) projects: BTreeMap<String, BTreeMap<String, Region>>,
    /// Project and region of each server.
    homes: HashMap<String, (String, String)>,
    pub(crate) tokens: Tokens,
    pub(crate) faults: Faults,
    pub(crate) journal: Journal,
    pub(crate) label_mode: LabelMode,
    /// How long a new server is CREATING.
    pub(crate) boot: Duration,
    /// Whether an expired token is answered with plain text, not JSON.
    pub(crate) plain_text_401: bool,
}

impl State {
    pub(crate) fn new() -> Self {
        Self {
            projects: BTreeMap::new(),
            homes: HashMap::new(),
            tokens: Tokens::new(),
            faults: Faults::default(),
            journal: Journal::new(),
            label_mode: LabelMode::default(),
            boot: Duration::ZERO,
            plain_text_401: false,
        }
    }

    pub(crate) fn add_project(&mut self, project: &str) {
        self.projects.entry(project.to_owned()).or_default();
    }

    /// The region, made if need be.
    pub(crate) fn region(&mut self, project: &str, region: &str) -> &mut Region {
        self.projects.entry(project.to_owned()).or_default().entry(region.to_owned()).or_default()
    }

    /// Remembers where a server lives. If it lived elsewhere, it is taken away there.
    pub(crate) fn settle(&mut self, server: &str, project: &str, region: &str) {
        let home = (project.to_owned(), region.to_owned());
        if let Some(old) = self.homes.insert(server.to_owned(), home.clone())
            && old != home
            && let Some(region) = self.projects.get_mut(&old.0).and_then(|regions| regions.get_mut(&old.1))
        {
            region.remove(server, None);
        }
    }

    pub(crate) fn home(&self, server: &str) -> Option<(String, String)> {
        self.homes.get(server).cloned()
    }

    /// The region in which a server lives.
    pub(crate) fn region_of(&mut self, server: &str) -> Option<&mut Region> {
        let (project, region) = self.homes.get(server)?;
        self.projects.get_mut(project)?.get_mut(region)
    }

    /// Deletes a server wherever it lives; lists still show it for a while if that is said.
    pub(crate) fn delete(&mut self, server: &str, shown_for: Option<Duration>) -> bool {
        let deleted = self.region_of(server).is_some_and(|region| region.remove(server, shown_for));
        self.homes.remove(server);
        deleted
    }

    /// The region that a call names, if the caller may act there.
    ///
    /// Who asks for a project of somebody else gets 403; that a project does not exist is said as 404.
    pub(crate) fn enter(&mut self, target: &Target, caller: &Result<Caller, Refused>) -> Result<&mut Region, Reply> {
        let caller = caller.as_ref().map_err(|refused| self.unauthorized(refused))?;
        if !target.ids().all(is_uuid) {
            return Err(Reply::error(400, "invalid uuid"));
        }
        let (Some(project), Some(region)) = (&target.project, &target.region) else {
            return Err(Reply::error(404, "not found"));
        };
        let Some(regions) = self.projects.get_mut(project) else {
            return Err(Reply::error(404, "project not found"));
        };
        if caller.project != *project {
            return Err(Reply::error(403, "Forbidden"));
        }
        if REGIONS.contains(&region.as_str()) {
            return Ok(regions.entry(region.clone()).or_default());
        }
        regions.get_mut(region).ok_or_else(|| Reply::error(404, "region not found"))
    }

    fn unauthorized(&self, refused: &Refused) -> Reply {
        match refused {
            Refused::Missing => Reply::text(401, "Jwt is missing"),
            Refused::Unknown => Reply::text(401, "Jwks doesn't have key to match kid or alg from Jwt"),
            Refused::Expired(_) if self.plain_text_401 => Reply::text(401, "Jwt is expired"),
            Refused::Expired(_) => unauthorized_json(),
        }
    }
}

/// The 401 of the gateway: its members are not those of the API's errors.
pub(crate) fn unauthorized_json() -> Reply {
    Reply::json(401, &serde_json::json!({ "status": 401, "message": "Unauthenticated token" }))
}

/// The form that the specification asks of IDs in paths: lower case, 36 characters.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}
