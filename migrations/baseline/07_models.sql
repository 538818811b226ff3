-- Models: what their calls have used, and what is learned of them.

create table model_calls (
  id                        bigint generated always as identity primary key,
  channel_id                bigint  not null references channels,
  turn_id                   bigint  references turns,
  purpose                   text    not null check (purpose in ('turn', 'compaction', 'subagent', 'embedding')),
  model                     text    not null,
  outcome                   text    not null,
  estimated_tokens          integer not null,
  prompt_tokens             integer,
  cached_tokens             integer,
  completion_tokens         integer,
  first_token_ms            integer,
  total_ms                  integer not null,
  at                        timestamptz not null default now(),
  job_id                    bigint references jobs, -- the job that a summariser was called for; null: it is no summariser's call
  -- estimated, beside prompt_tokens, of an answer that was cut short or came too late; 0: those are all, or the call cost nothing
  assumed_prompt_tokens     integer,
  assumed_completion_tokens integer, -- estimated, beside completion_tokens, likewise
  -- a part of prompt_tokens, beside cached_tokens: what the provider wrote to its cache; null: it did not say
  written_tokens            integer
);
create index model_calls_of_channel on model_calls (channel_id, id);
create index model_calls_of_turn on model_calls (turn_id) where turn_id is not null;
create index model_calls_by_time on model_calls (at);

-- Counts the calls of a chain of turns and its subagents, as far as they are stored: hand-offs and reports of subagents begin turns
-- that nobody asked for, and their calls are bounded together.
create function calls_of_question(p_question bigint) returns integer language sql stable as $$
  select count(*)::integer from model_calls m
   where m.turn_id = any (array(select t.id from turns t where t.id = p_question or t.question = p_question));
$$;

-- Windows and token counts that were learned of models; all daemons of the database share them.
create table learned_models (
  server        text not null, -- a hash of the server's address, whose path may hold a key
  model         text not null,
  -- the window, until [models] says otherwise than `configured`, or `window_until` is past
  window_tokens integer check (window_tokens > 0),
  configured    integer, -- what [models] said of the window when it was learned; 0: nothing
  window_at     timestamptz,
  factor        double precision check (factor > 0), -- real tokens per estimated token
  -- told: a refusal said it; measured: the server's counts show it; guessed: larger requests were refused, smaller ones answered
  window_source text not null default 'told',
  window_until  timestamptz, -- from then on the window is not believed; null: 30 days after window_at
  primary key (server, model),
  check ((window_tokens is null) = (window_at is null) and (window_tokens is null) = (configured is null))
);

-- Fields that models have refused, so that no request has them again.
create table refused_fields (
  server text not null, -- a hash of the server's address, whose path may hold a key
  model  text not null,
  field  text not null, -- as the API calls it, or one of ours: api, output_cap, user_behind_tool
  value  text not null, -- what was refused; "": any value; "absent": that the field was not there
  status integer, -- of HTTP; null: the refusal came in mid-stream
  code   text not null, -- the server's code or type, a word; "": it sent none
  at     timestamptz not null default now(),
  primary key (server, model, field, value)
);
