-- Skills that an agent has taken up in a channel: neither pruning nor a compaction removes them from its prompt. The name is the operator's.

create table active_skills (
  channel_id bigint not null references channels,
  name       text not null,
  since      timestamptz not null default now(),
  agent      text not null default '', -- whose prompts; empty: those of the channel's own agent
  primary key (channel_id, agent, name)
);
