-- Names decide nothing by themselves: anybody may take one.

-- In which servers a name of the configuration holds: settled when Weir first starts with it, as [{id, name}].
create table confirmed_names (
  platform text not null,
  kind text not null check (kind in ('workspace', 'channel', 'role')),
  name text not null,
  servers jsonb not null,
  confirmed_at timestamptz not null default now(),
  primary key (platform, kind, name)
);

-- Who is called what in a channel, in the order in which they spoke: of several people with one name the second is shown as
-- "Ann (2)". It is settled when somebody first speaks under a name, so that a line never reads differently later.
create table speakers (
  channel_id bigint not null references channels (id) on delete cascade,
  name text not null,
  author_id text not null,
  number integer not null check (number > 0),
  primary key (channel_id, name, author_id),
  unique (channel_id, name, number)
);

insert into speakers (channel_id, name, author_id, number)
select channel_id, name, author_id, row_number() over (partition by channel_id, name order by first_seq)
  from (select e.channel_id, lower(e.author_name) as name, e.author_id, min(e.seq) as first_seq
          from entries e where e.kind = 'user' and length(e.author_name) <= 200 and length(e.author_id) <= 200
         group by 1, 2, 3) said;

-- The number of somebody among those who are called so in a channel, from 1; always the same.
create function speaker_number(p_channel bigint, p_name text, p_author text) returns integer language plpgsql as $$
declare v_number integer;
begin
  loop
    select s.number into v_number from speakers s
     where s.channel_id = p_channel and s.name = p_name and s.author_id = p_author;
    if found then return v_number; end if;
    insert into speakers (channel_id, name, author_id, number)
    select p_channel, p_name, p_author, coalesce(max(s.number), 0) + 1 from speakers s
     where s.channel_id = p_channel and s.name = p_name
    on conflict do nothing;
  end loop;
end $$;
