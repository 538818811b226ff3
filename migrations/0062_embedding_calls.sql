-- What an embedding model is asked for a channel is in its bill, too: purpose 'embedding'. Rows of before have one of the others.
alter table model_calls drop constraint model_calls_purpose_check;
alter table model_calls add constraint model_calls_purpose_check
  check (purpose in ('turn', 'compaction', 'subagent', 'embedding')) not valid;
