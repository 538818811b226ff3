-- Migrations are numbered without a gap. This one changes nothing.
select 1;
