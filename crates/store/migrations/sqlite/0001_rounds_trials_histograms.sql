-- A record is a JSON document; the columns beside it are what it is looked up by, copied from the document.
-- Histograms are nine tenths of a trial's bytes and most readers do not need them: they have a table of their own.
CREATE TABLE rounds (
    id TEXT NOT NULL PRIMARY KEY,
    plan TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    document TEXT NOT NULL
);
CREATE INDEX rounds_by_start ON rounds (started_at);

CREATE TABLE trials (
    id TEXT NOT NULL PRIMARY KEY,
    round TEXT NOT NULL REFERENCES rounds (id),
    server TEXT NOT NULL,
    form TEXT NOT NULL,
    workload TEXT NOT NULL,
    load TEXT NOT NULL,
    repeat BIGINT NOT NULL,
    block BIGINT NOT NULL,
    started_at TEXT NOT NULL,
    ok BIGINT NOT NULL,
    document TEXT NOT NULL
);
CREATE INDEX trials_by_round ON trials (round, started_at);
CREATE INDEX trials_by_server ON trials (server, form, workload, load);

-- `path` is the JSON pointer (RFC 6901) of the place in the document that the histogram was taken from.
CREATE TABLE histograms (
    trial TEXT NOT NULL REFERENCES trials (id),
    path TEXT NOT NULL,
    histogram TEXT NOT NULL,
    PRIMARY KEY (trial, path)
);
