-- CRC-32 of a record's id and document, and of a histogram's place and text; NULL for what was kept before version 2.
ALTER TABLE rounds ADD COLUMN checksum BIGINT;
ALTER TABLE trials ADD COLUMN checksum BIGINT;
ALTER TABLE histograms ADD COLUMN checksum BIGINT;
CREATE TABLE versions (version BIGINT NOT NULL PRIMARY KEY);
