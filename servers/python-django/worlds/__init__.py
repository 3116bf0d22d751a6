"""The application of the database workloads."""
