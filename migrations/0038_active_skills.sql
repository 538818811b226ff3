-- Skills that an agent has taken up in a channel: neither pruning nor a compaction takes them from its prompt. The name is the operator's.

create table active_skills (
  channel_id bigint not null references channels,
  name       text not null,
  since      timestamptz not null default now(),
  primary key (channel_id, name)
);
comment on table active_skills is 'skills whose text stands in a channel''s prompts';
