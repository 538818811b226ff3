-- What counts against a turn. `attempts` goes on counting its starts, whatever ended them.
alter table turns add column deaths integer not null default 0 check (deaths >= 0);
alter table turns add column failures integer not null default 0 check (failures >= 0);
comment on column turns.deaths is 'owners that ended, or lost the channel, with the turn begun and not settled';
comment on column turns.failures is 'attempts that failed in a process that lived on, and not for the database or the machine';
