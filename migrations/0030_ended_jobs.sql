-- The terms that an edit took from a live job stayed in the row of the job after its end, and so told what was edited away.

create or replace function jobs_forget_result() returns trigger language plpgsql as $$
begin
  if new.state not in ('running', 'staged') then
    new.result := null;
    new.edited_seqs := '{}';
    new.edited_terms := '{}';
  end if;
  return new;
end $$;

update jobs set edited_terms = '{}' where state not in ('running', 'staged') and edited_terms <> '{}';
