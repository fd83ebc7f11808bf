//! The state of the simulated cloud, and what a test may do with it without HTTP.

mod answer;
mod lists;
mod misbehave;
mod nics;
mod region;
mod servers;
mod shelf;
mod state;
mod volumes;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) use answer::Request;
use shelf::Entry;
use state::State;

use crate::faults::{FaultId, FaultPlan};
use crate::journal::Call;
use crate::keys::ServiceAccountKey;
use crate::labels::LabelMode;
use crate::model::{Nic, Server, Volume};
use crate::operation::Operation;
use crate::reply::Reply;
use crate::target::Target;

/// The state: projects with their servers, network interfaces and volumes, keys and tokens, faults, the journal. Every method
/// takes effect at once, and none waits.
#[derive(Debug)]
pub struct Cloud(Mutex<State>);

impl Default for Cloud {
    fn default() -> Self {
        Self::new()
    }
}

impl Cloud {
    /// Nothing is in it.
    #[must_use]
    pub fn new() -> Self {
        Self(Mutex::new(State::new()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A test that panicked in `change_server` must not fail the others.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a project and a key for it.
    #[must_use = "without the key nobody can call"]
    pub fn add_project(&self, project: &str) -> ServiceAccountKey {
        self.add_key(project)
    }

    /// Registers another key, of a service account of its own, for a project, which is made if there is none.
    pub fn add_key(&self, project: &str) -> ServiceAccountKey {
        let mut state = self.lock();
        state.add_project(project);
        state.tokens.register(project)
    }

    /// From now on the key gets no token; tokens that it has stay good.
    pub fn deactivate_key(&self, kid: &str) {
        self.lock().tokens.set_active(kid, false);
    }

    /// The key gets tokens again.
    pub fn activate_key(&self, kid: &str) {
        self.lock().tokens.set_active(kid, true);
    }

    /// How long access tokens live that are issued from now on, in whole seconds; 1 h if not said.
    pub fn set_token_lifetime(&self, lifetime: Duration) {
        self.lock().tokens.set_lifetime(lifetime);
    }

    /// All access tokens count as expired, whatever their `exp` says.
    pub fn expire_tokens(&self) {
        self.lock().tokens.expire(None);
    }

    /// The access tokens of one key count as expired.
    pub fn expire_tokens_of(&self, kid: &str) {
        self.lock().tokens.expire(Some(kid));
    }

    /// Whether an expired token is answered with plain text, as by the gateway, or with JSON (as it is if nothing is said).
    pub fn set_plain_text_401(&self, plain: bool) {
        self.lock().plain_text_401 = plain;
    }

    /// Which label keys are accepted from now on.
    pub fn set_label_mode(&self, mode: LabelMode) {
        self.lock().label_mode = mode;
    }

    /// How long servers that are made from now on are `CREATING` before they are `ACTIVE`; not at all if nothing is said.
    pub fn set_boot_time(&self, boot: Duration) {
        self.lock().boot = boot;
    }

    /// Puts a server there, or replaces it. The project is made if there is none (without a key).
    pub fn add_server(&self, project: &str, region: &str, server: Server) {
        let mut state = self.lock();
        state.settle(&server.id, project, region);
        state.region(project, region).insert(Entry::placed(server));
    }

    /// Puts a network interface there that no server has.
    pub fn add_nic(&self, project: &str, region: &str, nic: Nic) {
        self.lock().region(project, region).insert_nic(nic);
    }

    /// Puts a volume there that no server has.
    pub fn add_volume(&self, project: &str, region: &str, volume: Volume) {
        self.lock().region(project, region).insert_volume(volume);
    }

    /// A server as it is now.
    #[must_use]
    pub fn server(&self, id: &str) -> Option<Server> {
        self.lock().region_of(id)?.server(id).cloned()
    }

    /// All servers of a project, in the order of their names and IDs.
    #[must_use]
    pub fn servers(&self, project: &str) -> Vec<Server> {
        let mut state = self.lock();
        let regions = state.projects.get_mut(project).into_iter().flat_map(|regions| regions.values_mut());
        let mut servers: Vec<Server> = regions
            .flat_map(|region| region.entries().map(|entry| entry.server().clone()).collect::<Vec<_>>())
            .collect();
        servers.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        servers
    }

    /// How many servers a project has.
    #[must_use]
    pub fn server_count(&self, project: &str) -> usize {
        self.lock().projects.get(project).map_or(0, |regions| regions.values().map(region::Region::len).sum())
    }

    /// All network interfaces of a project, each with the server that has it, in the order of their IDs.
    #[must_use]
    pub fn nics(&self, project: &str) -> Vec<(Nic, Option<String>)> {
        let mut state = self.lock();
        let regions = state.projects.get_mut(project).into_iter().flat_map(|regions| regions.values_mut());
        let mut nics: Vec<_> = regions.flat_map(region::Region::nics).collect();
        nics.sort_by(|a, b| a.0.id.cmp(&b.0.id));
        nics
    }

    /// All volumes of a project, each with the server that has it, in the order of their IDs.
    #[must_use]
    pub fn volumes(&self, project: &str) -> Vec<(Volume, Option<String>)> {
        let mut state = self.lock();
        let regions = state.projects.get_mut(project).into_iter().flat_map(|regions| regions.values_mut());
        let mut volumes: Vec<_> = regions.flat_map(region::Region::volumes).collect();
        volumes.sort_by(|a, b| a.0.id.cmp(&b.0.id));
        volumes
    }

    /// Somebody else changes a server, in any way but its ID. Says whether there is such a server. The closure must not call
    /// the cloud.
    pub fn change_server(&self, id: &str, change: impl FnOnce(&mut Server)) -> bool {
        self.lock().region_of(id).is_some_and(|region| region.change(id, change).is_some())
    }

    /// Deletes a server, and enters the deletion into the journal as one by `by`. Says whether there was such a server.
    pub fn delete_server(&self, id: &str, by: &str) -> bool {
        let mut state = self.lock();
        let Some((project, region)) = state.home(id) else { return false };
        let path = format!("/v2/projects/{project}/regions/{region}/servers/{id}");
        let mut call = state.journal.draft("DELETE", &path, &Target::of("DELETE", &path, false));
        call.applied = state.delete(id, None);
        call.by = Some(by.to_owned());
        let deleted = call.applied;
        state.journal.enter(call);
        deleted
    }

    /// What was called so far, in order.
    #[must_use]
    pub fn journal(&self) -> Vec<Call> {
        self.lock().journal.calls().to_vec()
    }

    /// The calls of one kind, in order.
    #[must_use]
    pub fn calls(&self, operation: Operation) -> Vec<Call> {
        self.lock().journal.calls().iter().filter(|call| call.operation == operation).cloned().collect()
    }

    /// How many calls of one kind there were; cheaper than to take them.
    #[must_use]
    pub fn count(&self, operation: Operation) -> usize {
        self.lock().journal.calls().iter().filter(|call| call.operation == operation).count()
    }

    /// Forgets the calls so far; their numbers are not used again.
    pub fn clear_journal(&self) {
        self.lock().journal.clear();
    }

    /// From now on, calls go wrong according to the plan.
    pub fn inject(&self, plan: FaultPlan) -> FaultId {
        self.lock().faults.inject(plan)
    }

    /// How often a plan fired, also after [`Cloud::clear_faults`].
    #[must_use]
    pub fn fired(&self, plan: FaultId) -> usize {
        self.lock().faults.fired(plan)
    }

    /// Ends one plan; what it did stays.
    pub fn end_fault(&self, plan: FaultId) {
        self.lock().faults.end(plan);
    }

    /// Ends all plans; what they did stays.
    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    pub(crate) fn answer(&self, request: &Request) -> Reply {
        self.lock().answer(request)
    }
}
