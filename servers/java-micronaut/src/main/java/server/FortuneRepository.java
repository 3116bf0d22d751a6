package server;

import io.micronaut.data.jdbc.annotation.JdbcRepository;
import io.micronaut.data.model.query.builder.sql.Dialect;
import io.micronaut.data.repository.CrudRepository;

/** The table `fortune`, by Micronaut Data. */
@JdbcRepository(dialect = Dialect.POSTGRES)
interface FortuneRepository extends CrudRepository<Fortune, Integer> {}
