-- Drops columns that nothing reads: a reminder that recurs has a `cron`, and a channel's owner owns its jobs without a lease.

alter table jobs drop column leased_until;
alter table members drop column looks_for_prints;
alter table reminders drop column kind;
alter table requests drop column taken_as;
