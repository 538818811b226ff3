-- The tables of Weir: the log and everything that is made of it. The functions are in the files behind this one, by subject.
-- Error classes of our own: WE001 is a broken invariant, WE002 is a write by a daemon that has lost the channel.

create extension if not exists btree_gist;
create extension if not exists btree_gin;
-- No index uses trigrams; `find_unspaced` compares texts with word_similarity().
create extension if not exists pg_trgm;

-- Channels, and how far each of them has been read, answered, covered and fetched.

create table channels (
  id          bigint generated always as identity primary key,
  platform    text   not null check (platform <> ''),
  name        text   not null check (name <> ''),
  kind        text   not null check (kind in ('dm', 'channel', 'thread')),
  workspace   text   not null default '',
  agent       text   not null check (agent <> ''),
  last_seq    bigint not null default 0,
  settled_to  bigint not null default 0,
  covered_to  bigint not null default 0,
  omitted_to  bigint not null default 0,
  epoch       bigint not null default 0,
  fetched_to  text,
  created_at  timestamptz not null default now(),
  place       jsonb,
  gone_at     timestamptz,
  backlog     jsonb,
  unique (platform, name),
  check (settled_to <= last_seq and covered_to <= last_seq and omitted_to <= last_seq)
);
create index channels_gone on channels (id) where gone_at is not null;
create index channels_threads on channels (platform, (place->'parent'->>'id')) where kind = 'thread';
comment on column channels.settled_to is 'every addressed message up to here has been answered, skipped, stopped or failed with a word';
comment on column channels.covered_to is 'live summaries tile 1..covered_to';
comment on column channels.omitted_to is 'entries in covered_to+1..omitted_to are left out of the view by emergency';
comment on column channels.epoch is 'raised when a daemon takes the channel; its actor''s writes carry it';
comment on column channels.fetched_to is 'a gap is open: messages after this one of the platform may be missing, though later ones are there';
comment on column channels.place is 'in the words of the platform: {workspace, channel, parent: {id, name} | null}';
comment on column channels.gone_at is 'deleted on its platform: the texts that people said there go';
comment on column channels.backlog is
  'of the gap behind fetched_to: {read: messages so far, readTo: time, until: time, untilId: the message before which it ends}; untilId stays when it is whole';

-- Turns and the log. Rows of `turns`, `entries` and `deliveries` have no foreign key to `channels`: their triggers read the
-- channel's row anyway, and no channel is ever deleted. A foreign key would cost each row one more statement.

create table turns (
  id          bigint generated always as identity primary key,
  channel_id  bigint not null,
  epoch       bigint not null,
  from_seq    bigint not null,
  to_seq      bigint not null,
  state       text   not null default 'running'
              check (state in ('running', 'answered', 'skipped', 'stopped', 'failed')),
  attempts    integer not null default 1 check (attempts >= 1),
  reason      text,
  model_ms    integer,
  started_at  timestamptz not null default now(),
  settled_at  timestamptz,
  deaths      integer not null default 0 check (deaths >= 0),
  failures    integer not null default 0 check (failures >= 0),
  check (from_seq <= to_seq),
  check ((state = 'running') = (settled_at is null))
);
create unique index turns_one_running on turns (channel_id) where state = 'running';
create index turns_of_channel on turns (channel_id, to_seq);
comment on table turns is 'a turn owns the messages from_seq..to_seq that were due when it began, and settles them at once';
comment on column turns.deaths is 'owners that ended, or lost the channel, with the turn begun and not settled';
comment on column turns.failures is 'attempts that failed in a process that lived on, and not for the database or the machine';

create table entries (
  channel_id  bigint not null,
  seq         bigint not null check (seq >= 1),
  kind        text   not null check (kind in ('user', 'assistant', 'tool_call', 'tool_result', 'notice')),
  at          timestamptz not null,
  text        text   not null,
  tokens      integer not null check (tokens >= 0),
  addressed   boolean not null default false,
  author_id   text,
  author_name text,
  author_bot  boolean,
  message_id  text,
  reply_to    text,
  turn_id     bigint references turns,
  after_seq   bigint,
  epoch       bigint,
  data        jsonb,
  appended_at timestamptz not null default clock_timestamp(),
  deleted_at  timestamptz,
  primary key (channel_id, seq),
  check ((kind = 'user') = (author_id is not null and author_name is not null and message_id is not null)),
  check ((turn_id is null) = (after_seq is null)),
  check (turn_id is null or epoch is not null),
  check (kind not in ('assistant', 'tool_call', 'tool_result') or turn_id is not null),
  check (addressed = false or kind = 'user'),
  check (deleted_at is null or text = '')
);
create unique index entries_message on entries (message_id, channel_id) where message_id is not null;
create index entries_due on entries (channel_id, seq) where addressed;
-- A reaction may be given, taken back and given again: all of them under one message are looked up by it.
create index entries_reactions on entries (reply_to) where message_id like 'reaction/%';
create index entries_tool_calls on entries (channel_id, seq) where kind = 'tool_call';
comment on column entries.at is 'messages: when it was said, by the platform''s clock; all others: when it was appended';
comment on column entries.tokens is 'estimated tokens of the text as a model reads it';
comment on column entries.after_seq is 'the last message of the turn that wrote this: in the view it stands right behind it';
comment on column entries.data is
  'tool_call: {calls}; tool_result: {call_id, tool, references}; notice: {edits} or {absence}; assistant: {stopped}';

