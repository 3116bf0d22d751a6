package server;

/** A row of the table `world`. */
public record World(int id, int randomNumber) {}
