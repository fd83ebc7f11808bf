//! What the tests of the STACKIT client share.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(unreachable_pub, reason = "a module of several test crates")]

pub mod stub;

use std::time::{Duration, Instant};

use futures::future::join_all;
use mcm_migration_core::domain::{ProjectId, Region, ServerId};
use mcm_migration_webhook::cloud::{
    CloudConfig, CloudError, CloudMetrics, Clouds, Endpoint, ProjectClient, RetrySchedule, ServiceAccountKey,
};
use simulator::{Call, Operation, Server, Simulator};

pub const PROJECT: &str = "6f3c1f0a-0000-4000-8000-000000000001";
pub const OTHER_PROJECT: &str = "6f3c1f0a-0000-4000-8000-000000000002";
pub const SERVER: &str = "6f3c1f0a-0000-4000-8000-0000000000a1";
pub const OTHER_SERVER: &str = "6f3c1f0a-0000-4000-8000-0000000000a2";
pub const REGION: &str = "eu01";

pub fn project(id: &str) -> ProjectId {
    ProjectId::parse(id).unwrap()
}

pub fn server() -> ServerId {
    ServerId::parse(SERVER).unwrap()
}

pub fn region() -> Region {
    Region::parse(REGION).unwrap()
}

/// Nothing limited, pauses of at most a few milliseconds.
pub fn config(iaas: &str, token: &str) -> CloudConfig {
    CloudConfig {
        iaas_endpoint: Endpoint::iaas(iaas).unwrap(),
        token_endpoint: Some(Endpoint::token(token).unwrap()),
        rate: None,
        rate_project: None,
        connect_timeout: Duration::from_secs(5),
        request_timeout: Duration::from_secs(20),
        call_deadline: Duration::from_secs(60),
        retries: RetrySchedule { tries: 6, base: Duration::from_millis(2), cap: Duration::from_millis(10) },
        ..CloudConfig::from_variables(|_| None).unwrap()
    }
}

/// A simulator with one project of two servers, and a client for it.
pub struct Rig {
    pub simulator: Simulator,
    pub clouds: Clouds,
    pub key: String,
    pub client: ProjectClient,
}

impl Rig {
    pub fn start() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut CloudConfig)) -> Self {
        let simulator = Simulator::start().unwrap();
        let key = simulator.cloud().add_project(PROJECT).json();
        for (id, name) in [(SERVER, "worker-a"), (OTHER_SERVER, "worker-b")] {
            simulator.cloud().add_server(PROJECT, REGION, Server::new(id, name));
        }
        let mut config = config(&simulator.iaas_url(), &simulator.token_url());
        change(&mut config);
        let clouds = Clouds::new(config, CloudMetrics::default()).unwrap();
        let client = clouds.project(project(PROJECT), parse(&key));
        Self { simulator, clouds, key, client }
    }

    /// Reads the server so many times at once.
    pub async fn read_at_once(&self, times: usize) -> Vec<Result<mcm_migration_core::domain::Server, CloudError>> {
        let region = region();
        join_all((0..times).map(|_| self.client.get_server(&region, server()))).await
    }

    /// The calls of one kind so far.
    pub fn calls(&self, operation: Operation) -> Vec<Call> {
        self.simulator.cloud().journal().into_iter().filter(|call| call.operation == operation).collect()
    }

    /// The statuses of the calls of one kind so far.
    pub fn statuses(&self, operation: Operation) -> Vec<Option<u16>> {
        self.calls(operation).into_iter().map(|call| call.status).collect()
    }
}

pub fn parse(key: &str) -> ServiceAccountKey {
    ServiceAccountKey::parse(key.as_bytes()).unwrap()
}

/// How long it took.
pub async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let start = Instant::now();
    (work.await, start.elapsed())
}
