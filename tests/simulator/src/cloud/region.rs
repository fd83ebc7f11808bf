//! What one project holds in one region. Network interfaces and volumes lie in their server while they are attached.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::cloud::shelf::{Entry, Gone};
use crate::model::{Nic, Server, Volume};

/// The server that something is attached to, if it is.
type Owner = Option<String>;

#[derive(Debug, Default)]
pub(crate) struct Region {
    servers: HashMap<String, Entry>,
    gone: Vec<Gone>,
    loose_nics: HashMap<String, Nic>,
    loose_volumes: HashMap<String, Volume>,
    nic_owner: HashMap<String, Owner>,
    volume_owner: HashMap<String, Owner>,
}

impl Region {
    /// A server with the same ID is replaced.
    pub(crate) fn insert(&mut self, mut entry: Entry) {
        let id = entry.server().id.clone();
        if self.servers.contains_key(&id) {
            self.change(&id, |server| (server.nics, server.volumes) = (Vec::new(), Vec::new()));
        }
        self.own(entry.server());
        self.servers.insert(id, entry);
    }

    fn own(&mut self, server: &Server) {
        let owner = || Some(server.id.clone());
        self.nic_owner.extend(server.nics.iter().map(|nic| (nic.id.clone(), owner())));
        self.volume_owner.extend(server.volumes.iter().map(|volume| (volume.id.clone(), owner())));
    }

    pub(crate) fn insert_nic(&mut self, nic: Nic) {
        self.nic_owner.insert(nic.id.clone(), None);
        self.loose_nics.insert(nic.id.clone(), nic);
    }

    pub(crate) fn insert_volume(&mut self, volume: Volume) {
        self.volume_owner.insert(volume.id.clone(), None);
        self.loose_volumes.insert(volume.id.clone(), volume);
    }

    pub(crate) fn entry(&mut self, id: &str) -> Option<&mut Entry> {
        self.servers.get_mut(id)
    }

    pub(crate) fn server(&mut self, id: &str) -> Option<&Server> {
        self.servers.get_mut(id).map(Entry::server)
    }

    pub(crate) fn entries(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.servers.values_mut()
    }

    pub(crate) fn gone(&self) -> &[Gone] {
        &self.gone
    }

    pub(crate) fn len(&self) -> usize {
        self.servers.len()
    }

    /// Changes a server in any way but its ID. Network interfaces and volumes that are taken out of it are gone.
    pub(crate) fn change<R>(&mut self, id: &str, change: impl FnOnce(&mut Server) -> R) -> Option<R> {
        let server = self.servers.get_mut(id)?.change();
        for nic in &server.nics {
            self.nic_owner.remove(&nic.id);
        }
        for volume in &server.volumes {
            self.volume_owner.remove(&volume.id);
        }
        let result = change(server);
        id.clone_into(&mut server.id);
        let owner = || Some(id.to_owned());
        self.nic_owner.extend(server.nics.iter().map(|nic| (nic.id.clone(), owner())));
        self.volume_owner.extend(server.volumes.iter().map(|volume| (volume.id.clone(), owner())));
        Some(result)
    }

    /// Deletes a server. What does not die with it is detached.
    pub(crate) fn remove(&mut self, id: &str, shown_for: Option<Duration>) -> bool {
        let Some(mut entry) = self.servers.remove(id) else { return false };
        entry.server();
        let server = entry.into_server();
        for nic in &server.nics {
            self.nic_owner.remove(&nic.id);
            if !nic.dies_with_server {
                self.insert_nic(nic.clone());
            }
        }
        for volume in &server.volumes {
            self.volume_owner.remove(&volume.id);
            if !volume.delete_on_termination {
                self.insert_volume(Volume { boot: false, ..volume.clone() });
            }
        }
        let at = Instant::now();
        self.gone.retain(|gone| !gone.is_over());
        self.gone.push(Gone { server, at, shown_until: shown_for.map(|duration| at + duration) });
        true
    }

    /// A network interface and the server that it is attached to.
    pub(crate) fn nic(&mut self, id: &str) -> Option<(Nic, Owner)> {
        let owner = self.nic_owner.get(id)?.clone();
        let nic = match &owner {
            Some(server) => self.server(server)?.nics.iter().find(|nic| nic.id == id)?.clone(),
            None => self.loose_nics.get(id)?.clone(),
        };
        Some((nic, owner))
    }

    pub(crate) fn volume(&mut self, id: &str) -> Option<(Volume, Owner)> {
        let owner = self.volume_owner.get(id)?.clone();
        let volume = match &owner {
            Some(server) => self.server(server)?.volumes.iter().find(|volume| volume.id == id)?.clone(),
            None => self.loose_volumes.get(id)?.clone(),
        };
        Some((volume, owner))
    }

    pub(crate) fn change_nic<R>(&mut self, id: &str, change: impl FnOnce(&mut Nic) -> R) -> Option<R> {
        match self.nic_owner.get(id)?.clone() {
            Some(server) => {
                self.change(&server, |server| server.nics.iter_mut().find(|nic| nic.id == id).map(change)).flatten()
            }
            None => self.loose_nics.get_mut(id).map(change),
        }
    }

    pub(crate) fn change_volume<R>(&mut self, id: &str, change: impl FnOnce(&mut Volume) -> R) -> Option<R> {
        match self.volume_owner.get(id)?.clone() {
            Some(server) => self
                .change(&server, |server| server.volumes.iter_mut().find(|volume| volume.id == id).map(change))
                .flatten(),
            None => self.loose_volumes.get_mut(id).map(change),
        }
    }

    /// Takes a detached network interface away.
    pub(crate) fn take_nic(&mut self, id: &str) -> Option<Nic> {
        let nic = self.loose_nics.remove(id)?;
        self.nic_owner.remove(id);
        Some(nic)
    }

    /// Takes a detached volume away.
    pub(crate) fn take_volume(&mut self, id: &str) -> Option<Volume> {
        let volume = self.loose_volumes.remove(id)?;
        self.volume_owner.remove(id);
        Some(volume)
    }

    /// Attaches what is detached to a server, or to any.
    pub(crate) fn attach(&mut self, nic: Option<&str>, volume: Option<&str>, server: Option<&str>) {
        let any = || self.servers.keys().next().cloned();
        let Some(server) = server.map(str::to_owned).or_else(any) else { return };
        if let Some(nic) = nic.and_then(|nic| self.take_nic(nic)) {
            self.change(&server, |server| server.nics.push(nic));
        }
        if let Some(volume) = volume.and_then(|volume| self.take_volume(volume)) {
            self.change(&server, |server| server.volumes.push(volume));
        }
    }

    pub(crate) fn nics(&mut self) -> Vec<(Nic, Owner)> {
        let attached = self.servers.values_mut().flat_map(|entry| {
            let server = entry.server();
            server.nics.iter().map(|nic| (nic.clone(), Some(server.id.clone()))).collect::<Vec<_>>()
        });
        attached.chain(self.loose_nics.values().map(|nic| (nic.clone(), None))).collect()
    }

    pub(crate) fn volumes(&mut self) -> Vec<(Volume, Owner)> {
        let attached = self.servers.values_mut().flat_map(|entry| {
            let server = entry.server();
            server.volumes.iter().map(|volume| (volume.clone(), Some(server.id.clone()))).collect::<Vec<_>>()
        });
        attached.chain(self.loose_volumes.values().map(|volume| (volume.clone(), None))).collect()
    }
}
