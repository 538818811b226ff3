-- Calls of the model that transcribes sounds are counted as those of other models.

alter table model_calls drop constraint model_calls_purpose_check;
-- `not valid`: old rows were checked by the narrower constraint, and are not read again under the lock.
alter table model_calls add constraint model_calls_purpose_check
  check (purpose in ('turn', 'compaction', 'subagent', 'embedding', 'transcription')) not valid;
