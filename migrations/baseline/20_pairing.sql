-- Pairing: people whose direct messages are answered because an owner let them in, where the configuration says "pairing". A request has a
-- row for an hour, and keeps nothing of what the person writes.

create table paired_people (
  platform   text        not null check (platform <> ''),
  person     text        not null check (person <> ''), -- the platform's id of the person
  since      timestamptz not null default clock_timestamp(),
  let_in_by  text        not null, -- platform:id of an owner; operator: by the command line
  unread_to  timestamptz, -- up to here, by the platform's clock, they wrote as a stranger: those messages are never read
  unread_ids text[]      not null default '{}', -- their messages of just that time: later ones may have the same
  greet_in   text, -- name of the direct channel in which they are to be told that they were let in; null: they were told
  primary key (platform, person)
);

-- Strangers who have asked to be let in.
create table pairing_requests (
  platform    text        not null check (platform <> ''),
  person      text        not null check (person <> ''),
  name        text        not null, -- what the person is called on the platform, for the owner who lets them in
  channel     text        not null,
  code        text        not null,
  asked_at    timestamptz not null default clock_timestamp(),
  said_to     timestamptz not null, -- when they have written last, by the platform's clock
  said_ids    text[]      not null, -- ids of their messages of just that time
  owners_know boolean     not null default false, -- the platform's owners were told of it
  primary key (platform, person)
);
alter table pairing_requests alter column name set statistics 0;

-- When the owners of a platform were told last that somebody asks to be let in.
create table pairing_news (
  platform text primary key check (platform <> ''),
  told_at  timestamptz not null
);

-- Notes that a stranger has written. state: paired (they are let in already), asked (this is their new code), waiting (they have one).
-- Of several daemons that hear of the same message one gets asked. At most p_most requests of a platform wait: strangers must shut nobody
-- out, so the oldest request yields to a new one. An advisory lock makes the calls take turns, or more codes would be valid than may be.
create function ask_pairing(
  p_platform text, p_person text, p_name text, p_channel text, p_code text, p_at timestamptz, p_id text, p_most integer, p_valid interval,
  out state text
) language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('weir ask_pairing', 0));
  if exists (select from paired_people p where p.platform = p_platform and p.person = p_person) then state := 'paired'; return; end if;
  update pairing_requests r
     set said_to = greatest(r.said_to, p_at),
         said_ids = case when p_at > r.said_to then array[p_id] when p_at = r.said_to then r.said_ids || p_id else r.said_ids end
   where r.platform = p_platform and r.person = p_person and r.asked_at > clock_timestamp() - p_valid;
  if found then state := 'waiting'; return; end if;
  delete from pairing_requests r where r.asked_at <= clock_timestamp() - p_valid;
  delete from pairing_requests r
   where r.platform = p_platform and r.person in (
     select o.person from pairing_requests o where o.platform = p_platform and o.person <> p_person
      order by o.asked_at desc, o.person desc offset p_most - 1);
  insert into pairing_requests (platform, person, name, channel, code, said_to, said_ids)
    values (p_platform, p_person, p_name, p_channel, p_code, p_at, array[p_id]) on conflict do nothing;
  state := case when found then 'asked' else 'waiting' end;
end $$;

-- Lets the person in who has asked with this code. False: nobody has, or not within that time.
create function pair_person(p_platform text, p_person text, p_code text, p_by text, p_valid interval) returns boolean
language plpgsql as $$
declare v_request pairing_requests;
begin
  delete from pairing_requests r
   where r.platform = p_platform and r.person = p_person and r.code = p_code and r.asked_at > clock_timestamp() - p_valid
  returning r.* into v_request;
  if not found then return false; end if;
  insert into paired_people (platform, person, let_in_by, unread_to, unread_ids, greet_in)
    values (p_platform, p_person, p_by, v_request.said_to, v_request.said_ids, v_request.channel) on conflict do nothing;
  return true;
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

-- Undoes that a person was let in, and deletes their request. Reminders in their direct messages end: each would be an answer.
-- False: they were not let in.
create function unpair_person(p_platform text, p_person text) returns boolean language plpgsql as $$
declare v_was boolean;
begin
  delete from pairing_requests r where r.platform = p_platform and r.person = p_person;
  delete from paired_people p where p.platform = p_platform and p.person = p_person;
  v_was := found;
  if v_was then
    perform end_reminders(array(
      select r.id from reminders r join channels c on c.id = r.channel_id
       where c.platform = p_platform and c.kind = 'dm' and r.asker_id = p_person and r.state = 'active'), 'cancelled');
  end if;
  return v_was;
end $$;

-- Returns the codes of requests of which the platform's owners are to be told; the caller sets `owners_know` when it has told them.
-- wait_ms: how long they may be told nothing, because they were told within p_every; 0 and no codes: there is no news.
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
