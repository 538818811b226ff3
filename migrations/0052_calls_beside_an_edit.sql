-- What leaves the view for good takes with it what was edited away meanwhile, and the arguments and the results of the calls of models
-- that had read a text and not its edit: nobody asks for them again. Such a call may come behind the edit: its model was asked before.
create or replace function channels_forget_outdated() returns trigger language plpgsql as $$
declare v_seqs bigint[];
begin
  perform forget_outdated(new.id, array(
    select r.seq from revisions r where r.channel_id = new.id and r.seq > old.covered_to and r.seq <= new.covered_to
    union
    select (e.data->>'edits')::bigint from entries e
     where e.channel_id = new.id and e.seq > old.covered_to and e.seq <= new.covered_to and e.kind = 'notice' and e.data ? 'edits'));
  v_seqs := array(
    select e.seq from entries e
     where e.channel_id = new.id and e.seq > old.covered_to and e.seq <= new.covered_to
       and (e.kind = 'tool_call' or e.kind = 'tool_result' and e.text <> '')
       and exists (select from revisions r where r.channel_id = new.id and r.seq < e.seq and r.noted_seq > e.after_seq));
  update entries e set data = without_arguments(e.data)
   where e.channel_id = new.id and e.seq = any (v_seqs) and e.kind = 'tool_call';
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.channel_id = new.id and e.seq = any (v_seqs) and e.kind = 'tool_result';
  return null;
end $$;

create index revisions_noted on revisions (channel_id, noted_seq) where noted_seq is not null;
