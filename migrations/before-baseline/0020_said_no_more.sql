-- What was said must not outlive its deletion.

-- Of a failure the kind and the model are kept, and nothing that the provider said; of a skip nothing: a model's words.
alter table turns disable trigger turns_refuse_old_epoch;
update turns t set reason = case when t.state = 'failed' then substring(t.reason from '^[a-z_]+ \([^)]*\)') end
 where t.state = 'skipped' or t.state = 'failed' and t.reason ~ '^[a-z_]+ \(';
alter table turns enable trigger turns_refuse_old_epoch;

-- An answer to a program beside the daemon names the job, whose summary's text is read with it.
update requests set answer = answer - 'text' where answer ? 'text';

-- As before, but a write that is repeated, since nobody heard of its commit, brings nothing back: where the message was deleted
-- or says something else meanwhile, there is no memory of it.
create or replace function remember_message(
  p_channel bigint, p_message_id text, p_author_id text, p_author_name text, p_text text, p_tokens integer, p_at timestamptz,
  p_memory jsonb,
  out entry_seq bigint, out memory bigint, out proofs bigint
) language plpgsql as $$
declare v_source jsonb; v_deleted boolean; v_edited text;
begin
  select a.seq into entry_seq
    from append_message(p_channel, p_message_id, p_author_id, p_author_name, false, p_text, p_tokens, p_at, false, null) a;
  select e.deleted_at is not null,
         (select r.text from revisions r where r.channel_id = e.channel_id and r.seq = e.seq order by r.revision desc limit 1)
    into v_deleted, v_edited from entries e where e.channel_id = p_channel and e.seq = entry_seq;
  if v_deleted or v_edited <> p_text then
    proofs := 0;
    return;
  end if;
  v_source := jsonb_build_object('seq', entry_seq, 'quote', p_memory->'sources'->0->>'quote');
  memory := add_memory(p_channel, null, p_memory || jsonb_build_object('sources', jsonb_build_array(v_source)));
  select count(*) into proofs from memory_sources s where s.memory_id = remember_message.memory;
end $$;
