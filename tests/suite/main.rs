//! The tests that may run at the same time, in one binary: most of them wait most of the time, for a quarantine, a Lease or a cache.
//!
//! A test that loads the machine, counts what happens within a time, or wants the process for itself is a file of its own beside this folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

// What they share, with those outside as well.
#[path = "../cloud_support/mod.rs"]
mod cloud_support;
#[path = "../side_task_faults/mod.rs"]
mod side_task_faults;
#[path = "../side_task_support/mod.rs"]
mod side_task_support;
#[path = "../support/mod.rs"]
mod support;

// What they share among themselves.
mod arming;
mod election_support;
mod export_support;
mod gate_forward;
mod manifests;
mod rollback_support;
mod serving_support;
mod side_task_cluster;
#[path = "serving_support/simulated_shelf.rs"]
mod simulated_shelf;
mod sweeping;
mod two_seeds_support;
mod world;

mod admission_keeps_the_wire_contract;
mod arm_guards_proves_and_arms;
mod arm_needs_a_proved_guard;
mod arm_waits_for_the_nodes;
mod audit_on_an_api_server;
mod audit_records_say_all;
mod cloud_calls;
mod cloud_errors;
mod cloud_retries;
mod cloud_tokens;
mod cloud_trusts;
mod crd_matches_the_type;
mod dockerfile_ships_what_it_builds;
mod election_ends_its_terms;
mod election_one_leads_at_a_time;
mod export_restore_round_trip;
mod gate_forward_fails_closed;
mod gate_forward_keeps_the_wire_contract;
mod gate_forward_on_an_api_server;
mod kubectl_writes_migrate_machines;
mod manifests_export;
mod manifests_flags;
mod manifests_gardener_seed;
mod manifests_guard;
mod manifests_guard_holds;
mod manifests_install;
mod manifests_rights;
mod readme_names_every_flag;
mod restore_refuses;
mod review_prints_the_decision;
mod rollback_brings_a_shoot_back;
mod rollback_killed_at_each_step;
mod rollback_looks_on_beside_a_slow_cloud;
mod rollback_refuses;
mod safety_names_every_test;
mod sandbox_runs;
mod serving_bounds_bodies;
mod serving_caps_connections;
mod serving_certs_command;
mod serving_cuts_slow_clients;
mod serving_ends_on_signals;
mod serving_manages_itself_on_an_api_server;
mod serving_renews_certificates_without_a_lost_call;
mod serving_rotates_in_simulated_time;
mod serving_says_what_is_wrong;
mod serving_self_managed_replicas_migrate;
mod serving_shuts_down_without_a_lost_call;
mod serving_speaks_http1_over_tls12_and_13_only;
mod serving_tells_its_state;
mod side_task_beside_a_machine_controller_manager;
mod side_task_calls_are_few;
mod side_task_cluster_reads;
mod side_task_cluster_status;
mod side_task_cluster_writes;
mod side_task_completes_a_shoot;
mod side_task_credentials;
mod side_task_faults_at_each_step;
mod side_task_faults_leave_others_alone;
mod side_task_faults_of_the_api_server;
mod side_task_faults_say_why;
mod side_task_force_after;
mod side_task_kill_at_any_point;
mod side_task_saves_every_server;
mod side_task_storms;
mod sweep_leaves_what_is_in_doubt;
mod sweep_removes_what_is_left;
mod two_seeds_bad_case;
mod two_seeds_drain_and_restore;
mod two_seeds_stale_snapshot;
mod wedged_watches_close_the_gate;
mod world_follows_the_api_server;
mod world_from_a_folder;
mod world_notices_a_wedged_watch;
