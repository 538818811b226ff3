-- Strangers shut nobody out: where as many wait as may, the one who has waited longest yields to a new one, and owners hear of
-- all of them.

alter table pairing_requests add column owners_know boolean not null default false;
comment on column pairing_requests.owners_know is 'the platform''s owners were told of it';

create table pairing_news (
  platform text primary key check (platform <> ''),
  told_at  timestamptz not null
);
comment on table pairing_news is 'when the owners of a platform were told last that somebody asks to be let in';

-- A stranger has written. state: paired (they are let in already), asked (this is their new code), waiting (they have one). Of several
-- daemons that hear of the same message one gets asked. As many as p_most of a platform wait: the oldest request yields to a new one.
create or replace function ask_pairing(
  p_platform text, p_person text, p_name text, p_channel text, p_code text, p_at timestamptz, p_id text, p_most integer, p_valid interval,
  out state text
) language plpgsql as $$
begin
  -- One after another: or more codes would be valid than may be.
  perform pg_advisory_xact_lock(hashtextextended('weir ask_pairing', 0));
  if exists (select from paired_people p where p.platform = p_platform and p.person = p_person) then state := 'paired'; return; end if;
  update pairing_requests r
     set said_to = greatest(r.said_to, p_at),
         said_ids = case when p_at > r.said_to then array[p_id] when p_at = r.said_to then r.said_ids || p_id else r.said_ids end
   where r.platform = p_platform and r.person = p_person and r.asked_at > clock_timestamp() - p_valid;
  if found then
    state := 'waiting';
    return;
  end if;
  delete from pairing_requests r where r.asked_at <= clock_timestamp() - p_valid;
  delete from pairing_requests r
   where r.platform = p_platform and r.person in (
     select o.person from pairing_requests o where o.platform = p_platform and o.person <> p_person
      order by o.asked_at desc, o.person desc offset p_most - 1);
  insert into pairing_requests (platform, person, name, channel, code, said_to, said_ids)
    values (p_platform, p_person, p_name, p_channel, p_code, p_at, array[p_id]) on conflict do nothing;
  state := case when found then 'asked' else 'waiting' end;
end $$;

-- Lets a person in by their id, also where they have asked for nothing. False: they were let in before.
create function pair_user(p_platform text, p_person text, p_by text) returns boolean language plpgsql as $$
declare v_request pairing_requests;
begin
  perform pg_advisory_xact_lock(hashtextextended('weir ask_pairing', 0));
  delete from pairing_requests r where r.platform = p_platform and r.person = p_person returning r.* into v_request;
  insert into paired_people (platform, person, let_in_by, unread_to, unread_ids, greet_in)
    values (p_platform, p_person, p_by, v_request.said_to, coalesce(v_request.said_ids, '{}'), v_request.channel) on conflict do nothing;
  return found;
end $$;

-- Whoever gets requests tells the platform's owners of them, and says so with `owners_know`. wait_ms: how long nobody may be told
-- anything, because they were told within p_every; 0 and no codes: there is no news.
create function take_pairing_news(
  p_platform text, p_every interval, p_valid interval, out wait_ms double precision, out codes text[]
) language plpgsql as $$
declare v_told timestamptz;
begin
  perform pg_advisory_xact_lock(hashtextextended('weir pairing_news', 0));
  select array_agg(r.code) into codes from pairing_requests r
   where r.platform = p_platform and not r.owners_know and r.asked_at > clock_timestamp() - p_valid;
  wait_ms := 0;
  if codes is null then codes := '{}'; return; end if;
  select n.told_at into v_told from pairing_news n where n.platform = p_platform;
  if v_told > clock_timestamp() - p_every then
    wait_ms := extract(epoch from v_told + p_every - clock_timestamp()) * 1000;
    codes := '{}';
    return;
  end if;
  insert into pairing_news (platform, told_at) values (p_platform, clock_timestamp())
    on conflict (platform) do update set told_at = excluded.told_at;
end $$;
