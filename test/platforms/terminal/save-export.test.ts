import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isExport, saveExport } from "../../../src/platforms/terminal/save-export.ts";

test("an export becomes a new file, for its owner alone, and never replaces one", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "weir-export-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const name = join(folder, "river.md");
  const how = { name, folder, channel: "main", now: new Date("2026-05-01T12:00:00Z") };
  assert.equal(await saveExport("# River", how), `Written to ${name}.`);
  assert.equal(readFileSync(name, "utf8"), "# River\n");
  assert.equal(statSync(name).mode & 0o777, 0o600);
  assert.match(await saveExport("# Other", how), /there is such a file already/);
  assert.equal(readFileSync(name, "utf8"), "# River\n");
  assert.match(
    await saveExport("# River", { ...how, name: join(name, "x") }),
    /^Nothing was written to .*: ENOTDIR\.$/,
  );
});

test("a page is told from Markdown, and from a word to whoever asked", () => {
  assert.deepEqual(["# River", "<!doctype html>\n<p>", "Nothing was said here yet."].map(isExport), [
    true,
    true,
    false,
  ]);
});
