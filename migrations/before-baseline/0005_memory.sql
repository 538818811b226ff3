-- What outlives every summary: durable statements with type, scope, evidence and source.

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
  created_at    timestamptz not null default now()
);
create index memories_in_scope on memories (agent, scope, channel_id) where valid_to is null;
comment on column memories.scope is 'privacy, narrow to wide: what was said in a dm never shows in a channel';

create table memory_sources (
  memory_id  bigint not null references memories,
  channel_id bigint not null,
  seq        bigint not null,
  quote      text   not null,
  primary key (memory_id, channel_id, seq),
  foreign key (channel_id, seq) references entries
);
create index memory_sources_of_entry on memory_sources (channel_id, seq);

-- I11: at every commit, each memory has a source.
create function memories_have_source() returns trigger language plpgsql as $$
declare v_row jsonb := to_jsonb(coalesce(old, new)); v_memory bigint;
begin
  v_memory := case when tg_table_name = 'memories' then v_row->>'id' else v_row->>'memory_id' end;
  if exists (select from memories where id = v_memory) and not exists (select from memory_sources where memory_id = v_memory) then
    raise exception 'memory % has no source', v_memory using errcode = 'WE001';
  end if;
  return null;
end $$;
create constraint trigger memories_have_source after insert on memories
  deferrable initially deferred for each row execute function memories_have_source();
create constraint trigger memory_sources_stay after update or delete on memory_sources
  deferrable initially deferred for each row execute function memories_have_source();
