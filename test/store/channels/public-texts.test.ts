import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import fc from "fast-check";
import { type ChannelId, memoryId } from "../../../src/core/ids.ts";
import { openTestStore } from "../open-store.ts";

const open = await openTestStore();
const { store } = open;

/** The rule as memories are shared by it, before it was told apart. */
const baseline = await readFile("migrations/baseline/09_memory.sql", "utf8");
const [rule = ""] = /create function said_in_public[^]*?\n\$\$;/.exec(baseline) ?? [];
await open.sql(rule.replace("said_in_public", "said_before"));

interface Line {
  readonly kind: "person" | "work" | "weir";
  readonly isLate: boolean;
  readonly isDeleted: boolean;
  /** Of its edit; null: there is none. */
  readonly isEditLate: boolean | null;
}

const line: fc.Arbitrary<Line> = fc.record({
  kind: fc.constantFrom("person", "person", "work", "weir"),
  isLate: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  isDeleted: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  isEditLate: fc.constantFrom(null, null, null, null, null, false, true),
});
const world = fc.record({
  lines: fc.array(line, { minLength: 1, maxLength: 12 }),
  isPrivate: fc.constantFrom(false, false, false, false, true, null),
  /** After so many lines its privacy changed; null: it never did. */
  changedAfter: fc.option(fc.nat(12), { freq: 2 }),
});

let count = 0;

async function build({
  lines,
  isPrivate,
  changedAfter,
}: typeof world extends fc.Arbitrary<infer W> ? W : never): Promise<ChannelId> {
  const { id } = await open.channel(`world-${++count}`);
  const minute = (n: number): string => `timestamptz '2026-01-01 00:00Z' + interval '${n} minutes'`;
  const rows = lines.map(({ kind, isLate, isDeleted }, index) => {
    const seq = index + 1;
    const [author, message] =
      kind === "weir" ? ["null", "null"] : ["'u'", `'${kind === "work" ? "reminder/" : ""}${id}-${seq}'`];
    const data = isLate ? `'{"late": true}'::jsonb` : "null";
    return `(${id}, ${seq}, '${kind === "weir" ? "notice" : "user"}', ${minute(seq)}, '', 1, ${author}, ${author}, ${message}, ${data}, ${isDeleted ? "now()" : "null"})`;
  });
  const edits = lines.flatMap(({ isEditLate }, index) =>
    isEditLate === null ? [] : [`(${id}, ${index + 1}, 1, '', now(), ${isEditLate})`],
  );
  const after = changedAfter === null ? null : Math.min(changedAfter, lines.length);
  await open.sql(`set local session_replication_role = replica;
    insert into entries (channel_id, seq, kind, at, text, tokens, author_id, author_name, message_id, data, deleted_at) values ${rows.join(", ")};
    ${edits.length === 0 ? "" : `insert into revisions (channel_id, seq, revision, text, at, is_late) values ${edits.join(", ")};`}
    update channels set last_seq = ${lines.length}, is_private = ${isPrivate === null ? "null" : String(isPrivate)},
           privacy_from = ${after === null ? "null" : minute(after)}, privacy_after = ${after ?? 0} where id = ${id}`);
  return id;
}

test("what was said in public is as it was for shared memories, and Weir's own texts follow what was said before them", async () => {
  await fc.assert(
    fc.asyncProperty(world, async (made) => {
      const id = await build(made);
      const seqs = made.lines.map((_, index) => index + 1);
      const said = await store.publicTexts.said(id, seqs);
      const [before] = await open.sql<{ seqs: number[] }>(
        "select said_before($1, $2)::float8[] as seqs",
        id,
        seqs,
      );
      assert.deepEqual(said, new Set(before?.seqs));
      const saidTo = await store.publicTexts.saidTo(id);
      for (const [index, { kind, isDeleted }] of made.lines.entries())
        if (kind !== "person" && !isDeleted)
          assert.equal(
            said.has(index + 1),
            made.isPrivate === false && index <= saidTo,
            `entry ${index + 1}`,
          );
      // Nothing before that is a person's that was not heard in public.
      for (let seq = 1; seq <= Math.min(saidTo, made.lines.length); seq++)
        assert.ok(said.has(seq) || made.lines[seq - 1]?.isDeleted === true, `entry ${seq} of ${saidTo}`);
    }),
    { numRuns: 150, seed: 7 },
  );
});

test("nothing is asked of an empty list, and a channel that there is not has nothing", async () => {
  const { id } = await open.channel("empty");
  assert.deepEqual(await store.publicTexts.said(id, []), new Set());
  assert.deepEqual(await store.publicTexts.memories([]), new Set());
  assert.deepEqual(await store.publicTexts.memories([memoryId(999_999)]), new Set());
});

test("a memory may be read if all that its writer had read was said in public, or it has passed that for sharing", async () => {
  const rests = async (
    name: string,
    {
      source,
      readTo,
      scope = "channel",
      kind = "channel",
      isPrivate = false,
    }: { source: number; readTo: number | null; scope?: string; kind?: string; isPrivate?: boolean | null },
  ): Promise<boolean> => {
    // The second line was read later than it was said.
    const id = await build({
      lines: [false, true, false].map((isLate) => ({
        kind: "person",
        isLate,
        isDeleted: false,
        isEditLate: null,
      })),
      isPrivate,
      changedAfter: null,
    });
    await open.sql("update channels set kind = $2 where id = $1", id, kind);
    const [row] = await open.sql<{ id: number }>(
      `with m as (insert into memories (agent, scope, channel_id, type, subject, asserted_by, statement, importance, valid_from, read_from, read_to)
                  values ('main', $2, $1, 'decision', 'it', 'Ann', $3, 0.5, now(), case when $4::bigint is null then null else 1 end, $4) returning id),
            s as (insert into memory_sources (memory_id, channel_id, seq, quote) select id, $1, $5, 'it' from m)
       select id from m`,
      id,
      scope,
      name,
      readTo,
      source,
    );
    const wanted = memoryId(row?.id ?? 0);
    const isRead = (await store.publicTexts.memories([wanted])).has(wanted);
    const listed = await store.memories.list({ channel: id, isPublic: true }, 10);
    assert.equal(
      listed.some((one) => one.id === wanted),
      isRead,
      "both ways say the same",
    );
    assert.equal((await store.memories.list({ channel: id }, 10)).length, 1);
    return isRead;
  };
  assert.equal(await rests("read before", { source: 1, readTo: 1 }), true);
  assert.equal(await rests("asked for", { source: 3, readTo: null }), true);
  assert.equal(await rests("shared", { source: 1, readTo: 3, scope: "workspace" }), true);
  assert.equal(await rests("its writer had read more", { source: 1, readTo: 3 }), false);
  assert.equal(await rests("late words", { source: 2, readTo: null }), false);
  assert.equal(await rests("late words, shared", { source: 2, readTo: null, scope: "workspace" }), false);
  assert.equal(await rests("private", { source: 1, readTo: 1, isPrivate: true }), false);
  assert.equal(await rests("unknown", { source: 1, readTo: 1, isPrivate: null }), false);
  assert.equal(await rests("of a thread", { source: 1, readTo: 1, kind: "thread" }), false);
  assert.equal(await rests("of a direct message", { source: 1, readTo: 1, kind: "dm", scope: "dm" }), false);
});
