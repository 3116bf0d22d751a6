package server;

/** A row of the table `fortune`. */
record Fortune(int id, String message) {}
