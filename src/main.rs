//! Wires nothing but the command line.
fn main() {}
