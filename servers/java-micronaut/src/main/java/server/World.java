package server;

import io.micronaut.data.annotation.Id;
import io.micronaut.data.annotation.MappedEntity;
import io.micronaut.data.annotation.MappedProperty;
import io.micronaut.serde.annotation.Serdeable;

/** A row of the table `world`; in PostgreSQL its column's name is in lower case. */
@Serdeable
@MappedEntity("world")
record World(@Id int id, @MappedProperty("randomnumber") int randomNumber) {}
