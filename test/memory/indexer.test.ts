import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { ChannelId } from "../../src/core/ids.ts";
import { Indexer } from "../../src/memory/indexer.ts";
import { SearchStore } from "../../src/store/search/search.ts";
import { createTestDatabase } from "../support/database.ts";
import { openStore, SILENT } from "../store/open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { search } = weir.store;

/** More than are indexed again at once. */
const MANY = 1200;

async function finds(channel: ChannelId, word: string): Promise<boolean> {
  const query = { pick: `'${word}'`, terms: [word], literals: [], from: 1, to: 5000, limit: 3 };
  return (await search.find(channel, query)).lines.count > 0;
}

/** Looks until it holds: what comes in rounds has no end of its own to wait for. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(20);
}

async function outdatedTo(channel: ChannelId): Promise<number> {
  const [row] = await weir.sql<{ to: number }>(
    'select outdated_to as "to" from search_progress where channel_id = $1',
    channel,
  );
  return row?.to ?? 0;
}

test("outdated rows are indexed again from the newest on, and what is said meanwhile comes first", async () => {
  const { id } = await weir.channel("long");
  await Promise.all(Array.from({ length: MANY }, async (_, index) => weir.say(id, `apple ${index}`)));
  while (((await search.indexAll([id], 500)).get(id) ?? 0) > 0);
  await weir.sql("update entry_search set tsv = '' where channel_id = $1", id);
  await weir.sql("update search_progress set outdated_to = indexed_to where channel_id = $1", id);
  await using indexer = new Indexer(search, SILENT);
  await indexer.start();
  await weir.say(id, "a zeppelin over the shed");
  indexer.mark(id);
  await until(async () => finds(id, "zeppelin"));
  assert.ok((await outdatedTo(id)) > 0);
  await until(async () => (await outdatedTo(id)) < MANY);
  assert.ok(await finds(id, "1199"));
  assert.equal(await finds(id, "1"), false);
  await until(async () => (await outdatedTo(id)) === 0);
  assert.ok(await finds(id, "1"));
});

test("whoever stops waits for no more than one batch of channels; the others are marked at the next start", async () => {
  const channels: ChannelId[] = [];
  for (let index = 0; index < 40; index++) {
    const { id } = await weir.channel(`one-of-many-${index}`);
    await weir.say(id, "pear");
    channels.push(id);
  }
  const indexer = new Indexer(search, SILENT);
  for (const id of channels) indexer.mark(id);
  await indexer[Symbol.asyncDispose]();
  const behind = await search.behind();
  assert.ok(behind.length > 0 && behind.length < channels.length, String(behind.length));
  await using next = new Indexer(search, SILENT);
  await next.start();
  await until(async () => (await search.behind()).length === 0);
});

/** Fails as often as it is told to, and counts its merges. */
class FailingSearch extends SearchStore {
  /** Channels that cannot be indexed. */
  readonly refused = new Set<ChannelId>();
  mergesToFail = 0;
  merges = 0;

  override async indexAll(
    ...[channels, limit]: Parameters<SearchStore["indexAll"]>
  ): ReturnType<SearchStore["indexAll"]> {
    if (channels.some((channel) => this.refused.has(channel))) throw new Error("refused");
    return super.indexAll(channels, limit);
  }

  override async renew(): Promise<boolean> {
    throw new Error("not renewed");
  }

  override async settle(): Promise<void> {
    if (this.mergesToFail-- > 0) throw new Error("not merged");
    await super.settle();
    this.merges++;
  }
}

test("what was indexed is merged though another channel, a renewal or the last merge failed", async () => {
  const failing = new FailingSearch(weir.db);
  const channels: ChannelId[] = [];
  for (let index = 0; index < 17; index++) {
    const { id } = await weir.channel(`merged-${index}`);
    await weir.say(id, "plum");
    channels.push(id);
  }
  const [first, last] = [channels[0], channels[16]];
  assert.ok(first !== undefined && last !== undefined);
  await search.indexAll([first], 10);
  await weir.sql("update search_progress set outdated_to = 1 where channel_id = $1", first);
  await using indexer = new Indexer(failing, SILENT);
  await indexer.start();
  failing.refused.add(last);
  failing.mergesToFail = 1;
  for (const id of channels) indexer.mark(id);
  await indexer.flush();
  assert.equal(failing.merges, 0, "it failed");
  await until(async () => failing.merges > 0);
  assert.deepEqual(await search.behind(), [last]);
  failing.refused.clear();
  await until(async () => (await search.behind()).length === 0);
});