-- What people made of a message by editing it. `entry_text` tells what an entry says now.
create table revisions (
  channel_id  bigint  not null,
  seq         bigint  not null,
  revision    integer not null check (revision >= 1),
  text        text    not null,
  at          timestamptz not null,
  noted_seq   bigint,
  primary key (channel_id, seq, revision),
  foreign key (channel_id, seq) references entries
);
comment on column revisions.noted_seq is 'a model had read the text before: the view shows the change as the note at this seq';

create table deliveries (
  id              bigint generated always as identity primary key,
  channel_id      bigint not null,
  turn_id         bigint not null references turns,
  part            integer not null check (part >= 0),
  epoch           bigint not null,
  entry_seq       bigint,
  idempotency_key text   not null unique,
  drafted         boolean not null default false,
  message_id      text,
  state           text   not null default 'pending' check (state in ('pending', 'sent', 'failed')),
  reason          text,
  created_at      timestamptz not null default now(),
  ended_at        timestamptz,
  unique (turn_id, part),
  foreign key (channel_id, entry_seq) references entries,
  check ((state = 'pending') = (ended_at is null)),
  check (state <> 'sent' or (message_id is not null and entry_seq is not null))
);
create index deliveries_pending on deliveries (channel_id) where state = 'pending';
comment on column deliveries.entry_seq is 'the entry whose text is sent; null while its turn is still writing it';
comment on column deliveries.drafted is 'a piece may have been shown under this key: the final text needs an edit as well';
comment on column deliveries.message_id is 'the platform''s id of our message, stored before any edit of it';

create table model_calls (
  id                bigint generated always as identity primary key,
  channel_id        bigint not null references channels,
  turn_id           bigint references turns,
  purpose           text   not null check (purpose in ('turn', 'compaction')),
  model             text   not null,
  outcome           text   not null,
  estimated_tokens  integer not null,
  prompt_tokens     integer,
  cached_tokens     integer,
  completion_tokens integer,
  first_token_ms    integer,
  total_ms          integer not null,
  at                timestamptz not null default now()
);
create index model_calls_of_channel on model_calls (channel_id, id);

-- Pictures that people attached to messages, kept because the platforms' links to them expire. They belong to a message
-- of the platform and not to one channel's entry: a thread has its root message as background.
create table images (
  platform   text    not null,
  message_id text    not null,
  number     integer not null check (number >= 0),
  name       text    not null,
  type       text    not null,
  bytes      bytea   not null,
  kept_at    timestamptz not null default now(),
  primary key (platform, message_id, number)
);
-- The pictures are compressed already.
alter table images alter column bytes set storage external;

-- Who is called what in a channel, in the order in which they spoke: the second of several people with one name is shown as
-- "Ann (2)". The number is settled when somebody first speaks under a name, so that a line never reads differently later.
create table speakers (
  channel_id bigint not null references channels (id) on delete cascade,
  name text not null,
  author_id text not null,
  number integer not null check (number > 0),
  primary key (channel_id, name, author_id),
  unique (channel_id, name, number)
);

-- Compaction: jobs make summaries.

