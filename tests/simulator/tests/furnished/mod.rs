//! A cloud with one of each.
#![allow(dead_code, reason = "each test file uses a part of it")]

use simulator::{Nic, Server, ServiceAccountKey, Simulator, Volume};

use crate::client::Client;

pub(crate) const PROJECT: &str = "11111111-1111-4111-8111-111111111111";
pub(crate) const SERVER: &str = "22222222-2222-4222-8222-222222222222";
pub(crate) const NETWORK: &str = "33333333-3333-4333-8333-333333333333";
pub(crate) const NIC: &str = "44444444-4444-4444-8444-444444444444";
pub(crate) const LOOSE_NIC: &str = "44444444-4444-4444-8444-555555555555";
pub(crate) const VOLUME: &str = "55555555-5555-4555-8555-555555555555";
pub(crate) const LOOSE_VOLUME: &str = "55555555-5555-4555-8555-666666666666";

pub(crate) async fn start() -> (Simulator, ServiceAccountKey, Client) {
    let simulator = Simulator::start().unwrap();
    let key = simulator.cloud().add_project(PROJECT);
    furnish(&simulator);
    let client = Client::new(&simulator, &key).await;
    simulator.cloud().clear_journal();
    (simulator, key, client)
}

/// Something for each call to act on; replaces what is there.
pub(crate) fn furnish(simulator: &Simulator) {
    let cloud = simulator.cloud();
    let server = Server::new(SERVER, "machine-1")
        .with_label("a", "1")
        .with_nic(Nic::new(NETWORK, "machine-1").with_id(NIC))
        .with_volume(Volume::boot("machine-1").with_id(VOLUME));
    cloud.add_server(PROJECT, "eu01", server);
    cloud.add_nic(PROJECT, "eu01", Nic::new(NETWORK, "loose").with_id(LOOSE_NIC));
    cloud.add_volume(PROJECT, "eu01", Volume::new("loose").with_id(LOOSE_VOLUME));
}
