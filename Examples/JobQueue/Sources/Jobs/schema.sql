-- Each program creates the table if it does not exist. STRICT: a value of another type is refused when it is written.
CREATE TABLE IF NOT EXISTS job (
    id INTEGER PRIMARY KEY,
    producer TEXT NOT NULL,
    number INTEGER NOT NULL, -- counts the producer's jobs. A producer that was killed goes on after its last one.
    task TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done')),
    worker INTEGER CHECK (worker IS NOT NULL OR state <> 'running'), -- has claimed the job
    result TEXT,
    UNIQUE (producer, number)
) STRICT;
CREATE INDEX IF NOT EXISTS job_queued ON job (id) WHERE state = 'queued';
CREATE INDEX IF NOT EXISTS job_running ON job (worker) WHERE state = 'running';