create table jobs (
  id            bigint generated always as identity primary key,
  channel_id    bigint not null references channels,
  kind          text   not null check (kind in ('leaf', 'merge', 'redo')),
  tier          text   not null check (tier in ('background', 'aggressive', 'emergency', 'forced')),
  from_seq      bigint not null,
  to_seq        bigint not null,
  state         text   not null default 'running'
                check (state in ('running', 'staged', 'committed', 'failed', 'stale', 'void')),
  attempt       integer not null default 1 check (attempt >= 1),
  leased_until  timestamptz not null,
  result        jsonb,
  reason        text,
  created_at    timestamptz not null default now(),
  ended_at      timestamptz,
  level         integer not null default 1 check (level >= 1),
  saw_from      bigint,
  edited        boolean not null default false,
  source_tokens integer not null default 0,
  model         text,
  memories      integer not null default 0,
  edited_seqs   bigint[] not null default '{}',
  edited_terms  text[]   not null default '{}',
  check (from_seq <= to_seq),
  check (state <> 'staged' or result is not null),
  check ((state in ('running', 'staged')) = (ended_at is null))
);
create unique index jobs_one_live on jobs (channel_id) where state in ('running', 'staged');
create index jobs_of_channel on jobs (channel_id, id);
comment on column jobs.result is 'what the model was paid for, stored before the commit, so that a crash repeats the commit and not the spending';
comment on column jobs.saw_from is 'the first entry whose words it may have read, neighbouring summaries included';
comment on column jobs.edited is 'somebody edited a text of its range after it began: its summary is to be written again';
comment on column jobs.edited_seqs is 'entries that were edited after it began: what it found in them is no memory';
comment on column jobs.edited_terms is 'terms that these edits took from all that it had read: nor is what tells one of them';

create table summaries (
  id          bigint generated always as identity primary key,
  channel_id  bigint not null references channels,
  from_seq    bigint not null check (from_seq >= 1),
  to_seq      bigint not null,
  level       integer not null default 1 check (level >= 1),
  kind        text   not null check (kind in ('model', 'digest', 'reset')),
  text        text   not null,
  tokens      integer not null check (tokens >= 0),
  model       text,
  job_id      bigint references jobs,
  live        boolean not null default true,
  needs_redo  boolean not null default false,
  created_at  timestamptz not null default now(),
  saw_from    bigint,
  messages    bigint,
  first_at    timestamptz,
  last_at     timestamptz,
  substitute  jsonb,
  check (from_seq <= to_seq),
  check ((kind = 'reset') = (text !~ '\S')),
  exclude using gist (channel_id with =, int8range(from_seq, to_seq, '[]') with &&) where (live)
);
create index summaries_live on summaries (channel_id, from_seq) where live;
create index summaries_of_channel on summaries (channel_id, from_seq);
create index summaries_to_redo on summaries (channel_id) where live and needs_redo;
comment on column summaries.kind is 'reset: covers without a text, because the owner asked for it';
comment on column summaries.saw_from is 'the first entry whose words it may hold; null: from_seq';
comment on column summaries.messages is 'messages, calls and results in its range; notices are not counted; null: a reset, or no live summary of an older version';
comment on column summaries.first_at is 'when the first of these was said; null: there are none';
comment on column summaries.substitute is '{text, tokens}: the extract of what its range says since an edit, which it becomes as soon as no view shows it';

-- Memories: durable statements that outlive every summary, each with the entries that prove it.

-- The normal form of a statement: the same memory said again is one more proof of it. An index needs it.
create function normal_text(p_text text) returns text language sql immutable as $$
  select trim(regexp_replace(lower(p_text), '[[:space:][:punct:]]+', ' ', 'g'))
$$;

create table memories (
  id            bigint generated always as identity primary key,
  agent         text   not null check (agent <> ''),
  scope         text   not null check (scope in ('dm', 'channel', 'workspace')),
  channel_id    bigint not null references channels,
  workspace     text   not null default '',
  type          text   not null check (type in ('fact', 'preference', 'decision', 'commitment', 'event',
                                                'observation', 'goal', 'todo', 'identity')),
  subject       text   not null,
  asserted_by   text   not null,
  statement     text   not null check (statement ~ '\S'),
  importance    real   not null default 0.5 check (importance between 0 and 1),
  valid_from    timestamptz not null default now(),
  valid_to      timestamptz,
  superseded_by bigint references memories,
  summary_id    bigint references summaries,
  created_at    timestamptz not null default now(),
  tsv           tsvector generated always as (to_tsvector('english', subject || ' ' || asserted_by || ' ' || statement)) stored,
  read_from     bigint,
  read_to       bigint,
  telling       text[]
);
-- One index for both look-ups: a planner without statistics would take the wrong one of two.
create index memories_in_scope on memories (agent, scope, channel_id, md5(normal_text(statement))) where valid_to is null;
create index memories_superseded on memories (superseded_by) where superseded_by is not null;
create index memories_read on memories (channel_id, read_to);
create index memories_words on memories using gin (channel_id, tsv) with (fastupdate = off);
create index memories_shared_words on memories using gin (workspace, tsv) with (fastupdate = off) where scope = 'workspace';
comment on column memories.scope is 'privacy, narrow to wide: what was said in a dm never shows in a channel';
comment on column memories.read_from is 'read_from..read_to: the entries whose words the jobs had read that said it; null: it is its sources'' own words';
comment on column memories.telling is 'by which terms it tells what was said; null: written by an older version';

