-- The page of a person is read from memories in force, and stored nowhere: these indexes find them by the words of names.

-- The words of a memory's subject and of its speaker's name.
create index memories_named on memories
  using gin (channel_id, regexp_split_to_array(normal_text(subject || ' ' || asserted_by), ' ')) with (fastupdate = off)
  where valid_to is null;
-- Statistics would hold words of texts that may be deleted.
alter index memories_named alter column 2 set statistics 0;

-- The first word of a name.
create index speakers_by_first_word on speakers (split_part(normal_text(name), ' ', 1), channel_id);
