package server;

import io.micronaut.data.annotation.Id;
import io.micronaut.data.annotation.MappedEntity;

/** A row of the table `fortune`. */
@MappedEntity("fortune")
record Fortune(@Id int id, String message) {}