create table memory_sources (
  memory_id  bigint not null references memories,
  channel_id bigint not null,
  seq        bigint not null,
  quote      text   not null,
  primary key (memory_id, channel_id, seq),
  foreign key (channel_id, seq) references entries
);
create index memory_sources_of_entry on memory_sources (channel_id, seq);

-- Search over the log: a side table that is filled off the reply path.

create table entry_search (
  channel_id bigint   not null,
  seq        bigint   not null,
  body       text     not null,
  tsv        tsvector not null,
  primary key (channel_id, seq),
  foreign key (channel_id, seq) references entries
);
-- `channel_id + 0` (and `seq + 0` in the queries) fits no other index. With the plain columns, a plan that was made while the
-- table was small takes the primary key, and reads the whole channel for as long as its connection lives (70 ms of 40,000
-- entries). Rows are written over the pending list (0.1 ms instead of 2 ms an entry), which the indexer empties after each batch.
create index entry_search_words on entry_search using gin ((channel_id + 0), tsv) with (fastupdate = on);
-- Nothing looks for trigrams any more. An index of this name, which holds nothing, is there for a daemon of an older version
-- beside, which merges its pending list.
create index entry_search_pieces on entry_search using gin ((channel_id - 0)) where false;

create table search_progress (
  channel_id  bigint primary key references channels,
  indexed_to  bigint not null,
  outdated_to bigint not null default 0,
  erased_at   timestamptz,
  deleted_at  timestamptz
);
create index search_outdated on search_progress (channel_id) where outdated_to > 0;
create index search_erased on search_progress (erased_at) where erased_at is not null;
comment on column search_progress.outdated_to is 'rows of 1..outdated_to were indexed by an older version, and are to be made anew; 0: none';
comment on column search_progress.erased_at is 'when a text of the channel last went: older statistics of the index may tell its words';
comment on column search_progress.deleted_at is 'when a message of the channel was last deleted; null: what its running turn wrote behind that has been seen to';

-- What platforms, commands and the configuration need to have kept.

-- Up to when each platform was listened to. What people say afterwards in a channel unknown to the log is looked for, too.
create table heard_marks (
  platform text        not null,
  account  text        not null,
  heard_to timestamptz not null,
  primary key (platform, account)
);
comment on column heard_marks.account is 'the bot as whom Weir listens, by the platform''s id';
comment on column heard_marks.heard_to is 'everything that was said to it before is in the log, or on record as missing';

-- Commands in messages are no messages of the log. Each command that has run is noted here, so that reading the channel's past
-- messages again does not run it again.
create table run_commands (
  platform   text not null,
  message_id text not null,
  claim      uuid not null,
  run_at     timestamptz not null default now(),
  primary key (platform, message_id)
);
comment on column run_commands.claim is 'of who ran it: an attempt whose answer was lost finds its own';

-- What a command-line program beside a running daemon asks it to do.
create table requests (
  id         bigint generated always as identity primary key,
  channel_id bigint not null references channels,
  kind       text   not null check (kind in ('compact')),
  created_at timestamptz not null default now(),
  taken_at   timestamptz,
  ended_at   timestamptz,
  answer     jsonb
);
create index requests_waiting on requests (id) where taken_at is null;

-- In which servers a name of the configuration holds, as [{id, name}]: settled when Weir first starts with that name. Names
-- decide nothing by themselves, because anybody may take one.
create table confirmed_names (
  platform text not null,
  kind text not null check (kind in ('workspace', 'channel', 'role')),
  name text not null,
  servers jsonb not null,
  confirmed_at timestamptz not null default now(),
  primary key (platform, kind, name)
);

-- The planner's statistics keep words of the columns until they are made again. So there are none for columns that hold what
-- people and models write.
alter table entries alter column text set statistics 0, alter column data set statistics 0;
alter table revisions alter column text set statistics 0;
alter table turns alter column reason set statistics 0;
alter table jobs alter column result set statistics 0, alter column reason set statistics 0, alter column edited_terms set statistics 0;
alter table summaries alter column text set statistics 0, alter column substitute set statistics 0;
alter table memories alter column subject set statistics 0, alter column statement set statistics 0,
                     alter column tsv set statistics 0, alter column telling set statistics 0;
alter index memories_in_scope alter column 4 set statistics 0;
alter table memory_sources alter column quote set statistics 0;
alter table requests alter column answer set statistics 0;
alter table images alter column name set statistics 0;
alter table entry_search alter column body set statistics 0;
-- The index's words are the exception, and are made again after an erasure (`store/search/search.ts`). Their frequencies decide
-- which terms pick the candidates of a recall; the default target of 100 knows too few of them.
alter table entry_search alter column tsv set statistics 1000;
