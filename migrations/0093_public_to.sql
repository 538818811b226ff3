-- What a viewer of the page may read of Weir's own texts follows the rule by which memories are shared: the rule for them gets a name.

-- Returns up to which entry everything of a channel was said in public, as far as is known: Weir's texts that are made of entries up to
-- there alone repeat nothing else. -1: it is not public, or a part of it was said in private.
create function public_to(p_channel bigint) returns bigint language sql stable as $$
  select case when c.is_private is distinct from false or c.privacy_from is not null or c.privacy_after > 0 then -1
              else coalesce(least((select min(l.seq) from entries l where l.channel_id = c.id and l.data ? 'late'),
                                  (select min(r.seq) from revisions r where r.channel_id = c.id and r.is_late)) - 1,
                            c.last_seq)
         end
    from channels c where c.id = p_channel
$$;

-- Returns those of these entries that were said while everybody of the workspace could read the channel, as far as is known. A person's
-- message was, if it is of the public time and was heard when it was said or edited. Entries of Weir may repeat anything that was said
-- before them.
create or replace function said_in_public(p_channel bigint, p_seqs bigint[]) returns bigint[] language sql stable as $$
  select coalesce(array_agg(e.seq), '{}')
    from channels c cross join lateral (select public_to(c.id) as seq offset 0) whole join entries e on e.channel_id = c.id
   where c.id = p_channel and c.is_private = false and e.seq = any (p_seqs) and e.deleted_at is null and e.seq > c.privacy_after
     and case when e.kind = 'user' and not is_due_work(e.message_id)
              then (c.privacy_from is null or e.at >= c.privacy_from) and not coalesce(e.data ? 'late', false)
                   and not exists (select from revisions r where r.channel_id = c.id and r.seq = e.seq and r.is_late)
              else e.seq - 1 <= whole.seq
         end
$$;

-- Returns whether everybody of the workspace may read a memory: its channel is public, its words were said in public, and nothing that
-- its writer had read was not. What a tool has found is not shared. What `memory_scope` shares has passed that for each of its terms. Writes nothing.
create function remembered_in_public(p_memory memories) returns boolean language sql stable as $$
  select p_memory.tool is null
     and exists (select from channels c where c.id = p_memory.channel_id and c.kind = 'channel' and c.is_private = false)
     and not exists (
       select from memory_sources s
        where s.memory_id = p_memory.id
          and (s.channel_id <> p_memory.channel_id or said_in_public(s.channel_id, array[s.seq]) = '{}'))
     and (p_memory.scope = 'workspace' or p_memory.read_to is null or p_memory.read_to <= public_to(p_memory.channel_id))
$$;
