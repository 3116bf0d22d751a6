package server;

/** A row of the table `world`. */
record World(int id, int randomNumber) {}
