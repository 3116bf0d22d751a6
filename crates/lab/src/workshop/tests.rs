//! Tests of the workshop.
