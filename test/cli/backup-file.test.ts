// proves: src/cli/backup.ts, src/store/backup/backup-file.ts
// Nothing but the file: whatever is done to it is seen, and said in a sentence with the place.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { openBackup } from "../../src/cli/backup.ts";
import { OperatorError } from "../../src/core/errors.ts";
import { checkBackup } from "../../src/store/backup/backup.ts";
import { BackupSums, END_OF_ROWS, headLine, type ReadBackup } from "../../src/store/backup/backup-file.ts";

const folder = await mkdtemp(path.join(tmpdir(), "weir-backup-"));
after(async () => rm(folder, { recursive: true, force: true }));
const NEVER = new AbortController().signal;

const HEAD = {
  schema: 40,
  at: "2026-11-21T09:00:00.000Z",
  signingKey: "ab".repeat(32),
  tables: [
    { name: "mills", columns: ["id", "name"], numbered: { id: 40 } },
    { name: "wheels", columns: ["mill", "text"], numbered: {} },
  ],
};

function plain(): Buffer {
  const sums = new BackupSums();
  const parts = [sums.add(headLine(HEAD))];
  for (const { name } of HEAD.tables) {
    sums.count(name, 40);
    for (let row = 1; row <= 40; row++) parts.push(sums.add(`${row}\tthe wheel ${row * 7919} turns\n`));
    parts.push(sums.add(END_OF_ROWS));
  }
  return Buffer.from(`${parts.join("")}${JSON.stringify(sums.foot())}\n`);
}

const WHOLE = gzipSync(plain());
let count = 0;

async function read(bytes: Buffer): Promise<ReadBackup> {
  const file = path.join(folder, `${++count}`);
  await writeFile(file, bytes);
  try {
    return await checkBackup(openBackup(file, NEVER));
  } finally {
    await rm(file);
  }
}

/** @returns what is said of a file that is refused; null: it is whole, and says what was written */
async function refusal(bytes: Buffer): Promise<string | null> {
  try {
    assert.deepEqual(await read(bytes), await read(WHOLE));
    return null;
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return error.message.replace(`${path.join(folder, "")}/`, "");
  }
}

const SENTENCE =
  /^\d+ (?:is damaged (?:in its (?:first|last) line|in table \w+, after row \d+|after its last line): .+|is no backup: .+|has format \d+, .+)\.$/;

/** What may become of bytes: a few other bits at a place, an end there, a piece left out, or something behind. */
const DAMAGE = fc.record({
  how: fc.constantFrom("flip", "cut", "leave out", "add"),
  at: fc.nat(100_000),
  by: fc.integer({ min: 1, max: 255 }),
});
type Damage = typeof DAMAGE extends fc.Arbitrary<infer Value> ? Value : never;

function damaged(bytes: Buffer, { how, at: place, by }: Damage): Buffer {
  const at = place % bytes.length;
  if (how === "cut") return bytes.subarray(0, at);
  if (how === "leave out") return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + by)]);
  if (how === "add") return Buffer.concat([bytes, Buffer.alloc(by, at)]);
  const flipped = Buffer.from(bytes);
  flipped.writeUInt8(flipped.readUInt8(at) ^ by, at);
  return flipped;
}

test("a file with other bytes, or fewer, or more, is refused in a sentence, or says just what was written", async () => {
  const check = async (damage: Damage): Promise<void> => {
    const why = await refusal(damaged(WHOLE, damage));
    if (why !== null) assert.match(why, SENTENCE);
    // Gzip's own head says of what time the file is, and the like: that may be another one.
    else assert.ok(damage.how === "flip", "not seen");
  };
  await fc.assert(fc.asyncProperty(DAMAGE, check), { numRuns: 300 });
});

test("the same below gzip: a program may have packed it again", async () => {
  const bytes = plain();
  const check = async (damage: Damage): Promise<void> => {
    assert.match((await refusal(gzipSync(damaged(bytes, damage)))) ?? "not seen", SENTENCE);
  };
  await fc.assert(fc.asyncProperty(DAMAGE, check), { numRuns: 300 });
});

test("each thing that is no backup is called what it is", async () => {
  const folderThere = path.join(folder, "folder");
  await mkdir(folderThere);
  for (const [file, words] of [
    [folderThere, /folder is a folder, not a file\.$/],
    [path.join(folder, "nowhere"), /There is no file .*nowhere\.$/],
  ] as const)
    assert.throws(() => openBackup(file, NEVER), words);
  const cases: [Buffer, RegExp][] = [
    [Buffer.alloc(0), /is damaged in its first line: it ends there\.$/],
    [Buffer.from("hello"), /is no backup: it does not begin as what gzip writes\.$/],
    [gzipSync("hello\nworld\n"), /is no backup: its first line is not that of a backup\.$/],
    [gzipSync('{"weir":"backup","format":3}\n'), /has format 3, and this Weir reads 1: restore it with the/],
    [Buffer.concat([WHOLE, Buffer.alloc(512)]), /is damaged after its last line: something stands there\.$/],
    [Buffer.concat([WHOLE, gzipSync("more")]), /is damaged after its last line: something stands there\.$/],
    [gzipSync(plain().subarray(0, 700)), /is damaged in table mills, after row \d+: it ends there\.$/],
    // 30 kB that become 30 MB: no more of it is held than a line may have.
    [gzipSync(Buffer.alloc(30_000_000), { level: 9 }), /is damaged in its first line: it is too long\.$/],
  ];
  for (const [bytes, words] of cases) assert.match((await refusal(bytes)) ?? "whole", words);
});
