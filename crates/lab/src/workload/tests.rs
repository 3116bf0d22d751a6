//! Tests of the workload.
