-- A text that a model has read stays in the view behind its edit, and so do the calls that tell what it said. Whoever summarises the view
-- reads the new text, and of those calls nothing.

alter table revisions add column told_by bigint[];
comment on column revisions.told_by is 'calls and results in the view that tell what the message said before';

create index revisions_told_by on revisions using gin (told_by) where told_by is not null;

-- Does a call, or a result, in the view tell what was edited away? What the edit found, and whatever a model called behind the edit that
-- was asked before it.
create function tells_outdated(p_channel bigint, p_seq bigint, p_after bigint) returns boolean language sql stable as $$
  select exists (select from revisions r where r.channel_id = p_channel and r.told_by @> array[p_seq])
      or exists (select from revisions r
                  where r.channel_id = p_channel and r.noted_seq > p_after and r.noted_seq < p_seq and r.seq < p_seq)
$$;

-- What leaves the view for good takes with it what was edited away meanwhile, and the arguments and the results of the calls of models
-- that had read a text and not its edit: nobody asks for them again. Such a call may come behind the edit: its model was asked before.
-- What the model said beside a call goes where it tells what was edited away.
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
       and (exists (select from revisions r where r.channel_id = new.id and r.seq < e.seq and r.noted_seq > e.after_seq)
            or tells_outdated(new.id, e.seq, e.after_seq)));
  update entries e set data = without_arguments(e.data),
         text = case when tells_outdated(e.channel_id, e.seq, e.after_seq) then '' else e.text end
   where e.channel_id = new.id and e.seq = any (v_seqs) and e.kind = 'tool_call';
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.channel_id = new.id and e.seq = any (v_seqs) and e.kind = 'tool_result';
  return null;
end $$;
