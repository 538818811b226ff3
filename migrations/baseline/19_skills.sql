-- Skills that an agent has taken up in a channel: neither pruning nor a compaction removes them from its prompt. The name is the operator's.

create table active_skills (
  channel_id bigint not null references channels,
  name       text not null,
  since      timestamptz not null default now(),
  agent      text not null default '',
  primary key (channel_id, agent, name)
);
comment on table active_skills is 'skills whose text stands in a channel''s prompts';
comment on column active_skills.agent is 'whose prompts; empty: those of the channel''s own agent';
