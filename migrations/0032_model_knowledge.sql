-- What is learned of models survives a restart, and each call of a summariser says which job it was for. A daemon of the version
-- before learns anew at each start, and writes calls without a job.

alter table model_calls add column job_id bigint;
alter table model_calls add constraint model_calls_job_id_fkey foreign key (job_id) references jobs not valid;
comment on column model_calls.job_id is 'the job that a summariser was called for; null: a turn''s call, or one of an older version';

create table learned_models (
  server        text not null,
  model         text not null,
  window_tokens integer check (window_tokens > 0),
  configured    integer,
  window_at     timestamptz,
  factor        double precision check (factor > 0),
  primary key (server, model),
  check ((window_tokens is null) = (window_at is null) and (window_tokens is null) = (configured is null))
);
comment on column learned_models.server is 'a hash of the server''s address, whose path may hold a key';
comment on column learned_models.window_tokens is 'from a refusal; it holds until [models] says otherwise than `configured`, or for 30 days';
comment on column learned_models.configured is 'what [models] said of the window when it was learned; 0: nothing';
comment on column learned_models.factor is 'real tokens per estimated token';
