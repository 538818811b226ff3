import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { reportFailure } from "../../../src/cli/shared/report-failure.ts";
import { OperatorError } from "../../../src/core/errors.ts";

function reported(error: unknown): string {
  const stderr = new PassThrough({ encoding: "utf8" });
  // oxlint-disable-next-line no-unsafe-type-assertion -- only its `write` is used
  reportFailure({ stderr: stderr as unknown as NodeJS.WriteStream }, error);
  return String(stderr.read());
}

test("a full disk is named without a stack, whoever wrote, and the words of a known error stay", () => {
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  assert.equal(reported(full), "The disk is full: make room, and start again.\n");
  assert.equal(
    reported(Object.assign(full, { path: "/data/x" })),
    "The disk of /data/x is full: make room, and start again.\n",
  );
  assert.equal(reported(new OperatorError("Its own words.", { cause: full })), "Its own words.\n");
  assert.match(reported(new Error("a bug")), /^Error: a bug\n +at /);
});
