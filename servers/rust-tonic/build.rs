//! Generates the service of `benchmark.proto`; protox reads it, so that no protoc is needed.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let workloads = std::env::var("PACELINE_WORKLOADS").unwrap_or_else(|_| "../../workloads".to_owned());
    println!("cargo:rerun-if-changed={workloads}/benchmark.proto");
    let files = protox::compile(["benchmark.proto"], [&workloads])?;
    tonic_prost_build::configure().build_client(false).compile_fds(files)?;
    Ok(())
}
