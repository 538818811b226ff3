import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChannelPrivacy } from "../../src/core/message.ts";
import { ChannelPrivacyNotes } from "../../src/router/channel-privacy.ts";
import { openStore, SILENT } from "../store/open-store.ts";
import { createTestDatabase } from "../support/database.ts";

const notes = (isPrivate: boolean): ChannelPrivacy[] => [
  { channel: { platform: "test", name: "plans" }, isPrivate },
];

test("a channel that becomes private while the database is away is private afterwards; the latest counts", async () => {
  await using database = await createTestDatabase();
  await using opened = openStore(database.connection);
  await opened.channel("plans");
  const { channels } = opened.store;
  const failures = Array.from({ length: 3 }, () => new Error("certificate has expired"));
  const write = channels.tellPrivacy.bind(channels);
  channels.tellPrivacy = async (...told) => {
    const failure = failures.pop();
    if (failure !== undefined) throw failure;
    await write(...told);
  };
  await using privacy = new ChannelPrivacyNotes(opened.store, SILENT);
  await Promise.all([privacy.note(notes(false)), privacy.note(notes(true))]);
  assert.deepEqual(await opened.sql("select is_private from channels"), [{ isPrivate: true }]);
  await privacy.note(notes(false));
  assert.deepEqual(await opened.sql("select is_private from channels"), [{ isPrivate: false }]);
});
